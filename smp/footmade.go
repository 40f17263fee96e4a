package smp

import (
	"slices"

	"kpsim/sim"
	"kpsim/smp/kapi"
)

// Under the kernel's memory model a routine may read an older version of a cell. What the
// routine then knows depends on the writer of that version, not on the last writer. For
// observers of states each version therefore records what the step that made it had read.

// atBoot stands for the maker of the first version of each cell.
var atBoot = sim.Hash{Hi: 1, Lo: 1}

// versions reports whether cells keep versions.
func (w *WeakMemory) versions() bool { return w.m.cfg.Memory == LKMM }

// madeBy returns, for each version of a cell, the hash of what its maker had read, oldest
// first. The zero hash stands for the step under way.
func (w *WeakMemory) madeBy(id kapi.CellID) *[]sim.Hash {
	for int(id) >= len(w.made) {
		w.made = append(w.made, nil)
	}
	made := &w.made[id]
	if len(*made) == 0 {
		for range w.views.Versions(uint32(id)) {
			*made = append(*made, atBoot)
		}
	}
	return made
}

// readsVersion notes that a routine has read the version of a cell that is back ones older
// than the newest.
func (f *Footprint) readsVersion(id kapi.CellID, back int) {
	made := *f.m.weak.madeBy(id)
	f.reads = append(f.reads, Reading{Object: object(objCell, uint64(id)), Version: true, By: made[len(made)-1-back]})
}

// makes notes that the step under way has made a version of a cell, back ones older than the
// newest.
func (f *Footprint) makes(id kapi.CellID, back int) {
	made := f.m.weak.madeBy(id)
	*made = slices.Insert(*made, len(*made)-back, sim.Hash{})
	f.made = append(f.made, id)
}

// remakes notes that the step under way has changed the value of a cell's newest version.
func (f *Footprint) remakes(id kapi.CellID) {
	if f.m.weak.versions() && f.Observing() {
		made := *f.m.weak.madeBy(id)
		made[len(made)-1] = sim.Hash{}
		f.made = append(f.made, id)
	}
}

// forgets notes that the n oldest versions of a cell are gone.
func (w *WeakMemory) forgets(id kapi.CellID, n int) {
	if made := w.madeBy(id); n > 0 {
		*made = slices.Delete(*made, 0, n)
	}
}

// hasMade is HasStored for versions.
func (f *Footprint) hasMade(h sim.Hash) {
	for k, id := range f.made {
		made := f.m.weak.made[id]
		for i := range made {
			if made[i] == (sim.Hash{}) {
				made[i] = h
				made[i].Add(uint64(id)<<8 | uint64(k))
			}
		}
	}
	f.made = f.made[:0]
}

// appendMade and setMade are the parts of State.AppendRead and SetRead for versions. For
// each cell whose versions differ from boot they hold its number, the number of versions and
// the hashes of their makers.
func (w *WeakMemory) appendMade(list []sim.Hash) []sim.Hash {
	for id, made := range w.made {
		if len(made) > 1 || len(made) == 1 && made[0] != atBoot {
			list = append(list, sim.Hash{Hi: uint64(id), Lo: uint64(len(made))})
			list = append(list, made...)
		}
	}
	return list
}

func (w *WeakMemory) setMade(list []sim.Hash) (rest []sim.Hash) {
	for len(list) > 0 {
		id, n := kapi.CellID(list[0].Hi), int(list[0].Lo)
		if list = list[1:]; n != w.views.Versions(uint32(id)) {
			sim.Bug("a run that stands at the same place has %d versions of cell %d, and not %d",
				w.views.Versions(uint32(id)), id, n)
		}
		made := w.madeBy(id)
		*made = append((*made)[:0], list[:n]...)
		list = list[n:]
	}
	return list
}
