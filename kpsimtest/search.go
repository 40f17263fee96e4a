package kpsimtest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

func init() { inputs.InCode() }

// Never fails the test if a schedule of the scenario breaks a property. The shrunk witness of each is written to
// testdata. If the scenario says never(canary = …) and schedules are drawn, the search is also made with that mutant,
// and must find it: otherwise it is blind.
func Never(t testing.TB, scenario string, options ...Option) {
	t.Helper()
	in, c := begin(t, scenario, options)
	o := c.search(t, in, c.mutant, true)
	for _, w := range o.witnesses {
		t.Errorf("%s: %s at %s, in %d of %d schedules: %s\n%s",
			in.Name, w.Property.Name, w.Place, o.broken[w.Property.Name], o.runs, w.Message, saved(t, in, w))
	}
	if c.deviations >= 0 && !o.complete && !t.Failed() {
		t.Errorf("%s: not every schedule of at most %d deviations was run: %d were", in.Name, c.deviations, o.runs)
	}
	if canary := in.Expect.Canary; canary != "" && c.mutant == "" && c.deviations < 0 && len(o.witnesses) == 0 {
		if len(c.search(t, in, canary, false).broken) == 0 {
			t.Errorf("%s: the search is blind: with its canary %s nothing is broken, either; give it more Runs",
				in.Name, canary)
		}
	}
}

// Sometimes fails the test if no schedule of the scenario breaks the property, given
// by name or ID.
func Sometimes(t testing.TB, scenario, property string, options ...Option) {
	t.Helper()
	in, c := begin(t, scenario, append(options[:len(options):len(options)], Properties(property)))
	if o := c.search(t, in, c.mutant, false); len(o.broken) == 0 {
		t.Errorf("%s: none of %d schedules breaks %s", in.Name, o.runs, property)
	}
}

// begin loads a scenario and checks what can be checked before the search. It ends the test if something is wrong
// with the scenario or an option.
func begin(t testing.TB, source string, options []Option) (*inputs.Input, *config) {
	t.Helper()
	c, err := newConfig(options)
	if err != nil {
		t.Fatal(err)
	}
	in, err := load(t.Name(), source)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.prepare(in); err != nil {
		t.Fatal(err)
	}
	return in, c
}

// load loads a scenario: text if it has a parenthesis, and otherwise a name.
func load(test, source string) (*inputs.Input, error) {
	if !strings.Contains(source, "(") {
		list, err := inputs.Load([]string{source})
		if err != nil {
			return nil, err
		}
		if len(list) > 1 {
			return nil, fmt.Errorf("%s is a family of %d scenarios; name one, as %s", source, len(list), list[0].Name)
		}
		return list[0], nil
	}
	s, err := lang.LoadUsed(inputs.TraceName(test)+".star", []byte(source), inputs.Beside("."))
	if err != nil {
		return nil, err
	}
	if err := s.Expect.CheckNames(inputs.PropertyNames(), mutants.Known()); err != nil {
		return nil, err
	}
	return &inputs.Input{Scenario: s, Arg: s.Name}, nil
}

// prepare applies the options to a scenario and runs its default schedule, which
// shows whether it can be run and whether anything is probed.
func (c *config) prepare(in *inputs.Input) error {
	if c.fetch != "" {
		if err := in.SetFetch(c.fetch); err != nil {
			return err
		}
	}
	if c.memory != "" {
		if err := in.SetMemory(c.memory); err != nil {
			return fmt.Errorf("Memory: %w", err)
		}
	}
	if c.kernel != "" {
		if err := in.SetEdition(c.kernel); err != nil {
			return fmt.Errorf("Kernel: %s: %w", in.Name, err)
		}
	}
	r, err := rig.New(in.Scenario, c.mutant)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	defer r.Close()
	if run := r.Run(new(sched.Default)); run.Outcome == smp.Refused {
		return fmt.Errorf("%s: %w", in.Name, run.Err)
	}
	return in.RefusedAlways(r.Census.Probed())
}

// An outcome is the result of a search.
type outcome struct {
	runs      uint64
	complete  bool // every requested schedule was run
	broken    map[string]uint64
	witnesses []*shrink.Witness
}

// spec is the search that the options describe.
func (c *config) spec(in *inputs.Input) explore.Spec {
	return explore.Spec{Scenario: in.Scenario, Mutant: c.mutant, Strategy: c.strategy, Runs: c.runs, Seed: c.seed,
		Ignore: properties.Every &^ c.judged}
}

// search searches, and makes witnesses if asked to. It ends the test if the search failed, or the
// context ended it.
func (c *config) search(t testing.TB, in *inputs.Input, mutant string, witnesses bool) outcome {
	t.Helper()
	cancelled := new(atomic.Bool)
	defer context.AfterFunc(c.ctx, func() { cancelled.Store(true) })()
	spec := c.spec(in)
	spec.Mutant, spec.Cancelled = mutant, cancelled
	spec.Blind, spec.Stop = !witnesses, !witnesses
	var o outcome
	var err error
	if c.deviations >= 0 {
		spec.Runs = 0
		var v *proof.Verified
		if v, err = proof.Verify(proof.Proof{Spec: spec, Deviations: c.deviations}); err == nil {
			o = outcome{v.Runs, v.Complete, v.Broken, v.Witnesses}
		}
	} else {
		var r *explore.Result
		if r, err = explore.Run(spec); err == nil {
			o = outcome{r.Runs, true, r.Broken, r.Witnesses}
		}
	}
	if c.ctx.Err() != nil {
		t.Fatalf("%s: %v after %d schedules", in.Name, context.Cause(c.ctx), o.runs)
	}
	if err != nil {
		t.Fatalf("%s: %v", in.Name, err)
	}
	return o
}

// saved writes a witness to testdata and returns how to look at it.
func saved(t testing.TB, in *inputs.Input, w *shrink.Witness) string {
	in.FoundIn(w.File)
	path := filepath.Join("testdata", inputs.TraceName(in.Name+"-"+w.Property.Name)+".kps")
	text, err := inputs.TraceText(path, w.File)
	if err == nil {
		err = write(path, text)
	}
	if err != nil {
		return fmt.Sprintf("    its trace can't be saved: %v:\n%s", err, text)
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // a line is typed anywhere in the module
	}
	var deviations strings.Builder
	for line := range strings.Lines(traces.FormatSchedule(w.Schedule)) {
		deviations.WriteString("    " + line)
	}
	return fmt.Sprintf("%s    to see why:  go get -tool %s && %s",
		&deviations, command, cli.Line("go tool kpsim explain", path))
}
