package search

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/traces"
)

// Rerecord runs a trace file again and writes down anew what it did: labels,
// message, digest and schedule format; the rest of the file stays. The run must
// break the file's property at its place or, if anyPlace is set, anywhere: if
// it doesn't, the file returned is nil, and the replay says what came of it. The
// caller closes the replay's rig. Errors are about the file.
func Rerecord(name string, f *traces.File, anyPlace bool) (*traces.File, *Replay, error) {
	r, err := playFile(name, f, false, anyPlace)
	if err != nil {
		return nil, nil, err
	}
	if !r.Breaks && !(anyPlace && r.breaksElsewhere(f)) {
		return nil, r, nil
	}
	now := *f
	now.SetSchedule(slices.Clone(r.Taken))
	now.Place, now.Message, now.Digest, now.Format = r.Place, r.Message, r.Digest, traces.ScheduleFormat
	again := *r
	again.play(sched.NewAnchored(r.Taken, r.Rig.Machine.Names()), 0)
	if again.compare(&now); !again.Same { // two tasks of one name: its labels don't say which
		r.Why = "its labels don't lead to the run they were taken from: " + again.Why
		return nil, r, nil
	}
	return &now, r, nil
}

// A Shrunk is a trace file made smaller.
type Shrunk struct {
	File      *traces.File
	Was, Is   string // the sizes of the scenario (scenario.Size)
	Found     int    // deviations before
	Runs      int    // that it took
	Exhausted bool   // they weren't enough: it may not be minimal
	Slow      bool   // it needs a CPU that stands still (traces.Finding)
}

// ShrinkFile makes a trace file smaller, whoever wrote it. Its replay must break
// its property, wherever: if it doesn't, the result is nil, and the replay says
// what came of it. The caller closes the replay's rig. Errors are about the
// file.
func ShrinkFile(name string, f *traces.File) (*Shrunk, *Replay, error) {
	r, err := playFile(name, f, false, true)
	if err != nil || !r.breaksElsewhere(f) {
		return nil, r, err
	}
	ignored := r.Rig.Ignored()
	rig, err := rig.NewIgnoring(r.Rig.Scenario, f.Remark(traces.OriginMutant), ignored, 0)
	if err != nil {
		return nil, r, err
	}
	e := &effort{runs: shrinkRuns, questions: shrinkQuestions}
	s := &shrinker{rig: rig, ear: listen(rig), mutant: f.Remark(traces.OriginMutant), ignored: ignored, effort: e}
	defer func() { s.close() }()
	s.start(s.anchored(r.Taken))
	s.finish()

	w := &Shrunk{
		Was: r.Rig.Scenario.Size(), Is: s.rig.Scenario.Size(), Found: len(f.Schedule), Runs: e.spent, Exhausted: e.none(),
		Slow: s.cur.run.Finding.Slow,
	}
	now := *f
	now.SetSchedule(s.cur.anchors)
	now.Place, now.Message, now.Digest, now.Format = s.cur.place, s.rig.Message(&s.cur.run), s.cur.run.Digest, traces.ScheduleFormat
	if text := lang.Print(s.rig.Scenario); text != lang.Print(r.Rig.Scenario) {
		now.Scenario = text
		now.Origin = scenarioWas(now.Origin, r.Rig.Scenario)
	}
	w.File = &now
	return w, r, nil
}

// scenarioWas notes what a scenario was before it was first shrunk.
func scenarioWas(origin []traces.Remark, was *scenario.Scenario) []traces.Remark {
	for _, r := range origin {
		if r.Key == originScenario {
			return origin
		}
	}
	return append(origin[:len(origin):len(origin)], traces.Remark{Key: originScenario, Value: was.Name + ": " + was.Size()})
}

// originScenario names the scenario as it was before it was shrunk, and its size.
const originScenario = "scenario as found"
