package sched

import (
	"slices"
	"testing"

	"kpsim/sim"
	"kpsim/traces"
)

// TestChainsLeadToTheSameRun: the links of a run replay it, and its visits are the
// questions that were asked.
func TestChainsLeadToTheSameRun(t *testing.T) {
	everyPlainRun(t, 12, func(name string, m *toy, s Strategy, i uint64) {
		log, rec := record(m, s, i, false)
		l := NewLabeller(NewExact(rec), m)
		l.All = true
		l.Begin(0)
		m.run(l)
		if len(l.Visits()) != int(rec.Asked) {
			t.Fatalf("%s: %d visits of %d questions", name, len(l.Visits()), rec.Asked)
		}
		deviations := 0
		for _, v := range l.Visits() {
			if v.Alts[v.Pick] != v.Alt {
				t.Fatalf("%s: %+v", name, v)
			}
			if v.Pick != 0 {
				link, anchor := v.Deviation, v.Deviation
				link.Occ = v.Since
				if l.Links()[deviations] != link || l.Anchors()[deviations] != anchor {
					t.Fatalf("%s: deviation %d is %+v, the visit %+v", name, deviations, l.Links()[deviations], v)
				}
				deviations++
			}
		}
		c := NewChain(slices.Clone(l.Links()), m)
		c.Begin(0)
		if got := m.run(c); got != log || c.Met() != deviations {
			t.Fatalf("%s: %q, want %q; %d of %d met", name, got, log, c.Met(), deviations)
		}
		if c.Begin(1) {
			t.Fatal("there is one run")
		}
	})
}

// TestChainFollows: when a deviation is removed, the next one matches where it is now;
// anchors stay where they were counted.
func TestChainFollows(t *testing.T) {
	m := &toy{programs: []string{"....", "...."}}
	links := []traces.Deviation{
		atPlace("cpu0", "f0", 1, true, 1, sim.Step, "cpu1"),
		atPlace("cpu1", "f1", 1, true, 1, sim.Step, "cpu0"),
		atPlace("cpu0", "f0", 2, true, 1, sim.Step, "cpu1"),
	}
	c := NewChain(links, m)
	c.Begin(0)
	if got := m.run(c); got != " 0 1 0 1 1 1 0 0" || c.Met() != 3 {
		t.Errorf("%q, %d met", got, c.Met())
	}
	c = NewChain(links[2:], m)
	c.Begin(0)
	if got := m.run(c); got != " 0 0 1 1 1 1 0 0" || c.Met() != 1 {
		t.Errorf("%q, %d met", got, c.Met())
	}

	// A Chain waits for an alternative that isn't there yet.
	m = &toy{programs: []string{"++++", ".."}, sources: []int{0}}
	c = NewChain([]traces.Deviation{atPlace("cpu0", "f0", 0, true, 1, sim.Step, "cpu7")}, m)
	c.Begin(0)
	if m.run(c); c.Met() != 0 {
		t.Error("there is no cpu7")
	}
}

// TestFirstMiss: the first anchor that isn't taken literally, and what is near it.
func TestFirstMiss(t *testing.T) {
	m := &toy{programs: []string{"....", "...."}}
	for _, test := range []struct {
		anchor traces.Deviation
		kind   DriftKind
		near   []Near
		alts   []string
	}{
		{atPlace("cpu0", "f0", 9, true, 1, sim.Step, "cpu1"), Unmet,
			[]Near{{"cpu0", "f0", 3, true, 1}, {"cpu0", "f0", 2, true, 1}}, nil},
		{atPlace("cpu0", "f0", 2, true, 2, sim.Step, "cpu1"), Unmet, []Near{{"cpu0", "f0", 2, true, 1}}, nil},
		{atPlace("cpu7", "f0", 1, true, 1, sim.Step, "cpu1"), Unmet, []Near{{"cpu0", "f0", 1, true, 1}}, nil},
		{atPlace("cpu0", "gone", 1, true, 1, sim.Step, "cpu1"), Unmet, nil, nil},
		{atPlace("cpu0", "f0", 2, true, 1, sim.Step, "cpu7"), NoAlternative, []Near{{"cpu0", "f0", 2, true, 1}},
			[]string{"cpu0", "cpu1"}},
	} {
		a := NewAnchored([]traces.Deviation{test.anchor}, m)
		a.Begin(0)
		m.run(a)
		miss, ok := a.FirstMiss()
		if !ok || miss.Index != 0 || miss.Kind != test.kind || !slices.Equal(miss.Alts, test.alts) ||
			len(miss.Near) < len(test.near) || !slices.Equal(miss.Near[:len(test.near)], test.near) {
			t.Errorf("%+v: %+v, %v", test.anchor, miss, ok)
		}
	}
	a := NewAnchored([]traces.Deviation{atPlace("cpu0", "f0", 1, true, 1, sim.Step, "cpu1")}, m)
	a.Begin(0)
	m.run(a)
	if miss, ok := a.FirstMiss(); ok {
		t.Errorf("%+v", miss)
	}
}
