package lkmm

import "kpsim/sim"

// A view is a position in the coherence order of each cell, by its number. Cells beyond
// its length are at 0, the oldest version kept.
type view []uint32

func (v view) at(cell uint32) uint32 {
	if int(cell) < len(v) {
		return v[cell]
	}
	return 0
}

// raise moves one cell to pos or leaves it where it is, the later of the two.
func (v *view) raise(cell, pos uint32) {
	for int(cell) >= len(*v) {
		*v = append(*v, 0)
	}
	(*v)[cell] = max((*v)[cell], pos)
}

// join moves each cell to the later of both positions.
func (v *view) join(o view) {
	for len(*v) < len(o) {
		*v = append(*v, 0)
	}
	w := (*v)[:len(o)]
	for i, pos := range o {
		w[i] = max(w[i], pos)
	}
}

func (v *view) clear() { *v = (*v)[:0] }

// opened makes room for a message at pos.
func (v view) opened(cell, pos uint32) {
	if int(cell) < len(v) && v[cell] >= pos {
		v[cell]++
	}
}

// dropped forgets the n oldest messages of a cell.
func (v view) dropped(cell, n uint32) {
	if int(cell) < len(v) {
		v[cell] -= min(v[cell], n)
	}
}

// addState appends the view: cells at 0 say nothing.
func (v view) addState(h *sim.Hash) {
	for i, pos := range v {
		if pos != 0 {
			h.Add(uint64(i)<<32 | uint64(pos))
		}
	}
	h.Add(1 << 63)
}

// A pair is what an event stands after: the view that orders what depends on it, and
// the fence view, which travels further.
type pair struct{ view, fence view }

func (p *pair) join(o *pair) {
	p.view.join(o.view)
	p.fence.join(o.fence)
}

func (p *pair) clear() {
	p.view.clear()
	p.fence.clear()
}

func (p *pair) at(cell uint32) uint32 { return max(p.view.at(cell), p.fence.at(cell)) }

func (p *pair) addState(h *sim.Hash) {
	p.view.addState(h)
	p.fence.addState(h)
}
