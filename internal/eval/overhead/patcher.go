package overhead

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/cycles"
	"kpsim/smp/fetch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A PatcherConfig says whose patches are priced. The tasks of the scenario that only call functions are replaced by
// one on each CPU that no patcher has: it calls the same functions in turn until the patchers have ended. The
// patchers' own CPUs make the calls before and after their patches. Timers, NMIs and the fetch model of the scenario
// are left out: they delay a patch, or make it fail, and cost nothing by themselves.
type PatcherConfig struct {
	Scenario *scenario.Scenario `json:"-"`
	CPUs     int                `json:"cpus"`
	Runs     int                `json:"runs"`
	Seed     uint64             `json:"seed"`
	Costs    *cycles.Profile    `json:"-"` // nil: nominal
}

// A PatchPart is what the time of a patch is spent on, by the CPU of its task.
type PatchPart uint8

// The parts.
const (
	PatchStores   PatchPart = iota // stores to text
	PatchLines                     // lines of cache that another CPU had
	PatchIPI                       // sending IPIs
	PatchSync                      // serialising this CPU
	PatchTraps                     // exceptions and interrupts on this CPU, and the returns from them
	PatchSwitches                  // switches of tasks
	PatchCode                      // all other instructions, of text and of the kernel
	PatchWaits                     // waiting for other CPUs, and for tasks
	PatchParts
)

var patchParts = [PatchParts]string{"stores", "lines", "IPI", "sync", "traps", "switches", "code", "waiting"}

// String returns the part's name.
func (p PatchPart) String() string { return patchParts[p] }

// patchPart returns the part of an event.
func patchPart(e cycles.Event) PatchPart {
	switch e {
	case cycles.Line:
		return PatchLines
	case cycles.SendIPI:
		return PatchIPI
	case cycles.SyncCore:
		return PatchSync
	case cycles.Breakpoint, cycles.Debug, cycles.Trap, cycles.Iret:
		return PatchTraps
	case cycles.Switch:
		return PatchSwitches
	}
	return PatchCode
}

// A Patch is what one patch of a kind costs.
type Patch struct {
	What   string                 // its operations, as in the scenario
	N      int                    // in all runs
	Cycles Measure                // from its beginning until its task goes on; the interval is Student's over runs
	Parts  [PatchParts]float64    // of Cycles, on average
	Others float64                // cycles that all other CPUs together are interrupted or stopped for
	Events [cycles.Events]float64 // on the CPU of its task, on average
	Stores float64                // to text, on average
}

// A When says when a call ran.
type When uint8

// The times.
const (
	Before When = iota // it ended before the first patch began
	During             // between the beginning of the first patch and the end of the last one
	After
	whens
)

var whenNames = [whens]string{"before", "during", "after"}

// String returns the time in a word.
func (w When) String() string { return whenNames[w] }

// A PatchedCall is what a call of the scenario's functions costs.
type PatchedCall struct {
	When   When
	N      int
	Cycles Measure // Student's over runs with such calls
	Most   float64
}

// Patches is what the patches of a scenario cost.
type Patches struct {
	PatcherConfig
	List  []*Patch
	Calls []PatchedCall
	Broke []string // the properties that runs have broken, by name
	Bad   int      // the runs that broke one
}

// ownCalls is how many calls of each function a patcher's CPU makes before and after its patches.
const ownCalls = 8

// rounds is how often a caller makes its calls, if the patchers take that long: in a schedule without time, as that of
// the run without probes, it does so at a stretch.
const rounds = 1000

// mostOps bounds how many operations of a patcher are priced, its repetitions included.
const mostOps = 200

// calls reports whether a task only calls functions.
func onlyCalls(t *scenario.Task) bool {
	return !slices.ContainsFunc(t.Ops, func(op scenario.Op) bool {
		return op.Kind != act.Call && op.Kind != act.Schedule && op.Kind != act.Safepoint && op.Kind != act.Serialise
	})
}

// Patchers returns how many CPUs the tasks of a scenario that patch need.
func Patchers(s *scenario.Scenario) (cpus int) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if onlyCalls(t) {
			continue
		}
		cpus = max(cpus, t.CPU+1)
		for j := range t.Ops {
			cpus = max(cpus, t.Ops[j].CPU+1, bits.Len64(t.Ops[j].CPUs))
		}
	}
	if cpus > 0 {
		cpus = max(cpus, bits.Len64(s.Machine.Offline))
	}
	return cpus
}

// spread returns the scenario that is run.
func (c *PatcherConfig) spread() (*scenario.Scenario, error) {
	s := *c.Scenario
	switch need := Patchers(&s); {
	case need == 0:
		return nil, fmt.Errorf("%s: no task of it patches, so there is nothing to price", s.Name)
	case c.CPUs < need:
		return nil, fmt.Errorf("%s: its patchers are on %d CPUs; give as many, or more", s.Name, need)
	case c.CPUs > sim.MaxCPUs:
		return nil, fmt.Errorf("%d CPUs: a machine has 1 to %d", c.CPUs, sim.MaxCPUs)
	}
	s.Machine.CPUs, s.Machine.Fetch, s.Machine.Steps = c.CPUs, fetch.Coherent, scenario.MaxBudget
	s.Sources, s.Expect, s.Tasks = nil, scenario.Expect{}, nil
	calls := called(c.Scenario)
	around := slices.Repeat(calls, ownCalls)
	var taken uint64
	for _, t := range c.Scenario.Tasks {
		if onlyCalls(&t) {
			continue
		}
		t.Ops = slices.Clone(t.Ops)
		for i := range t.Ops {
			if t.Ops[i].Kind == act.Call {
				t.Ops[i] = plain(t.Ops[i])
			}
		}
		ops := slices.Repeat(t.Ops, max(1, min(t.Repeat, mostOps/len(t.Ops))))
		if taken>>t.CPU&1 == 0 {
			ops = slices.Concat(around, ops, around)
		}
		t.Ops, t.Repeat, t.Setup, t.Background = ops, 1, 0, false
		taken |= 1 << t.CPU
		s.Tasks = append(s.Tasks, t)
	}
	for cpu := range c.CPUs {
		if taken>>cpu&1 != 0 || len(calls) == 0 || c.Scenario.Machine.Offline>>cpu&1 != 0 {
			continue
		}
		s.Tasks = append(s.Tasks, scenario.Task{Name: fmt.Sprintf("caller%d", cpu), CPU: cpu, Background: true,
			Ops:    append(slices.Repeat(calls, max(1, ownCalls/len(calls))), scenario.Op{Kind: act.Schedule}),
			Repeat: rounds})
	}
	return &s, nil
}

// called returns the calls of a scenario's tasks that only call, each once.
func called(s *scenario.Scenario) (list []scenario.Op) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		for _, op := range t.Ops {
			if op.Kind != act.Call || !onlyCalls(t) {
				continue
			}
			op = plain(op)
			if !slices.ContainsFunc(list, func(o scenario.Op) bool {
				return o.Target == op.Target && slices.Equal(o.Args, op.Args)
			}) {
				list = append(list, op)
			}
		}
	}
	return list
}

// plain is a call whose result isn't compared: how many calls are before a patch isn't as in the scenario.
func plain(op scenario.Op) scenario.Op {
	return scenario.Op{Kind: act.Call, Target: op.Target, Args: op.Args, Changed: true}
}

// Measure draws the runs. A run that breaks a property goes on, and is counted in Bad.
func (c PatcherConfig) Measure() (*Patches, error) {
	if c.Runs < 2 {
		return nil, errors.New("there are to be 2 runs at least")
	}
	if c.Costs == nil {
		c.Costs = cycles.Nominal()
	}
	spread, err := c.spread()
	if err != nil {
		return nil, err
	}
	// what depends on the number of CPUs is checked again
	sc, err := lang.Load(spread.Name+".star", []byte(lang.Print(spread)), nil)
	if err != nil {
		return nil, fmt.Errorf("%s with %d CPUs: %w", spread.Name, c.CPUs, err)
	}
	r, err := rig.New(sc, "")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.Judges.Past = properties.Every
	w := &patchWatch{rig: r, gauge: gauge{m: r.Machine, costs: c.Costs}}
	r.Machine.Clocks().Costs(c.Costs)
	r.Machine.Clocks().Count(&w.tally)
	r.WatchOps(w)
	d, err := newDraws(r, Timed, sched.Params{Seed: c.Seed}, w.event, append(slices.Clone(gaugeKinds),
		smpev.TextStore)...)
	if err != nil {
		return nil, err
	}
	p := &Patches{PatcherConfig: c}
	for i := range uint64(c.Runs) {
		w.begin()
		d.begin(i)
		run := r.Run(d.strategy)
		if run.Outcome != smp.Passed && run.Outcome != smp.Violated || run.Err != nil || run.Early && w.open > 0 {
			return nil, fmt.Errorf("%s with %d CPUs: a run ended as %v before its patches were done, so they can't be "+
				"priced: %s", c.Scenario.Name, c.CPUs, run.Outcome, why(&run))
		}
		if run.Outcome == smp.Violated {
			p.Bad++
			run.EachBroken(func(q *properties.Property, _ *traces.Finding, _ properties.Set) {
				if !slices.Contains(p.Broke, q.Name) {
					p.Broke = append(p.Broke, q.Name)
				}
			})
		}
		w.end()
	}
	slices.Sort(p.Broke)
	p.List, p.Calls = w.patches(), w.callsOf()
	if len(p.List) == 0 {
		return nil, fmt.Errorf("%s: no operation of it patches, so there is nothing to price", c.Scenario.Name)
	}
	return p, nil
}

func why(run *rig.Run) string {
	if run.Err != nil {
		return run.Err.Error()
	}
	return run.Finding.Message
}

// Steps returns the steps of the first task that patches by hand, as the scenario has them; "" if none does.
func Steps(s *scenario.Scenario) string {
	var words []string
	for i := range s.Tasks {
		for _, op := range s.Tasks[i].Ops {
			if op.Kind.Traits&scenario.ByHand != 0 && !onlyCalls(&s.Tasks[i]) {
				words = append(words, op.Kind.Word)
			}
		}
		if len(words) > 0 {
			break
		}
	}
	return strings.Join(words, ", ")
}
