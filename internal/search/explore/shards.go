package explore

import (
	"fmt"

	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/smp"
)

// An exploration's runs are dealt out to shards, each with an instance of the strategy of its
// own: run number i belongs to shard i modulo their number. How many shards there are depends on
// what is explored and on nothing else, so that run number i is the same run whatever the
// number of workers, and of computers.
const (
	fewest     = 16
	mostShards = 1 << 16 // each takes half a kilobyte of memory, made or not

	// shardPoints is how many questions a shard has when there are more than the fewest: some
	// eight seconds of a core. Strategies learn in a shard, and a campaign loses at most one
	// when a computer goes.
	shardPoints = 48_000_000
)

// Deal returns to how many shards (Spec.Dealt) runs are dealt out whose default run asks so many
// questions.
func Deal(runs, points uint64) int {
	each := max(shardPoints/max(points, 1), 1)
	return int(min(max(runs/each, fewest), mostShards))
}

// A Seat makes shards of one exploration, one after another, on one machine. One goroutine
// uses it.
type Seat struct {
	total *progress
	shape *sched.Shape
	rig   *rig.Rig
}

// NewSeat builds a machine for an exploration. Of the spec Workers, Share and Shares play no
// part. Errors are about the input.
func NewSeat(spec Spec) (*Seat, error) {
	spec.fill()
	shape, err := survey(&spec)
	if err != nil {
		return nil, err
	}
	return &Seat{total: &progress{spec: &spec}, shape: shape, rig: spec.MustRig().Learnt()}, nil
}

// Part makes the runs of a shard, from 0 to Spec.Dealt-1. What it returns doesn't depend on the
// shards that the seat made before, but for what has stopped them: Spec.Cancelled, Spec.Stop. A
// bug of the simulator panics.
func (s *Seat) Part(index int) (Part, error) {
	var d shard
	d.run(s.rig, s.total, s.shape, uint64(index))
	if d.err != nil {
		return Part{}, fmt.Errorf("%s: %w", s.total.spec.Scenario.Name, d.err)
	}
	if d.watch.grew { // the next shard is to begin with no more than any other
		s.rig.Close()
		s.rig = s.total.spec.MustRig().Learnt()
	}
	return d.Part, nil
}

// Close ends the seat's machine.
func (s *Seat) Close() { s.rig.Close() }

// A shard makes the runs number i, i+Dealt, i+2*Dealt …, and takes down what
// they show.
type shard struct {
	Part
	watch watcher
	err   error
}

const progressEvery = 256

// Own is how many of the runs are the share's own: all, if it isn't divided.
func (spec Spec) Own() (runs uint64) {
	spec.fill()
	for _, i := range spec.own() {
		if first := uint64(i); first < spec.Runs {
			runs += (spec.Runs-1-first)/uint64(spec.Dealt) + 1
		}
	}
	return runs
}

// everyRun is after how many runs a shard ends if each of them was broken. More runs would
// say the same again, except of a property that hardly any run breaks first.
const everyRun = 64

// hopeless reports whether each run so far was broken, and there were enough of them.
// Runs that go on past what they break may differ in what they break next.
func (s *shard) hopeless(spec *Spec) bool {
	return s.Runs == everyRun && s.Violations == everyRun && spec.Past == 0
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
		rig.Ended()
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
