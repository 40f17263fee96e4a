package fuzz

import (
	"maps"
	"slices"
	"strings"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/pairs"
	"kpsim/sim"
)

// A state is what a session has learnt. Programs are planned from it, and their results change
// it. It depends only on the results taken and their order.
type state struct {
	Programs uint64 // programs run
	Runs     uint64
	Refused  uint64 // programs that use something the kernel lacks
	Next     uint64 // seed of the next program that isn't made from another

	fresh bool   // Spec.Fresh
	on    gen.On // Spec.On
	rand  sim.Rand
	index map[uint64]uint32 // indices into seen, by the feature's hash
	seen  []feature         // in order of first appearance
	once  uint64            // number of features shown by only one program
	twice uint64
	kept  []*kept
	arms  [arms]bandit
	reach reach
	broke uint64 // programs in which every run broke something
}

// A feature is one that programs have shown.
type feature struct {
	hash  uint64
	shown uint32 // number of programs that showed it
}

// A kept is a program that others are made from.
type kept struct {
	number uint64 // number of the program, counted over all islands
	recipe gen.Recipe
	parts  []string
	rare   []uint32 // some of the features that it showed first, as indices into seen
	points uint64   // mean cost of a run, in points
	used   uint64   // number of programs made from it
}

// clone returns a copy that shares only immutable parts with the state.
func (s *state) clone() state {
	c := *s
	c.index, c.seen, c.reach.reached = maps.Clone(s.index), slices.Clone(s.seen), slices.Clone(s.reach.reached)
	c.kept = slices.Clone(s.kept)
	all := make([]kept, len(s.kept))
	for i, k := range s.kept {
		all[i] = *k
		c.kept[i] = &all[i]
	}
	return c
}

// known reports whether a program has shown a feature.
func (s *state) known(f uint64) bool {
	_, ok := s.index[f]
	return ok
}

// parts returns the parts of a program's scenario. A program that ran elsewhere arrives without
// them.
func (s *state) parts(p *Program) []string {
	if p.Parts == nil {
		_, p.Parts = gen.Of(&p.Recipe, s.on)
	}
	return p.Parts
}

// drawn makes the recipe of a program, from kept programs or from the next seed.
func (s *state) drawn() *Program {
	how := fresh
	if len(s.kept) > 0 && !s.fresh {
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

// made makes a recipe from that of a kept program.
func (s *state) made(how arm, from *kept) gen.Recipe {
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
	case schedules: // the same program: no part of a scenario has that name
		return r.With("schedules", seed())
	}
	return r
}

// take adds the results of a program.
func (s *state) take(p *Program) {
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
	k := &kept{number: p.number, points: p.Points / max(p.Runs, 1)}
	news := uint64(0)
	for _, f := range p.features {
		i, ok := s.index[f]
		if !ok {
			i = uint32(len(s.seen))
			s.index[f], s.seen = i, append(s.seen, feature{hash: f})
		}
		s.seen[i].shown++
		switch s.seen[i].shown {
		case 1:
			s.once++
			if news++; pairs.Is(f) {
				news += pairNews - 1
			}
			if len(k.rare) < rareMost {
				k.rare = append(k.rare, i)
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
	if news == 0 || s.fresh {
		if p.how == plainer {
			s.simpler(p)
		}
		return
	}
	p.Kept = true
	k.recipe, k.parts = p.Recipe, s.parts(p)
	s.kept = append(s.kept, k)
	if len(s.kept) > keptMost {
		s.forget()
	}
}

const (
	rareMost  = 16   // rare features kept for a program, by which it is chosen
	keptMost  = 4096 // maximum number of programs
	blockNews = 8    // weight of a new block, in features
	pairNews  = 8    // weight of a new pair of operation and state, in features
)

// simpler replaces a program's parent by the program if it is as rare and cheaper in points.
func (s *state) simpler(p *Program) {
	if p.from == nil || p.Points/max(p.Runs, 1) >= p.from.points {
		return
	}
	for _, i := range p.from.rare {
		if !slices.Contains(p.features, s.seen[i].hash) {
			return
		}
	}
	p.from.recipe, p.from.parts, p.from.points = p.Recipe, s.parts(p), p.Points/max(p.Runs, 1)
}

// forget drops the half of the programs that are chosen least.
func (s *state) forget() {
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

// score returns how promising a program is: higher the rarer its features are, and the fewer
// programs were made from it.
func (s *state) score(k *kept) uint64 {
	rarest := uint32(1 << 20)
	for _, i := range k.rare {
		rarest = min(rarest, max(s.seen[i].shown, 1))
	}
	return 1 << 40 / uint64(rarest) / (1 + k.used)
}

// parent chooses a kept program: the most promising of a few random ones.
func (s *state) parent() *kept {
	best := s.kept[s.rand.N(len(s.kept))]
	for range 3 {
		if k := s.kept[s.rand.N(len(s.kept))]; s.score(k) > s.score(best) {
			best = k
		}
	}
	return best
}
