package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A Held tells an observer of states which reads determined the value of a held store, or
// of a store that has taken effect in a cell.
type Held struct {
	Object sim.Object // the cell
	By     sim.Hash   // what the storing step had read; zero: the store is by the current step
	CPU    int        // the CPU that held the store
	Over   bool       // the current step has written the cell after the store took effect
}

// drains records that a store to a cell takes effect.
func (f *Footprint) drains(c *CPU, s *heldStore) {
	f.add(objectHeldCell(c, s.cell), true)
	o := object(objCell, uint64(s.cell.ID()))
	f.overwritten(o)
	f.drained = append(f.drained, Held{Object: o, By: s.by, CPU: int(c.id)})
}

// overwritten records that a step writes a cell after making a store to it take effect.
func (r *reader) overwritten(o sim.Object) {
	for i := range r.drained {
		if r.drained[i].Object == o {
			r.drained[i].Over = true
		}
	}
}

// Drained returns, for an observer, the stores to cells that took effect in the step being
// reported, in order. The slice is valid until the next step.
func (r *reader) Drained() []Held { return r.drained }

// HasStored lets an observer record that h is what the step being reported had read, which
// determines the stores to cells that it made and that CPUs hold now. each is called for
// those stores, with the object that loads by the same CPU read.
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

// hash returns a hash of the held stores, up to number i, to the aligned eight bytes at at.
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

// appendHeld and setHeld are the parts of State.AppendRead and SetRead for held stores.
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

// awaits prepares a context's wait for a cell. The wait looks at the value that other CPUs
// see, which must not be older than the CPU's own last store to the cell.
func (w *WeakMemory) awaits(x *Ctx, id kapi.CellID) {
	if w.holds {
		w.awaitsHeld(x, id)
	}
}

func (w *WeakMemory) awaitsHeld(x *Ctx, id kapi.CellID) {
	if w.buffers[x.cpu.id].has(id) {
		w.drainAll(x)
	}
}
