package proof

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
)

// TestBegin: the state at a run's first question doesn't depend on the runs before. Else the
// same schedule would have other states on another rig.
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"safe-none", "safe-full", "jump-label-flip", "register-race", "hotplug-stop",
		"stop-machine-alone"} {
		r, err := rig.New(loadNamed(t, name), "")
		require.NoError(t, err)
		s := newStates(r)
		r.ObserveAtomicIRQs(rig.Deaf{})
		s.lookAround()
		var first []string
		for i := range thorough.Of[uint64](60, 200) {
			l := sched.NewSticky(sched.Params{Seed: 2, Mean: 8})
			require.True(t, l.Begin(i))
			var now []string
			r.Run(looker{l, 1 << 40, func() {
				if now == nil {
					now = s.fieldByField()
				}
			}})
			if first == nil {
				first = now
			}
			require.Equal(t, first, now, "%s, run %d", name, i)
		}
		r.Close()
	}
}

// fieldByField says what is in a state, for a message.
func (s *states) fieldByField() (list []string) {
	for _, r := range s.roots {
		t := s.layouts.typeOf(r.l)
		for i := range r.l.pieces {
			p := &r.l.pieces[i]
			one := *r.l
			one.pieces = r.l.pieces[i : i+1]
			s.walks, s.filled = s.walks+1, 0
			var h sim.Hash
			s.hash(&h, r.at, &one)
			s.work = s.work[:0]
			list = append(list, fmt.Sprintf("%v %s: %x", t, strings.Join(fieldsAt(t, p.off, max(p.size, 8)), ", "), h))
		}
	}
	h := s.walk()
	list = append(list, fmt.Sprintf("all values: %x", h))
	m := s.r.Machine.State()
	h = m.Memory()
	m.Add(&h)
	return append(list, fmt.Sprintf("the machine: %x", h))
}

// fieldsAt are the fields in some bytes of a struct.
func fieldsAt(t reflect.Type, off, size uintptr) (names []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Offset >= off+size || f.Offset+f.Type.Size() <= off {
			continue
		}
		inner := []string{""}
		if f.Type.Kind() == reflect.Struct {
			lo := max(off, f.Offset)
			inner = fieldsAt(f.Type, lo-f.Offset, off+size-lo)
		}
		for _, n := range inner {
			names = append(names, strings.TrimSuffix(f.Name+"."+n, "."))
		}
	}
	return names
}
