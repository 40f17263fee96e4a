package kernel

import (
	"fmt"
	"math/bits"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// RCU waits for grace periods: synchronize_sched, synchronize_rcu, synchronize_rcu_tasks. The flavours wait for:
//
//	sched  every CPU has switched context, or was seen idle or in user mode
//	       outside an interrupt
//	rcu    in a non-preemptible build the same; in a preemptible one, where the
//	       readers are read-side sections and code with preemption or interrupts
//	       off, a tick that finds a CPU in other code is a quiescent state too,
//	       and a task that was preempted in a section is waited for
//	tasks  a grace period of rcu (rcu_tasks_pregp_step, kernel/rcu/tasks.h); then
//	       every task that was runnable has switched voluntarily (idle tasks
//	       excepted), gone to user mode, or ended (rcu_tasks_pertask,
//	       check_holdout_task); then a grace period of rcu again (rcu_tasks_postgp).
//	       In a non-preemptible build the same as sched (without CONFIG_TASKS_RCU,
//	       include/linux/rcupdate.h).
//
// It implements kapi.RCU.
type RCU struct {
	k       *Kernel
	readers [256]int // owned by the task of that number: nesting of its sections
	active  []*grace // owned by the machine's hooks: those being waited for
	spare   []*grace `state:"list: begin fills in all of a spare one"` // owned by the machine's hooks
	// set at boot: the grace periods that a run begins with
	boot   []*grace `state:"boot"`
	Idlers bool     // owned by the boot of a run: a CPU has been quiet when it has nothing to do: a mutant
	Bare   bool     // owned by the boot of a run: a wait for all tasks has no grace periods around it: a mutant
	Unseen bool     // owned by the boot of a run: a grace period waits for CPUs that idle, too: a mutant
	here   uint64   // owned by the machine's hooks: CPUs that a grace period may wait for (rcu_node.qsmaskinitnext)

	Deadly   bool   // owned by the boot of a run: a CPU that goes doesn't report it: a mutant
	Orphans  bool   // owned by the boot of a run: callbacks of a CPU that has gone stay with it: a mutant
	Newcomer bool   // owned by the boot of a run: a CPU that comes up doesn't report it: a mutant
	ids      uint64 // owned by the machine's hooks: how many have begun
}

// The orders of grace periods. Code that switches or interrupts tasks is a full barrier by itself (smp).
var (
	rcuBegins = kapi.DefineBarrier("rcu: act before waiting", kapi.OrderMB,
		"rcu_seq_snap, kernel/rcu/rcu.h: smp_mb(); for call_rcu rcu_segcblist_enqueue")
	rcuEnds = kapi.DefineBarrier("rcu: wait before acting", kapi.OrderMB,
		"rcu_gp_cleanup and rcu_gp_init, kernel/rcu/tree.c: each CPU has had a smp_mb() when a grace period has ended")
	rcuLeaves = kapi.DefineBarrier("rcu: read before telling", kapi.OrderMB,
		"rcu_preempt_deferred_qs_irqrestore, kernel/rcu/tree_plugin.h: raw_spin_lock_rcu_node(), "+
			"smp_mb__after_unlock_lock()")
)

// Objects that decide which steps commute. A CPU's quiescent states and
// sections are an object of its own; a grace period begins as of all CPUs. That
// it waits for one less is a store to its cell.
const (
	serviceGraces = iota // which grace periods are spare, and the number of the next
	serviceQuiet         // and up: quiescent states of CPU 0, 1, …
)

// ServiceName names an object of the kernel.
func ServiceName(number uint64) string {
	if number == serviceGraces {
		return "the numbering of grace periods"
	}
	return fmt.Sprintf("quiescent states of cpu%d", number-serviceQuiet)
}

// quiet notes that a step reads or changes a CPU's quiescent states.
func (r *RCU) quiet(cpu int, write bool) {
	r.k.M.Footprint().TouchService(serviceQuiet+uint64(cpu), write, !write)
}

// passes takes a CPU out of those that g waits for, and lose a task.
func (r *RCU) passes(g *grace, cpu int) {
	if g.cpus>>cpu&1 != 0 {
		g.cpus &^= 1 << cpu
		r.k.M.Weak().Quiesces(cpu)
		r.k.M.Footprint().TouchCell(g.done.ID(), true)
	}
}

func (r *RCU) lose(g *grace, t kapi.TaskID) {
	if g.tasks[t/64]>>(t%64)&1 != 0 {
		g.tasks[t/64] &^= 1 << (t % 64)
		r.k.M.Footprint().TouchCell(g.done.ID(), true)
	}
}

// A grace is one grace period that a task or a callback waits for.
type grace struct {
	id      uint64         // owned by RCU
	flavour uint64         // owned by RCU: smpev.GP…
	ticks   bool           // owned by RCU: a tick in preemptible code counts
	cpus    uint64         // owned by RCU: not yet quiescent
	tasks   [4]uint64      // owned by RCU: not yet switched
	on      uint8          // owned by RCU: the CPU on which the callback is queued that wakes the waiter
	done    kapi.Var[bool] // the waiter sleeps until this is true
	ended   kapi.Is[bool]  `state:"boot"` // set at boot
	// owned by RCU: no task waits; this is called back
	head kapi.Reclaimer `state:"address: what it points to is the engine's, and found there"`
	by   emitter        // owned by RCU: the task that asked for the callback
	// owned by RCU: of each CPU, when it began
	spent []sim.Time `state:"skip: clocks are no part of a state, and nothing is proved where they count"`
	over  bool       // owned by RCU: nothing is left to wait for, and the callback hasn't run
	told  bool       // owned by RCU: it was reported as stalled
}

// An emitter emits events on behalf of a context that no longer exists. It implements
// kapi.Emitter.
type emitter struct {
	m    *smp.Machine
	cpu  uint8
	task uint8
}

func (e *emitter) Emit(k traces.Kind, a, b, c uint64) { e.m.Log().Emit(k, e.cpu, e.task, a, b, c) }

func (e *emitter) Mark(id kapi.CellID, mode kapi.Mode) {
	e.m.Footprint().TouchCell(id, mode == kapi.Write)
}

func (r *RCU) init(k *Kernel) {
	r.k = k
	for range 8 { // more waiters at once take more
		r.boot = append(r.boot, r.newGrace())
	}
	r.reset()
}

func (r *RCU) newGrace() *grace {
	g := new(grace)
	g.done.Init(&r.k.M.Cells, false)
	g.ended = kapi.Is[bool]{Var: &g.done, Want: true}
	return g
}

func (r *RCU) reset() {
	r.active, r.spare = r.active[:0], append(r.spare[:0], r.boot...)
	r.ids, r.Bare, r.Idlers, r.Unseen = 0, false, false, false
	r.here = ^r.k.M.Processors().Absent()
	r.Deadly, r.Orphans, r.Newcomer = false, false, false
	clear(r.readers[:])
}

// Synchronize implements kapi.RCU: synchronize_sched, synchronize_rcu or synchronize_rcu_tasks, by flavour. Context:
// may sleep.
func (r *RCU) Synchronize(x kapi.Context, f kapi.Flavour) {
	r.k.mightSleep(ctxOf(x))
	switch f {
	case kapi.QuiesceSched:
		r.wait(x, smpev.GPSched)
	case kapi.QuiesceRCU:
		r.wait(x, smpev.GPRcu)
	case kapi.QuiesceTasks:
		if !r.k.cfg.Preemptible {
			r.wait(x, smpev.GPSched)
			return
		}
		if r.Bare {
			r.wait(x, smpev.GPTasks)
			return
		}
		r.wait(x, smpev.GPRcu)
		r.wait(x, smpev.GPTasks)
		r.wait(x, smpev.GPRcu)
	case kapi.QuiesceNone:
	default:
		sim.Bug("%v is no flavour of RCU", f)
	}
}

// wait begins a grace period and sleeps until it has ended.
func (r *RCU) wait(x kapi.Context, flavour uint64) {
	ctxOf(x).Tell(smpev.Lock, smpev.WaitGrace, smpev.LockWaits, 0)
	x.Step("synchronize", int(flavour))
	x.Fence(rcuBegins)
	g := r.begin(x, flavour)
	x.Emit(smpev.GPStart, flavour, g.id, 0)
	r.settle(g, x.CPU())
	x.Sleep(&g.ended)
	x.Fence(rcuEnds)
	x.Emit(smpev.GPEnd, flavour, g.id, 0)
	r.k.M.Footprint().TouchService(serviceGraces, true, true)
	r.spare = append(r.spare, g)
}

// Call implements kapi.RCU: call_rcu.
func (r *RCU) Call(x kapi.Context, h kapi.Reclaimer) {
	x.Step("call_rcu", 0)
	x.Fence(rcuBegins)
	g := r.begin(x, smpev.GPRcu)
	g.head, g.by = h, emitter{r.k.M, uint8(x.CPU()), uint8(x.Task())}
	r.settle(g, x.CPU())
}

func (r *RCU) begin(x kapi.Context, flavour uint64) *grace {
	r.k.M.Footprint().TouchService(serviceGraces, true, true)
	for c := range r.k.M.CPUs() {
		r.quiet(c, true)
	}
	if len(r.spare) == 0 {
		r.spare = append(r.spare, r.newGrace())
	}
	g := r.spare[len(r.spare)-1]
	r.spare = r.spare[:len(r.spare)-1]
	r.ids++
	g.id, g.flavour, g.cpus, g.tasks = r.ids, flavour, 0, [4]uint64{}
	g.ticks = flavour == smpev.GPRcu && r.k.cfg.Preemptible
	g.done.Overwrite(false)
	g.head, g.told, g.over, g.on = nil, false, false, uint8(x.CPU())
	if r.k.cfg.Stall > 0 {
		g.spent = r.k.M.Clocks().AppendSpent(g.spent[:0])
	}
	if flavour == smpev.GPTasks {
		for c := range r.k.M.CPUs() {
			r.k.M.Footprint().TouchQueue(c)
		}
		for _, t := range r.k.M.Tasks().All() {
			if t.OnQueue() && !t.Idle() {
				g.tasks[t.ID/64] |= 1 << (t.ID % 64)
			}
		}
	} else {
		for c := range r.k.M.CPUs() {
			if r.awaits(c) {
				g.cpus |= 1 << c
			} else {
				r.k.M.Weak().Quiesces(c)
			}
		}
		for _, t := range r.k.M.Tasks().All() {
			if g.ticks && r.readers[t.ID] > 0 {
				g.tasks[t.ID/64] |= 1 << (t.ID % 64)
			}
		}
	}
	r.active = append(r.active, g)
	return g
}

// settle ends the grace period if nothing is left to wait for, by a CPU.
func (r *RCU) settle(g *grace, by int) {
	if g.cpus|g.tasks[0]|g.tasks[1]|g.tasks[2]|g.tasks[3] != 0 || r.k.cfg.Offline && r.queued(g, by) {
		return
	}
	for i := range r.active {
		if r.active[i] == g {
			r.active = append(r.active[:i], r.active[i+1:]...)
			break
		}
	}
	r.k.M.Footprint().TouchCell(g.done.ID(), true)
	g.done.Overwrite(true)
	if g.head == nil {
		r.k.M.Waits().Notify(g.done.ID())
		return
	}
	h := g.head
	g.head = nil
	r.k.M.Footprint().TouchService(serviceGraces, true, true)
	r.spare = append(r.spare, g)
	h.Reclaim(&g.by)
}

// switched is called at each context switch (rcu_note_context_switch): a quiescent state of the CPU, and
// if it was voluntary, of the task that gave the CPU up.
func (r *RCU) switched(prev, next *smp.Task, voluntary bool) {
	r.quiet(prev.CPUID(), true)
	for i := len(r.active) - 1; i >= 0; i-- {
		g := r.active[i]
		if !r.Idlers || next.Idle() {
			r.passes(g, prev.CPUID())
		}
		if voluntary && g.flavour == smpev.GPTasks {
			r.lose(g, prev.ID)
		}
		r.settle(g, prev.CPUID())
	}
}

// idle is called when a CPU is back in its idle loop.
func (r *RCU) idle(cpu int) {
	r.quiet(cpu, true)
	for i := len(r.active) - 1; i >= 0; i-- {
		g := r.active[i]
		r.passes(g, cpu)
		r.settle(g, cpu)
	}
}

func (r *RCU) exited(t *smp.Task) { r.switched(t, t, true) }

// user is called when a task is in user mode.
func (r *RCU) user(x *smp.Ctx) { r.switched(x.Thread(), x.Thread(), true) }

// noted records a quiescent state of a task for tasks-RCU, without a switch: nothing that
// tasks-RCU guards is in flight. It is no quiescent state of the CPU.
func (r *RCU) noted(x *smp.Ctx) {
	r.quiet(x.CPU(), true)
	for i := len(r.active) - 1; i >= 0; i-- {
		if g := r.active[i]; g.flavour == smpev.GPTasks {
			r.lose(g, x.Task())
			r.settle(g, x.CPU())
		}
	}
}

// tick is called for a timer interrupt (rcu_sched_clock_irq), with the interrupted registers.
func (r *RCU) tick(x *smp.Ctx, regs *arch.Regs) {
	if r.k.cfg.Offline {
		r.core(x.CPU())
	}
	if x.User().Trapped() { // rcu_flavor_sched_clock_irq(user)
		r.user(x)
		return
	}
	if !r.k.cfg.Preemptible || !r.k.preemptible(x, regs) {
		return
	}
	quiet := r.readers[x.Task()] == 0
	r.quiet(x.CPU(), quiet)
	if !quiet {
		return
	}
	for i := len(r.active) - 1; i >= 0; i-- {
		if g := r.active[i]; g.ticks {
			r.passes(g, x.CPU())
			r.settle(g, x.CPU())
		}
	}
}

// stalls reports, at a tick, each grace period that has lasted too long, once
// (check_cpu_stall, kernel/rcu/tree_stall.h; for tasks check_holdout_task).
func (r *RCU) stalls(x *smp.Ctx) {
	if len(r.active) == 0 {
		return
	}
	f := r.k.M.Footprint()
	f.TouchService(serviceGraces, false, false)
	for c := range r.k.M.CPUs() {
		r.quiet(c, false)
	}
	for _, g := range r.active {
		if g.told || g.over || r.k.M.Clocks().Passed(x, g.spent) < sim.Time(r.k.cfg.Stall)*cycles.Unit {
			continue
		}
		g.told = true
		flavour := g.flavour
		if flavour == smpev.GPRcu && !g.ticks {
			flavour = smpev.GPSched // there is one RCU
		}
		x.Emit(smpev.GPStall, flavour, g.cpus, g.firstTasks())
	}
}

// firstTasks returns the tasks that are waited for as GPStall has them.
func (g *grace) firstTasks() (list uint64) {
	n := 0
	for i, set := range g.tasks {
		for ; set != 0 && n < smpev.StallTasks; set &= set - 1 {
			list |= uint64(64*i+bits.TrailingZeros64(set)+1) << (8 * n)
			n++
		}
	}
	return list
}

// ReadLock implements kapi.RCU.
func (r *RCU) ReadLock(x kapi.Context) {
	x.Step("rcu_read_lock", 0)
	if !r.k.cfg.Preemptible {
		x.PreemptDisable()
	}
	if r.readers[x.Task()]++; r.readers[x.Task()] == 1 {
		ctxOf(x).Tell(smpev.Lock, smpev.WaitGrace, smpev.LockShared, 0)
	}
	r.quiet(x.CPU(), true)
}

// ReadUnlock implements kapi.RCU.
func (r *RCU) ReadUnlock(x kapi.Context) {
	id := x.Task()
	if r.readers[id]--; r.readers[id] == 0 {
		ctxOf(x).Tell(smpev.Unlock, smpev.WaitGrace, 0, 0)
	}
	r.quiet(x.CPU(), true)
	if !r.k.cfg.Preemptible {
		x.PreemptEnable()
	}
	if r.readers[id] == 0 {
		if r.waitsFor(id) {
			x.Fence(rcuLeaves)
		}
		for i := len(r.active) - 1; i >= 0; i-- {
			if g := r.active[i]; g.flavour == smpev.GPRcu {
				r.lose(g, id)
				r.settle(g, x.CPU())
			}
		}
	}
	x.Step("rcu_read_unlock", 0)
}

// waitsFor reports whether a grace period waits for a task's sections to end.
func (r *RCU) waitsFor(id kapi.TaskID) bool {
	for _, g := range r.active {
		if g.flavour == smpev.GPRcu && g.tasks[id/64]>>(id%64)&1 != 0 {
			return true
		}
	}
	return false
}

// Sections implements kapi.RCU.
func (r *RCU) Sections(x kapi.Context) int { return int(r.readers[x.Task()]) }

// urgent reports whether a grace period waits for this CPU or task.
func (r *RCU) urgent(x *smp.Ctx) bool {
	r.quiet(x.CPU(), false)
	for _, g := range r.active {
		id := x.Task()
		if g.cpus>>x.CPU()&1 != 0 || g.tasks[id/64]>>(id%64)&1 != 0 {
			return true
		}
	}
	return false
}

// Waiting returns how many CPUs and tasks the oldest grace period waits for.
func (r *RCU) Waiting() int {
	if len(r.active) == 0 {
		return 0
	}
	g := r.active[0]
	n := bits.OnesCount64(g.cpus)
	for _, w := range g.tasks {
		n += bits.OnesCount64(w)
	}
	return n
}
