package replay

import (
	"fmt"
	"slices"

	"kpsim/sched"
	"kpsim/smp"
	"kpsim/traces"
)

// A Neighbour is a run near that of a trace that breaks nothing.
type Neighbour struct {
	*Replay
	Without []int  // the deviations of the trace, from 0, that this run lacks
	Mutant  string // or else the mutant that this run lacks
}

// Nearest makes the run nearest to a trace's that breaks no property. It omits one deviation, a
// late one if possible, so that the runs agree for long; or else the last two, three, or all of
// them. If each of these runs breaks something, it keeps all deviations and omits the trace's
// mutant. Events are kept. Errors are about the file. nil, nil means that no such run breaks
// nothing.
func Nearest(name string, f *traces.File) (*Neighbour, error) {
	rig, err := Open(name, f)
	if err != nil {
		return nil, err
	}
	rig.Log.Store = true
	r := &Replay{Rig: rig}
	all := f.Schedule
	l := sched.NewLabeller(sched.NewAnchored(all, rig.Machine.Names()), rig.Machine.Names())
	rig.Play(l)
	links, left := slices.Clone(l.Links()), manyRuns
	for i := len(all) - 1; i >= 0; i-- {
		if r.passes(sched.NewAnchored(slices.Delete(slices.Clone(all), i, i+1), rig.Machine.Names())) ||
			len(links) == len(all) &&
				r.passes(sched.NewChain(slices.Delete(slices.Clone(links), i, i+1), rig.Machine.Names())) {
			return &Neighbour{Replay: r, Without: []int{i}}, nil
		}
		if err := left.spend(&r.Run); err != nil {
			rig.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for n := len(all) - 2; n >= 0; n-- {
		if r.passes(sched.NewAnchored(all[:n], rig.Machine.Names())) {
			gone := &Neighbour{Replay: r}
			for i := n; i < len(all); i++ {
				gone.Without = append(gone.Without, i)
			}
			return gone, nil
		}
		if err := left.spend(&r.Run); err != nil {
			rig.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	rig.Close()
	mutant := f.Remark(traces.OriginMutant)
	if mutant == "" {
		return nil, nil
	}
	if rig, err = openAs(name, f, ""); err != nil {
		return nil, err
	}
	rig.Log.Store = true
	if r = (&Replay{Rig: rig}); r.passes(sched.NewAnchored(all, rig.Machine.Names())) {
		return &Neighbour{Replay: r, Mutant: mutant}, nil
	}
	rig.Close()
	return nil, nil
}

// passes makes a run and reports whether it breaks nothing.
func (r *Replay) passes(s sched.Strategy) bool {
	l := sched.NewLabeller(s, r.Rig.Machine.Names())
	r.Run = r.Rig.Play(l)
	r.Taken = slices.Clone(l.Anchors())
	r.Same = true
	return r.Property == nil && r.Outcome == smp.Passed
}

// Says describes what the run lacks.
func (n *Neighbour) Says() string {
	switch {
	case n.Mutant != "":
		return "without mutant " + n.Mutant
	case len(n.Without) == 1:
		return fmt.Sprintf("without deviation %d", n.Without[0]+1)
	}
	return fmt.Sprintf("without deviations %d to %d", n.Without[0]+1, n.Without[len(n.Without)-1]+1)
}
