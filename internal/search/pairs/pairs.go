package pairs

import (
	"fmt"
	"sync"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/sim"
)

// A Pair is an operation and a state of its object.
type Pair struct {
	Operation string // as a program writes it: register, tracer(True)
	Object    string // the sort of object: kprobe
	State     string
	Why       string // why no drawn program is expected to reach it; "" if one is

	hash uint64
}

// String returns the pair as one line.
func (p *Pair) String() string { return fmt.Sprintf("%s, %s: %s", p.Operation, p.Object, p.State) }

// Feature returns the pair as a feature of a program.
func (p *Pair) Feature() uint64 { return p.hash }

// A table has all pairs.
type table struct {
	pairs []Pair
	of    map[variant][]int // the numbers of an operation's pairs, by the states of the sort; -1: there is none
	index map[uint64]int    // by feature
}

// A variant is an operation, with the value of its switch, about a sort of object.
type variant struct {
	kind *scenario.Operation
	on   bool
	sort *sort
}

// all makes the pairs, in the order of the operations.
var all = sync.OnceValue(func() *table {
	t := &table{of: make(map[variant][]int), index: make(map[uint64]int)}
	for _, k := range act.All() {
		switched := k.Has(scenario.ParamOn)
		for _, on := range []bool{false, true}[:1+b2i(switched)] {
			for _, s := range sortsOf(k.Object) {
				t.add(variant{k, on, s}, switched)
			}
		}
	}
	return t
})

// add adds the pairs of an operation and a sort.
func (t *table) add(v variant, switched bool) {
	word := v.kind.Word
	if switched {
		word = fmt.Sprintf("%s(%s)", word, map[bool]string{false: "False", true: "True"}[v.on])
	}
	for i := range v.sort.states {
		st := &v.sort.states[i]
		if st.of != nil && !st.of(v.kind) {
			t.of[v] = append(t.of[v], -1)
			continue
		}
		p := Pair{Operation: word, Object: v.sort.name, State: st.name}
		p.Why = whyNot(&p)
		for _, b := range []byte(p.String()) {
			p.hash = sim.Mix(p.hash ^ uint64(b))
		}
		t.of[v] = append(t.of[v], len(t.pairs))
		t.index[p.hash] = len(t.pairs)
		t.pairs = append(t.pairs, p)
	}
}

// All returns the pairs, in the order of the operations.
func All() []Pair { return all().pairs }

// Expected returns those that aren't excused.
func Expected() (list []Pair) {
	for _, p := range All() {
		if p.Why == "" {
			list = append(list, p)
		}
	}
	return list
}

// Is reports whether a feature is a pair.
func Is(feature uint64) bool {
	_, ok := all().index[feature]
	return ok
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
