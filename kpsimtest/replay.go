package kpsimtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/sched"
	"kpsim/traces"
)

// command is the program that explains a witness. A module whose go.mod says where kpsim is gets it by go get -tool,
// and runs it by go tool.
const command = "kpsim/cmd/kpsim"

// Replay runs a trace again and fails the test if the run isn't the trace's: the same events, or for a trace of an
// older kpsim the same property at the same place.
func Replay(t testing.TB, file string) {
	t.Helper()
	f, err := inputs.ReadTrace(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := replay.Play(file, f, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Rig.Close()
	if !r.Same {
		t.Errorf("%s: %s", file, r.Why)
	}
}

// Monitor draws schedules of the scenario and passes the events of the kinds to m, in order, all on one machine: m
// may keep state from run to run. A finding, whether m's or a property's, ends its run and fails the test. Deviations
// has no effect.
func Monitor(t testing.TB, scenario string, m traces.Sink, kinds []traces.Kind, options ...Option) {
	t.Helper()
	in, c := begin(t, scenario, options)
	spec := c.spec(in)
	r, err := rig.NewGoingOn(spec.Scenario, spec.Mutant, rig.GoOn{Ignored: spec.Ignore})
	if err != nil {
		t.Fatalf("%s: %v", in.Name, err)
	}
	defer r.Close()
	shape, _ := r.Survey(0)
	s, err := sched.New(spec.Strategy, sched.Params{Seed: spec.Seed, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	r.Log.Subscribe(m, kinds...)
	for i := range c.runs {
		if c.ctx.Err() != nil {
			t.Fatalf("%s: %v after %d schedules", in.Name, context.Cause(c.ctx), i)
		}
		if _, more := r.Next(s, i); !more {
			return
		}
		if r.Log.Found != nil {
			t.Errorf("%s: in schedule %d of seed %d: %s", in.Name, i+1, c.seed, r.Log.Found.Message)
			return
		}
	}
}

// write writes a file, and the folder that it is in.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return cli.WriteWhole(path, data)
}
