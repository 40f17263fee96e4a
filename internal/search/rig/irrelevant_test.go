package rig_test

import (
	"testing"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"

	"github.com/stretchr/testify/require"
)

// In runs of every mutant, monitors that are told of dull events as well find what
// those found that aren't, at the same event.
func TestDull(t *testing.T) {
	violations := 0
	for _, mu := range mutants.All {
		sc, err := library.Load(mu.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rig.New(sc, mu.Name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		awake := properties.NewMonitors(sc.Machine.Processor(), properties.All...)
		awake.KeepAwake()
		r.Log.Store = true // so that the text is reported in each run
		a := &alert{awake: awake}
		r.Log.Subscribe(a, awake.Kinds()...)
		s := sched.NewSticky(sched.Params{Length: r.Run(new(sched.Default)).Counts.Points, Mean: 8})
		for i := range uint64(thorough.Of(8, 20)/min(searchtest.Slow, 4) + 1) {
			s.Begin(i)
			a.begin()
			run := r.Run(s)
			if f := a.found; f == nil {
				if run.Outcome == smp.Violated && r.Log.FoundAt != 0 {
					t.Fatalf("%s, run %d: awake, nothing is found of %+v", mu.Name, i, run)
				}
			} else {
				if r.Log.Found == nil || *f != *r.Log.Found || a.at != r.Log.FoundAt || awake.Finder() != run.Property {
					t.Fatalf("%s, run %d: awake, %s finds at event %d: %s; the run: %+v", mu.Name, i,
						awake.Finder().Name, a.at, f.Message, run)
				}
				violations++
			}
		}
	}
	if violations < 50/searchtest.Slow {
		t.Errorf("%d violations: no test", violations)
	}
}

// An alert gets a run's events beside the monitors that judge it, and finds by
// itself.
type alert struct {
	awake *properties.Monitors
	found *traces.Finding
	at    uint32
}

func (a *alert) begin() {
	a.awake.Reset()
	a.found = nil
}

// Event implements traces.Sink.
func (a *alert) Event(e *traces.Event) *traces.Finding {
	if a.found == nil {
		a.found, a.at = a.awake.Event(e), e.Seq
	}
	return nil
}

// TestNeeds: the monitors of properties that need a kind are there in just the scenarios whose logs have it at their
// head.
func TestNeeds(t *testing.T) {
	with := make(map[traces.Kind]int)
	for _, sc := range library.All() {
		r, err := rig.New(sc, "")
		require.NoError(t, err)
		heads := make(kinds)
		for _, p := range properties.All {
			if p.Needs != 0 {
				r.Log.Subscribe(heads, p.Needs)
			}
		}
		r.Run(new(sched.Default))
		for _, p := range properties.All {
			if p.Needs != 0 {
				require.Equal(t, heads[p.Needs], r.Judges.Has(p), "%s in %s", p.Name, sc.Name)
				if heads[p.Needs] {
					with[p.Needs]++
				}
			}
		}
		r.Close()
	}
	require.Len(t, with, 4)
}

// kinds are those of which there were events.
type kinds map[traces.Kind]bool

func (k kinds) Event(e *traces.Event) *traces.Finding {
	k[e.Kind] = true
	return nil
}
