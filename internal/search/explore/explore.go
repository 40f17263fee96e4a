package explore

import (
	"cmp"
	"fmt"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// A Spec says what to explore, and how long.
type Spec struct {
	Scenario *scenario.Scenario
	Mutant   string // "": the correct engine
	Strategy string // a name of sched.All; "": portfolio
	// at most this many, at least 1; fewer if the strategy runs out or every run is broken
	// (everyRun)
	Runs     uint64
	Seed     uint64
	Delay    uint64         // sched.Params.Delay
	Unbiased bool           // no strategy prefers watched text (sched.Params.Unbiased)
	Workers  int            // 0: one per processor
	Blind    bool           // make no witness and no statistics: only whether anything is broken
	Ignore   properties.Set // properties after whose violation runs go on (goOn), as if they didn't exist
	// properties after whose violation runs go on, but which count; with properties.Every each
	// run shows everything it breaks
	Past  properties.Set
	Known []rig.Known // findings after which runs go on and which don't count
	Stop  bool        // stop soon after the first violation; Runs and Violations then depend on the workers
	Most  int         // maximum number of deviations, or of the portfolio's member; 0: sched.MostDeviations

	// Dealt is the number of shards; 0: 16. See Deal.
	Dealt int

	// From is the number of the first run that may become a witness. Earlier runs are made and
	// counted too.
	From uint64

	// Share is one of 1 to Shares: only its own runs are made. 0 of 0 means all runs. See Merge.
	Share, Shares int

	// Look, if not nil, makes an additional observer for a shard's runs. One goroutine uses it.
	Look func() Look

	// Progress, if not nil, is called from time to time, by several goroutines.
	Progress func(runs, violations uint64)

	// Cancelled, if not nil, ends the exploration early when it is set.
	Cancelled *atomic.Bool
	_         struct{}
}

// A Result is what all runs of an exploration showed.
type Result struct {
	Runs       uint64
	Violations uint64            // runs that broke a property
	Broken     map[string]uint64 // number of runs that broke each property, by its name
	After      map[string]uint64 // of these, runs that had broken another property before, which may be the cause
	Counts     smp.Counts        // over all runs
	Census     rig.Census        // of the probes, together
	Probed     []rig.Probed      // of each probe, in the scenario's order
	// all schedules of at most this many deviations were run; -1: not even the default one
	Complete  int
	First     uint64            // the number of the first violating run
	Witnesses []*shrink.Witness // one for each broken property, in the order of the catalogue
	Witness   *shrink.Witness   // the witness to show first; nil if there is none
	Stats     Stats
	Parts     []Part // the parts that were added up, in order
	Looks     []Look // one for each shard, in order; nil without Spec.Look
}

// A Look records more about a shard's runs than a Part does. It must not change the runs.
type Look interface {
	Begin(r *rig.Rig)              // before the first run
	Took(r *rig.Rig, run *rig.Run) // after each
	End(r *rig.Rig)                // after the last; the rig goes on to another shard
}

// MostShares is the maximum number of shares of an exploration.
const MostShares = fewest

// own lists the shards of the spec's share.
func (spec *Spec) own() (list []int) {
	for i := range spec.Dealt {
		if spec.Shares <= 1 || i%spec.Shares == spec.Share-1 {
			list = append(list, i)
		}
	}
	return list
}

// Run runs the scenario many times. Errors are about the input; a bug of the
// simulator panics with a *Crash, in the goroutine that called.
func Run(spec Spec) (*Result, error) {
	spec.fill()
	if spec.Shares > MostShares || spec.Share > spec.Shares || spec.Shares > 0 && spec.Share < 1 {
		return nil, fmt.Errorf("share %d of %d: there can be 1 to %d", spec.Share, spec.Shares, MostShares)
	}
	shape, err := survey(&spec)
	if err != nil {
		return nil, err
	}
	total := progress{spec: &spec}
	own := spec.own()
	parts, errs := make([]Part, len(own)), make([]error, len(own))
	parallel.Run(spec.Workers, len(own), &total.stop, func() (do func(job int), close func()) {
		s := Seat{total: &total, shape: shape, rig: spec.MustRig().Learnt()}
		return func(i int) { parts[i], errs[i] = s.Part(own[i]) }, s.Close
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	return Merge(spec, parts)
}

// fill replaces zero values by their defaults.
func (spec *Spec) fill() {
	if spec.Strategy == "" {
		spec.Strategy = DefaultStrategy
	}
	spec.Runs = max(spec.Runs, 1)
	if spec.Most == 0 {
		spec.Most = sched.MostDeviations
	}
	spec.Dealt = max(spec.Dealt, fewest)
}

// DefaultStrategy is the strategy of a Spec that names none.
const DefaultStrategy = "portfolio"

// strategy makes the spec's strategy.
func (spec *Spec) strategy(p sched.Params) (sched.Strategy, error) {
	p.Unbiased, p.Delay, p.Most = spec.Unbiased, spec.Delay, spec.Most
	return sched.New(spec.Strategy, p)
}

// Origin describes the search that the runs come from.
func (spec *Spec) Origin() shrink.Origin {
	return shrink.Origin{Scenario: spec.Scenario, Mutant: spec.Mutant, Seed: spec.Seed, Past: spec.Past != 0,
		Known: spec.Known}
}

// NewRig builds a rig whose runs go on after the violations that the spec ignores.
func (spec *Spec) NewRig() (*rig.Rig, error) {
	goOn := rig.GoOn{Ignored: spec.Ignore, Past: spec.Past, Known: spec.Known}
	return rig.NewGoingOn(spec.Scenario, spec.Mutant, goOn)
}

// MustRig is NewRig for a spec of which a rig was built before.
func (spec *Spec) MustRig() *rig.Rig {
	rig, err := spec.NewRig()
	if err != nil {
		sim.Bug("a rig that was built before: %v", err)
	}
	return rig
}

// survey runs the default schedule. It tells strategies what runs look like, and fails if the
// scenario can't be run at all.
func survey(spec *Spec) (*sched.Shape, error) {
	if _, err := sched.New(spec.Strategy, sched.Params{}); err != nil {
		return nil, err
	}
	rig, err := spec.NewRig()
	if err != nil {
		return nil, err
	}
	defer rig.Close()
	shape, run := rig.Survey(spec.Delay)
	if run.Outcome == smp.Refused {
		return nil, fmt.Errorf("%s: %w", spec.Scenario.Name, run.Err)
	}
	return shape, nil
}

// progress is shared by the workers.
type progress struct {
	spec       *Spec
	runs       atomic.Uint64
	violations atomic.Uint64
	stop       atomic.Bool
}

func (p *progress) add(runs, violations uint64) {
	r, v := p.runs.Add(runs), p.violations.Add(violations)
	if p.spec.Progress != nil {
		p.spec.Progress(r, v)
	}
	if p.spec.Stop && v > 0 {
		p.stop.Store(true)
	}
}

func (p *progress) stopped() bool {
	return p.stop.Load() || p.spec.Cancelled != nil && p.spec.Cancelled.Load()
}

// complete reports whether a strategy has run everything that it promises to run completely.
func complete(s sched.Strategy) bool {
	switch s := s.(type) {
	case *sched.Deviations:
		return s.Complete()
	case *sched.Portfolio:
		return s.Deviations().Complete()
	}
	return false
}

// First returns the strategy whose run 0 is run 0 of the spec's exploration.
func (spec *Spec) First() (sched.Strategy, error) {
	spec.fill()
	shape, err := survey(spec)
	if err != nil {
		return nil, err
	}
	return spec.strategy(sched.Params{Seed: spec.Seed, Shape: shape, Shards: uint64(spec.Dealt)})
}
