package sched

import (
	"strings"
	"testing"

	"kpsim/sim"
)

// The strength of POS: a step that is in a race with the last of k others comes after
// all of them if its priority is the least of k+1, because nothing else redraws it.
// Here k is 19. A uniform choice at each step has that once in 2^19 runs, so 4000 runs
// miss it with probability 99%: that is the control.
func TestPOSAfterMany(t *testing.T) {
	h := &hunt{[]string{strings.Repeat("B", 18) + "A", "a"}, func(o []step) bool {
		return before(o, step{0, 18}, step{1, 0})
	}}
	if n, _ := h.found(NewRandom(Params{Seed: 1, Length: 20}), 4000); n > 0 {
		t.Errorf("control: a uniform choice found it %d times", n)
	}
	if n, _ := h.found(newPOS(Params{Seed: 1, Length: 20}), 4000); n < 140 || n > 260 { // 200, sd 14
		t.Errorf("POS found it in %d of 4000 runs, want one in 20", n)
	}
}

// TestPOSPrivateSteps: private steps don't change the odds.
func TestPOSPrivateSteps(t *testing.T) {
	h := &hunt{[]string{strings.Repeat(".", 50) + "A", "a"}, func(o []step) bool {
		return before(o, step{0, 50}, step{1, 0})
	}}
	if n, _ := h.found(newPOS(Params{Seed: 1, Length: 52}), 2000); n < 900 || n > 1100 { // sd 22
		t.Errorf("found in %d of 2000 runs, want half", n)
	}
}

// TestPOSRaces: an action in a race with the last one is redrawn. So a read comes after
// the i-th of many writes with probability 2^-(i+1), where a kept priority would place
// it uniformly.
func TestPOSRaces(t *testing.T) {
	m := &toy{programs: []string{"AAAAAAAA", "a"}}
	s := newPOS(Params{Seed: 1, Length: 9})
	counts := make([]int, 5)
	for i := range uint64(4096) {
		s.Begin(i)
		m.run(s)
		for k, mv := range m.moved {
			if mv == 1 {
				counts[min(k, 4)]++
			}
		}
	}
	even(t, "writes before the read", counts, []int{2048, 1024, 512, 256, 256}, 36)
}

// TestPOSIsTold: without observed steps it would be another strategy.
func TestPOSIsTold(t *testing.T) {
	s := newPOS(Params{Length: 9})
	f := NewPortfolio(Params{Length: 9})
	for _, test := range []struct {
		s    Strategy
		want sim.Observer
	}{
		{s, s}, {&Recorder{Strategy: s}, s}, {NoHold{s}, s}, {NewRandom(Params{}), nil}, {&Recorder{Strategy: f}, nil},
	} {
		if test.s.Begin(0); ObserverOf(test.s) != test.want {
			t.Errorf("%v: told is %v, want %v", test.s, ObserverOf(test.s), test.want)
		}
	}
	r := &Recorder{Strategy: f}
	for i := uint64(1); i < 1000; i++ { // of a portfolio, whose turn it is
		r.Begin(i)
		if pos, is := f.Member().(*POS); is && ObserverOf(r) != pos {
			t.Fatal("a portfolio's POS isn't told")
		}
		r.End(0)
	}
}

// TestPOSDrawsAnew: the movers that are redrawn: those whose next step is in a race
// with what was done since the last question, and the mover of a visible step, a CPU or
// an IPI.
func TestPOSDrawsAnew(t *testing.T) {
	read, write := sim.Touch{Object: 7}, sim.Touch{Object: 7, Write: true}
	var ahead [sim.MaxCPUs]sim.Touch
	for _, test := range []struct {
		done, next sim.Touch
		anew       bool
	}{{write, read, true}, {read, write, true}, {write, write, true}, {read, read, false},
		{write, sim.Touch{Object: 8, Write: true}, false}, {write, sim.Touch{}, false}} {
		s := newPOS(Params{Seed: 1, Length: 9})
		s.Begin(0)
		p := sim.Point{Kind: sim.Step, N: 3, Moves: sim.Moves{0b11, 1}, Ahead: &ahead}
		ahead[1] = sim.Touch{}
		s.Choose(&p)
		was := s.priority
		s.Stepped(0, []sim.Touch{test.done})
		s.Stepped(0, nil) // private
		ahead[1] = test.next
		s.Choose(&p)
		if anew := s.priority[1] != was[1]; anew != test.anew {
			t.Errorf("%+v, then %+v: drawn anew is %v", test.done, test.next, anew)
		}
		if s.priority[0] == was[0] || s.priority[sim.MoverIPI] != was[sim.MoverIPI] {
			t.Error("the mover's own priority is kept, or another's isn't")
		}

		was = s.priority
		s.Choose(&p)
		if s.priority != was {
			t.Errorf("%+v: what was done counts at the next question, too", test.done)
		}
		s.Stepped(sim.MoverIPI, []sim.Touch{{Object: 9}})
		s.Choose(&p)
		if s.priority[sim.MoverIPI] == was[sim.MoverIPI] {
			t.Error("an IPI that was taken keeps its priority")
		}
	}
}
