package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Held is what an observer of states has to know of a store that is held, and of what its
// taking effect has left in a cell: what the step has read that made it.
type Held struct {
	Object sim.Object // the cell
	By     sim.Hash   // zero: the step under way has made it itself
	CPU    int        // whose it was
	Over   bool       // and the step has written the cell after it
}

// drains takes that a store to a cell takes effect.
func (f *Footprint) drains(c *CPU, s *heldStore) {
	f.add(objectHeldCell(c, s.cell), true)
	o := object(objCell, uint64(s.cell.ID()))
	f.overwritten(o)
	f.drained = append(f.drained, Held{Object: o, By: s.by, CPU: int(c.id)})
}

// overwritten takes that a step writes a cell to which it has made a store take effect.
func (f *Footprint) overwritten(o sim.Object) {
	for i := range f.drained {
		if f.drained[i].Object == o {
			f.drained[i].Over = true
		}
	}
}

// Drained is for an observer, of the step that it is being told of: the stores to cells that
// have taken effect in it, in order. It is valid until the next step.
func (f *Footprint) Drained() []Held { return f.drained }

// HasStored is for an observer: h is what the step that is being reported had read, and so
// what it has stored in cells that CPUs hold now. each is called with what those stores are
// to loads by the same CPU, which read that object.
func (f *Footprint) HasStored(h sim.Hash, each func(o sim.Object, by sim.Hash)) {
	f.hasMade(h)
	if !f.m.weak.holds {
		return
	}
	for c := range f.m.weak.buffers {
		b := &f.m.weak.buffers[c]
		i := len(b.q)
		for i > 0 && b.q[i-1].by == (sim.Hash{}) {
			i--
		}
		for ; i < len(b.q); i++ {
			s := &b.q[i]
			if s.by = h; s.cell != nil {
				s.by.Add(uint64(s.cell.ID()))
				each(objectHeldCell(&f.m.cpus.list[c], s.cell), s.by)
				continue
			}
			for at := s.at; at < s.at+arch.Addr(s.size); at = at&^7 + 8 {
				each(objectHeldWord(&f.m.cpus.list[c], at), b.hash(at&^7, i))
			}
		}
	}
}

// hash is what the stores up to number i are of eight aligned bytes.
func (b *buffer) hash(at arch.Addr, i int) (h sim.Hash) {
	h.Add(1)
	for k := range b.q[:i+1] {
		if s := &b.q[k]; s.meets(at, 8) {
			h.Add(uint64(s.at)<<4 | uint64(s.size))
			h.Add(s.value)
		}
	}
	return h
}

// appendHeld and setHeld are State's AppendRead and SetRead of what is held.
func (w *WeakMemory) appendHeld(list []sim.Hash) []sim.Hash {
	for c := range w.buffers {
		for i := range w.buffers[c].q {
			list = append(list, w.buffers[c].q[i].by)
		}
	}
	return w.appendMade(list)
}

func (w *WeakMemory) setHeld(list []sim.Hash) (rest []sim.Hash) {
	for c := range w.buffers {
		q := w.buffers[c].q
		if len(list) < len(q) {
			sim.Bug("a run that stands at the same place has more stores held")
		}
		for i := range q {
			q[i].by = list[i]
		}
		list = list[len(q):]
	}
	if w.versions() {
		return w.setMade(list)
	}
	return list
}

// awaits prepares a wait for a cell: it looks at what others see, which must not be older
// than what the CPU has stored there itself.
func (x *Ctx) awaits(id kapi.CellID) {
	if x.m.weak.holds {
		x.awaitsHeld(id)
	}
}

func (x *Ctx) awaitsHeld(id kapi.CellID) {
	if x.m.weak.buffers[x.cpu.id].has(id) {
		x.drainStores()
	}
}
