package gen

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/sim"
)

// A Recipe determines a scenario (Of): one seed for all parts except those with a seed of their
// own. A part is a probe, a function, a task's operations, and so on: see Parts. A fuzzer keeps,
// changes and combines recipes.
type Recipe struct {
	Seed  uint64
	Parts []Part // sorted by name
}

// apart is the distance between the first programs of two consecutive seeds, so that nearby seeds
// draw different programs. It is odd, so no two seeds begin with the same program.
const (
	apart   = 0x9e3779b97f4a7c15
	inverse = 0xf1de83e19937733d // apart * inverse is 1
)

// First returns the seed of the first recipe that a search with the given seed draws; later ones
// count up from it. Seed 1 begins with 1.
func First(seed uint64) uint64 { return 1 + (seed-1)*apart }

// FirstOf is the inverse of First: it returns the seed of the search that begins with this
// recipe's seed.
func FirstOf(recipe uint64) uint64 { return 1 + (recipe-1)*inverse }

// A Part is a part of a scenario with a seed of its own.
type Part struct {
	Name string
	Seed uint64
}

// Plain is the seed of a part drawn as plainly as possible: always the first alternative, and
// nothing rare.
const Plain uint64 = 0

// seed returns the seed of a part.
func (r *Recipe) seed(name string) uint64 {
	if i, ok := r.find(name); ok {
		return r.Parts[i].Seed
	}
	return r.Seed
}

func (r *Recipe) find(name string) (i int, ok bool) {
	return slices.BinarySearchFunc(r.Parts, name, func(p Part, name string) int {
		return strings.Compare(p.Name, name)
	})
}

// With returns the recipe with another seed for a part.
func (r *Recipe) With(name string, seed uint64) Recipe {
	n := Recipe{r.Seed, slices.Clone(r.Parts)}
	if i, ok := n.find(name); ok {
		n.Parts[i].Seed = seed
	} else {
		n.Parts = slices.Insert(n.Parts, i, Part{name, seed})
	}
	return n
}

// Taking returns the recipe with some parts of another recipe's scenario: those of the list
// parts, which must be complete, that take selects.
func (r *Recipe) Taking(from *Recipe, parts []string, take func(name string) bool) Recipe {
	n := *r
	for _, name := range parts {
		if take(name) {
			n = n.With(name, from.seed(name))
		}
	}
	return n
}

// Hash returns a hash of the recipe.
func (r *Recipe) Hash() uint64 {
	h := sim.Mix(r.Seed)
	for _, b := range r.Marshal() {
		h = sim.Mix(h ^ uint64(b))
	}
	return h
}

// Marshal returns the recipe as text: a line for the seed, and one for each part with a seed of
// its own.
func (r *Recipe) Marshal() []byte {
	b := fmt.Appendf(nil, "seed %d\n", r.Seed)
	for _, p := range r.Parts {
		b = fmt.Appendf(b, "part %s %d\n", p.Name, p.Seed)
	}
	return b
}

// partsMost is the maximum number of parts that ReadRecipe accepts.
const partsMost = 1000

// ReadRecipe is the inverse of Marshal. The error names the line.
func ReadRecipe(text []byte) (r Recipe, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		bad := func() error {
			return fmt.Errorf("line %d: %.40q is no line of a recipe; the first is \"seed N\", the others are "+
				"\"part NAME N\"", n, lines.Text())
		}
		want := "part"
		if n == 1 {
			want = "seed"
		}
		if len(words) < 2 || words[0] != want || len(words) != map[string]int{"seed": 2, "part": 3}[want] {
			return r, bad()
		}
		seed, err := strconv.ParseUint(words[len(words)-1], 10, 64)
		if err != nil {
			return r, bad()
		}
		switch {
		case n == 1:
			r.Seed = seed
		case len(r.Parts) == partsMost:
			return r, fmt.Errorf("line %d: a recipe has at most %d parts", n, partsMost)
		default:
			r = r.With(words[1], seed)
		}
	}
	if err := lines.Err(); err != nil {
		return r, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return r, fmt.Errorf("line 1: it is empty; the first line of a recipe is \"seed N\"")
	}
	return r, nil
}

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
