package kernels

import (
	"errors"

	"kpsim/internal/search/calls"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
	"kpsim/linux"
	"kpsim/linux/source"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces/view"
)

// Sources holds the flags that locate the source of a trace's kernel.
type Sources struct {
	Source cli.FileName `placeholder:"DIR" help:"The folder of a kernel's source, for a trace of that kernel: prints the text of each line that is named. Default: the sources beside the objects that aren't newer; without objects, those that scripts/fetch-kernel-source has fetched."`
}

// Follow adds the calls of a kernel's own engine, and their places in its C source, to a replay.
func (f *Sources) Follow(r *replay.Replay, in *view.Input) {
	m := &r.Rig.Scenario.Machine
	if !m.Guest() {
		return
	}
	if k, err := linux.Given(m.Image); err == nil { // opened when the trace was run
		calls.Follow(r, source.Of(k, string(f.Source)), in)
	}
}

// Ran lists the code that a replay's run consisted of, if it is of a kernel's own engine.
func (f *Sources) Ran(r *replay.Replay) (*calls.Ran, error) {
	ran, run, err := Watch(r.Rig, sched.NewAnchored(r.Taken, r.Rig.Machine.Names()), string(f.Source))
	if err == nil && run.Digest != r.Digest {
		sim.Bug("what ran: the run has digest %016x, the replay had %016x", run.Digest, r.Digest)
	}
	return ran, err
}

// Watch makes the first run of a strategy on a kernel's own engine, and lists the code that it consisted of.
func Watch(g *rig.Rig, by sched.Strategy, dir string) (*calls.Ran, rig.Run, error) {
	m := &g.Scenario.Machine
	if !m.Guest() {
		return nil, rig.Run{}, errors.New("--functions: this run is of kpsim's own engine, which is written in Go; " +
			"functions are those of a kernel's (--kernel)")
	}
	k, err := linux.Given(m.Image)
	if err != nil {
		return nil, rig.Run{}, err
	}
	ran, run := calls.Watch(g, by, source.Of(k, dir))
	return ran, run, nil
}
