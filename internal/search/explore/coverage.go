package explore

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
)

// A Sample is what the runs of a part showed about coverage. It is plain data,
// and adds up. Behaviours and the places that were visited are those of some of
// the runs, which are chosen by their numbers; kinds of event and the places
// where sources fired are those of all.
type Sample struct {
	Runs    uint64       `json:"runs"` // how many were sampled
	Classes Classes      `json:"classes"`
	Kinds   []string     `json:"kinds"` // of event that were seen, in the order of their numbers
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

// union joins lists into a sorted one.
func union(a, b []string) []string {
	list := slices.Concat(a, b)
	slices.Sort(list)
	return slices.Compact(list)
}

// Stats estimate how much of all behaviours an exploration has seen.
type Stats struct {
	Sampled    uint64          `json:"sampled"`    // how many runs were compared as behaviours
	Behaviours uint64          `json:"behaviours"` // and how many different ones they were
	New        Chance          `json:"new"`        // that one more run is a behaviour that isn't among them
	Seen       []string        `json:"events"`     // kinds of event, sorted
	Unseen     []string        `json:"events_unseen"`
	Sources    []SourceAtPlace `json:"sources"`
}

// A SourceAtPlace says at how many of the places where a source of interrupts
// could fire it did, in some run.
type SourceAtPlace struct {
	Source  string   `json:"source"`
	Fired   int      `json:"fired"`
	Visited int      `json:"places"`
	Never   []string `json:"never"` // the places where it didn't
}

// sum makes figures of a sample.
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

// A watcher makes the Sample of a part while it is run. Of most runs it takes
// down no more than where sources have fired.
type watcher struct {
	rig     *rig.Rig
	every   uint64 // one run in so many is sampled
	off     bool
	sampled bool // this one is
	grew    bool // the machine knows of more that is shared than a new one
	runs    uint64
	classes Classes
	happens sched.Happens
	chooser sim.Chooser // that decides this run
}

// begin makes the rig forget what it has seen: it serves several shards.
func (w *watcher) begin(rig *rig.Rig, spec *Spec) {
	*w = watcher{rig: rig, every: sampledOf(spec.Runs), off: spec.Blind}
	rig.ForgetSeen()
}

// sampledOf says one of how many runs is sampled: so that there are some
// thousand, but no more than one of 256, which costs 2 % of the time, for a run
// that is observed takes three to five times as long; but at least some 32, for
// of fewer nothing can be said.
func sampledOf(runs uint64) uint64 {
	return min(max(runs/1024, 256), max(runs/32, 1))
}

// Sample implements rig.Watcher. A regular choice would miss much: strategies take
// regular turns.
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

// Choose implements sim.Chooser. It holds nothing, and so sees each boundary
// that is asked about.
func (w *watcher) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Step && p.Moves[2] != 0 {
		w.rig.CouldFire(p.Moves[2])
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
	if w.rig.Machine.Footprint().SharedGrew() { // the steps so far haven't reported all that they touched
		w.grew = true
		w.runs, w.classes = 0, Classes{}
		return
	}
	w.runs++
	hi, lo := w.happens.Hash()
	w.classes.Add(hi ^ lo)
}

// end puts what was seen into the part.
func (w *watcher) end(p *Part) {
	w.rig.Observe(nil)
	p.End()
	p.Probes = w.rig.Probed()
	if w.off {
		return
	}
	p.Stats = Sample{Runs: w.runs, Classes: w.classes, Sources: w.rig.Arrivals()}
	for _, r := range reaches {
		if w.rig.Log.Seen(r.kind) {
			p.Stats.Kinds = append(p.Stats.Kinds, r.kind.String())
		}
	}
	slices.Sort(p.Stats.Kinds)
}
