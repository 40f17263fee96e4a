package sched

import (
	"fmt"
	"strings"
	"testing"

	"kpsim/sim"
)

// A straight program: what the step number k of each mover touches, and how
// many answers there are to the question asked within it.
type straight struct {
	movers []sim.Mover
	steps  [][]straightStep
}

type straightStep struct {
	touches []sim.Touch
	answers int
}

func newStraight(r *sim.Rand) *straight {
	s := &straight{}
	all := []sim.Mover{0, 1, sim.MoverIPI + 1, sim.MoverSource}
	for _, mv := range all[:2+r.N(3)] {
		s.movers = append(s.movers, mv)
		var list []straightStep
		for range 1 + r.N(4) {
			st := straightStep{answers: 1}
			if r.N(6) == 0 {
				st.answers = 2
			}
			for range r.N(3) {
				st.touches = append(st.touches, sim.Touch{Object: sim.Object(1 + r.N(3)), Write: r.N(2) == 0})
			}
			list = append(list, st)
		}
		s.steps = append(s.steps, list)
	}
	return s
}

func conflict(a, b []sim.Touch) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Object == y.Object && (x.Write || y.Write) {
				return true
			}
		}
	}
	return false
}

// run makes random steps, at most most, and returns the class of the run by
// definition: the steps made, their answers, and the order of each two that
// conflict.
func (s *straight) run(r *sim.Rand, most int, h *Happens) string {
	type step struct{ mover, k int }
	at := make([]int, len(s.movers))
	var made []step
	var answers []string
	h.Reset()
	for len(made) < most {
		m := r.N(len(s.movers))
		if at[m] == len(s.steps[m]) {
			done := true
			for i := range at {
				done = done && at[i] == len(s.steps[i])
			}
			if done {
				break
			}
			continue
		}
		st := &s.steps[m][at[m]]
		if st.answers > 1 {
			pick := r.N(st.answers)
			h.Chose(&sim.Point{Kind: sim.Fetch, N: st.answers}, pick)
			answers = append(answers, fmt.Sprintf("%d.%d:%d", m, at[m], pick))
		}
		h.Stepped(s.movers[m], st.touches)
		made = append(made, step{m, at[m]})
		at[m]++
	}
	var b strings.Builder
	fmt.Fprint(&b, at, " ")
	rank := make(map[step]int)
	for i, x := range made {
		rank[x] = i
	}
	for i := range s.movers {
		for k := range at[i] {
			for _, a := range answers {
				if strings.HasPrefix(a, fmt.Sprintf("%d.%d:", i, k)) {
					fmt.Fprint(&b, a, " ")
				}
			}
			for j := range i {
				for l := range at[j] {
					if conflict(s.steps[i][k].touches, s.steps[j][l].touches) {
						fmt.Fprintf(&b, "%d.%d,%d.%d:%v ", i, k, j, l, rank[step{i, k}] < rank[step{j, l}])
					}
				}
			}
		}
	}
	return b.String()
}

// Two runs have the same hash if and only if they are equal by definition.
func TestHappens(t *testing.T) {
	var r sim.Rand
	r.Seed(1, 0)
	var h Happens
	merged := 0
	for program := range 300 / slow {
		s := newStraight(&r)
		classes := make(map[string]lanes)
		hashes := make(map[lanes]string)
		for range 200 {
			c := s.run(&r, 1+r.N(20), &h)
			hi, lo := h.Hash()
			l := lanes{hi, lo}
			if was, ok := classes[c]; ok {
				if was != l {
					t.Fatalf("program %d %+v: class %q has hashes %x and %x", program, s, c, was, l)
				}
				merged++
			} else if other, ok := hashes[l]; ok {
				t.Fatalf("program %d %+v: classes %q and %q have hash %x", program, s, c, other, l)
			}
			classes[c], hashes[l] = l, c
		}
	}
	if merged < 1000/slow {
		t.Errorf("only %d of 60000 runs were of a class seen before: this shows nothing", merged)
	}
}

// Each lane alone distinguishes classes: else 128 bits would be 64.
func TestHappensLanes(t *testing.T) {
	var r sim.Rand
	r.Seed(2, 0)
	var h Happens
	hi, lo := make(map[uint64]lanes), make(map[uint64]lanes)
	for range 100 {
		s := newStraight(&r)
		for range 100 {
			s.run(&r, 1+r.N(20), &h)
			x, y := h.Hash()
			for _, l := range []struct {
				seen map[uint64]lanes
				key  uint64
			}{{hi, x}, {lo, y}} {
				if was, ok := l.seen[l.key]; ok && was != (lanes{x, y}) {
					t.Fatalf("lanes %x and %x agree in one half only", was, lanes{x, y})
				}
				l.seen[l.key] = lanes{x, y}
			}
		}
	}
}

// Many runs change nothing: objects are kept, states aren't.
func TestHappensReset(t *testing.T) {
	run := func(h *Happens) lanes {
		h.Reset()
		for i := range 300 {
			h.Stepped(sim.Mover(i%3), []sim.Touch{{Object: sim.Object(7 * i), Write: i%2 == 0}, {Object: 5}})
		}
		hi, lo := h.Hash()
		return lanes{hi, lo}
	}
	var used, fresh Happens
	for i := range 1000 {
		used.Stepped(1, []sim.Touch{{Object: sim.Object(i * 31), Write: true}})
	}
	if a, b := run(&used), run(&fresh); a != b {
		t.Errorf("a used one says %x, a new one %x", a, b)
	}
	used.epoch = 1<<32 - 1
	if a, b := run(&used), run(&fresh); a != b {
		t.Errorf("after all epochs a used one says %x, a new one %x", a, b)
	}
	if n := testing.AllocsPerRun(10, func() { run(&used) }); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

// Answers to questions of two kinds aren't one, nor are two of one kind.
func TestHappensAnswers(t *testing.T) {
	seen := make(map[lanes]string)
	for _, kind := range []sim.Kind{sim.Task, sim.Fetch, sim.Cost} {
		for pick := range 3 {
			var h Happens
			h.Reset()
			h.Chose(&sim.Point{Kind: kind, N: 3}, pick)
			h.Stepped(0, nil)
			hi, lo := h.Hash()
			what := fmt.Sprint(kind, pick)
			if was := seen[lanes{hi, lo}]; was != "" {
				t.Errorf("%s is taken for %s", what, was)
			}
			seen[lanes{hi, lo}] = what
		}
	}
}
