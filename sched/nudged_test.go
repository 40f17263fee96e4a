package sched

import (
	"testing"

	"kpsim/sim"
)

// TestNudged: all deviations but the drawn one stand where the recorded run has them, as long as the run asks as many
// questions; the drawn one stands between its neighbours; holds change nothing, and neither does the order of runs.
func TestNudged(t *testing.T) {
	elsewhere := 0
	for _, m := range toys() {
		log, rec := record(m, NewSticky(Params{Seed: 2, Length: 20, Mean: 12}), 3, true)
		if len(rec.Choices) < 2 {
			continue
		}
		was := append([]Choice(nil), rec.Choices...)
		x := NewNudged(rec, 7)
		if x.Deviations() != len(was) {
			t.Fatalf("%d deviations of %d", x.Deviations(), len(was))
		}
		for drawn := range was {
			logs := make(map[uint64]string)
			for i := range uint64(max(20/slow, 2)) {
				x.Of(drawn)
				x.Begin(i)
				got := m.run(x)
				logs[i] = got
				if got != log {
					elsewhere++
				}
				for k := range drawn { // up to the neighbour before, it is the recorded run
					for _, c := range m.asked {
						if c.Seq == was[k].Seq && c.Pick != was[k].Pick {
							t.Fatalf("deviation %d drawn: %d is %+v, recorded as %+v", drawn, k, c, was[k])
						}
					}
				}
				n := NoHold{x}
				if n.Begin(i); m.run(n) != got {
					t.Fatal("holds matter")
				}
			}
			for i, want := range logs {
				x.Of((drawn + 1) % len(was))
				x.Begin(i)
				x.Of(drawn)
				x.Begin(i)
				if m.run(x) != want {
					t.Fatal("the order of runs matters")
				}
			}
		}
	}
	if elsewhere == 0 {
		t.Error("no run left the recorded one")
	}
}

// The drawn deviation takes every place between its neighbours, and no other.
func TestNudgedPlaces(t *testing.T) {
	rec := &Recording{}
	for i := range uint64(12) {
		c := Choice{Seq: i, Steps: i, N: 3}
		if i == 2 || i == 6 || i == 9 {
			c.Pick = 1
		}
		rec.All = append(rec.All, c)
	}
	x := NewNudged(rec, 1)
	x.Of(1)
	seen := make(map[uint64]bool)
	for i := range uint64(200) {
		x.Begin(i)
		for seq := uint64(0); seq < 12; seq++ {
			p := sim.Point{Kind: sim.Step, N: 3, Seq: seq}
			switch pick, _ := x.Choose(&p); {
			case seq == 2 || seq == 9:
				if pick != 1 {
					t.Fatalf("question %d was answered %d", seq, pick)
				}
			case pick != 0:
				seen[seq] = true
			}
		}
	}
	for seq := range uint64(12) {
		if want := seq > 2 && seq < 9; seen[seq] != want {
			t.Errorf("drawn at question %d: %v", seq, seen[seq])
		}
	}
}
