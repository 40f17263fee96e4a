package smp

import (
	"kpsim/sim"
	"kpsim/smp/kapi"
	"kpsim/smp/lkmm"
)

// An Ordering says in what order other CPUs see a CPU's accesses to data. Text is apart:
// see smp/fetch.
type Ordering uint8

// The orderings.
const (
	SC   Ordering = iota // sequential consistency: in the order in which they are stepped
	TSO                  // x86's: a CPU holds its stores for a while (buffer.go)
	LKMM                 // the kernel's memory model, of cells
)

var orderingNames = [...]string{"sc", "tso", "lkmm"}

func (o Ordering) String() string { return orderingNames[o] }

// Orderings lists the orderings' names, in the order of the constants.
func Orderings() []string { return orderingNames[:] }

// OrderingNamed returns the ordering of a name.
func OrderingNamed(name string) (o Ordering, ok bool) {
	for i, n := range orderingNames {
		if n == name {
			return Ordering(i), true
		}
	}
	return 0, false
}

// WeakMemory is the part of a machine that models memory which isn't sequentially consistent.
type WeakMemory struct {
	m       *Machine
	on      bool         // accesses to cells ask a model in this run
	holds   bool         // CPUs hold stores in this run
	prompt  uint64       // CPUs whose oldest store takes effect next, by default
	passed  uint64       // the boundary at which a store took effect at once (passes)
	locked  bool         // the instruction under way is one whose store isn't held
	met     []bool       // by barrier: a run has reached it, where it counts
	dropped kapi.Barrier // the barrier that a mutant leaves out, 0: none
	buffers []buffer     // the buffer of each CPU
	cells   []kapi.Cell  // the cells that have been held in this run
	views   lkmm.Model   // under LKMM
	known   []bool       // by cell: it is in cells
	made    [][]sim.Hash // by cell: of its versions (footmade.go)
	asker   *CPU         // whose access a question is about
	chooser func(n int) int
	data    bufferedMemory
	own     bufferedMemory
}

// Weak returns the machine's memory model.
func (m *Machine) Weak() *WeakMemory { return &m.weak }

func (w *WeakMemory) init(m *Machine) {
	w.m, w.chooser = m, w.choose
	w.data.w, w.own.w = w, w
	w.on = m.cfg.Memory == LKMM
	if m.cfg.Memory != SC {
		w.met = make([]bool, len(kapi.Places()))
	}
	if m.cfg.Memory == TSO {
		w.buffers = make([]buffer, m.cfg.CPUs)
	}
}

// Drop leaves a barrier out of every run from the next on; kapi.Once leaves none out.
func (w *WeakMemory) Drop(b kapi.Barrier) { w.dropped = b }

// order returns the order that a barrier keeps in this run.
func (w *WeakMemory) order(b kapi.Barrier) kapi.Order {
	if int(b) < len(w.met) {
		w.met[b] = true
	}
	if b == w.dropped {
		return kapi.OrderNone
	}
	return b.Order()
}

// Met reports whether a run in the machine's life has reached a barrier while memory was
// weak. Runs with strong memory, or without held stores, don't look at barriers.
func (w *WeakMemory) Met(b kapi.Barrier) bool { return int(b) < len(w.met) && w.met[b] }

// reset forgets what the last run has held.
func (w *WeakMemory) reset() {
	m := w.m
	for _, c := range w.cells {
		c.Drop()
		if int(c.ID()) < len(w.known) {
			w.known[c.ID()] = false
		}
	}
	if m.cfg.Memory == LKMM {
		w.views.Reset(len(m.cpus.list))
		for i := range w.made {
			w.made[i] = w.made[i][:0]
		}
	}
	clear(w.cells)
	w.cells, w.on, w.holds, w.prompt, w.locked, w.passed = w.cells[:0], m.cfg.Memory == LKMM, false, 0, false,
		^uint64(0)
	for i := range w.buffers {
		b := &w.buffers[i]
		clear(b.q)
		b.q, b.off, b.issued = b.q[:0], false, 0
	}
}

// begin begins a run. The run's first question is whether stores are held in it, so that a
// run that holds none costs nothing extra.
func (w *WeakMemory) begin() {
	m := w.m
	if m.cfg.Memory != TSO || m.ending.over {
		return
	}
	if m.turns.ask(sim.Buffer, 2, &m.cpus.list[0]) == 1 {
		w.on, w.holds = true, true
		w.wrapMemory()
	}
}

// wrapMemory puts the store buffers in front of memory as CPUs access it.
func (w *WeakMemory) wrapMemory() {
	m := w.m
	if !w.holds {
		return
	}
	w.data.Memory, w.own.Memory = m.mem.data, m.mem.own
	m.mem.data, m.mem.own = &w.data, &w.own
}

// modelOf returns the model that decides which values a context's accesses to cells meet.
func (w *WeakMemory) modelOf(x *Ctx) kapi.Model {
	switch {
	case !w.on:
		return nil
	case w.holds:
		return (*buffered)(x)
	default:
		return (*viewed)(x)
	}
}

// Weak reports whether the run's memory isn't sequentially consistent: then what a cell
// publishes is a cell, too.
func (x *Ctx) Weak() bool { return x.m.weak.weaker() }

// weaker reports whether accesses to cells ask a model.
func (w *WeakMemory) weaker() bool { return w.on }

// Fence implements kapi.Context.
func (x *Ctx) Fence(b kapi.Barrier) {
	if x.m.weak.weaker() {
		x.m.weak.barrier(x, b)
	}
}

// barrier is Fence where memory is weak.
func (w *WeakMemory) barrier(x *Ctx, b kapi.Barrier) {
	switch {
	case x.m.cfg.Memory == TSO && w.order(b) > kapi.OrderMB:
		x.m.tracer.tellCell(x.cpu, CellFence, 0, b, 0)
	case w.order(b) == kapi.OrderMB:
		w.drainAll(x)
	case x.m.cfg.Memory == LKMM && w.order(b) > kapi.OrderMB:
		w.fence(x.cpu, lkmmFences[w.order(b)])
	}
}

// drainAll flushes the stores of a routine's CPU, or is a full fence under LKMM. It is a
// point if the CPU may hold a store: other CPUs may step between the routine's last read and
// the stores, which they don't see yet.
func (w *WeakMemory) drainAll(x *Ctx) (waited bool) { return w.weaker() && w.drainWeak(x) }

func (w *WeakMemory) drainWeak(x *Ctx) (waited bool) {
	m := w.m
	if m.cfg.Memory == LKMM {
		m.foot.knows(x, 17) // it stands here
		x.yield()
		w.fence(x.cpu, lkmm.MB)
		return true
	}
	if !w.holds {
		return false
	}
	m.foot.touch(objBuffer, uint64(x.cpu.id), false)
	waited = w.stored(x.cpu)
	m.foot.knows(x, 16+b2u(waited)) // where it stands: here, or further on
	if waited {
		x.yield()
	}
	w.flush(x.cpu)
	return waited
}
