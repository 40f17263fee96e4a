package sched

import (
	"strings"
	"testing"
)

// What a CPU has read is old when it uses it, three accesses of another later, in the
// midst of many steps that touch nothing: it takes two switches, each in a window of one
// step of a hundred.
func TestOvertakeFinds(t *testing.T) {
	idle := strings.Repeat(".", 97)
	m := &toy{programs: []string{idle + "aaA" + idle + "B", idle + "ab" + idle + "ab" + idle}}
	found := func(name string) (runs uint64) {
		s, err := New(name, Params{Seed: 1, Length: 500})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(2000) {
			s.Begin(i)
			m.run(s)
			s.End(uint64(len(m.asked)))
			if m.stale() {
				runs++
			}
		}
		return runs
	}
	over, walk := found("overtake"), found("sticky")
	t.Logf("of 2000 runs overtake shows it in %d, sticky in %d", over, walk)
	if over < 100 || over < 4*walk {
		t.Error("it isn't good at what it is for")
	}
}

// stale reports whether CPU 1 has read the first object before CPU 0 wrote it, and the
// second one, right after, when CPU 0 had written that, too.
func (m *toy) stale() bool {
	pc, wrote, at := [2]int{}, [2]bool{}, false
	for _, mv := range m.moved {
		if mv > 1 {
			continue
		}
		c := m.programs[mv][pc[mv]]
		pc[mv]++
		switch c {
		case 'A':
			wrote[0] = true
		case 'B':
			wrote[1] = true
		case 'a':
			if mv == 1 {
				at = !wrote[0]
			}
		case 'b':
			if at && wrote[1] {
				return true
			}
		}
	}
	return false
}

// Each run is the same whatever ran before with the same results, and in a shard.
func TestOvertakeOrder(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a run was taken out of order")
		}
	}()
	s := newOvertake(Params{Seed: 1, Length: 9, Shard: 1, Shards: 2})
	s.Begin(1)
	s.Begin(2)
}
