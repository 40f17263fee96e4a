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
	objBoundary             // a CPU's boundary: the point that a delivery to it comes before or after
	objIPI                  // the IPIs pending on a CPU
	objQueue                // a CPU's run queue, and the states of its tasks
	objIdle                 // whether a CPU is in its idle loop, outside an interrupt
	objFloor                // the last time a CPU serialised: its fetches are at least as fresh
	objSource               // a source's budget, or that it is armed
	objService              // an object of the kernel's that the machine doesn't know
	objEvent                // an object of a monitor's: the monitor's number, then the object's
	objBuffer               // a CPU's store buffer, for steps that wait until it is empty
	objHeldPlace            // a place in a CPU's store buffer
	objHeldCell             // a cell to which a CPU holds a store
	objHeldWord             // eight aligned bytes of data to which a CPU holds a store
	objFence                // 0: touched by all full fences; 1: touched by stores to text
	objSpin                 // which CPUs have made a step since a CPU's last pause
)

func object(sort, number uint64) sim.Object { return sim.Object(sort<<56 | number&(1<<56-1)) }

// bytesNumber numbers the aligned eight bytes at a; 48 bits identify an address.
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

// The methods touch… accept a nil receiver: the footprint of a machine that isn't observed.

// touch notes what the step under way has touched.
func (f *Footprint) touch(sort, number uint64, write bool) {
	if f != nil {
		f.add(object(sort, number), write)
	}
}

// TouchService notes that the step under way has read or written an object of the kernel's
// for which there is no cell.
func (f *Footprint) TouchService(number uint64, write, kept bool) {
	f.m.foot.touch(objService, number, write)
	if f.Observing() && kept {
		f.read(object(objService, number))
	}
}

// TouchEvent notes that a monitor relates an event of the current step to its other events
// of the same object.
func (f *Footprint) TouchEvent(monitor int, number uint64, write bool) {
	f.m.foot.touch(objEvent, uint64(monitor)<<48|number&(1<<48-1), write)
}

// TouchEventApart is TouchEvent for a touch that doesn't count if the step is a whole
// interrupt, from delivery to IRET (ObserveAtomicIRQs).
func (f *Footprint) TouchEventApart(monitor int, number uint64, write bool) {
	if f.Observing() && f.inside != nil {
		f.apart = append(f.apart, sim.Touch{Object: object(objEvent, uint64(monitor)<<48|number&(1<<48-1)),
			Write: write})
		return
	}
	f.TouchEvent(monitor, number, write)
}

// TouchText notes that the current step, or a monitor of it, has read or written n bytes of
// text.
func (f *Footprint) TouchText(a arch.Addr, n int, write bool) {
	if f.Observing() {
		f.text(a, n, write)
	}
}

// touchFetch notes a fetch, or a read of text as data. Only bytes count that were stored to,
// or that earlier runs have shown to be stored to.
func (f *Footprint) touchFetch(a arch.Addr, n int) {
	if f != nil {
		f.text(a, n, false)
	}
}

// touchStore notes a store to text, in one chunk. watched: the chunk has been watched so far
// in this run.
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

// touchSpin notes that c pauses, or that a mover made a step which c's pause waits for.
func (f *Footprint) touchSpin(c *CPU) { f.touch(objSpin, uint64(c.id), true) }

// touchIdle notes that c, if idle, enters an interrupt or leaves the outermost one, which
// changes SeenIdle.
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

// TouchQueue notes, for the kernel, a read of a CPU's run queue.
func (f *Footprint) TouchQueue(cpu int) { f.m.foot.touchQueue(&f.m.cpus.list[cpu], false) }

// Touch implements kapi.Context.
func (x *Ctx) Touch(id kapi.CellID, mode kapi.Mode) kapi.Model {
	if !x.m.weak.weaker() || mode == kapi.Read { // a weak store is touched when the model is asked
		if f := x.m.foot; f != nil && !f.m.weak.versions() {
			f.read(object(objCell, uint64(id)))
		}
		x.m.foot.touch(objCell, uint64(id), mode == kapi.Write)
	}
	x.m.time.access(x.cpu, id, mode)
	return x.m.weak.modelOf(x)
}

// Mark implements kapi.Context.
func (x *Ctx) Mark(id kapi.CellID, mode kapi.Mode) {
	if f := x.m.foot; f != nil {
		f.read(object(objCell, uint64(id)))
		f.TouchCell(id, mode == kapi.Write)
	}
	x.m.time.access(x.cpu, id, mode)
}

// TouchCell is Ctx.Mark for the machine's hooks.
func (f *Footprint) TouchCell(id kapi.CellID, write bool) {
	f.m.foot.touch(objCell, uint64(id), write)
	if write {
		f.overwritten(object(objCell, uint64(id)))
		f.remakes(id)
	}
}

// accessCell is Ctx.Access for an observed machine. A store that is held touches the cell when
// it takes effect; any other access touches it when the model is asked.
func (f *Footprint) accessCell(x *Ctx, id kapi.CellID, mode kapi.Mode) {
	x.ahead = sim.Touch{Object: object(objCell, uint64(id)), Write: mode == kapi.Write}
	x.yield()
	x.ahead = sim.Touch{}
	if mode == kapi.Read || !x.m.weak.weaker() {
		f.touch(objCell, uint64(id), mode == kapi.Write)
		if !x.m.weak.versions() {
			f.read(object(objCell, uint64(id)))
		}
	}
	x.m.time.access(x.cpu, id, mode)
}
