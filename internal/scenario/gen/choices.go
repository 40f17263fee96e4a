package gen

import "kpsim/sim"

// Choices are what a scenario is drawn from: every question that a generator asks
// is one of these, so that whatever answers them draws the same scenarios.
type Choices interface {
	// N returns a number from 0 to n-1, n > 0.
	N(n int) int

	// One reports true once in n.
	One(n int) bool

	// Part says that what is asked from here on is about a part of the scenario, until
	// the next call. It comes before all questions.
	Part(name string)
}

// recipes answers as a recipe says: each part from a stream of random numbers of its own,
// so that another stream for one part leaves the others as they are.
type recipes struct {
	recipe *Recipe
	parts  []stream
	now    int // which of the parts is being drawn
}

// A stream is what a part is drawn from.
type stream struct {
	name  string
	plain bool // the least answer to all
	rand  sim.Rand
}

func newRecipes(r *Recipe) *recipes { return &recipes{recipe: r} }

// N implements Choices.
func (c *recipes) N(n int) int {
	s := &c.parts[c.now]
	if s.plain {
		return 0
	}
	return s.rand.N(n)
}

// One implements Choices.
func (c *recipes) One(n int) bool {
	s := &c.parts[c.now]
	return !s.plain && s.rand.N(n) == 0
}

// Part implements Choices. A part that was begun before goes on.
func (c *recipes) Part(name string) {
	for i := range c.parts {
		if c.parts[i].name == name {
			c.now = i
			return
		}
	}
	c.now = len(c.parts)
	c.parts = append(c.parts, stream{name: name})
	s := &c.parts[c.now]
	seed := c.recipe.seed(name)
	s.plain = seed == Plain
	h := uint64(0)
	for _, b := range []byte(name) {
		h = sim.Mix(h ^ uint64(b))
	}
	s.rand.Seed(seed, h)
}
