package smp

import (
	"kpsim/sim"
	"kpsim/smp/kapi"
	"kpsim/smp/lkmm"
	"kpsim/smp/smpev"
)

// Under the kernel's memory model (smp/lkmm) a load of a cell may read an older version than
// the newest, and a store may be ordered before newer stores. The strategy chooses
// (sim.Version). Unless a routine declares its dependencies (Ctx.After), later stores count as
// depending on each of its loads. Waits read the newest version. Memory accesses of guest text
// are sequentially consistent.

// viewed is a context as a kapi.Model, under the kernel's memory model.
type viewed Ctx

var _ kapi.Model = (*viewed)(nil)

// lkmmOrders maps kapi's orders of accesses to the model's.
var lkmmOrders = [...]lkmm.Order{
	kapi.OrderThrough: lkmm.Deref, kapi.OrderAcquire: lkmm.Acquire, kapi.OrderRelease: lkmm.Release,
	kapi.OrderFull: lkmm.Full,
}

// lkmmFences maps kapi's fences to the model's.
var lkmmFences = [...]lkmm.Fence{kapi.OrderMB: lkmm.MB, kapi.OrderRMB: lkmm.RMB, kapi.OrderWMB: lkmm.WMB}

func (w *WeakMemory) lkmmOrder(b kapi.Barrier) lkmm.Order {
	if o := w.order(b); int(o) < len(lkmmOrders) {
		return lkmmOrders[o]
	}
	return lkmm.Relaxed
}

// asks prepares the question which version an access meets.
func (x *viewed) asks() (w *WeakMemory, cpu int) {
	w = &x.m.weak
	w.asker = x.cpu
	return w, int(x.cpu.id)
}

// choose puts that question.
func (w *WeakMemory) choose(n int) int { return w.m.turns.ask(sim.Version, n, w.asker) }

func newest(int) int { return 0 }

// saw and made say which version a load has read and a store has made, for states.
func (x *viewed) saw(c kapi.Cell, back int) {
	if f := x.m.foot; f != nil {
		f.readsVersion(c.ID(), back)
		f.knows((*Ctx)(x), uint64(back)<<8|8)
	}
}

func (x *viewed) made(c kapi.Cell, back int) {
	if f := x.m.foot; f != nil {
		f.makes(c.ID(), back)
		f.knows((*Ctx)(x), uint64(back)<<8|8)
	}
}

// forget drops the versions of a cell that no CPU can read any more.
func (x *viewed) forget(c kapi.Cell) {
	f := x.m.foot
	if f != nil {
		x.m.weak.madeBy(c.ID())
	}
	if n := x.m.weak.views.Forget(uint32(c.ID())); n > 0 {
		if c.Forget(n); f != nil {
			x.m.weak.forgets(c.ID(), n)
		}
	}
}

// Load implements kapi.Model.
func (x *viewed) Load(c kapi.Cell, b kapi.Barrier) (held, back int) {
	w, cpu := x.asks()
	if x.said.on {
		back, x.said.load = w.views.LoadAfter(cpu, uint32(c.ID()), w.lkmmOrder(b), x.said.after, w.chooser)
	} else {
		back = w.views.Load(cpu, uint32(c.ID()), w.lkmmOrder(b), w.chooser)
	}
	x.saw(c, back)
	x.m.tracer.tellCell(x.cpu, CellLoad, c.ID(), b, back)
	x.forget(c)
	return -1, back
}

// Store implements kapi.Model.
func (x *viewed) Store(c kapi.Cell, b kapi.Barrier) (held, back int) {
	w, cpu := x.asks()
	x.written(c, b)
	switch {
	case x.said.lock && w.order(b) != kapi.OrderNone:
		w.views.Unlock(cpu, uint32(c.ID()))
	case x.said.on:
		back = w.views.StoreAfter(cpu, uint32(c.ID()), w.lkmmOrder(b), x.said.after, w.chooser)
	default:
		back = w.views.Store(cpu, uint32(c.ID()), w.lkmmOrder(b), w.chooser)
	}
	x.made(c, back)
	x.m.tracer.tellCell(x.cpu, CellStore, c.ID(), b, back)
	return -1, back
}

// Update implements kapi.Model.
func (x *viewed) Update(c kapi.Cell, b kapi.Barrier) (from, held int) {
	w, cpu := x.asks()
	x.written(c, b)
	x.saw(c, 0)
	w.views.Failed(cpu, uint32(c.ID()))
	w.views.Store(cpu, uint32(c.ID()), w.lkmmOrder(b), newest)
	x.made(c, 0)
	x.m.tracer.tellCell(x.cpu, CellFailed, c.ID(), kapi.Once, 0)
	x.m.tracer.tellCell(x.cpu, CellStore, c.ID(), b, 0)
	return -1, -1
}

// Locked implements kapi.Model.
func (x *viewed) Locked(c kapi.Cell, b kapi.Barrier, fails bool) bool {
	w, cpu := x.asks()
	x.written(c, b)
	x.saw(c, 0)
	switch id := uint32(c.ID()); {
	case fails && x.said.on:
		x.said.load = w.views.FailedAfter(cpu, id, x.said.after)
	case fails:
		w.views.Failed(cpu, id)
	case x.said.lock && w.order(b) != kapi.OrderNone:
		w.views.Lock(cpu, id)
	case x.said.on:
		x.said.load = w.views.RMWAfter(cpu, id, w.lkmmOrder(b), x.said.after)
	default:
		w.views.RMW(cpu, id, w.lkmmOrder(b))
	}
	if !fails {
		x.made(c, 0)
	}
	x.m.tracer.tellCell(x.cpu, CellRMW+CellOp(b2u(fails)), c.ID(), b, 0)
	return !fails
}

// Keeps implements kapi.Model.
func (x *viewed) Keeps() bool { return true }

// written prepares a cell for one more version.
func (x *viewed) written(c kapi.Cell, b kapi.Barrier) {
	x.forget(c)
	id, w := int(c.ID()), &x.m.weak
	for id >= len(w.known) {
		w.known = append(w.known, false)
	}
	if !w.known[id] {
		w.known[id] = true
		w.cells = append(w.cells, c)
	}
	x.m.foot.touch(objCell, uint64(c.ID()), true)
	if w.order(b) == kapi.OrderFull {
		x.m.foot.touch(objFence, 0, true)
	}
}

// fence executes a fence on a CPU.
func (w *WeakMemory) fence(c *CPU, f lkmm.Fence) {
	if w.m.cfg.Memory == LKMM {
		w.fenceViews(c, f)
	}
}

func (w *WeakMemory) fenceViews(c *CPU, f lkmm.Fence) {
	if f == lkmm.MB {
		w.m.foot.touch(objFence, 0, true)
	}
	w.views.Fence(int(c.id), f)
	if f == lkmm.MB {
		w.agrees(c)
	}
	w.m.tracer.tellCell(c, CellFence, 0, [...]kapi.Barrier{lkmm.MB: kapi.PlainMB, lkmm.RMB: kapi.PlainRMB,
		lkmm.WMB: kapi.PlainWMB}[f], 0)
}

// agrees tells monitors that a CPU's view now includes everything that came before all earlier
// full fences. It isn't guaranteed to include more until the next call.
func (w *WeakMemory) agrees(c *CPU) { w.m.log.Tell(smpev.Agrees, c.id, uint8(c.task.ID), 0, 0, 0) }

// Quiesces says that a CPU was seen in a quiescent state: everything it did before is ordered
// before everything that follows.
func (w *WeakMemory) Quiesces(cpu int) { w.fence(&w.m.cpus.list[cpu], lkmm.MB) }

// textCell stands for all text in the order of cells; kapi numbers cells from 1. A CPU that
// executes a breakpoint has read the last store to text, so a fence after that orders what
// the patcher ordered before the store.
const textCell = 0

// storesText records that a CPU stores to text.
func (w *WeakMemory) storesText(c *CPU) {
	if w.m.cfg.Memory == LKMM {
		w.storesTextViewed(c)
	}
}

func (w *WeakMemory) storesTextViewed(c *CPU) {
	w.m.foot.touch(objFence, 1, true)
	w.views.Store(int(c.id), textCell, lkmm.Relaxed, newest)
	w.views.Forget(textCell)
	w.m.tracer.tellCell(c, CellStore, textCell, kapi.Once, 0)
}

// enters records that a CPU takes a trap or interrupt. If that is a breakpoint, the CPU has
// fetched what another CPU has stored.
func (w *WeakMemory) enters(c *CPU, vec uint8) {
	if w.m.cfg.Memory == LKMM {
		w.entersViewed(c, vec)
	}
}

func (w *WeakMemory) entersViewed(c *CPU, vec uint8) {
	m := w.m
	m.foot.touch(objFence, 0, false)
	w.views.Enter(int(c.id))
	w.agrees(c)
	if vec == smpev.VecBP {
		m.foot.touch(objFence, 1, false)
		w.views.Load(int(c.id), textCell, lkmm.Relaxed, newest)
		m.tracer.tellCell(c, CellLoad, textCell, kapi.Once, 0)
	}
}

// Agrees makes the routine's CPU see what earlier callers saw, as the join of a task by
// another would. It is no point, and does nothing except under LKMM.
func (x *Ctx) Agrees() { x.m.weak.fence(x.cpu, lkmm.MB) }

// seesNewest records that a CPU has waited for a cell's newest value, and orders what follows
// after that value (smp_cond_load_acquire; a task that was woken).
func (w *WeakMemory) seesNewest(c *CPU, id kapi.CellID) {
	if w.m.cfg.Memory == LKMM {
		w.seesViewed(c, id)
	}
}

func (w *WeakMemory) seesViewed(c *CPU, id kapi.CellID) {
	w.views.Load(int(c.id), uint32(id), lkmm.Acquire, newest)
	w.m.tracer.tellCell(c, CellLoad, id, kapi.PlainAcquire, 0)
}

// handOver makes a CPU see what another one has seen, when it takes that CPU's IPI or runs
// the task that that CPU woke.
func (w *WeakMemory) handOver(from, to uint8) {
	if w.m.cfg.Memory == LKMM {
		w.views.Send(int(from), int(to))
		w.m.tracer.tellHandOver(CellSend, from, to)
	}
}

func (w *WeakMemory) takeOver(c *CPU) {
	if w.m.cfg.Memory == LKMM {
		w.views.Take(int(c.id))
		w.m.tracer.tellHandOver(CellTake, c.id, c.id)
	}
}
