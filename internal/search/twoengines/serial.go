package twoengines

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/gen"
)

// Serial turns a scenario into one in which a single task does the operations of all its tasks, in turn, and nothing
// interrupts it. After each call of the API it waits for the optimizer, so no answer depends on the schedule.
func Serial(sc *scenario.Scenario) *scenario.Scenario { return serial(sc, true) }

// Hasty is Serial without these waits, except the tasks' own: in the default schedule the optimizer works only then,
// and the other calls run while points are queued.
func Hasty(sc *scenario.Scenario) *scenario.Scenario { return serial(sc, false) }

func serial(sc *scenario.Scenario, waits bool) *scenario.Scenario {
	s := *sc
	t := scenario.Task{Name: "one", Repeat: 1}
	next, use := make([]int, len(sc.Tasks)), gen.NewUse(sc)
	for going := true; going; {
		going = false
		for i := range sc.Tasks {
			ops := sc.Tasks[i].Ops
			if next[i] >= len(ops)*max(sc.Tasks[i].Repeat, 1) {
				continue
			}
			op := ops[next[i]%len(ops)]
			next[i], going = next[i]+1, true
			if op.Kind.Traits&scenario.Serial == 0 || !waits && op.Kind == act.Schedule || use.Misused(&op) {
				continue
			}
			t.Ops = append(t.Ops, op)
			if waits && op.Kind.Traits&scenario.Stirs != 0 {
				t.Ops = append(t.Ops, scenario.Op{Kind: act.WaitOptimized})
			}
		}
	}
	s.Tasks, s.Sources, s.Expect = []scenario.Task{t}, nil, scenario.Expect{}
	s.Probes = slices.Clone(sc.Probes)
	return &s
}

// Straight makes the handlers that call functions call one whose control flow doesn't depend on registers, because a
// handler's call sets none.
func Straight(s *scenario.Scenario) *scenario.Scenario {
	for i := range s.Probes {
		p := &s.Probes[i]
		for _, list := range [][]scenario.Step{p.Pre, p.Post} {
			for j := range list {
				if list[j].Kind.Traits&scenario.StepRuns != 0 {
					list[j].Target = "tally"
				}
			}
		}
	}
	return s
}

// Serials are a scenario's serial programs: with waits, and without. Of one that is serial
// already it is the only one.
func Serials(sc *scenario.Scenario) []*scenario.Scenario {
	if len(sc.Tasks) == 1 && len(sc.Sources) == 0 && sc.Tasks[0].Repeat <= 1 &&
		!slices.ContainsFunc(sc.Tasks[0].Ops, func(op scenario.Op) bool {
			return op.Kind.Traits&scenario.Serial == 0
		}) {
		s := *sc
		s.Expect = scenario.Expect{}
		return []*scenario.Scenario{&s}
	}
	return []*scenario.Scenario{endedIn(Serial(sc), "-serial"), endedIn(Hasty(sc), "-hasty")}
}

// endedIn gives a scenario's name an end.
func endedIn(s *scenario.Scenario, end string) *scenario.Scenario {
	s.Name += end
	return s
}
