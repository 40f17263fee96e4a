package fuzz

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/pairs"
	"kpsim/internal/search/parallel"
	"kpsim/linux"
	"kpsim/sched"
)

// A Spec configures a session.
type Spec struct {
	On       gen.On        // the kernels that programs are drawn for
	Kernel   *linux.Kernel // the kernel whose engine runs; nil: the engine in Go
	Mutant   string        // mutant of the engine in Go; "": none
	Strategy string        // strategy of all schedules; "": mostly random
	Seed     uint64        // seed of the first program that isn't made from another
	Each     uint64        // schedules per program, at least 1; programs that show new features get more
	Fresh    bool          // no program is made from another
	Workers  int           // 0: one per processor; doesn't change the result
	Rounds   Rounds        // how the session is divided among computers; zero: Batch runs its programs

	// Stop, if not nil, ends the running batch when it is set. The results up to then depend on
	// time. A stopped island has no result.
	Stop *atomic.Bool
	_    struct{}
}

func (s *Spec) stopped() bool { return s.Stop != nil && s.Stop.Load() }

// batch is the number of programs that are run before their results are used.
const batch = 32

// A Session draws programs and runs them, guided by their results. It must be used by one
// goroutine; only Island may be called concurrently.
type Session struct {
	Spec
	state
	again   []gen.Recipe // to be run before others
	planned []*Program   // of the last batch

	mu    sync.Mutex
	marks []*mark // states that islands start from, by round
	folds uint64  // number of islands folded
}

// New creates a session. The error is about the strategy, the kernel, or the rounds.
func New(spec Spec) (*Session, error) {
	if spec.Strategy != "" {
		if _, err := sched.New(spec.Strategy, sched.Params{}); err != nil {
			return nil, err
		}
	}
	if err := spec.Rounds.check(); err != nil {
		return nil, err
	}
	s := &Session{Spec: spec, state: state{Next: spec.Seed, fresh: spec.Fresh, on: spec.On,
		index: make(map[uint64]uint32)}}
	s.rand.Seed(spec.Seed, 3)
	if spec.Kernel != nil {
		blocks, err := blocksOf(spec.Kernel)
		if err != nil {
			return nil, err
		}
		s.reach = reach{blocks, make([]bool, len(blocks))}
	}
	if spec.Rounds.Islands > 0 {
		s.marks = []*mark{{state: s.state.clone()}}
	}
	return s, nil
}

// Batch runs at most the given number of programs and returns them in order; if stopped, only
// those that were completed.
// Errors are faults of kpsim or from a kernel's boot. A panic in a program is a *parallel.Crash
// whose Job is the program's number.
func (s *Session) Batch(most uint64) ([]*Program, error) {
	if s.Rounds.Islands > 0 {
		return nil, errors.New("a session that is divided into rounds runs islands, not batches")
	}
	list := make([]*Program, min(most, batch))
	for i := range list {
		list[i] = s.plan()
	}
	s.planned = list
	errs := make([]error, len(list))
	var stop atomic.Bool
	parallel.Run(s.Workers, len(list), &stop, func() (do func(int), close func()) {
		w := &runner{spec: &s.Spec, known: s.known, reach: s.reach}
		return func(i int) {
			if !stop.Load() && !s.stopped() {
				errs[i] = w.run(list[i])
			}
		}, func() {}
	})
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrStopped) {
			return nil, err
		}
	}
	list = slices.DeleteFunc(list, func(p *Program) bool { return !p.whole })
	for _, p := range list {
		s.take(p)
	}
	return list, nil
}

// Again makes the session start with programs of these recipes.
func (s *Session) Again(list ...gen.Recipe) { s.again = append(s.again, list...) }

// First returns the recipe of the first program.
func (s *Session) First() *gen.Recipe {
	if len(s.again) > 0 {
		return &s.again[0]
	}
	return &gen.Recipe{Seed: s.Next}
}

// Planned returns the recipe of program number i of the batch that was run last.
func (s *Session) Planned(i int) *gen.Recipe { return &s.planned[i].Recipe }

// plan makes the recipe of a program.
func (s *Session) plan() *Program {
	if len(s.again) > 0 {
		p := &Program{Recipe: s.again[0], how: again}
		s.again = s.again[1:]
		return p
	}
	return s.drawn()
}

// A Coverage tells what a session has seen, and estimates what is left.
type Coverage struct {
	Features  uint64 // features shown
	Estimated uint64 // estimated lower bound of all features (Chao)
	// New is how many of the next thousand programs will show a new feature (Good and Turing); at most 1000.
	New       uint64
	Kept      int // programs that others are made from
	Blocks    int // blocks of a kernel that were reached
	BlocksAll int // blocks that a program is expected to reach
	Pairs     int // pairs of operation and state that were reached
	PairsAll  int // pairs that a program is expected to reach
}

// Coverage returns what was seen so far.
func (s *Session) Coverage() Coverage {
	c := Coverage{Features: uint64(len(s.seen)), Kept: len(s.kept)}
	c.Estimated = c.Features + s.once*s.once/max(2*s.twice, 1)
	c.New = min(1000*s.once/max(s.Programs, 1), 1000)
	for i := range s.reach.blocks {
		if s.reach.blocks[i].Why != "" {
			continue
		}
		if c.BlocksAll++; s.reach.reached[i] {
			c.Blocks++
		}
	}
	c.PairsAll = len(pairs.Expected())
	c.Pairs = c.PairsAll - len(s.Unmet())
	return c
}

// Unmet lists the pairs of operation and state that no program has reached, without the excused
// ones.
func (s *Session) Unmet() []pairs.Pair {
	return slices.DeleteFunc(pairs.Expected(), func(p pairs.Pair) bool { return s.known(p.Feature()) })
}

// Unreached lists the blocks of the kernel that no program has reached, without the excused ones.
func (s *Session) Unreached() (list []Block) {
	for i, b := range s.reach.blocks {
		if !s.reach.reached[i] && b.Why == "" {
			list = append(list, b)
		}
	}
	return list
}

// Excused lists the blocks that no program is expected to reach, with the reasons.
func (s *Session) Excused() (list []Block) {
	for _, b := range s.reach.blocks {
		if b.Why != "" {
			list = append(list, b)
		}
	}
	return list
}

// Hopeless reports whether every run of every program broke something, so that more programs show
// nothing.
func (s *Session) Hopeless() bool { return s.Programs >= batch && s.broke == s.Programs }
