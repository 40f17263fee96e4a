package fuzz

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/parallel"
	"kpsim/linux"
	"kpsim/sched"
)

// A Spec says what a session does.
type Spec struct {
	On       gen.On        // what programs are drawn for
	Kernel   *linux.Kernel // whose engine runs; nil: the one in Go
	Mutant   string        // of the engine in Go; "": none
	Strategy string        // of all schedules; "": mostly random
	Seed     uint64        // of the first program that isn't made from another
	Each     uint64        // schedules of a program, 1 or more; those that show what is new get more
	Fresh    bool          // no program is made from another
	Workers  int           // 0: one a processor; changes no result
	Rounds   Rounds        // how the session is divided among computers; zero: Batch runs its programs

	// Stop, if not nil, ends the batch that is run when it is set. What is shown by then
	// depends on time. An island that is stopped has no result.
	Stop *atomic.Bool
	_    struct{}
}

func (s *Spec) stopped() bool { return s.Stop != nil && s.Stop.Load() }

// batch is how many programs are run between two looks at what they have shown.
const batch = 32

// A Session draws programs and runs them, guided by what they show. One goroutine uses it;
// of Island alone there may be several calls at once.
type Session struct {
	Spec
	state
	again   []gen.Recipe // that are to be run before others
	planned []*Program   // of the last batch

	mu    sync.Mutex
	marks []*mark // what islands are planned from, by round
	folds uint64  // islands that were folded
}

// New begins a session. The error is about the strategy, the kernel, or the rounds.
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

// Batch runs at most so many programs, and returns them in order: those that were run to
// their end, if it was stopped.
// Errors are the tool's, and what a kernel's boot says. A panic of one is a *parallel.Crash,
// whose Job is its number.
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

// Again has the session begin with programs of these recipes.
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

// A Coverage is what a session has seen, and guesses it hasn't.
type Coverage struct {
	Features  uint64 // that were shown
	Estimated uint64 // how many there are, at least (Chao)
	New       uint64 // of a thousand programs more, how many would show a new one (Good and Turing); at most 1000
	Kept      int    // programs that others are made from
	Blocks    int    // of a kernel: reached
	BlocksAll int    // of so many that a program is expected to come to
}

// Coverage says what was seen.
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
	return c
}

// Unreached lists the blocks of the kernel that no program has come to, but for those that none
// is expected to.
func (s *Session) Unreached() (list []Block) {
	for i, b := range s.reach.blocks {
		if !s.reach.reached[i] && b.Why == "" {
			list = append(list, b)
		}
	}
	return list
}

// Excused lists the blocks that no program is expected to come to, each with the reason.
func (s *Session) Excused() (list []Block) {
	for _, b := range s.reach.blocks {
		if b.Why != "" {
			list = append(list, b)
		}
	}
	return list
}

// Hopeless reports whether every run of every program has broken something: there is
// nothing to be learnt from more.
func (s *Session) Hopeless() bool { return s.Programs >= batch && s.broke == s.Programs }
