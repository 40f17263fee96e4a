package inputs

import (
	"kpsim/internal/cli"
	"kpsim/internal/search/replay"
	"kpsim/linux"
	"kpsim/linux/source"
	"kpsim/traces/view"
)

// Sources say where the source of a trace's kernel is.
type Sources struct {
	Source cli.FileName `placeholder:"DIR" help:"Of a kernel's trace: the folder of its source, to print the text of each line that is named. Default: what lies beside the objects and isn't newer; without objects, what scripts/fetch-kernel-source has fetched."`
}

// Follow adds what is known of a replay whose engine is a kernel's own: what that calls,
// and where in its C.
func (f *Sources) Follow(r *replay.Replay, in *view.Input) {
	m := &r.Rig.Scenario.Machine
	if m.Engine != linux.Row.Name {
		return
	}
	if k, err := linux.Given(m.Image); err == nil { // it was found when it was run
		r.Follow(source.Of(k, string(f.Source)), in)
	}
}
