package replay

import (
	"cmp"
	"slices"

	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/traces"
)

// A seeker searches for the run of a trace file in a program that has changed since: a function
// gained an instruction, a routine a step, a task another name. It first follows the file
// exactly, then moves the deviations that weren't reached, one after another.
// weren't reached, one after the other.
type seeker struct {
	r      *Replay
	f      *traces.File
	left   int                // runs left
	steps  uint64             // boundaries of all runs so far
	played []traces.Deviation // the anchors that near played in the last run
}

// seekRuns is the maximum number of runs of one search.
const seekRuns = 400

// seekSteps is the maximum number of boundaries of these runs, which limits long runs.
const seekSteps = 2 * rig.TraceSteps

// seek plays the anchors until a run ends as the file says. Failing that, it ends with a run that
// breaks the property at its place or, with anyPlace, elsewhere; or else with the run that
// follows the file exactly.
func (s *seeker) seek(anchors []traces.Deviation, anyPlace bool) {
	r := s.r
	a := sched.NewAnchored(anchors, r.Rig.Machine.Names())
	s.run(a, 0)
	if m, ok := a.FirstMiss(); ok {
		r.Miss, r.Places = &m, a.Places()
	}
	// A session that saves a run doesn't know yet what it breaks.
	if r.Same || s.f.Format == 0 && s.f.Property == traces.NoProperty {
		return
	}
	breaks, other, there, elsewhere := uint64(0), uint64(0), r.Breaks, r.BreaksProperty(s.f)
	for i := uint64(1); s.left > 0 && s.run(a, i); i++ {
		switch {
		case r.Same:
			return
		case r.Breaks && !there:
			there, breaks = true, i
		case r.BreaksProperty(s.f) && !elsewhere:
			elsewhere, other = true, i
		}
	}
	if there {
		s.rewind(a, breaks)
		return
	}
	if s.near(anchors, 0, func() bool { return r.Breaks }) {
		s.moved(anchors)
		return
	}
	if anyPlace {
		if elsewhere {
			s.rewind(a, other)
			return
		}
		s.left = seekRuns
		if s.near(anchors, 0, func() bool { return r.BreaksProperty(s.f) }) {
			s.moved(anchors)
			return
		}
	}
	s.rewind(a, 0)
}

// moved reports the anchors that the last run replaced.
func (s *seeker) moved(anchors []traces.Deviation) {
	drifts := s.r.Drifts
	s.r.Drifts = nil
	for i := range anchors {
		k := slices.IndexFunc(drifts, func(d sched.Drift) bool { return d.Index == i })
		switch {
		case k >= 0:
			s.r.Drifts = append(s.r.Drifts, drifts[k])
		case s.played[i] != anchors[i]:
			s.r.Drifts = append(s.r.Drifts, sched.Drift{Index: i, Kind: sched.Moved, Off: s.played[i].Off,
				Times: s.played[i].Occ})
		}
	}
}

// BreaksProperty reports whether the run breaks the file's property, at any place.
func (r *Replay) BreaksProperty(f *traces.File) bool {
	return r.Property != nil && r.Property.ID == f.Property
}

// run makes one run and returns its result.
func (s *seeker) run(a *sched.Anchored, i uint64) bool {
	if !s.r.play(a, i) {
		return false
	}
	s.pay(&s.r.Run)
	s.r.compare(s.f)
	return true
}

// pay subtracts a run from the budget.
func (s *seeker) pay(run *rig.Run) {
	s.left--
	if s.steps += run.Counts.Boundaries; s.steps > seekSteps {
		s.left = 0
	}
}

// rewind makes run i of a strategy again, after the runs that precede it.
func (s *seeker) rewind(a *sched.Anchored, i uint64) {
	for k := range i + 1 {
		s.run(a, k)
	}
}

// Near searches, in at most the given number of runs, for a run near a schedule that found
// accepts. It first moves the deviations that aren't met, then single ones.
func Near(rig *rig.Rig, schedule []traces.Deviation, runs int, found func(r *Replay) bool) bool {
	r := &Replay{Rig: rig}
	s := &seeker{r: r, f: new(traces.File), left: runs}
	return s.near(schedule, 0, func() bool { return found(r) })
}

// optionsMost is the maximum number of places tried for one deviation.
const optionsMost = 24

// near tries other places for the first unreached deviation from number from on, then for those
// before it, which may have led elsewhere; if all are reached, for each of them. It stops when
// found returns true. Once a deviation is met that wasn't before, it continues with the next
// unmet one.
func (s *seeker) near(anchors []traces.Deviation, from int, found func() bool) bool {
	a := sched.NewAnchored(anchors, s.r.Rig.Machine.Names())
	s.run(a, 0)
	m, missed := a.FirstMiss()
	if missed && m.Index < from {
		return false
	}
	var order []int
	for i := from; i < len(anchors) && !(missed && i > m.Index); i++ {
		order = append(order, i)
	}
	if missed {
		slices.Reverse(order)
	}
	for _, i := range order {
		if s.left <= 0 {
			return false
		}
		options := s.options(anchors, i)
		if missed && i == m.Index {
			options = append(instead(&anchors[i], &m), options...)
		}
		for _, o := range options {
			if s.left <= 0 {
				return false
			}
			try := slices.Clone(anchors)
			try[i] = o
			s.played = try
			a := sched.NewAnchored(try, s.r.Rig.Machine.Names())
			s.run(a, 0)
			if found() {
				return true
			}
			if next, ok := a.FirstMiss(); missed && i == m.Index && ok && next.Index > i && s.near(try, i+1, found) {
				return true
			}
		}
	}
	return false
}

// instead returns the other alternatives at a deviation that was reached but lacked its
// alternative: it may only have mattered that its mover doesn't continue.
func instead(was *traces.Deviation, m *sched.Miss) (list []traces.Deviation) {
	for k := 1; k < len(m.Alts); k++ {
		o := *was
		o.Alt = m.Alts[k]
		list = append(list, o)
	}
	return list
}

// options returns other questions that deviation i may have been meant for: questions of its
// mover with its alternative. Those in its function or routine come first, and among them those
// the fewest steps and times away.
func (s *seeker) options(anchors []traces.Deviation, i int) []traces.Deviation {
	l := sched.NewLabeller(sched.NewAnchored(anchors[:i], s.r.Rig.Machine.Names()), s.r.Rig.Machine.Names())
	l.All = true
	run := s.r.Rig.Play(l)
	s.pay(&run)
	was := &anchors[i]
	var list []traces.Deviation
	for _, v := range l.Visits() {
		if v.Pick == 0 && v.Mover == was.Mover && v.Kind == was.Kind && slices.Contains(v.Alts[1:], was.Alt) {
			o := v.Deviation
			if o.Alt = was.Alt; o != *was {
				list = append(list, o)
			}
		}
	}
	elsewhere := func(a *traces.Deviation) int {
		if a.Name == was.Name && a.Text == was.Text {
			return 0
		}
		return 1
	}
	abs := func(a, b int) int { return max(a, b) - min(a, b) }
	away := func(a *traces.Deviation) int { return abs(a.Off, was.Off) + abs(a.Occ, was.Occ) }
	slices.SortStableFunc(list, func(a, b traces.Deviation) int {
		return cmp.Or(cmp.Compare(elsewhere(&a), elsewhere(&b)), cmp.Compare(away(&a), away(&b)))
	})
	return list[:min(len(list), optionsMost)]
}
