package extract

import (
	"cmp"
	"fmt"
	"slices"

	"kpsim/internal/search/replay"
	"kpsim/smp/arch"
)

// A word is memory that CPUs share: more than one has accessed it, and one has stored.
type word struct {
	at    arch.Addr
	size  uint8
	name  string // as people write it: symbol+0xoffset, or symbol
	first uint64 // before compiled code ran
	last  uint64 // when all stores have taken effect
	cell  bool
	why   string // it can't be said: why not; "" if it can

	order []int // stores to it, in the order in which they took effect
}

// A span is some bytes of memory, and what uses them.
type span struct {
	at     arch.Addr
	size   uint8
	cpus   uint64
	stored bool
	cell   bool
}

// findWords finds the words that are shared, by address. Spans that overlap are one, which
// can't be said.
func (r *record) findWords() {
	type key struct {
		at   arch.Addr
		size uint8
	}
	uses := make(map[key]*span)
	var spans []*span
	for i := range r.accesses {
		a := &r.accesses[i]
		if a.size == 0 {
			continue
		}
		s := uses[key{a.at, a.size}]
		if s == nil {
			s = &span{at: a.at, size: a.size, cell: a.cell}
			uses[key{a.at, a.size}] = s
			spans = append(spans, s)
		}
		s.cpus |= 1 << a.cpu
		s.stored = s.stored || a.stores()
	}
	slices.SortFunc(spans, func(a, b *span) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.size, a.size)) })
	of := make(map[key]int)
	for i := 0; i < len(spans); {
		s := *spans[i]
		end := s.at + arch.Addr(s.size)
		n := i + 1
		for ; n < len(spans) && spans[n].at < end; n++ {
			s.cpus |= spans[n].cpus
			s.stored = s.stored || spans[n].stored
			end = max(end, spans[n].at+arch.Addr(spans[n].size))
		}
		if s.cpus&(s.cpus-1) != 0 && s.stored {
			w := word{at: s.at, size: s.size, cell: s.cell, name: r.name(s.at)}
			if n > i+1 {
				w.why = "is accessed in pieces"
			}
			for k := i; k < n; k++ {
				of[key{spans[k].at, spans[k].size}] = len(r.words)
			}
			r.words = append(r.words, w)
		}
		i = n
	}
	for i := range r.accesses {
		a := &r.accesses[i]
		if w, ok := of[key{a.at, a.size}]; ok && a.size > 0 {
			a.word = w
		}
	}
}

// name names an address.
func (r *record) name(at arch.Addr) string {
	switch {
	case at == cellBase:
		return "text" // stores to it are in the order of cells
	case at >= mailBase && at < mailBase+1<<20:
		return fmt.Sprintf("sent_to_cpu%d", (at-mailBase)/cellSize)
	case at > cellBase && at < mailBase:
		return replay.CellName(r.m, uint64(at-cellBase)/cellSize)
	}
	name, off, ok := r.m.Names().SymbolAt(at)
	switch {
	case ok && off == 0:
		return name
	case ok:
		return fmt.Sprintf("%s+%#x", name, off)
	}
	if task := r.m.Names().StackOf(uint64(at)); task != "" {
		return fmt.Sprintf("stack of %s at %#x", task, uint64(at))
	}
	return fmt.Sprintf("%#x", uint64(at))
}

// order finds in which order the stores to each word took effect, and which one each load
// read. What CPUs still hold at the end takes effect then, of one CPU after the other.
func (r *record) order() {
	var list []int // accesses, in the order of their effects
	for i := range r.accesses {
		a := &r.accesses[i]
		if a.effect == last {
			a.effect = last + int(a.cpu)<<32 + a.issue
		}
		list = append(list, i)
	}
	slices.SortFunc(list, func(i, k int) int { return cmp.Compare(r.accesses[i].effect, r.accesses[k].effect) })
	for i := range r.words {
		r.words[i].last = r.words[i].first
	}
	r.own()
	for _, i := range list {
		a := &r.accesses[i]
		if a.word < 0 {
			continue
		}
		w := &r.words[a.word]
		if w.why != "" {
			continue
		}
		if w.cell && r.lkmm {
			w.version(r, i)
			continue
		}
		if a.loads() {
			r.source(w, i)
		}
		if a.stores() {
			w.order = append(w.order, i)
			w.last = a.value
		}
	}
	r.number()
}

// version puts a store to a cell where it goes in the order of versions, and finds the one
// that a load reads.
func (w *word) version(r *record, i int) {
	a := &r.accesses[i]
	n := len(w.order)
	if a.loads() {
		a.from = -1
		if k := n - 1 - a.back; k >= 0 {
			a.from = w.order[k]
		}
	}
	if a.stores() {
		w.order = slices.Insert(w.order, max(n-a.back, 0), i)
	}
}

// number gives the stores to cells their values: the first one 1, and so on.
func (r *record) number() {
	for i := range r.words {
		w := &r.words[i]
		if !w.cell {
			continue
		}
		for k, s := range w.order {
			r.accesses[s].value = uint64(k + 1)
		}
		w.last = uint64(len(w.order))
	}
	for i := range r.accesses {
		if a := &r.accesses[i]; a.cell && a.loads() && a.from >= 0 {
			a.saw = r.accesses[a.from].value
		}
	}
}

// own finds for each load the last store before it that its CPU has made to the word.
func (r *record) own() {
	newest := make(map[[2]int]int)
	for i := range r.accesses {
		a := &r.accesses[i]
		if a.word < 0 {
			continue
		}
		key := [2]int{int(a.cpu), a.word}
		if k, ok := newest[key]; ok && a.loads() {
			a.from = k
		}
		if a.stores() {
			newest[key] = i
		}
	}
}

// source finds which store a load read: its CPU's own, if that hasn't taken effect yet,
// else the last one that has.
func (r *record) source(w *word, i int) {
	a := &r.accesses[i]
	if a.from < 0 || r.accesses[a.from].effect < a.issue {
		a.from = -1
		if n := len(w.order); n > 0 {
			a.from = w.order[n-1]
		}
	}
	v := w.first
	if a.from >= 0 {
		v = r.accesses[a.from].value
	}
	if v != a.saw && !w.cell {
		w.why = "is changed by the kernel's own routines"
	}
}
