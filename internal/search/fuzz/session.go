package fuzz

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/parallel"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/sim"
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

	// Stop, if not nil, ends the batch that is run when it is set. What is shown by then
	// depends on time.
	Stop *atomic.Bool
	_    struct{}
}

func (s *Spec) stopped() bool { return s.Stop != nil && s.Stop.Load() }

// batch is how many programs are run between two looks at what they have shown.
const batch = 32

// A Session draws programs and runs them, guided by what they show. One goroutine uses it.
type Session struct {
	Spec
	Programs uint64 // that were run
	Runs     uint64
	Refused  uint64 // programs that ask for what the kernel has not
	Next     uint64 // the seed of the next program that isn't made from another

	rand    sim.Rand
	counts  map[uint64]uint32 // how many programs have shown each feature
	once    uint64            // features that one program alone has shown
	twice   uint64
	kept    []*kept
	again   []gen.Recipe // that are to be run before others
	arms    [arms]bandit
	planned []*Program // of the last batch
	reach   reach
	broke   uint64 // programs all of whose runs broke something
}

// kept is a program that others are made from.
type kept struct {
	recipe gen.Recipe
	parts  []string
	rare   []uint64 // of the features that it has shown first, some
	points uint64   // a run had, in the mean
	used   uint64   // how many programs were made from it
}

// New begins a session. The error is about the strategy, or the kernel.
func New(spec Spec) (*Session, error) {
	if spec.Strategy != "" {
		if _, err := sched.New(spec.Strategy, sched.Params{}); err != nil {
			return nil, err
		}
	}
	s := &Session{Spec: spec, Next: spec.Seed, counts: make(map[uint64]uint32)}
	s.rand.Seed(spec.Seed, 3)
	if spec.Kernel != nil {
		blocks, err := blocksOf(spec.Kernel)
		if err != nil {
			return nil, err
		}
		s.reach = reach{blocks, make([]bool, len(blocks))}
	}
	return s, nil
}

// Batch runs at most so many programs, and returns them in order: those that were run to
// their end, if it was stopped.
// Errors are the tool's, and what a kernel's boot says. A panic of one is a *parallel.Crash,
// whose Job is its number.
func (s *Session) Batch(most uint64) ([]*Program, error) {
	list := make([]*Program, min(most, batch))
	for i := range list {
		list[i] = s.plan()
	}
	s.planned = list
	errs := make([]error, len(list))
	var stop atomic.Bool
	parallel.Run(s.Workers, len(list), &stop, func() (do func(int), close func()) {
		w := &runner{spec: &s.Spec, known: func(f uint64) bool { return s.counts[f] > 0 }, reach: s.reach}
		return func(i int) {
			if !stop.Load() && !s.stopped() {
				errs[i] = w.run(list[i])
			}
		}, func() {}
	})
	for _, err := range errs {
		if err != nil && !errors.Is(err, errStopped) {
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
	how := fresh
	if len(s.kept) > 0 && !s.Fresh {
		how = s.choose()
	}
	if how == fresh {
		s.Next++
		return &Program{Recipe: gen.Recipe{Seed: s.Next - 1}}
	}
	from := s.parent()
	from.used++
	return &Program{Recipe: s.made(how, from), how: how, from: from}
}

// made makes a recipe from that of a program that was kept.
func (s *Session) made(how arm, from *kept) gen.Recipe {
	r := from.recipe
	some := func() string { return from.parts[s.rand.N(len(from.parts))] }
	seed := func() uint64 { return max(s.rand.Uint64(), 1) }
	switch how {
	case part:
		return r.With(some(), seed())
	case parts:
		for range 2 + s.rand.N(5) {
			r = r.With(some(), seed())
		}
	case plainer:
		for range 1 + s.rand.N(3) {
			r = r.With(some(), gen.Plain)
		}
	case splice:
		with := s.kept[s.rand.N(len(s.kept))]
		sort := strings.TrimRight(with.parts[s.rand.N(len(with.parts))], "0123456789.")
		r = r.Taking(&with.recipe, with.parts, func(name string) bool { return strings.HasPrefix(name, sort) })
	case schedules: // the same program: no scenario has a part of that name
		return r.With("schedules", seed())
	}
	return r
}

// take takes what a program has shown.
func (s *Session) take(p *Program) {
	if p.Refused {
		s.Refused++
		s.earned(p.how, 0, 0)
		return
	}
	s.Programs++
	s.Runs += p.Runs
	if p.Violations == p.Runs {
		s.broke++
	}
	k := &kept{recipe: p.Recipe, parts: p.Parts, points: p.Points / max(p.Runs, 1)}
	news := uint64(0)
	for _, f := range p.features {
		n := s.counts[f] + 1
		s.counts[f] = n
		switch n {
		case 1:
			s.once++
			if news++; len(k.rare) < rareMost {
				k.rare = append(k.rare, f)
			}
		case 2:
			s.once--
			s.twice++
		case 3:
			s.twice--
		}
	}
	for _, b := range p.blocks {
		if !s.reach.reached[b] {
			s.reach.reached[b] = true
			news += blockNews
		}
	}
	s.earned(p.how, news, p.Points)
	if news == 0 || s.Fresh {
		if p.how == plainer {
			s.simpler(p)
		}
		return
	}
	p.Kept = true
	s.kept = append(s.kept, k)
	if len(s.kept) > keptMost {
		s.forget()
	}
}

const (
	rareMost  = 16   // features by which a program that is kept is chosen
	keptMost  = 4096 // programs
	blockNews = 8    // features that a new block counts for
)

// simpler puts a program in the place of the one that it was made from, if it is as rare
// and takes fewer points.
func (s *Session) simpler(p *Program) {
	if p.Points/max(p.Runs, 1) >= p.from.points {
		return
	}
	for _, f := range p.from.rare {
		if !slices.Contains(p.features, f) {
			return
		}
	}
	p.from.recipe, p.from.parts, p.from.points = p.Recipe, p.Parts, p.Points/max(p.Runs, 1)
}

// forget forgets the half of the programs that are chosen least.
func (s *Session) forget() {
	slices.SortStableFunc(s.kept, func(a, b *kept) int {
		x, y := s.score(a), s.score(b)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	clear(s.kept[keptMost/2:])
	s.kept = s.kept[:keptMost/2]
}

// score says how promising a program is: the rarer what it alone or few others show, and the
// fewer programs were made from it.
func (s *Session) score(k *kept) uint64 {
	rarest := uint32(1 << 20)
	for _, f := range k.rare {
		rarest = min(rarest, max(s.counts[f], 1))
	}
	return 1 << 40 / uint64(rarest) / (1 + k.used)
}

// parent chooses a program that was kept: the most promising of a few.
func (s *Session) parent() *kept {
	best := s.kept[s.rand.N(len(s.kept))]
	for range 3 {
		if k := s.kept[s.rand.N(len(s.kept))]; s.score(k) > s.score(best) {
			best = k
		}
	}
	return best
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
	c := Coverage{Features: uint64(len(s.counts)), Kept: len(s.kept)}
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
