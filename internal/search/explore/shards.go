package explore

import (
	"fmt"

	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/smp"
)

// The runs of an exploration are divided among shards, each with its own instance of the
// strategy: run i belongs to shard i modulo their number. The number of shards depends only on
// what is explored, so run i is the same whatever the number of workers and computers.
const (
	fewest     = 16
	mostShards = 1 << 16 // each takes half a kilobyte of memory, even before it is made

	// shardPoints is the number of questions of a shard if there are more than the fewest shards:
	// about eight seconds of a core. Strategies learn within a shard, and a campaign loses at
	// most one shard when a computer leaves.
	shardPoints = 48_000_000
)

// Deal returns the number of shards (Spec.Dealt) for this many runs, where points is the number
// of questions of the default run.
func Deal(runs, points uint64) int {
	each := max(shardPoints/max(points, 1), 1)
	return int(min(max(runs/each, fewest), mostShards))
}

// A Seat makes shards of one exploration, one after another, on one machine. It must be used by
// one goroutine.
type Seat struct {
	total *progress
	shape *sched.Shape
	rig   *rig.Rig
}

// NewSeat builds a machine for an exploration. It ignores the spec's Workers, Share and Shares.
// Errors are about the input.
func NewSeat(spec Spec) (*Seat, error) {
	spec.fill()
	shape, err := survey(&spec)
	if err != nil {
		return nil, err
	}
	return &Seat{total: &progress{spec: &spec}, shape: shape, rig: spec.MustRig().Learnt()}, nil
}

// Part makes the runs of a shard, numbered 0 to Spec.Dealt-1. The result doesn't depend on
// earlier shards of the seat, except after Spec.Cancelled or Spec.Stop ended them early. A bug of
// the simulator panics.
func (s *Seat) Part(index int) (Part, error) {
	var d shard
	d.run(s.rig, s.total, s.shape, uint64(index))
	if d.err != nil {
		return Part{}, fmt.Errorf("%s: %w", s.total.spec.Scenario.Name, d.err)
	}
	if d.watch.grew { // the next shard must begin with no more than any other
		s.rig.Close()
		s.rig = s.total.spec.MustRig().Learnt()
	}
	return d.Part, nil
}

// Close ends the seat's machine.
func (s *Seat) Close() { s.rig.Close() }

// A shard makes the runs number i, i+Dealt, i+2*Dealt …, and records them.
type shard struct {
	Part
	watch watcher
	err   error
}

const progressEvery = 256

// Own returns the number of runs of the spec's share; all runs without shares.
func (spec Spec) Own() (runs uint64) {
	spec.fill()
	for _, i := range spec.own() {
		if first := uint64(i); first < spec.Runs {
			runs += (spec.Runs-1-first)/uint64(spec.Dealt) + 1
		}
	}
	return runs
}

// everyRun is the number of runs after which a shard ends if each of them was broken. More runs
// would repeat the same, except for a property that hardly any run breaks first.
const everyRun = 64

// hopeless reports whether there were enough runs and each was broken. Runs that go on past a
// violation may differ in what they break next, so they never count as hopeless.
func (s *shard) hopeless(spec *Spec) bool {
	return s.Runs == everyRun && s.Violations == everyRun && spec.Past == 0 && len(spec.Known) == 0
}

func (s *shard) run(rig *rig.Rig, total *progress, shape *sched.Shape, index uint64) {
	spec := total.spec
	shards := uint64(spec.Dealt)
	strategy, err := spec.strategy(sched.Params{Seed: spec.Seed, Shape: shape, Shard: index, Shards: shards})
	if err != nil {
		s.err = err
		return
	}
	rec := &sched.Recorder{Strategy: strategy}
	s.Begin(int(index))
	s.from = spec.From
	if !spec.Blind {
		s.ways.begin(rig.Plain)
	}
	s.watch.begin(rig, spec)
	if spec.Look != nil {
		s.look = spec.Look()
		s.look.Begin(rig)
		defer s.look.End(rig)
	}
	told, toldViolations := uint64(0), uint64(0)
	for i := index; i < spec.Runs && !total.stopped(); i += shards {
		run, more := rig.NextWatched(rec, i, &s.watch)
		if !more {
			break
		}
		if run.Outcome == smp.Refused {
			s.err = run.Err
			return
		}
		s.watch.done()
		rig.Census.Ended()
		s.Take(i, run, rec)
		if s.look != nil {
			s.look.Took(rig, &run)
		}
		if s.Runs-told >= progressEvery || spec.Stop && s.Violations > toldViolations {
			total.add(s.Runs-told, s.Violations-toldViolations)
			told, toldViolations = s.Runs, s.Violations
		}
		if s.hopeless(spec) {
			break
		}
	}
	total.add(s.Runs-told, s.Violations-toldViolations)
	s.Complete = complete(strategy)
	s.watch.end(&s.Part)
}
