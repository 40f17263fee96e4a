package shrink

import (
	"fmt"
	"slices"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/version"
	"kpsim/properties"
	"kpsim/traces"
)

// A Witness is a violating run after shrinking: the smallest scenario found to show the
// violation, and the deviations that it needs.
type Witness struct {
	Property *properties.Property
	Place    string // symbol and offset
	Message  string
	Digest   uint64
	Schedule []traces.Deviation
	Reduced  []traces.Deviation // the deviations in the original scenario, which are more
	Found    int                // number of deviations of the original run
	Runs     int                // made while shrinking
	Asked    uint64             // asked while shrinking
	Slow     bool               // a CPU must stand still (traces.Finding)
	// properties that the run breaks before and goes on after; the violation may follow from them
	After []*properties.Property
	Known []rig.Known // the known findings after which it goes on
	File  *traces.File
}

// Smaller reports whether w is better to show than v.
func (w *Witness) Smaller(v *Witness) bool {
	if (len(w.After) == 0) != (len(v.After) == 0) {
		return len(w.After) == 0
	}
	if w.Slow != v.Slow {
		return v.Slow
	}
	return len(w.Schedule) < len(v.Schedule)
}

// shrinkRuns and shrinkQuestions limit the shrinking of a property's candidates. In long runs the
// questions dominate the time, at half a microsecond each.
const (
	shrinkRuns      = 1900
	shrinkQuestions = 14_000_000
)

// tries is the number of runs of a property that are reduced, with tryRuns each. Then the
// smallest of each cause is shrunk as long as effort remains, the smallest of all first. Which
// one becomes smallest can't be seen beforehand.
const (
	tries   = 6
	tryRuns = 120
)

// An effort is the remaining budget of shrinking.
type effort struct {
	runs      int
	questions int64
	spent     int                            // runs made
	tell      func(spent int, share float64) // called with the share of the budget used, if not nil
}

// told reports how much of the budget of File is used.
func (e *effort) told() {
	if e.tell != nil {
		e.tell(e.spent, max(float64(e.spent)/shrinkRuns, 1-float64(e.questions)/shrinkQuestions))
	}
}

func (e *effort) none() bool { return e.runs <= 0 || e.questions <= 0 }

// Witnesses shrinks runs that a search found into witnesses, one for each property, in the order
// of the catalogue. An error is about a Found that was read from a file.
func Witnesses(o Origin, found []Found) ([]*Witness, error) {
	var of [][]*Found // by property
	for _, p := range properties.All {
		var list []*Found
		for i := range found {
			if found[i].Property == p.Name {
				list = append(list, &found[i])
			}
		}
		if len(list) > 0 {
			of = append(of, list)
		}
	}
	list := make([]*Witness, len(of))
	err := parallel.Each(len(of), func(i int) (err error) {
		list[i], err = shrinkBest(o, of[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// shrinkBest makes the witness from several runs that break one property.
func shrinkBest(o Origin, list []*Found) (*Witness, error) {
	slices.SortFunc(list, func(a, b *Found) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	e := &effort{runs: shrinkRuns, questions: shrinkQuestions}
	asked := int64(0)
	var causes []*shrinker // the best candidate of each cause, best first
	defer func() {
		for _, s := range causes {
			s.close()
		}
	}()
	for _, c := range list[:min(len(list), tries)] {
		if len(causes) > 0 && (e.runs < shrinkRuns/2 || e.questions < shrinkQuestions/2) {
			break
		}
		s, err := newShrinker(o, c, e)
		if err != nil {
			return nil, err
		}
		s.reduceFirst()
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
	if len(best.cur.anchors) > coalesceFrom {
		asked = shrinkQuestions - e.questions
		e.runs, e.questions = shrinkRuns, shrinkQuestions
		best.finish()
	}
	w := best.witness(o, best.from)
	w.Asked = uint64(asked + shrinkQuestions - e.questions)
	return w, nil
}

// reduceFirst reduces the deviations before anything else. It may use only part of the questions,
// or long runs would use them all.
func (s *shrinker) reduceFirst() {
	s.coalesce()
	s.within(tryRuns, s.effort.questions/2, s.reduce)
	s.reduced = s.cur.anchors
}

// enough reports whether trying another cause is unnecessary: the schedule has at most three
// lines, and no CPU stands still in it.
func (s *shrinker) enough() bool { return s.cur.cost.slow == 0 && s.cur.cost.deviations <= 3 }

// witness returns the shrinker's result.
func (s *shrinker) witness(o Origin, f *Found) *Witness {
	run := s.cur.run
	after, known := s.goesOnAfter()
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
			{Key: "strategy", Value: f.By},
			{Key: "seed", Value: fmt.Sprint(o.Seed)},
			{Key: "run", Value: fmt.Sprint(f.Number)},
			{Key: "deviations as found", Value: fmt.Sprint(s.found)},
			{Key: "runs of shrinking", Value: fmt.Sprint(s.effort.spent)},
		},
	}
	if lang.Print(s.rig.Scenario) != lang.Print(o.Scenario) {
		w.File.Origin = scenarioWas(w.File.Origin, o.Scenario)
	}
	if o.Mutant != "" {
		w.File.Origin = append(w.File.Origin, traces.Remark{Key: traces.OriginMutant, Value: o.Mutant})
	}
	if after != 0 {
		w.File.Origin = append(w.File.Origin, replay.RemarkIgnored(after))
	}
	if w.Known = known; len(known) > 0 {
		w.File.Origin = append(w.File.Origin, traces.Remark{Key: traces.OriginKnown, Value: rig.KnownText(known)})
	}
	w.File.WrittenBy(version.This().String())
	return w
}

// goesOnAfter returns the properties that the current run breaks before its own, and its known findings; the run may
// avoid some of the ignored ones.
func (s *shrinker) goesOnAfter() (after properties.Set, known []rig.Known) {
	if len(s.goOn.Known) > 0 {
		s.rig.Play(s.anchored(s.cur.anchors))
		known = s.rig.Judges.KnownBroken()
	}
	if s.goOn.Ignored == 0 {
		return 0, known
	}
	for range properties.All {
		s.rig.Judges.GoOnAfter(rig.GoOn{Ignored: after, Known: s.goOn.Known})
		run := s.rig.Play(s.anchored(s.cur.anchors))
		if run.Property == nil || run.Property == s.cause.property || !s.goOn.Ignored.Has(run.Property) {
			break
		}
		after |= properties.SetOf(run.Property)
	}
	s.rig.Judges.GoOnAfter(s.goOn)
	return after, known
}
