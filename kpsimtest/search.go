package kpsimtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/properties"
	"kpsim/sched"
)

// Never fails the test if a schedule of the scenario breaks a property, or if nothing is patched, or no schedule has
// anything to decide. The shrunk witness of each property is written to testdata/TEST. If the scenario says
// never(canary = …) and schedules are drawn, the search is also made with that mutant, and must find it: otherwise it
// is blind.
//
// In a rapid.Check the failure says only the property, so that rapid shrinks what it has drawn; the witness of the
// smallest is logged. A canary isn't looked for there.
func Never[S Scenario](t TB, scenario S, options ...Option) {
	t.Helper()
	in, c := begin(t, scenario, options)
	if c.witness != "" {
		playWitness(t, in, c)
	}
	if draws(t) && c.deviations < 0 {
		tryOne(t, in, c)
		return
	}
	o := search(t, in, c, c.mutant, true)
	for _, w := range o.witnesses {
		t.Errorf("%s", failure(t, in, &o, w))
	}
	switch why := in.NothingPatched(); {
	case len(o.witnesses) > 0:
	case why != "":
		t.Errorf("%s: %s", in.Name, why)
	case o.points == 0:
		t.Errorf("%s: nothing could interleave: no schedule had a decision to take; give the scenario a second task "+
			"or timer()", in.Name)
	}
	if c.deviations >= 0 && !o.complete && !t.Failed() {
		t.Errorf("%s: not every schedule of at most %d deviations was run: %d were", in.Name, c.deviations, o.runs)
	}
	if canary := in.Expect.Canary; canary != "" && c.mutant == "" && c.deviations < 0 && len(o.witnesses) == 0 {
		if len(search(t, in, c, canary, false).broken) == 0 {
			t.Errorf("%s: the search is blind: with its canary %s nothing is broken, either; give it more Runs",
				in.Name, canary)
		}
	}
}

// Sometimes fails the test if no schedule of the scenario breaks the property, given
// by name or ID.
func Sometimes[S Scenario](t TB, scenario S, property string, options ...Option) {
	t.Helper()
	in, c := begin(t, scenario, append(slices.Clip(options), Properties(property)))
	if o := search(t, in, c, c.mutant, false); len(o.broken) == 0 {
		t.Errorf("%s: none of %d schedules breaks %s", in.Name, o.runs, property)
	}
}

// An outcome is the result of a search.
type outcome struct {
	runs      uint64
	points    uint64 // decisions, over all runs
	complete  bool   // every requested schedule was run
	broken    map[string]uint64
	witnesses []*shrink.Witness
}

// specOf is the search that the options describe.
func specOf(in *inputs.Input, c *config) explore.Spec {
	return explore.Spec{Scenario: in.Scenario, Mutant: c.mutant, Strategy: c.strategy, Runs: c.runs, Seed: c.seed,
		Ignore: properties.Every &^ c.judged}
}

// seen holds the scenarios of tries that have failed, by their text.
var seen struct {
	sync.Mutex
	texts map[string]bool
}

// see notes that a try of the scenario has failed. It reports whether it is the first of all, and whether it has
// failed before.
func see(s *scenario.Scenario) (isFirst, again bool) {
	seen.Lock()
	defer seen.Unlock()
	if seen.texts == nil {
		seen.texts, isFirst = make(map[string]bool), true
	}
	text := lang.Print(s)
	again = seen.texts[text]
	seen.texts[text] = true
	return isFirst, again
}

// harder is how many times the runs of a try are made where its witness is to be the best.
const harder = 5

// tryOne searches in one of the many tries of a generator, and fails it. The generator repeats the smallest try that
// failed at its end, so a scenario that fails for the second time gets the best of many witnesses. Only it and the
// first failure have a witness: making one takes long. All runs are made on one machine, so the same run is the first
// to break a property each time.
func tryOne(t TB, in *inputs.Input, c *config) {
	t.Helper()
	var found *shrink.Found
	o := outcome{broken: make(map[string]uint64)}
	draw(t, in, c, nil, func(r *rig.Rig, i uint64, run *rig.Run, rec *sched.Recorder) bool {
		if o.runs = i + 1; run.Property == nil {
			return true
		}
		o.broken[run.Property.Name]++
		found = shrink.NewFound(i, run, run.Property, &run.Finding, 0, rec)
		return false
	})
	if found == nil {
		return
	}
	if isFirst, again := see(in.Scenario); isFirst || again {
		t.Logf("%s", bestOf(t, in, c, &o, found, again))
	}
	t.Fatalf("%s: a schedule breaks %s", in.Name, found.Property) // at one line: rapid compares where tries have failed
}

// bestOf returns what is to be said of a run that has failed, or, if its scenario is tried again, of a better one.
func bestOf(t TB, in *inputs.Input, c *config, o *outcome, found *shrink.Found, again bool) string {
	t.Helper()
	w := shrunk(t, in, c, found)
	if again {
		longer := *c
		longer.runs *= harder
		longer.judged, _ = properties.Named(found.Property)
		if best := search(t, in, &longer, c.mutant, true); len(best.witnesses) > 0 && best.witnesses[0].Smaller(w) {
			o, w = &best, best.witnesses[0]
		}
	}
	return failure(t, in, o, w)
}

// search searches, and makes witnesses if asked to. It ends the test if the search failed, or the context ended it.
func search(t TB, in *inputs.Input, c *config, mutant string, witnesses bool) outcome {
	t.Helper()
	cancelled := new(atomic.Bool)
	defer context.AfterFunc(c.ctx, func() { cancelled.Store(true) })()
	spec := specOf(in, c)
	spec.Mutant, spec.Cancelled = mutant, cancelled
	spec.Blind, spec.Stop = !witnesses, !witnesses
	var o outcome
	var err error
	if c.deviations >= 0 {
		spec.Runs = 0
		var v *proof.Verified
		if v, err = proof.Verify(proof.Proof{Spec: spec, Deviations: c.deviations}); err == nil {
			o = outcome{v.Runs, v.Points, v.Complete, v.Broken, v.Witnesses}
		}
	} else {
		var r *explore.Result
		if r, err = explore.Run(spec); err == nil {
			o = outcome{r.Runs, r.Counts.Points, true, r.Broken, r.Witnesses}
		}
	}
	if c.ctx.Err() != nil {
		t.Fatalf("%s: %v after %d schedules, which broke %s: whether others do isn't known", in.Name,
			context.Cause(c.ctx), o.runs, cmp.Or(strings.Join(slices.Sorted(maps.Keys(o.broken)), ", "), "nothing"))
	}
	if err != nil {
		t.Fatalf("%s: %v", in.Name, err)
	}
	return o
}
