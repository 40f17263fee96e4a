package sched

import (
	"errors"
	"strings"
	"testing"

	"kpsim/sim"
)

// rests are the strategies that end the runs of TestPrefix.
func rests() []Strategy {
	p := Params{Seed: 5, Length: 20, Mean: 3}
	return []Strategy{NewRandom(p), NewSticky(p)}
}

// TestPrefix: a run cut anywhere begins as it was recorded, holds change nothing, and
// the whole recording is the recorded run.
func TestPrefix(t *testing.T) {
	for _, m := range toys() {
		log, rec := record(m, NewRandom(Params{Seed: 2, Length: 20}), 3, true)
		asked := append([]Choice(nil), m.asked...)
		others := false
		for cut := range len(asked) + 1 {
			for i := range uint64(max(6/slow, 1)) {
				x := NewPrefix(rec, rests()...)
				x.Cut(cut)
				x.Begin(i)
				got := m.run(x)
				for k := range cut {
					if m.asked[k] != asked[k] {
						t.Fatalf("cut at %d: question %d was answered %+v, in the recording %+v", cut, k, m.asked[k],
							asked[k])
					}
				}
				if cut == len(asked) && got != log {
					t.Fatal("the whole recording isn't the recorded run")
				}
				others = others || got != log
				n := NoHold{x}
				if n.Begin(i); m.run(n) != got {
					t.Fatalf("cut at %d: holds matter", cut)
				}
			}
		}
		if !others {
			t.Errorf("%v: no cut led anywhere else", m.programs)
		}
	}
}

// After the prefix the strategy does what it would do in a run that begins there: its
// questions count from 0.
func TestPrefixCountsFromTheCut(t *testing.T) {
	rec := &Recording{All: []Choice{{Seq: 0, N: 2}, {Seq: 1, Steps: 1, N: 2, Pick: 1}, {Seq: 2, Steps: 2, N: 2}}}
	var seen []uint64
	x := NewPrefix(rec, &peeking{seen: &seen})
	x.Cut(2)
	x.Begin(0)
	for seq := range uint64(4) {
		p := sim.Point{N: 2, Seq: seq}
		x.Choose(&p)
		if p.Seq != seq {
			t.Fatal("the machine's point was changed")
		}
	}
	if len(seen) != 2 || seen[0] != 0 || seen[1] != 1 {
		t.Errorf("the rest was asked questions %v, want 0 and 1", seen)
	}
}

type peeking struct {
	fixed
	seen *[]uint64
}

func (p *peeking) Choose(q *sim.Point) (pick, hold int) {
	*p.seen = append(*p.seen, q.Seq)
	return 0, 0
}

func TestPrefixNotices(t *testing.T) {
	was := &toy{programs: []string{"..F.", "...."}, sources: []int{1}}
	_, rec := record(was, NewRandom(Params{Seed: 1, Length: 9}), 2, true)
	x := NewPrefix(rec, rests()...)
	x.Begin(0)
	func() {
		defer func() {
			d, ok := recover().(*Divergence)
			if !ok || !errors.As(d, new(*sim.BugError)) || !strings.Contains(d.Error(), "(task of 2) was asked") {
				t.Errorf("%v", d)
			}
		}()
		(&toy{programs: []string{"TTF.", "...."}, sources: []int{1}}).run(x)
	}()
	mustBug(t, "not all were recorded", func() { NewPrefix(&Recording{All: []Choice{{Seq: 4}}}) })
}

// TestSpot: a Spot labels a deviation as a Labeller does, and default answers too.
func TestSpot(t *testing.T) {
	for _, m := range toys() {
		_, rec := record(m, NewRandom(Params{Seed: 2, Length: 20}), 3, true)
		l := NewLabeller(NewExact(rec), m)
		l.Begin(0)
		m.run(l)
		next := 0
		for seq, c := range rec.All {
			s := NewSpot(NewExact(rec), m, uint64(seq))
			s.Begin(0)
			m.run(s)
			a := s.Anchor()
			if a.Mover == "" || a.Occ < 1 || a.Kind != c.Kind {
				t.Fatalf("question %d: %+v", seq, a)
			}
			if c.Pick != 0 {
				if a != l.Anchors()[next] {
					t.Errorf("question %d: %+v, the labeller says %+v", seq, a, l.Anchors()[next])
				}
				next++
			}
		}
	}
}
