package explore

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
)

// A Sample holds the coverage that the runs of a part showed. It is plain data, and samples add
// up. Behaviours and visited places come from a subset of the runs, chosen by run number; event
// kinds and the places where sources fired come from all runs.
type Sample struct {
	Runs    uint64       `json:"runs"` // number of runs in the subset
	Classes Classes      `json:"classes"`
	Kinds   []string     `json:"kinds"` // event kinds seen, in numeric order
	Sources []rig.Places `json:"sources"`
}

// add joins another part's.
func (s *Sample) add(t *Sample) {
	s.Runs += t.Runs
	s.Classes.Join(&t.Classes)
	s.Kinds = union(s.Kinds, t.Kinds)
	if s.Sources == nil {
		s.Sources = make([]rig.Places, len(t.Sources))
	}
	for i := range min(len(s.Sources), len(t.Sources)) {
		p, q := &s.Sources[i], &t.Sources[i]
		p.Source, p.Fired, p.Visited = q.Source, union(p.Fired, q.Fired), union(p.Visited, q.Visited)
	}
}

// union merges lists into a sorted one without duplicates.
func union(a, b []string) []string {
	list := slices.Concat(a, b)
	slices.Sort(list)
	return slices.Compact(list)
}

// Stats estimates how much of all behaviour an exploration has seen.
type Stats struct {
	Sampled    uint64          `json:"sampled"`    // runs whose behaviour was compared
	Behaviours uint64          `json:"behaviours"` // distinct behaviours among them
	New        Chance          `json:"new"`        // that one more run shows another behaviour
	Seen       []string        `json:"events"`     // kinds of event, sorted
	Unseen     []string        `json:"events_unseen"`
	Sources    []SourceAtPlace `json:"sources"`
}

// A SourceAtPlace gives the number of places where an interrupt source could fire, and at how
// many of them it did in some run.
type SourceAtPlace struct {
	Source  string   `json:"source"`
	Fired   int      `json:"fired"`
	Visited int      `json:"places"`
	Never   []string `json:"never"` // the places where it never fired
}

// sum computes the statistics of a sample.
func (s *Sample) sum(sc *scenario.Scenario) Stats {
	st := Stats{Sampled: s.Runs, Seen: s.Kinds, Unseen: []string{}, Sources: []SourceAtPlace{}}
	all, once, twice := s.Classes.count()
	st.Behaviours = all
	st.New = unseen(s.Runs, once, twice)
	for _, k := range reachable(sc) {
		if !slices.Contains(s.Kinds, k.String()) {
			st.Unseen = append(st.Unseen, k.String())
		}
	}
	slices.Sort(st.Unseen)
	for i := range s.Sources {
		p := &s.Sources[i]
		never := []string{}
		for _, at := range p.Visited {
			if _, ok := slices.BinarySearch(p.Fired, at); !ok {
				never = append(never, at)
			}
		}
		st.Sources = append(st.Sources, SourceAtPlace{p.Source, len(p.Fired), len(p.Visited), never})
	}
	return st
}

// A watcher collects a part's Sample during the runs. For most runs it records only where sources
// fired.
type watcher struct {
	rig     *rig.Rig
	every   uint64 // one in this many runs is sampled
	off     bool
	sampled bool // this one is
	grew    bool // the machine knows more shared objects than a new one does
	runs    uint64
	classes Classes
	happens sched.Happens
	chooser sim.Chooser // decides this run
}

// begin makes the rig forget what it has seen: it serves several shards.
func (w *watcher) begin(rig *rig.Rig, spec *Spec) {
	*w = watcher{rig: rig, every: sampledOf(spec.Runs), off: spec.Blind}
	rig.ForgetSeen()
}

// sampledOf returns n such that one run in n is sampled. It aims at a few thousand sampled runs,
// with two bounds: at most one in 256, which costs 2 % of the time (an observed run takes three
// to five times as long), and at least about 32, as fewer say nothing.
func sampledOf(runs uint64) uint64 {
	return min(max(runs/1024, 256), max(runs/32, 1))
}

// Sample implements rig.Watcher. The choice is irregular because strategies take regular turns.
func (w *watcher) Sample(i uint64) bool {
	w.sampled = !w.off && sim.Mix(i+1)%w.every == 0
	return w.sampled
}

// Over implements rig.Watcher.
func (w *watcher) Over(ch sim.Chooser) sim.Chooser {
	w.happens.Reset()
	w.rig.Observe(&w.happens)
	w.chooser = ch
	return w
}

// Choose implements sim.Chooser. It never holds, and so sees every boundary that is asked about.
func (w *watcher) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Step && p.Moves[2] != 0 {
		w.rig.Arrivals.Visit(p.Moves[2])
	}
	pick, _ = w.chooser.Choose(p)
	w.happens.Chose(p, pick)
	return pick, 0
}

// done ends a run.
func (w *watcher) done() {
	if !w.sampled {
		return
	}
	if w.rig.Machine.Footprint().SharedGrew() { // the steps so far haven't reported everything they touched
		w.grew = true
		w.runs, w.classes = 0, Classes{}
		return
	}
	w.runs++
	hi, lo := w.happens.Hash()
	w.classes.Add(hi ^ lo)
}

// end stores what was seen in the part.
func (w *watcher) end(p *Part) {
	w.rig.Observe(nil)
	p.End()
	p.Probes = w.rig.Census.Probed()
	if w.off {
		return
	}
	p.Stats = Sample{Runs: w.runs, Classes: w.classes, Sources: w.rig.Arrivals.List()}
	for _, r := range reaches {
		if w.rig.Log.Seen(r.kind) {
			p.Stats.Kinds = append(p.Stats.Kinds, r.kind.String())
		}
	}
	slices.Sort(p.Stats.Kinds)
}
