package extract

import "slices"

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
		for i := range r.words {
			words[i] = r.words[i].why == ""
		}
	}
	read := make(map[[2]int]int) // of a CPU and a word: the store that the last load read
	for _, i := range g.nodes {
		a := &r.accesses[i]
		switch key := [2]int{int(a.cpu), a.word}; {
		case !words[a.word]:
		case a.op != load || !all && met[i]:
			kept = append(kept, i)
		case all:
			if from, ok := read[key]; !ok || from != a.from || met[i] {
				kept = append(kept, i)
			}
			read[key] = a.from
		}
	}
	return r.fences(kept), weak
}

// fences puts between the accesses of each CPU the fences that the run had there: text's,
// and where the kernel ran, those that matter, between a store and a load. A locked
// instruction whose word is left out is a fence, too.
func (r *record) fences(kept []int) (list []step) {
	in := make(map[int]bool, len(kept))
	for _, i := range kept {
		in[i] = true
	}
	type state struct {
		stored bool // since the last fence
		begun  bool
		fence  int // that is wanted before the next access; -1: none
	}
	cpus := make([]state, r.m.CPUs())
	for i := range cpus {
		cpus[i].fence = -1
	}
	for i := range r.accesses {
		a := &r.accesses[i]
		c := &cpus[a.cpu]
		switch {
		case in[i]:
			if f := c.fence; f >= 0 && (r.accesses[f].in != nil || c.stored && a.op == load) && a.op != swap {
				list = append(list, step{f, true})
				c.stored = false
			}
			c.fence, c.begun = -1, true
			c.stored = (c.stored || a.op == store) && a.op != swap
			list = append(list, step{i, false})
		case a.op == fence || a.op == swap:
			if c.begun && (c.fence < 0 || r.accesses[c.fence].in == nil) {
				c.fence = i
			}
		}
	}
	slices.SortStableFunc(list, func(a, b step) int { return a.access - b.access })
	return list
}
