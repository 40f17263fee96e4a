package byhand

import (
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// stops keeps CPUs where they are, as a debugger or SuspendThread does: at any instruction, or boundary of a routine,
// at which interrupts are on. A task that is preempted there stays preempted.
type stops struct {
	h      *Hand            // set at boot
	wanted kapi.Var[uint64] // the CPUs that are to stay
	inside kapi.Var[uint64] // those that do
	// owned by the step under way
	spans []kapi.Span   `state:"skip: of the step under way"`
	by    [256]uint64   // changes with wanted: the CPUs that the task of that number wants to stay
	stood [4]uint64     // owned by the machine's hooks: tasks that stood where they mustn't, by their numbers
	left  kapi.Var[int] // how often one of them has given up its CPU since
	// owned by the task of that number: what it waits for
	waits [256]stopWait `state:"skip: a task's own: what its routine sets it to follows from what that has read"`
	// owned by the task of that number: what it waits for before it looks again
	leave [256]leftWait `state:"skip: a task's own: what its routine sets it to follows from what that has read"`
	goes  [64]goesOn    `state:"boot"` // set at boot: by CPU
}

// The orders of stops.
var (
	stopAsks = kapi.DefineBarrier("stop: ask before the IPI", kapi.OrderFull,
		"smp_call_function_many_cond, kernel/smp.c: llist_add(), try_cmpxchg(&head->first)")
	stopStays = kapi.DefineBarrier("stop: stay", kapi.OrderFull,
		"a locked instruction on the word that says who has stopped")
)

// stopWait is the condition that the CPUs of a set have stopped, or that none has any more.
type stopWait struct {
	s    *stops
	set  uint64 // owned by its task
	here uint64 // owned by its task
}

func (w *stopWait) Cell() kapi.CellID { return w.s.inside.ID() }
func (w *stopWait) Holds() bool       { return w.s.inside.Peek()&w.set == w.here }

// goesOn is the condition that a CPU isn't wanted any more.
type goesOn struct {
	s   *stops
	cpu int // set at boot
}

func (w *goesOn) Cell() kapi.CellID { return w.s.wanted.ID() }
func (w *goesOn) Holds() bool       { return w.s.wanted.Peek()>>w.cpu&1 == 0 }

// leftWait is the condition that a task has given up its CPU that stood where it mustn't.
type leftWait struct {
	s     *stops
	since int // owned by its task
}

func (w *leftWait) Cell() kapi.CellID { return w.s.left.ID() }
func (w *leftWait) Holds() bool       { return w.s.left.Peek() != w.since }

// BootStops makes it possible to stop CPUs.
func (h *Hand) BootStops() {
	s := &h.stops
	if s.goes[0].s != nil {
		return
	}
	s.wanted.Init(&h.k.M.Cells, 0)
	s.inside.Init(&h.k.M.Cells, 0)
	s.left.Init(&h.k.M.Cells, 0)
	for i := range s.waits {
		s.waits[i].s, s.leave[i].s = s, s
	}
	h.k.OnSwitch(func(prev *smp.Task) { s.leaves(prev.ID) })
	for i := range s.goes {
		s.goes[i] = goesOn{s, i}
	}
	h.k.OnCall(s.stay)
}

func (s *stops) begin() {
	if s.goes[0].s != nil {
		s.wanted.Set(0)
		s.inside.Set(0)
		s.left.Set(0)
		clear(s.by[:])
		clear(s.stood[:])
	}
}

// stay keeps a CPU that is wanted. Other interrupts are served meanwhile, as while a thread is suspended. Context: the
// handler of an IPI.
func (s *stops) stay(x *smp.Ctx, _ *arch.Regs) {
	bit := uint64(1) << x.CPU()
	for s.wanted.ReadOnce(x)&bit != 0 && s.inside.Look(x)&bit == 0 {
		*s.inside.RMW(x, stopStays) |= bit
		x.IRQ(true)
		x.Spin(&s.goes[x.CPU()]) // another task may want it meanwhile, whose IPI finds it inside
		x.IRQ(false)
		*s.inside.RMW(x, stopStays) &^= bit
	}
}

// Stop keeps the CPUs of a set where they are until Resume, except this one. Context: interrupts on.
func (h *Hand) Stop(x *smp.Ctx, cpus uint64) {
	s := &h.stops
	cpus &= h.k.Hotplug.Online(x) &^ (1 << x.CPU())
	x.Step("stop", 1)
	*s.wanted.Change(x, stopAsks) |= cpus
	s.by[x.Task()] |= cpus
	h.k.M.Interrupts().SendIPI(x, cpus, smp.IPICall)
	s.await(x, cpus, cpus)
}

// Resume lets them go on that no other task has stopped, too, by the end of an interrupt, so that each has serialised.
// It does nothing if the task has stopped none.
func (h *Hand) Resume(x *smp.Ctx) {
	s := &h.stops
	own := s.by[x.Task()]
	if own == 0 {
		return
	}
	wanted := s.wanted.RMW(x, kapi.Once)
	s.by[x.Task()], *wanted = 0, 0
	for _, others := range s.by {
		*wanted |= others
	}
	s.await(x, own&^*wanted, 0)
}

func (s *stops) await(x *smp.Ctx, set, here uint64) {
	w := &s.waits[x.Task()]
	w.set, w.here = set, here
	x.SpinForIPI(w)
}

// StopOutside is Stop, over and over, until no task stands in n bytes at addr: its text was interrupted there, or, if
// stacks is set, a word of its stack points there. It looks again when one that stood there has given up its CPU, or
// has done all that it does: a task that stopped the others over and over would let none of them leave. Context: may
// sleep.
func (h *Hand) StopOutside(x *smp.Ctx, cpus uint64, addr arch.Addr, n int, stacks bool) {
	for {
		h.Stop(x, cpus)
		stood := h.stands(x, addr, n, stacks)
		if stood == [4]uint64{} {
			return
		}
		w := &h.stops.leave[x.Task()]
		w.since = h.stops.left.Look(x)
		for i := range stood {
			h.stops.stood[i] |= stood[i]
		}
		h.Resume(x)
		x.Sleep(w)
	}
}

// leaves is called when a task gives up its CPU, or has done all that it does.
func (s *stops) leaves(id kapi.TaskID) {
	if s.stood[id/64]>>(id%64)&1 != 0 {
		s.stood[id/64] &^= 1 << (id % 64)
		s.h.k.M.Footprint().TouchCell(s.left.ID(), true)
		s.left.Overwrite(s.left.Peek() + 1)
		s.h.k.M.Waits().Notify(s.left.ID())
	}
}

// stands looks at all tasks but this one, and returns those that stand there.
func (h *Hand) stands(x *smp.Ctx, addr arch.Addr, n int, stacks bool) (in [4]uint64) {
	x.Step("stop", 2)
	h.stops.spans = append(h.stops.spans[:0], kapi.Span{From: addr, To: addr + arch.Addr(n)})
	for _, t := range h.k.M.Tasks().All() {
		if t.ID == x.Task() || t.Dead() {
			continue
		}
		there := stacks && x.Stacks().Holds(t, h.stops.spans)
		x.Stacks().Interrupted(t, func(ip arch.Addr) arch.Addr {
			there = there || ip-addr < arch.Addr(n)
			return ip
		})
		if there {
			in[t.ID/64] |= 1 << (t.ID % 64)
		}
	}
	return in
}

// Move makes each task whose text was interrupted at an address continue at another one. Context: between Stop and
// Resume.
func (h *Hand) Move(x *smp.Ctx, at, to arch.Addr) {
	x.Step("move", 0)
	for _, t := range h.k.M.Tasks().All() {
		if t.ID == x.Task() {
			continue
		}
		x.Stacks().Interrupted(t, func(ip arch.Addr) arch.Addr {
			if ip != at {
				return ip
			}
			x.Emit(smpev.Moves, uint64(t.ID), uint64(at), uint64(to))
			return to
		})
	}
}
