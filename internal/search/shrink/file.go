package shrink

import (
	"bytes"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/version"
	"kpsim/traces"
)

// A Shrunk is a trace file made smaller.
type Shrunk struct {
	File      *traces.File
	Was, Is   string // the sizes of the scenario (scenario.Size)
	Found     int    // deviations before
	Runs      int    // runs made while shrinking
	Exhausted bool   // the budget was used up: it may not be minimal
	Slow      bool   // it needs a CPU that stands still (traces.Finding)
}

// File shrinks a trace file, whatever its origin. Its replay must break its property, at any
// place: if it doesn't, the result is nil, and the replay says how it ended. The caller closes
// the replay's rig. tell, if not nil, is called after each run with the number of runs and the
// share of the budget used, from 0 to 1. Shrinking may end earlier, when nothing more can be
// removed. Errors are about the file.
func File(name string, f *traces.File, tell func(runs int, share float64)) (*Shrunk, *replay.Replay, error) {
	r, err := replay.PlayAnyPlace(name, f)
	if err != nil || !r.BreaksProperty(f) {
		return nil, r, err
	}
	goOn := r.Rig.Judges.GoOn
	rig, err := rig.NewGoingOn(r.Rig.Scenario, f.Remark(traces.OriginMutant), goOn)
	if err != nil {
		return nil, r, err
	}
	e := &effort{runs: shrinkRuns, questions: shrinkQuestions, tell: tell}
	mutant := f.Remark(traces.OriginMutant)
	s := &shrinker{rig: rig, ear: listen(rig), mutant: mutant, right: mutant != "", goOn: goOn, effort: e}
	defer func() { s.close() }()
	s.start(s.anchored(r.Taken))
	s.finish()

	w := &Shrunk{
		Was: r.Rig.Scenario.Size(), Is: s.rig.Scenario.Size(), Found: len(f.Schedule), Runs: e.spent,
		Exhausted: e.none(),
		Slow:      s.cur.run.Finding.Slow,
	}
	now := *f
	now.SetSchedule(s.cur.anchors)
	now.Place, now.Message, now.Digest, now.Format = s.cur.place, s.rig.Message(&s.cur.run), s.cur.run.Digest,
		traces.ScheduleFormat
	if text := lang.Print(s.rig.Scenario); text != lang.Print(r.Rig.Scenario) {
		now.Scenario = text
		now.Origin = scenarioWas(now.Origin, r.Rig.Scenario)
	}
	if !bytes.Equal(now.Marshal(), f.Marshal()) {
		now.WrittenBy(version.This().String())
	}
	w.File = &now
	return w, r, nil
}

// scenarioWas adds a remark with the scenario's name and size before it was first shrunk.
func scenarioWas(origin []traces.Remark, was *scenario.Scenario) []traces.Remark {
	for _, r := range origin {
		if r.Key == originScenario {
			return origin
		}
	}
	return append(origin[:len(origin):len(origin)],
		traces.Remark{Key: originScenario, Value: was.Name + ": " + was.Size()})
}

// originScenario is the key of the remark that scenarioWas adds.
const originScenario = "scenario as found"
