package harness

import (
	"slices"
	"testing"

	"kpsim/properties"
	"kpsim/properties/mutant"
	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/smp"
)

// In runs of every mutant, monitors that are told of dull events as well find what
// those found that aren't, at the same event.
func TestDull(t *testing.T) {
	awake := properties.NewMonitors(properties.All...)
	awake.KeepAwake()
	violations := 0
	for _, mu := range mutant.All {
		sc, err := scenario.LoadBuiltin(mu.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(sc, mu.Name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.Log.Store = true
		s := sched.NewSticky(sched.Params{Length: r.Run(new(sched.Default)).Counts.Points, Mean: 8})
		for i := range uint64(60/slow + 1) {
			s.Begin(i)
			run := r.Run(s)
			awake.Reset()
			found := r.Log.Found == nil
			for k := range r.Log.Events {
				e := &r.Log.Events[k]
				if !slices.Contains(awake.Kinds(), e.Kind) {
					continue
				}
				f := awake.Event(e)
				if f == nil {
					continue
				}
				if found = r.Log.Found != nil && *f == *r.Log.Found && e.Seq == r.Log.FoundAt && awake.Finder() == run.Property; !found {
					t.Fatalf("%s, run %d: awake, %s finds at event %d: %s; the run: %+v", mu.Name, i, awake.Finder().Name, e.Seq, f.Message, run)
				}
				violations++
				break
			}
			if !found && run.Outcome == smp.Violated && r.Log.FoundAt != 0 {
				t.Fatalf("%s, run %d: awake, nothing is found of %+v", mu.Name, i, run)
			}
		}
	}
	if violations < 50/slow {
		t.Errorf("%d violations: no test", violations)
	}
}
