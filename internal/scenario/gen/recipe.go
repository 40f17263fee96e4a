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

// A Recipe is what a scenario is drawn by (Of): one seed for all of its parts, but for
// those that have another. A part is a probe, a function, what one task does, and so on:
// what Parts lists. Recipes are what a fuzzer keeps, changes and joins.
type Recipe struct {
	Seed  uint64
	Parts []Part // sorted by their names
}

// Apart lies between the first programs of two seeds that follow each other: so near seeds draw no
// program that others draw, too. It is odd, so no two seeds begin with the same program.
const (
	apart   = 0x9e3779b97f4a7c15
	inverse = 0xf1de83e19937733d // apart * inverse is 1
)

// First returns the seed of the recipe that a search with a seed draws first; those after it
// have the next ones. Seed 1 begins with 1.
func First(seed uint64) uint64 { return 1 + (seed-1)*apart }

// FirstOf is the inverse of First: the seed of a search that begins with a recipe's.
func FirstOf(recipe uint64) uint64 { return 1 + (recipe-1)*inverse }

// A Part is a part of a scenario that is drawn by a seed of its own.
type Part struct {
	Name string
	Seed uint64
}

// Plain is the seed of a part that is drawn as plainly as it can be: the first of all
// alternatives, and nothing that is rare.
const Plain uint64 = 0

// seed returns that of a part.
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

// Taking returns the recipe with the parts that take says of another recipe's scenario, of
// which these are all parts.
func (r *Recipe) Taking(from *Recipe, parts []string, take func(name string) bool) Recipe {
	n := *r
	for _, name := range parts {
		if take(name) {
			n = n.With(name, from.seed(name))
		}
	}
	return n
}

// Hash returns a number that tells recipes apart.
func (r *Recipe) Hash() uint64 {
	h := sim.Mix(r.Seed)
	for _, b := range r.Marshal() {
		h = sim.Mix(h ^ uint64(b))
	}
	return h
}

// Marshal returns the recipe as text: a line for the seed and one for each part that has
// its own.
func (r *Recipe) Marshal() []byte {
	b := fmt.Appendf(nil, "seed %d\n", r.Seed)
	for _, p := range r.Parts {
		b = fmt.Appendf(b, "part %s %d\n", p.Name, p.Seed)
	}
	return b
}

// partsMost is how many parts a recipe that is read may have.
const partsMost = 1000

// ReadRecipe is the inverse of Marshal. The error names the line.
func ReadRecipe(text []byte) (r Recipe, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		bad := func() error {
			return fmt.Errorf("line %d: %.40q is no line of a recipe; the first is "+
				"\"seed N\", the others are \"part NAME N\"", n, lines.Text())
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
