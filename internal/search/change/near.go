package change

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/linux"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces"
)

const (
	nearRuns  = 600          // maximum number of runs of each side near a witness' schedule
	nearLeast = 64           // fewer aren't worth it
	nearFirst = 16           // runs with the change by which a way is chosen
	nearAlike = 8            // if more of these break the property, the deviation that is drawn matters too little
	nearMost  = 60 * Million // maximum cost of both sides
)

// near compares both sides near a witness' schedule. Each side keeps its own run along the schedule. There are two
// sorts of ways to leave it: a run keeps some of the schedule's first deviations, never all, and goes on at random;
// or it keeps all but one, which is drawn anew (sched.Nudged). So the violation has to come about anew. A few runs
// with the change show which way leads to it; further runs of both sides go that way, and they alone count. What one
// side can't follow, neither keeps: the runs of the two would begin at different places. A change that only moves
// the places where a schedule is anchored must not be accused: a deviation that may stand nearly anywhere isn't drawn.
func (s *Search) near(b *Break, k kind, sc *scenario.Scenario, most uint64) (is verdict, took uint64, err error) {
	b.Near = &Break{Property: b.Property, Words: b.Words}
	var both [2]*near
	for i, of := range []struct {
		kernel *linux.Kernel
		mutant string
	}{{s.Kernel, s.Mutant}, {s.Base, ""}} {
		n, err := s.follow(sc, b.Witness, of.kernel, of.mutant)
		if err != nil || n == nil {
			return unsure, 0, err
		}
		defer n.rig.Close()
		both[i] = n
	}
	most = min(most, nearMost)
	w, took := s.chosen(k, both, most)
	runs := min(nearRuns, (most-min(took, most))/(both[0].cost+both[1].cost))
	if w == nil || runs < nearLeast {
		return unsure, took, nil
	}
	took += runs * (both[0].cost + both[1].cost)
	for i := range runs {
		for j, n := range both {
			if s.cancelled() {
				return unsure, took, nil
			}
			breaks := b2u(n.breaks(k, *w, nearFirst+i))
			if j == 0 {
				b.Near.Runs, b.Near.Violations = b.Near.Runs+1, b.Near.Violations+breaks
			} else {
				b.Near.BaseRuns, b.Near.Base = b.Near.BaseRuns+1, b.Near.Base+breaks
			}
		}
	}
	switch {
	case s.Odds.Worse(b.Near):
		return worse, took, nil
	case b.Near.Base > 0 && !b.Near.Open():
		return known, took, nil
	}
	return unsure, took, nil
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// A way leaves a witness' schedule.
type way struct {
	drawn bool // one deviation is drawn anew
	of    int  // its index; or the number of deviations that are kept
}

// ways returns the ways that both sides can go. Without a deviation that is kept, runs would be runs of the witness'
// program.
func ways(both [2]*near) (list []way) {
	met := min(both[0].met, both[1].met)
	for kept := 1; kept <= min(met, len(both[0].rec.Choices)-1); kept++ {
		list = append(list, way{of: kept})
	}
	if n := both[0].nudged.Deviations(); n > 1 && met == n && both[1].nudged.Deviations() == n {
		for of := range n {
			list = append(list, way{drawn: true, of: of})
		}
	}
	return list
}

// chosen returns the way on which most of the first runs with the change break the property, nil if none does, and
// what these cost. It tries no way that would make them cost more than half of limit.
func (s *Search) chosen(k kind, both [2]*near, limit uint64) (best *way, took uint64) {
	most := 0
	for _, w := range ways(both) {
		if took += nearFirst * both[0].cost; took > limit/2 {
			break
		}
		breaks := 0
		for i := range uint64(nearFirst) {
			if s.cancelled() {
				return nil, took
			}
			if both[0].breaks(k, w, i) {
				breaks++
			}
		}
		if breaks > most && !(w.drawn && breaks > nearAlike) {
			best, most = &w, breaks
		}
	}
	return best, took
}

// A near is a side's run along a witness' schedule, and the runs that leave it.
type near struct {
	rig    *rig.Rig
	rec    *sched.Recording
	cost   uint64
	met    int // number of the schedule's first deviations that it has
	prefix *sched.Prefix
	nudged *sched.Nudged
}

// follow runs a witness' program on a kernel along its schedule, and records the run. It returns nil if the program
// can't be run there.
func (s *Search) follow(sc *scenario.Scenario, w *shrink.Witness, k *linux.Kernel, mutant string) (*near, error) {
	other := *sc
	if onlinux.Set(&other, k) != nil {
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
	counts := n.rig.Machine.Counts()
	n.cost = costOf(&counts, 1)
	n.met = min(n.met, len(n.rec.Choices))
	n.prefix = sched.NewPrefix(n.rec, sched.Continuations(sched.Params{Seed: s.Seed, Length: n.rec.Asked})...)
	n.nudged = sched.NewNudged(n.rec, sim.Mix(s.Seed))
	return n, nil
}

// breaks makes run i of a way, and reports whether it breaks the property.
func (n *near) breaks(k kind, w way, i uint64) (yes bool) {
	var strategy sched.Strategy = n.prefix
	if w.drawn {
		n.nudged.Of(w.of)
		strategy = n.nudged
	} else {
		n.prefix.Cut(int(n.rec.Choices[w.of-1].Seq) + 1)
	}
	strategy.Begin(i)
	run := n.rig.Run(strategy)
	strategy.End(run.Counts.Points)
	run.EachBroken(func(p *properties.Property, f *traces.Finding, _ properties.Set) {
		yes = yes || p.Name == k.property && n.rig.ReadsAs(f.Message) == k.words
	})
	return yes
}
