package proof

import (
	"bytes"
	"maps"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/arch/x86"
)

// A fields goes through all that the roots of a states lead to, field by field, by
// reflection and not by layouts.
type fields struct {
	ruled func(key string, v reflect.Value, r rule) // is told of a field that has a rule
	leaf  func(key string, v reflect.Value)         // and of each word, slice and pointer without one
	seen  map[root]bool
	at    string
}

func (f *fields) walk(s *states) {
	f.seen = make(map[root]bool)
	for _, r := range s.roots {
		f.value(reflect.NewAt(s.layouts.typeOf(r.l), r.at).Elem())
	}
}

// typeOf is the type that a layout is of.
func (ls *layouts) typeOf(l *layout) reflect.Type {
	for t, k := range ls.of {
		if k == l {
			return t
		}
	}
	return nil
}

func (f *fields) value(v reflect.Value) {
	if isInst(v.Type()) { // counts by its bytes: wholly or not at all
		f.leaf(f.at, v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		name := v.Type().String()
		for i := range v.NumField() {
			key := name + "." + v.Type().Field(i).Name
			e := reflect.NewAt(v.Field(i).Type(), v.Field(i).Addr().UnsafePointer()).Elem() // as if it were exported
			field := v.Type().Field(i)
			if r, ok := ruleOf(&field); ok {
				f.ruled(key, e, r)
				for k := 0; r.sort == aSet && k < e.Len(); k++ {
					f.at = key
					f.value(e.Index(k))
				}
				continue
			}
			if !strings.HasSuffix(key, "._") {
				f.at = key
				f.value(e)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			f.value(v.Index(i))
		}
	case reflect.Slice:
		f.leaf(f.at, v)
		at := f.at
		for i := range v.Len() {
			f.at = at
			f.value(v.Index(i))
		}
	case reflect.Pointer:
		f.leaf(f.at, v)
		to := root{v.UnsafePointer(), nil}
		for _, t := range elsewhere {
			if t == v.Type().Elem() {
				return
			}
		}
		if !v.IsNil() && !f.seen[to] {
			f.seen[to] = true
			f.value(v.Elem())
		}
	default:
		f.leaf(f.at, v)
	}
}

// A looker has something looked at while some questions are put.
type looker struct {
	sim.Chooser
	every uint64
	look  func()
}

// Choose implements sim.Chooser.
func (l looker) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Step && p.Seq%l.every == 0 {
		l.look()
	}
	pick, _ = l.Chooser.Choose(p)
	return pick, 0
}

// lookInto runs a scenario a few times, and has it looked at.
func lookInto(t *testing.T, sc *scenario.Scenario, runs, every uint64, begin func(), look func(*states)) {
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	st := newStates(rig)
	rig.Run(new(sched.Default)) // tables are sorted when they are asked for the first time
	for i := range runs {
		l := sched.NewSticky(sched.Params{Seed: 1, Mean: 8})
		l.Begin(i)
		begin()
		rig.Run(looker{l, every, func() { look(st) }})
	}
}

// TestAtBoot: what is left out of states since it doesn't change in a run doesn't.
func TestAtBoot(t *testing.T) {
	if searchtest.Slow > 1 {
		t.Skip("says nothing of races")
	}
	checked, rules := make(map[string]int), make(map[string]rule)
	for _, sc := range library.All() {
		was := make(map[root][]byte)
		lookInto(t, sc, 2, 20, func() { clear(was) }, func(st *states) {
			f := fields{leaf: func(string, reflect.Value) {}, ruled: func(key string, v reflect.Value, r rule) {
				if !r.boot {
					return
				}
				at := root{v.Addr().UnsafePointer(), nil}
				now := bytesOf(nil, v)
				if before, seen := was[at]; !seen {
					was[at] = now
				} else if checked[key]++; !bytes.Equal(now, before) {
					t.Fatalf("%s: %s doesn't change in a run, and has", sc.Name, key)
				}
			}}
			f.walk(st)
			maps.Copy(rules, st.layouts.used)
		})
	}
	for key, r := range rules {
		require.True(t, !r.boot || checked[key] > 0, "%s isn't in any scenario", key)
	}
}

// bytesOf appends what a value is: its words, and those of the elements of slices.
func bytesOf(to []byte, v reflect.Value) []byte {
	to = append(to, unsafe.Slice((*byte)(v.Addr().UnsafePointer()), v.Type().Size())...)
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			to = bytesOf(to, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Field(i); f.Kind() {
			case reflect.Slice, reflect.Struct, reflect.Array:
				to = bytesOf(to, f)
			}
		}
	}
	return to
}

// TestStateHasFields: a state is another if any field is that there is no rule for,
// wherever the run stands.
func TestStateHasFields(t *testing.T) {
	if searchtest.Slow > 1 {
		t.Skip("says nothing of races")
	}
	counts := make(map[string]int)
	for _, name := range []string{"module-unload", "ftrace-probe", "static-call-flip", "return-probes",
		"optimization-off", "hotplug", "page-fault-sleeps"} {
		sc, err := library.Load(name)
		require.NoError(t, err)
		lookInto(t, sc, 1, 40, func() {}, func(st *states) {
			hi, lo := st.State()
			differs := func(key string, change, back func()) {
				change()
				h, l := st.State()
				back()
				if h == hi && l == lo {
					t.Fatalf("%s: a state doesn't depend on %s", name, key)
				}
				counts[key]++
			}
			done := make(map[string]int)
			f := fields{ruled: func(string, reflect.Value, rule) {}, leaf: func(key string, v reflect.Value) {
				if done[key]++; done[key] > 4 { // of many that are alike
					return
				}
				was := reflect.New(v.Type()).Elem()
				was.Set(v)
				differs(key, func() { another(v) }, func() { v.Set(was) })
			}}
			f.walk(st)
			require.Equal(t, [2]uint64{hi, lo}, first2(st.State()))
		})
	}
	for _, key := range []string{"kernel.Symbols.kinds", "kernel.Module.taken", "ftrace.site.calls", "ftrace.site.here",
		"ftrace.client.active"} {
		require.NotZero(t, counts[key], key)
	}
	t.Logf("%d fields", len(counts))
}

func first2(a, b uint64) [2]uint64 { return [2]uint64{a, b} }

// another makes a value another.
func another(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "'")
	case reflect.Slice:
		if n := v.Len(); n > 0 {
			v.Set(v.Slice(0, n-1))
		} else {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		} else {
			v.SetZero()
		}
	case reflect.Interface: // arch.Inst
		if v.IsNil() {
			v.Set(reflect.ValueOf(new(x86.Inst)))
		} else {
			v.SetZero()
		}
	case reflect.Map:
		if v.Len() > 0 {
			v.SetZero()
		} else {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem())
		}
	default:
		if v.CanInt() {
			v.SetInt(v.Int() ^ 1)
		} else {
			v.SetUint(v.Uint() ^ 1)
		}
	}
}
