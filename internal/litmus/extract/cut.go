package extract

import (
	"slices"

	"kpsim/smp/kapi"
)

// A graph has the accesses to shared words as its nodes. There is an edge from one to
// another that comes after it: in its CPU's program, or because it reads what that stored,
// or stores over what that stored or read. If the run is sequentially consistent, no way
// leads back.
type graph struct {
	r     *record
	nodes []int // accesses, in the order in which they were made
	at    []int // of each access: its node; -1: none
	to    [][]edge
	reads [][]int // of each word: its loads
	part  []int   // of each node: its strongly connected part
	size  []int   // of each part
}

// An edge leads to a node. meets: the two are of different CPUs, and of one word.
type edge struct {
	node  int
	meets bool
}

// newGraph makes the graph of the accesses to words that can be said.
func newGraph(r *record) *graph {
	g := &graph{r: r, at: make([]int, len(r.accesses)), reads: make([][]int, len(r.words))}
	before := make([]int, r.m.CPUs()) // node of each CPU, from 1
	for i := range r.accesses {
		g.at[i] = -1
		a := &r.accesses[i]
		if a.word < 0 || r.words[a.word].why != "" {
			continue
		}
		n := len(g.nodes)
		g.at[i] = n
		g.nodes = append(g.nodes, i)
		g.to = append(g.to, nil)
		if b := before[a.cpu]; b > 0 {
			g.to[b-1] = append(g.to[b-1], edge{n, false})
		}
		before[a.cpu] = n + 1
		if a.loads() {
			g.reads[a.word] = append(g.reads[a.word], i)
		}
	}
	for i := range r.words {
		g.wordEdges(&r.words[i], g.reads[i])
	}
	g.parts()
	return g
}

// wordEdges adds the edges between accesses to a word.
func (g *graph) wordEdges(w *word, reads []int) {
	if w.why != "" {
		return
	}
	next := make(map[int]int) // of a store: the one after it; of -1 the first
	was := -1
	for _, i := range w.order {
		next[was] = i
		if was >= 0 {
			g.add(was, i)
		}
		was = i
	}
	for _, i := range reads {
		a := &g.r.accesses[i]
		if a.from >= 0 {
			g.add(a.from, i)
		}
		if to, ok := next[a.from]; ok && to != i {
			g.add(i, to)
		}
	}
}

// add adds an edge between accesses.
func (g *graph) add(from, to int) {
	a, b := &g.r.accesses[from], &g.r.accesses[to]
	if a.cpu == b.cpu && from > to {
		return // a store that was read before it took effect
	}
	g.to[g.at[from]] = append(g.to[g.at[from]], edge{g.at[to], a.cpu != b.cpu})
}

// parts finds the strongly connected parts (Tarjan, 1972), without recursion.
func (g *graph) parts() {
	n := len(g.nodes)
	g.part = make([]int, n)
	seen, low, next := make([]int, n), make([]int, n), make([]int, n)
	on := make([]bool, n)
	var stack, way []int
	count := 0
	visit := func(v int) {
		count++
		seen[v], low[v] = count, count
		stack, way, on[v] = append(stack, v), append(way, v), true
	}
	for root := range n {
		if seen[root] > 0 {
			continue
		}
		visit(root)
		for len(way) > 0 {
			v := way[len(way)-1]
			if next[v] < len(g.to[v]) {
				u := g.to[v][next[v]].node
				next[v]++
				if seen[u] == 0 {
					visit(u)
				} else if on[u] {
					low[v] = min(low[v], seen[u])
				}
				continue
			}
			way = way[:len(way)-1]
			if len(way) > 0 {
				up := way[len(way)-1]
				low[up] = min(low[up], low[v])
			}
			if low[v] != seen[v] {
				continue
			}
			g.size = append(g.size, 0)
			for {
				u := stack[len(stack)-1]
				stack, on[u] = stack[:len(stack)-1], false
				g.part[u] = len(g.size) - 1
				g.size[len(g.size)-1]++
				if u == v {
					break
				}
			}
		}
	}
}

// cycles returns the accesses that meet another CPU's on a way that leads back to them, by
// number, and their words: why the run isn't sequentially consistent.
func (g *graph) cycles() (accesses, words map[int]bool) {
	accesses, words = make(map[int]bool), make(map[int]bool)
	for v := range g.to {
		for _, e := range g.to[v] {
			if e.meets && g.part[v] == g.part[e.node] {
				accesses[g.nodes[v]], accesses[g.nodes[e.node]] = true, true
				words[g.r.accesses[g.nodes[v]].word] = true
			}
		}
	}
	return accesses, words
}

// A step is an instruction of the test: an access of the run, or what it was as a fence.
type step struct {
	access int
	fence  bool
}

// cut chooses what the test has, in the order of the run. named are the words
// that are wanted, nil for those that matter.
func (r *record) cut(named map[int]bool) (steps []step, weak bool) {
	var kept []int
	g := newGraph(r)
	met, words := g.cycles()
	weak = len(words) > 0
	all := named != nil || !weak
	if named != nil {
		words = named
	} else if !weak {
		text := slices.ContainsFunc(r.words, func(w word) bool { return !w.cell && w.why == "" })
		for i := range r.words {
			words[i] = r.words[i].why == "" && r.words[i].cell != text
		}
	}
	read := make(map[[2]int]int) // of a CPU and a word: the store that the last load read
	for _, i := range g.nodes {
		a := &r.accesses[i]
		switch key := [2]int{int(a.cpu), a.word}; {
		case !words[a.word]:
		case a.stores() || !all && met[i]:
			kept = append(kept, i)
		case all:
			if from, ok := read[key]; !ok || from != a.from || met[i] {
				kept = append(kept, i)
			}
			read[key] = a.from
		}
	}
	if !all {
		kept = r.later(kept, met)
	}
	return r.fences(kept), weak
}

// later leaves out what came before the first of the accesses that are met, if others can't
// tell: its stores have taken effect, and nothing is read or stored later that is older than
// the newest of them. These are the words' first values then.
func (r *record) later(kept []int, met map[int]bool) []int {
	first := kept[slices.IndexFunc(kept, func(i int) bool { return met[i] })]
	newest := make(map[int]int) // of a word: the newest store before, -1: none
	for _, i := range kept {
		newest[r.accesses[i].word] = -1
	}
	for k := range newest {
		for n, i := range r.words[k].order {
			if i >= first {
				continue
			}
			if r.accesses[i].effect > r.accesses[first].issue || n > 0 && r.words[k].order[n-1] >= first {
				return kept
			}
			newest[k] = i
		}
	}
	var list []int
	for _, i := range kept {
		if a := &r.accesses[i]; i >= first {
			if a.loads() && a.from < first && a.from != newest[a.word] {
				return kept
			}
			list = append(list, i)
		}
	}
	for k, i := range newest {
		if i >= 0 {
			r.words[k].first = r.accesses[i].value
		}
	}
	return list
}

// fences puts between the accesses of each CPU the fences that the run had there: text's and
// the kernel's routines', as far as they are known, and where it is only known that the kernel
// ran, one between a store and a load. A read-modify-write that orders all, and whose word is
// left out, is a fence, too.
func (r *record) fences(kept []int) (list []step) {
	in := make(map[int]bool, len(kept))
	for _, i := range kept {
		in[i] = true
	}
	type state struct {
		stored bool // since the last full fence
		begun  bool
		wanted [len(fenceOrders)]int // before the next access, from 1; 0: none
	}
	cpus := make([]state, r.m.CPUs())
	for i := range r.accesses {
		a := &r.accesses[i]
		c := &cpus[a.cpu]
		order := a.order
		if order == kapi.OrderFull {
			order = kapi.OrderMB
		}
		k := slices.Index(fenceOrders[:], order)
		switch {
		case in[i]:
			full := a.op == swap && a.order == kapi.OrderFull // it is a fence itself
			for k, f := range c.wanted {
				if f == 0 || full || k > 0 && c.wanted[0] > 0 || r.accesses[f-1].guess && !(c.stored && a.op == load) {
					continue
				}
				list = append(list, step{f - 1, true})
				c.stored = c.stored && k > 0
			}
			c.begun, c.wanted = true, [len(fenceOrders)]int{}
			c.stored = (c.stored || a.op == store) && !full
			list = append(list, step{i, false})
		case !c.begun || k < 0 || a.op == gone || a.guess && r.routinesKnown || a.op == failed && r.lkmm:
		case a.op == fence || a.op == swap || a.op == failed:
			if f := c.wanted[k]; f == 0 || r.accesses[f-1].guess {
				c.wanted[k] = i + 1
			}
		}
	}
	return list
}

// fenceOrders are the orders of fences, the full one first.
var fenceOrders = [...]kapi.Order{kapi.OrderMB, kapi.OrderRMB, kapi.OrderWMB}
