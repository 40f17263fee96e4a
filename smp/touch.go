package smp

import (
	"fmt"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
)

// The sorts of object, in the top byte of its number.
const (
	objCell      = iota + 1 // a cell, by its number
	objWord                 // eight aligned bytes of data, by their number
	objChunk                // eight aligned bytes of text, by their number
	objBoundary             // what a delivery to a CPU may come before or after
	objIPI                  // the IPIs pending on a CPU
	objQueue                // a CPU's run queue, and the states of its tasks
	objIdle                 // whether a CPU is in its idle loop, outside an interrupt
	objFloor                // since when a CPU's fetches are fresh: it serialised
	objSource               // a source's budget, or that it is armed
	objService              // of the kernel: what the machine doesn't know
	objEvent                // what a monitor remembers: its number, then the monitor's own object
	objBuffer               // what a CPU holds, to those that wait until it holds nothing
	objHeldPlace            // of a CPU, a place for a store that it holds
	objHeldCell             // of a CPU, a cell that it holds a store to
	objHeldWord             // likewise of eight aligned bytes of data
	objFence                // 0: what all full fences have in common; 1: what stores to text have
	objSpin                 // who has made a step since a CPU's last pause
)

func object(sort, number uint64) sim.Object { return sim.Object(sort<<56 | number&(1<<56-1)) }

// bytesNumber numbers eight aligned bytes; 48 bits of an address say all.
func bytesNumber(a arch.Addr) uint64 { return uint64(a) & (1<<48 - 1) / 8 }

func bytesAt(number uint64) arch.Addr {
	a := number * 8
	return arch.Addr(int64(a<<16) >> 16)
}

// Object describes an object that steps touch.
func (n *Names) Object(o sim.Object) string {
	switch number := uint64(o) & (1<<56 - 1); uint64(o >> 56) {
	case objCell:
		if n.Cell != nil {
			if s := n.Cell(kapi.CellID(number)); s != "" {
				return s
			}
		}
		return fmt.Sprintf("cell %d", number)
	case objWord:
		return "data at " + n.Symbol(bytesAt(number))
	case objChunk:
		return "text at " + n.Symbol(bytesAt(number))
	case objBoundary:
		return fmt.Sprintf("what cpu%d can be interrupted at", number)
	case objIPI:
		return fmt.Sprintf("IPIs pending on cpu%d", number)
	case objQueue:
		return fmt.Sprintf("run queue of cpu%d", number)
	case objIdle:
		return fmt.Sprintf("whether cpu%d is idle", number)
	case objFloor:
		return fmt.Sprintf("when cpu%d serialised", number)
	case objSource:
		return "source " + n.m.irqs.sources[number].Name
	case objService:
		if n.Service != nil {
			return n.Service(number)
		}
		return fmt.Sprintf("kernel object %d", number)
	case objBuffer:
		return fmt.Sprintf("the stores that cpu%d holds", number)
	case objHeldPlace:
		return fmt.Sprintf("place %d of the stores that cpu%d holds", number&0xff, number>>8)
	case objHeldCell:
		return fmt.Sprintf("what cpu%d holds of %s", number>>32, n.Object(object(objCell, number&(1<<32-1))))
	case objHeldWord:
		return fmt.Sprintf("what cpu%d holds of %s", number>>45, n.Object(object(objWord, number&(1<<45-1))))
	case objFence:
		return "the order of full fences"
	case objSpin:
		return fmt.Sprintf("what cpu%d waits for in a loop", number)
	case objEvent:
		if n.Monitor != nil {
			return fmt.Sprintf("what %s remembers of %#x", n.Monitor(int(number>>48)), number&(1<<48-1))
		}
		return fmt.Sprintf("what monitor %d remembers of %#x", number>>48, number&(1<<48-1))
	}
	return "nothing"
}

// The methods touch… take nil, the footprint of a machine that isn't observed.

// touch notes what the step under way has touched.
func (f *Footprint) touch(sort, number uint64, write bool) {
	if f != nil {
		f.add(object(sort, number), write)
	}
}

// TouchService notes that the step under way has read or written an object of
// the kernel's, which no cell stands for.
func (f *Footprint) TouchService(number uint64, write, kept bool) {
	f.m.foot.touch(objService, number, write)
	if f.Observing() && kept {
		f.read(object(objService, number))
	}
}

// TouchEvent notes that a monitor relates an event of the step under way with
// others: those of the same object of its own.
func (f *Footprint) TouchEvent(monitor int, number uint64, write bool) {
	f.m.foot.touch(objEvent, uint64(monitor)<<48|number&(1<<48-1), write)
}

// TouchEventApart is TouchEvent of what doesn't count if the step is an interrupt from
// delivery to IRET (ObserveAtomicIRQs).
func (f *Footprint) TouchEventApart(monitor int, number uint64, write bool) {
	if f.Observing() && f.inside != nil {
		f.apart = append(f.apart, sim.Touch{Object: object(objEvent, uint64(monitor)<<48|number&(1<<48-1)), Write: write})
		return
	}
	f.TouchEvent(monitor, number, write)
}

// TouchText notes that the step under way, or a monitor that is told of it, has
// read or written n bytes of text.
func (f *Footprint) TouchText(a arch.Addr, n int, write bool) {
	if f.Observing() {
		f.text(a, n, write)
	}
}

// touchFetch notes a fetch, or a read of text as data: of those bytes that were
// stored to, or will be as far as is known.
func (f *Footprint) touchFetch(a arch.Addr, n int) {
	if f != nil {
		f.text(a, n, false)
	}
}

// touchStore notes a store to text, in one chunk. watched: so far in this run.
func (f *Footprint) touchStore(a arch.Addr, watched bool) {
	if f != nil {
		f.store(a, watched)
	}
}

// touchFloor notes that a CPU serialises.
func (f *Footprint) touchFloor(c *CPU) {
	if f != nil && f.m.cfg.Fetch != fetch.Coherent {
		f.take(objFloor, uint64(c.id), true)
	}
}

// touchQueue notes an access to a CPU's run queue, or to the state of one of
// its tasks.
func (f *Footprint) touchQueue(c *CPU, write bool) { f.touch(objQueue, uint64(c.id), write) }

// touchSource notes that a source is armed, or fires.
func (f *Footprint) touchSource(s *Source) { f.touch(objSource, uint64(s.index-sim.MoverSource), true) }

// touchSpin notes that c pauses, or what it was to wait for since.
func (f *Footprint) touchSpin(c *CPU) { f.touch(objSpin, uint64(c.id), true) }

// touchIdle notes that c, if it is idle, goes into an interrupt or comes out of
// the last one: SeenIdle says so.
func (f *Footprint) touchIdle(c *CPU) {
	if f != nil {
		f.idle(c)
	}
}

func (f *Footprint) idle(c *CPU) {
	if c.task == c.idle && len(c.task.frames) == 0 {
		f.take(objIdle, uint64(c.id), true)
	}
}

// TouchQueue is touchQueue of a read, for the kernel.
func (f *Footprint) TouchQueue(cpu int) { f.m.foot.touchQueue(&f.m.cpus.list[cpu], false) }

// Touch implements kapi.Context.
func (x *Ctx) Touch(id kapi.CellID, mode kapi.Mode) kapi.Model {
	if !x.m.weak.weaker() || mode == kapi.Read { // else it is touched when the model is asked
		if f := x.m.foot; f != nil && !f.m.weak.versions() {
			f.read(object(objCell, uint64(id)))
		}
		x.m.foot.touch(objCell, uint64(id), mode == kapi.Write)
	}
	x.bring(id, mode)
	return x.model()
}

// Mark implements kapi.Context.
func (x *Ctx) Mark(id kapi.CellID, mode kapi.Mode) {
	if f := x.m.foot; f != nil {
		f.read(object(objCell, uint64(id)))
		f.TouchCell(id, mode == kapi.Write)
	}
	x.bring(id, mode)
}

// TouchCell is Ctx.Mark for the machine's hooks.
func (f *Footprint) TouchCell(id kapi.CellID, write bool) {
	f.m.foot.touch(objCell, uint64(id), write)
	if write {
		f.overwritten(object(objCell, uint64(id)))
		f.remakes(id)
	}
}
