package kpsimtest

import (
	"os"
	"path/filepath"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/sched"
	"kpsim/traces"
)

// Replay runs a trace again and fails the test if the run isn't the trace's: the same events, or for a trace of an
// older kpsim the same property at the same place.
func Replay(t TB, file string) {
	t.Helper()
	f, err := inputs.ReadTrace(file)
	if err != nil {
		t.Fatalf("%v", err)
	}
	r, err := replay.Play(file, f, false)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer r.Rig.Close()
	if !r.Same {
		t.Errorf("%s: %s", file, r.Why)
	}
}

// playWitness runs the schedule of a trace on the scenario that is searched. It fails the test if the run breaks the
// trace's property.
func playWitness(t TB, in *inputs.Input, c *config) {
	t.Helper()
	f, err := inputs.ReadTrace(c.witness)
	if err != nil {
		t.Fatalf("Witness: %v", err)
	}
	now := &traces.File{Scenario: lang.Print(in.Scenario), Schedule: f.Schedule, Property: f.Property, Place: f.Place,
		Message: f.Message, Digest: f.Digest, Format: f.Format}
	if c.mutant != "" {
		now.Origin = []traces.Remark{{Key: traces.OriginMutant, Value: c.mutant}}
	}
	r, err := replay.PlayAnyPlace(in.Name, now)
	if err != nil {
		t.Fatalf("Witness: %v", err)
	}
	defer r.Rig.Close()
	if r.BreaksProperty(now) {
		t.Errorf("%s: the schedule of %s breaks %s still: %s\n    to see why:  %s", in.Name, c.witness, r.Property.Name,
			r.Message, explains(c.witness))
	}
}

// Monitor draws schedules of the scenario and passes the events of the kinds to m, in order, all on one machine: m
// may keep state from run to run. A finding, whether m's or a property's, ends its run and fails the test. Deviations
// has no effect.
func Monitor[S Scenario](t TB, scenario S, m traces.Sink, kinds []traces.Kind, options ...Option) {
	t.Helper()
	in, c := begin(t, scenario, options)
	listen := func(r *rig.Rig) { r.Log.Subscribe(m, kinds...) }
	draw(t, in, c, listen, func(r *rig.Rig, i uint64, _ *rig.Run, _ *sched.Recorder) bool {
		t.Helper()
		if r.Log.Found != nil {
			t.Errorf("%s: in schedule %d of seed %d: %s", in.Name, i+1, c.seed, r.Readable(r.Log.Found.Message))
		}
		return r.Log.Found == nil
	})
}

// write writes a file, and the folder that it is in.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return cli.WriteWhole(path, data)
}
