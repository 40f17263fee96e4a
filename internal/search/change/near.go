package change

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/traces"
)

const (
	nearRuns  = 600        // maximum number of runs of each side near a witness' schedule
	nearLeast = 64         // fewer aren't worth it
	nearMost  = 20_000_000 // maximum number of questions of both sides
)

// near compares both sides near a witness' schedule. Each run keeps some of the schedule's first deviations, never
// all, and goes on at random, so the violation has to come about anew. Each side keeps its own run along the schedule,
// and both sides keep as many deviations and make as many runs. What one side can't follow, neither keeps: the runs
// of the two would begin at different places.
func (s *Search) near(b *Break, k kind, sc *scenario.Scenario) (verdict, error) {
	b.Near = &Break{Property: b.Property, Words: b.Words}
	var sides [2]*near
	for i, of := range []struct {
		kernel *linux.Kernel
		mutant string
	}{{s.Kernel, s.Mutant}, {s.Base, ""}} {
		n, err := s.follow(sc, b.Witness, of.kernel, of.mutant)
		if err != nil || n == nil {
			return unsure, err
		}
		defer n.rig.Close()
		sides[i] = n
	}
	cuts := min(sides[0].met, sides[1].met, len(b.Witness.File.Schedule)-1) + 1
	asked := max(sides[0].rec.Asked+sides[1].rec.Asked, 1)
	runs := min(nearRuns, nearMost/asked)
	if cuts < 2 || runs < nearLeast {
		return unsure, nil // without a deviation that is kept these are runs of the witness' program
	}
	for i := range runs {
		for j, n := range sides {
			if s.cancelled() {
				return unsure, nil
			}
			breaks := b2u(n.breaks(k, i, cuts))
			if j == 0 {
				b.Near.Runs, b.Near.Violations = b.Near.Runs+1, b.Near.Violations+breaks
			} else {
				b.Near.BaseRuns, b.Near.Base = b.Near.BaseRuns+1, b.Near.Base+breaks
			}
		}
	}
	switch {
	case s.Odds.Worse(b.Near):
		return worse, nil
	case b.Near.Base > 0 && !b.Near.Open():
		return known, nil
	}
	return unsure, nil
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// A near is a side's run along a witness' schedule, and continuations of its beginnings.
type near struct {
	rig    *rig.Rig
	rec    *sched.Recording
	met    int // number of the schedule's first deviations that it has
	prefix *sched.Prefix
}

// follow runs a witness' program on a kernel along its schedule, and records the run. It returns nil if the program
// can't be run there.
func (s *Search) follow(sc *scenario.Scenario, w *shrink.Witness, k *linux.Kernel, mutant string) (*near, error) {
	other := *sc
	if other.SetLinux(k) != nil {
		return nil, nil
	}
	f := *w.File
	f.Scenario = lang.Print(&other)
	if mutant == "" {
		f.Origin = slices.DeleteFunc(slices.Clone(f.Origin), func(r traces.Remark) bool {
			return r.Key == traces.OriginMutant
		})
	}
	r, err := replay.PlayAnyPlace(other.Name, &f)
	if err != nil {
		return nil, nil //nolint:nilerr // it can't be run on this kernel
	}
	defer r.Rig.Close()
	n := &near{met: len(f.Schedule)}
	for _, d := range r.Drifts {
		if d.Kind != sched.Moved {
			n.met = min(n.met, d.Index)
		}
	}
	if n.rig, err = rig.NewGoingOn(r.Rig.Scenario, mutant, r.Rig.Judges.GoOn); err != nil {
		return nil, err
	}
	rec := &sched.Recorder{Strategy: sched.NewAnchored(r.Taken, n.rig.Machine.Names()), All: true}
	n.rig.Play(rec)
	n.rec = rec.Recording()
	n.met = min(n.met, len(n.rec.Choices))
	n.prefix = sched.NewPrefix(n.rec, sched.Continuations(sched.Params{Seed: s.Seed, Length: n.rec.Asked})...)
	return n, nil
}

// breaks makes run i, which keeps as many of the deviations as run i of any other side with as many, and reports
// whether it breaks the property.
func (n *near) breaks(k kind, i uint64, cuts int) (yes bool) {
	cut := 0
	if kept := i % uint64(cuts); kept > 0 {
		cut = int(n.rec.Choices[kept-1].Seq) + 1
	}
	n.prefix.Cut(cut)
	i /= uint64(cuts)
	n.prefix.Begin(i)
	run := n.rig.Run(n.prefix)
	n.prefix.End(run.Counts.Points)
	run.EachBroken(func(p *properties.Property, f *traces.Finding, _ properties.Set) {
		yes = yes || p.Name == k.property && n.rig.ReadsAs(f.Message) == k.words
	})
	return yes
}
