package search

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario/lang"
	"kpsim/properties"
	"kpsim/traces"
)

// A Witness is a violating run, shrunk: the smallest scenario that was found to
// show it, and the deviations it can't do without.
type Witness struct {
	Property *properties.Property
	Place    string // symbol and offset
	Message  string
	Digest   uint64
	Schedule []traces.Deviation
	Reduced  []traces.Deviation     // the same in the scenario as it was explored, less short
	Found    int                    // deviations of the run as it was found
	Runs     int                    // that shrinking took
	Slow     bool                   // it needs a CPU that stands still (traces.Finding)
	After    []*properties.Property // what the run breaks before, and goes on after: it may follow from that
	File     *traces.File
}

// smaller reports whether w is the better one to show.
func (w *Witness) smaller(v *Witness) bool {
	if (len(w.After) == 0) != (len(v.After) == 0) {
		return len(w.After) == 0
	}
	if w.Slow != v.Slow {
		return v.Slow
	}
	return len(w.Schedule) < len(v.Schedule)
}

// shrinkRuns and shrinkQuestions bound what shrinking a property's candidates
// may take. With long runs it is the questions that take the time, a fifth of a
// microsecond each.
const (
	shrinkRuns      = 1900
	shrinkQuestions = 100_000_000
)

// tries is how many candidates of a property are reduced, with tryRuns each; the
// smallest of each cause is then shrunk as long as there is something left, the
// smallest of all first. Which one becomes the smallest isn't seen from outside.
const (
	tries   = 6
	tryRuns = 120
)

// An effort is what shrinking may still take.
type effort struct {
	runs      int
	questions int64
	spent     int // runs
}

func (e *effort) none() bool { return e.runs <= 0 || e.questions <= 0 }

// witness makes the witness of each property that was broken.
func (r *Result) witness(spec *Spec, found map[*properties.Property][]*candidate) error {
	if spec.Blind {
		return nil
	}
	for _, p := range properties.All {
		if len(found[p]) == 0 {
			continue
		}
		w, err := shrinkBest(spec, found[p])
		if err != nil {
			return err
		}
		r.Witnesses = append(r.Witnesses, w)
		if r.Witness == nil || w.smaller(r.Witness) {
			r.Witness = w
		}
	}
	return nil
}

// shrinkBest makes the witness of several candidates.
func shrinkBest(spec *Spec, list []*candidate) (*Witness, error) {
	slices.SortFunc(list, func(a, b *candidate) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	e := &effort{runs: shrinkRuns, questions: shrinkQuestions}
	var causes []*shrinker // the best candidate of each, the best first
	defer func() {
		for _, s := range causes {
			s.close()
		}
	}()
	for _, c := range list[:min(len(list), tries)] {
		if len(causes) > 0 && e.none() {
			break
		}
		s, err := newShrinker(spec, c, e)
		if err != nil {
			return nil, err
		}
		s.within(tryRuns, s.reduce)
		s.reduced = s.cur.anchors
		i := slices.IndexFunc(causes, func(b *shrinker) bool { return b.cause == s.cause && b.slow == s.slow })
		switch {
		case i < 0:
			causes = append(causes, s)
		case s.cur.before(&causes[i].cur):
			causes[i].close()
			causes[i] = s
		default:
			s.close()
		}
	}
	better := func(a, b *shrinker) int {
		switch {
		case a.cur.before(&b.cur):
			return -1
		case b.cur.before(&a.cur):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(causes, better)
	for i, s := range causes {
		if i == 0 || !e.none() && !slices.MinFunc(causes[:i], better).enough() {
			s.finish()
		}
	}
	best := slices.MinFunc(causes, better)
	return best.witness(spec, best.from), nil
}

// enough says whether another cause needn't be tried: who reads it has three
// lines, and no CPU that stands still in them.
func (s *shrinker) enough() bool { return s.cur.cost.slow == 0 && s.cur.cost.deviations <= 3 }

// witness writes down what the shrinker has come to.
func (s *shrinker) witness(spec *Spec, c *candidate) *Witness {
	run := s.cur.run
	after := s.goesOnAfter()
	w := &Witness{
		After: after.List(), Reduced: s.reduced,
		Property: run.Property, Message: s.rig.Message(&run), Digest: run.Digest,
		Found: s.found, Runs: s.effort.spent, Slow: run.Finding.Slow, Schedule: s.cur.anchors,
	}
	if run.Finding.Place != 0 {
		w.Place = s.cur.place
	}
	w.File = &traces.File{
		Scenario: lang.Print(s.rig.Scenario), Schedule: w.Schedule,
		Property: w.Property.ID, Place: w.Place, Message: w.Message,
		Digest: w.Digest, Format: traces.ScheduleFormat,
		Origin: []traces.Remark{
			{Key: "strategy", Value: c.by},
			{Key: "seed", Value: fmt.Sprint(spec.Seed)},
			{Key: "run", Value: fmt.Sprint(c.number)},
			{Key: "deviations as found", Value: fmt.Sprint(s.found)},
			{Key: "runs of shrinking", Value: fmt.Sprint(s.effort.spent)},
		},
	}
	if lang.Print(s.rig.Scenario) != lang.Print(spec.Scenario) {
		w.File.Origin = scenarioWas(w.File.Origin, spec.Scenario)
	}
	if spec.Mutant != "" {
		w.File.Origin = append(w.File.Origin, traces.Remark{Key: traces.OriginMutant, Value: spec.Mutant})
	}
	if after != 0 {
		w.File.Origin = append(w.File.Origin, remarkIgnored(after))
	}
	return w
}

// goesOnAfter returns what the current run breaks before its property: of what is ignored
// it may pass by some.
func (s *shrinker) goesOnAfter() (after properties.Set) {
	if s.ignored == 0 {
		return 0
	}
	for range properties.All {
		s.rig.GoOnAfter(after, 0)
		run := s.rig.Play(s.anchored(s.cur.anchors))
		if run.Property == nil || run.Property == s.cause.property || !s.ignored.Has(run.Property) {
			break
		}
		after |= properties.SetOf(run.Property)
	}
	s.rig.GoOnAfter(s.ignored, 0)
	return after
}
