package gen

import "kpsim/sim"

// Choices answers the questions from which a scenario is drawn. All of a generator's questions go
// through it, so any source of equal answers draws equal scenarios.
type Choices interface {
	// N returns a number from 0 to n-1, n > 0.
	N(n int) int

	// One reports true once in n.
	One(n int) bool

	// Part says that the following questions, until the next call, are about a part of the
	// scenario. It must be called before any question.
	Part(name string)
}

// recipes answers according to a recipe: each part has its own stream of random numbers, so
// another stream for one part leaves the others unchanged.
type recipes struct {
	recipe *Recipe
	parts  []stream
	now    int // index of the current part
}

// A stream is the source of one part's answers.
type stream struct {
	name  string
	plain bool // every answer is the smallest
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

// Part implements Choices. A part that was started before is continued.
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
