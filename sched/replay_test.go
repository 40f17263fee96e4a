package sched

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"kpsim/sim"
	"kpsim/traces"
)

// record runs s once, and returns its recording.
func record(m *toy, s Strategy, i uint64, all bool) (string, *Recording) {
	r := &Recorder{Strategy: s, All: all}
	r.Begin(i)
	return m.run(r), r.Recording()
}

func TestRecordingOfEverything(t *testing.T) {
	for _, m := range toys() {
		log, rec := record(m, NewRandom(Params{Seed: 2, Length: 20}), 3, true)
		if len(rec.All) != len(m.asked) || rec.Asked != uint64(len(m.asked)) {
			t.Fatalf("%d questions recorded, %d asked", len(rec.All), len(m.asked))
		}
		steps := uint64(0)
		for i, c := range rec.All {
			if c.Steps != steps {
				t.Fatalf("question %d: %d steps before it, want %d", i, c.Steps, steps)
			}
			if c.Steps = 0; c != m.asked[i] {
				t.Fatalf("question %d: %+v recorded, %+v asked", i, c, m.asked[i])
			}
			if c.Kind == sim.Step {
				steps++
			}
		}
		e := NewExact(rec)
		if e.Begin(0); m.run(e) != log || e.Begin(1) {
			t.Error("the replay differs")
		}
	}
}

func TestRecorderChecksTheContract(t *testing.T) {
	play := func(p sim.Point, pick, hold int) func() {
		return func() {
			r := &Recorder{Strategy: fixed{pick: pick, hold: hold}}
			r.Begin(0)
			r.Choose(&p)
		}
	}
	mustBug(t, "should not be asked", play(sim.Point{N: 1}, 0, 0))
	mustBug(t, "answered 2", play(sim.Point{N: 2}, 2, 0))
	mustBug(t, "answered -2", play(sim.Point{N: 2}, -2, 0))
	mustBug(t, "hold 3", play(sim.Point{N: 2}, 1, 3))
	mustBug(t, "hold -1", play(sim.Point{N: 2}, 0, -1))
}

type fixed struct {
	Default
	pick, hold int
}

func (f fixed) Begin(uint64) bool                  { return true }
func (f fixed) End(uint64)                         {}
func (f fixed) String() string                     { return "fixed" }
func (f fixed) Choose(*sim.Point) (pick, hold int) { return f.pick, f.hold }

// TestExactNotices replays recordings on machines other than the recorded one.
func TestExactNotices(t *testing.T) {
	was := &toy{programs: []string{"..F.", "...."}, sources: []int{1}}
	for _, all := range []bool{false, true} {
		_, rec := record(was, NewRandom(Params{Seed: 1, Length: 9}), 2, all)
		if len(rec.Choices) < 3 {
			t.Fatal("a poor example")
		}
		for _, test := range []struct {
			m    toy
			want string
		}{
			{toy{programs: []string{"..F.", "...."}, sources: []int{0}}, "of 3), but question"},
			{toy{programs: []string{"", "...."}, sources: []int{1}}, "(step of 2) was asked"},
			{toy{programs: []string{"TTF.", "...."}, sources: []int{1}}, "(task of 2) was asked"},
			{toy{programs: []string{"..F.......", "...."}, sources: []int{1}}, "next there is"},
			{toy{programs: []string{"..F.", "...."}, sources: []int{1}, stop: 4}, "the run ended"},
		} {
			e := NewExact(rec)
			e.Begin(0)
			func() {
				defer func() {
					d, ok := recover().(*Divergence)
					var bug *sim.BugError
					if !ok || !strings.Contains(d.Error(), test.want) || !errors.As(d, &bug) {
						t.Errorf("all %v, %v: %v, want … %s …", all, test.m.programs, d, test.want)
					}
				}()
				test.m.run(e)
			}()
		}
	}
}

func TestSparseTakesAnything(t *testing.T) {
	for _, m := range toys() {
		for _, list := range [][]Choice{
			{{Seq: 1, Pick: 1 << 40}, {Seq: 1, Pick: 1}, {Seq: 3, Pick: -1}, {Seq: 1 << 60, Pick: 1}},
			{{Seq: 9, Pick: 3}, {Seq: 2, Pick: 1}}, // not sorted: the second is passed over
			FromGaps([]Gap{{0, 7}, {0, 9}, {^uint64(0), 3}, {2, -7}}),
		} {
			s := NewSparse(list)
			s.Begin(0)
			a := m.run(s)
			n := NoHold{s}
			if n.Begin(0); m.run(n) != a {
				t.Errorf("%v: holds matter", list)
			}
		}
	}
	want := []Choice{{Seq: 3, Pick: 1}, {Seq: 4, Pick: 2}, {Seq: 10, Pick: 3}}
	if got := FromGaps([]Gap{{3, 1}, {0, 2}, {5, 3}}); !slices.Equal(got, want) {
		t.Errorf("gaps make %v, want %v", got, want)
	}
	m := toys()[0]
	s := NewSparse(want[:1])
	if s.Begin(0); m.run(s) != " 0 0 0 1 1 1" {
		t.Errorf("%q", m.log)
	}
	s.Set([]Choice{{Seq: 1, Pick: 1}})
	if s.Begin(0); m.run(s) != " 0 1 1 1 0 0" {
		t.Errorf("%q", m.log)
	}
}

// label returns the anchors of run i of s.
func label(m *toy, s Strategy, i uint64) (log string, anchors []traces.Deviation) {
	log, rec := record(m, s, i, false)
	l := NewLabeller(NewExact(rec), m)
	l.Begin(0)
	if m.run(l) != log {
		panic("labelling changes the run")
	}
	return log, slices.Clone(l.Anchors())
}

func TestAnchorsLeadToTheSameRun(t *testing.T) {
	everyPlainRun(t, 12, func(name string, m *toy, s Strategy, i uint64) {
		log, anchors := label(m, s, i)
		a := NewAnchored(anchors, m)
		for range 2 { // run 0 begins all over
			a.Begin(0)
			if got := m.run(a); got != log || len(a.Drifts()) != 0 {
				t.Fatalf("%s: %q, want %q; drifts %v", name, got, log, a.Drifts())
			}
		}
		if a.Begin(1) {
			t.Fatalf("%s: nothing was lost, what else is there to run?", name)
		}
	})
}

func TestAnchorNames(t *testing.T) {
	m := &toy{programs: []string{"..F.", "I.T."}, sources: []int{1}}
	s := NewSparse([]Choice{{Seq: 1, Pick: 1}, {Seq: 2, Pick: 1}, {Seq: 5, Pick: 2}, {Seq: 6, Pick: 2}})
	s.Begin(0)
	m.run(s)
	_, rec := record(m, s, 0, false)
	l := NewLabeller(NewExact(rec), m)
	l.Begin(0)
	m.run(l)
	want := []traces.Deviation{
		atPlace("cpu0", "f0", 1, true, 1, sim.Step, "cpu1"),
		atPlace("ipi@cpu0", "f0", 1, true, 1, sim.Step, "cpu0"),
	}
	if got := l.Anchors(); len(got) < 2 || !slices.Equal(got[:2], want) {
		t.Errorf("got  %+v\nwant %+v …", got, want)
	}
}

// TestAnchorsDrift: the program grows by an instruction before the place of the second
// deviation; the schedule is found again one instruction later.
func TestAnchorsDrift(t *testing.T) {
	m := &toy{programs: []string{"....", "....", "...."}}
	anchors := []traces.Deviation{
		atPlace("cpu0", "f0", 2, true, 1, sim.Step, "cpu2"),
		atPlace("cpu2", "f2", 9, true, 1, sim.Step, "cpu1"), // no longer that far
		atPlace("cpu1", "f1", 2, true, 1, sim.Step, "cpu0"),
		atPlace("cpu1", "gone", 2, true, 1, sim.Step, "cpu0"),
		atPlace("cpu0", "f0", 3, true, 1, sim.Step, "cpu7"), // a CPU it doesn't have
	}
	a := NewAnchored(anchors, m)
	a.Begin(0)
	if got, want := m.run(a), " 0 0 2 2 2 2 0 0 1 1 1 1"; got != want {
		t.Errorf("run 0: %q, want %q", got, want)
	}
	want := []Drift{{1, Unmet, 9, 0}, {2, Unmet, 2, 0}, {3, Unmet, 2, 0}, {4, NoAlternative, 3, 1}}
	if got := a.Drifts(); !slices.Equal(got, want) {
		t.Errorf("run 0: drifts %v, want %v", got, want)
	}

	if !a.Begin(1) {
		t.Fatal("anchor 1 can be moved")
	}
	if got, want := m.run(a), " 0 0 2 2 2 1 1 0 0 1 1 2"; got != want {
		t.Errorf("run 1: %q, want %q", got, want)
	}
	want = []Drift{{1, Moved, 3, 1}, {3, Unmet, 2, 0}, {4, NoAlternative, 3, 1}}
	if got := a.Drifts(); !slices.Equal(got, want) {
		t.Errorf("run 1: drifts %v, want %v", got, want)
	}
	if a.Begin(2) {
		t.Errorf("what else is there to move? %v", a.Drifts())
	}
	if Unmet.String() != "unmet" || Moved.String() != "moved" {
		t.Error("names of kinds")
	}
}

// TestAnchorsOutliveAnEdit: runs of toy 3 replayed on a toy 3 with a step
// inserted. How many keep all of their deviations is a figure, not a promise.
func TestAnchorsOutliveAnEdit(t *testing.T) {
	m := &toy{programs: []string{"+.+.F..", "..I..T.I."}, sources: []int{0, 2}}
	edited := &toy{programs: []string{"+..+.F..", "..I..T.I."}, sources: []int{0, 2}}
	first, ever := 0, 0
	for i := range uint64(200) {
		_, anchors := label(m, NewSticky(Params{Seed: 5, Length: 20, Mean: 8}), i)
		a := NewAnchored(anchors, edited)
		kept := func() bool {
			for _, d := range a.Drifts() {
				if d.Kind != Moved {
					return false
				}
			}
			return true
		}
		for k := uint64(0); a.Begin(k); k++ {
			edited.run(a)
			if kept() {
				if k == 0 {
					first++
				}
				ever++
				break
			}
		}
	}
	t.Logf("of 200 schedules %d are kept at once, %d after moving", first, ever)
	if first < 50 || ever < 150 {
		t.Errorf("of 200 schedules %d are kept at once, %d after moving", first, ever)
	}
}

func FuzzAnchored(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0, 1, 1, 1, 1, 0, 2}, byte(1))
	f.Add([]byte("cpu1 in victim+0x1, 1st time: timer"), byte(3))
	f.Fuzz(func(t *testing.T, data []byte, which byte) {
		machines := toys()
		m := machines[int(which)%len(machines)]
		names := []string{"cpu0", "cpu1", "cpu2", "ipi@cpu1", "source0", "f0", "f1", "f2", "0", "1", "2", ""}
		name := func(b byte) string { return names[int(b)%len(names)] }
		var anchors []traces.Deviation
		for ; len(data) >= 6; data = data[6:] {
			anchors = append(anchors,
				atPlace(name(data[0]), name(data[1]), int(int8(data[2])), data[3]&1 == 0, int(int8(data[3])),
					sim.Kind(data[4]),
					name(data[5])))
		}
		a := NewAnchored(anchors, m)
		runs := 0
		for i := uint64(0); a.Begin(i); i++ {
			log := m.run(a)
			drifts := a.Drifts()
			if runs++; runs > len(anchors)+1 {
				t.Fatalf("%d runs for %d anchors", runs, len(anchors))
			}
			if len(drifts) > len(anchors) || len(log) == 0 {
				t.Fatal("too many drifts, or no run")
			}
		}
	})
}

// atPlace is a deviation in one line of a table.
func atPlace(mover, name string, off int, text bool, occ int, kind sim.Kind, alt string) traces.Deviation {
	return traces.Deviation{Mover: mover, Name: name, Off: off, Text: text, Occ: occ, Kind: kind, Alt: alt}
}
