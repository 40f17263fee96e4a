package overhead

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/cycles"
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

// Says is what a part is, for readers of one sentence.
func (p PatchPart) Says() string { return patchPartsSay[p] }

var patchPartsSay = [PatchParts]string{"stores to text", "fetching cache lines", "sending IPIs",
	"serialising", "exceptions and interrupts", "switches of tasks", "other code", "waiting"}

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
	Cycles Measure // of all calls; Student's over runs with such calls
	Most   float64
}

// Patches is what the patches of a scenario cost.
type Patches struct {
	PatcherConfig
	List  []*Patch
	Calls []PatchedCall
	Broke []string // the properties that runs have broken, by name
	Bad   int      // the runs that broke one
	Apart bool     // the patchers' own CPUs made no calls, which would have kept the patches from being done
}

// Measure draws the runs. A run that breaks a property goes on, and is counted in Bad. What can't be priced is an
// *Unpriced.
//
// Where calls by the patchers' own CPUs keep the patches from being done, it goes without: a function may wait for
// what its patcher does later, end the task, or not return.
func (c PatcherConfig) Measure() (*Patches, error) {
	if c.Runs < 2 {
		return nil, errors.New("there are to be 2 runs at least")
	}
	if c.Costs == nil {
		c.Costs = cycles.Nominal()
	}
	p, _, err := c.measured()
	return p, err
}

// measured is Measure with what has watched the runs.
func (c *PatcherConfig) measured() (*Patches, *patchWatch, error) {
	p, w, err := c.measure(true)
	var u *Unpriced
	if !errors.As(err, &u) {
		return p, w, err
	}
	if u.Ended != smp.Violated {
		if p, w, err := c.measure(false); err == nil {
			p.Apart = true
			return p, w, nil
		}
	}
	if need := Patchers(c.Scenario); c.CPUs > need {
		fewer := *c
		fewer.CPUs = need
		if _, _, err := fewer.measured(); err == nil {
			u.Fewer = need
		}
	}
	return nil, nil, u
}

// An Unpriced says why the patches of a scenario with a number of CPUs have no price.
type Unpriced struct {
	Scenario string
	CPUs     int
	Why      string // the patches weren't done because of this
	Ended    smp.Outcome
	Fewer    int // with that many CPUs they have a price; 0: not with fewer, either
}

// Error implements error.
func (u *Unpriced) Error() string {
	says := fmt.Sprintf("%s with %s: ", u.Scenario, ofCPUs(u.CPUs))
	mend := "mend the patcher"
	if u.Ended == smp.Stuck || u.Ended == smp.Exhausted {
		says += "the patches don't end, so they have no price: "
		mend = "change what they wait for"
	} else {
		says += "a run ended before its patches were done, so they have no price: "
	}
	if u.Fewer > 0 {
		mend += fmt.Sprintf(", or give --cpus %d", u.Fewer)
	}
	return says + u.Why + "; " + mend
}

func ofCPUs(n int) string {
	if n == 1 {
		return "1 CPU"
	}
	return fmt.Sprintf("%d CPUs", n)
}

// measure is Measure, with calls by the patchers' own CPUs or without.
func (c *PatcherConfig) measure(own bool) (*Patches, *patchWatch, error) {
	r, err := c.rig(own)
	if err != nil {
		return nil, nil, err
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
		return nil, nil, err
	}
	p := &Patches{PatcherConfig: *c}
	for i := range uint64(c.Runs) {
		w.begin()
		d.begin(i)
		run := r.Run(d.strategy)
		if run.Outcome != smp.Passed && run.Outcome != smp.Violated || run.Err != nil || run.Early && w.open > 0 ||
			!w.began {
			return nil, nil, &Unpriced{Scenario: c.Scenario.Name, CPUs: c.CPUs, Why: why(&run), Ended: run.Outcome}
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
	return p, w, nil
}

// rig sets up what is run.
func (c *PatcherConfig) rig(own bool) (*rig.Rig, error) {
	spread, err := c.spread(own)
	if err != nil {
		return nil, err
	}
	// what depends on the number of CPUs is checked again
	sc, err := lang.Load(spread.Name+".star", []byte(lang.Print(spread)), nil)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", spread.Name, ofCPUs(c.CPUs), err)
	}
	r, err := rig.New(sc, "")
	if err != nil {
		return nil, &Unpriced{Scenario: spread.Name, CPUs: c.CPUs, Ended: smp.Stuck,
			Why: strings.TrimPrefix(err.Error(), spread.Name+": ")}
	}
	return r, nil
}

func why(run *rig.Run) string {
	switch {
	case run.Err != nil:
		return run.Err.Error()
	case run.Finding.Message != "":
		return run.Finding.Message
	}
	return "no operation of theirs was done"
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
