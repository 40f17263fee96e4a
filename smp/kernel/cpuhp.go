package kernel

import (
	"fmt"
	"math/bits"

	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// The orders between a CPU's thread and the task that takes the CPU up or down.
var (
	cpuhpDone = kapi.DefineBarrier("cpuhp: what a CPU has done, then that it has", kapi.OrderRelease,
		"complete_ap_thread, kernel/cpu.c: complete(), its lock's unlock")
	cpuhpSees = kapi.DefineBarrier("cpuhp: that a CPU is there, then what it has done", kapi.OrderAcquire,
		"wait_for_ap_thread, kernel/cpu.c: wait_for_completion(), its lock")
)

// hotplugWait is the condition that a CPU is in a set.
type hotplugWait struct {
	set *kapi.Var[uint64]
	cpu int
}

func (w *hotplugWait) Cell() kapi.CellID { return w.set.ID() }

func (w *hotplugWait) Holds() bool { return w.set.Peek()>>w.cpu&1 != 0 }

func (h *Hotplug) initCPUs() {
	m := h.k.M
	h.online.Init(&m.Cells, h.k.Sync.all)
	h.active.Init(&m.Cells, h.k.Sync.all)
	h.empty.Init(&m.Cells, 0)
	h.dead.Init(&m.Cells, 0)
	for c := range m.CPUs() {
		h.emptied[c], h.gone[c], h.came[c] = hotplugWait{&h.empty, c}, hotplugWait{&h.dead, c},
			hotplugWait{&h.active, c}
		h.threads[c] = m.Tasks().AddPerCPU(fmt.Sprintf("cpuhp/%d", c), c, h.thread)
	}
}

// Online returns the set of CPUs that are online now, active or not. They answer IPIs and take
// part in stop_machine. It is a point only in a kernel whose CPUs can go offline.
func (h *Hotplug) Online(x kapi.Context) uint64 {
	if !h.k.cfg.Offline {
		return h.k.Sync.all
	}
	return h.online.ReadOnce(x)
}

// A cpuWay is the part of the way up or down that a CPU is making.
type cpuWay uint8

const (
	cpuComes cpuWay = iota
	cpuGoes
	cpuStays // back up: a step of going down has failed
	cpuFalls // back down: a step of coming up has failed
)

// Down is cpu_down. It does nothing if the CPU is offline. If a step fails, the earlier steps are undone in reverse
// order, and the CPU stays online (cpuhp_reset_state). CPUStepActive, CPUStepWorkers and CPUStepTeardown can fail. In
// Linux a CPU's sysfs file hotplug/fail makes steps fail on demand.
//
//	step 1: no other CPU comes or goes, and no reader of the lock is left
//	step 2: the CPU's own thread makes it inactive, and waits until its tasks have left
//	step 3: the machine is stopped, and the CPU leaves the online set (take_cpu_down)
//	step 4: wait until it runs nothing
//	step 5: what was queued on it moves to this CPU: callbacks of RCU, timers
//	step 6: if a step has failed, the CPU's thread makes it active again
//
// Context: may sleep.
func (h *Hotplug) Down(x kapi.Context, cpu int, fails smpev.CPUStep) {
	h.writeLock(x)
	if h.online.ReadOnce(x)>>cpu&1 != 0 {
		h.fails, h.failed = fails, false
		x.Step("cpu_down", 2)
		h.kick(cpu, cpuGoes)
		h.await(x, &h.emptied[cpu])

		if !h.failed {
			h.takeCPUDown(x, cpu)
		}
		if h.failed {
			x.Step("cpu_down", 6)
			*h.empty.RMW(x, kapi.Once) &^= 1 << cpu
			if fails != smpev.CPUStepActive && !h.Idles { // otherwise the thread has undone its steps
				h.kick(cpu, cpuStays)
				h.await(x, &h.came[cpu])
			}
		}
	}
	h.writeUnlock(x)
}

// kick wakes the CPU's thread to make a part of the way.
func (h *Hotplug) kick(cpu int, way cpuWay) {
	h.way = way
	h.k.M.Tasks().Wake(h.threads[cpu])
}

// await sleeps until a CPU has reached the awaited set.
func (h *Hotplug) await(x kapi.Context, w *hotplugWait) {
	x.Sleep(w)
	w.set.LookAcquire(x, cpuhpSees)
}

// takeCPUDown is takedown_cpu and the work after it: steps 3 to 5 of Down.
func (h *Hotplug) takeCPUDown(x kapi.Context, cpu int) {
	x.Step("cpu_down", 3)
	h.k.Stop.machine(x, cpu, h.takeDown)
	if h.way == cpuGoes && h.failed {
		return
	}

	x.Step("cpu_down", 4)
	h.await(x, &h.gone[cpu])

	x.Step("cpu_down", 5)
	h.k.RCU.adopt(x, cpu)
	h.k.Work.adopt(x, cpu)
}

// thread is the body of cpuhp/N: the hotplug steps that a CPU makes itself.
func (h *Hotplug) thread(x *smp.Ctx) {
	switch h.way {
	case cpuComes:
		h.starts(x)
	case cpuGoes:
		h.deactivate(x)
	case cpuStays:
		h.activate(x, h.fails == smpev.CPUStepTeardown)
	case cpuFalls:
		h.leave(x, h.fails == smpev.CPUStepActive)
	}
}

// fail reports whether a CPU's step fails, and emits an event if it does.
func (h *Hotplug) fail(x kapi.Context, cpu int, step smpev.CPUStep) bool {
	if h.fails != step || h.failed {
		return false
	}
	h.failed = true
	going := uint64(0)
	if h.way == cpuGoes {
		going = 1
	}
	x.Emit(smpev.CPUFails, uint64(cpu), uint64(step), going)
	return true
}

// deactivate makes a CPU inactive before it is taken down. The CPU is still online.
//
//	step 1: it isn't active: no task is placed here, and tasks leave when they schedule
//	        (sched_cpu_deactivate); until 5.10 both only when it is taken down
//	step 2: a grace period: no task still uses the old active set
//	steps 3 and 4: leave
//
// It fails if that would leave too little bandwidth for a deadline task (cpuset_cpu_inactive).
func (h *Hotplug) deactivate(x *smp.Ctx) {
	x.Step("sched_cpu_deactivate", 1)
	*h.active.RMW(x, kapi.Once) &^= 1 << x.CPU()
	x.Hotplug().Deactivate(h.k.cfg.Goes == GoesPushed)

	h.settle(x)
	switch {
	case h.fail(x, x.CPU(), smpev.CPUStepActive):
		if !h.Idles {
			h.setActive(x)
		}
		h.ready(x)
	case h.fail(x, x.CPU(), smpev.CPUStepWorkers):
		h.ready(x)
	default:
		h.leave(x, !h.Bound)
	}
}

// settle is the wait of sched_cpu_deactivate.
func (h *Hotplug) settle(x *smp.Ctx) {
	if h.k.cfg.Goes != GoesSched {
		h.k.RCU.Synchronize(x, kapi.QuiesceRCU)
	}
	// the kernel waits for both at once
	if h.k.cfg.Goes == GoesSched || h.k.cfg.Goes == GoesMigrated && h.k.cfg.Preemptible {
		h.k.RCU.Synchronize(x, kapi.QuiesceSched)
	}
}

// leave makes the last steps of a CPU before it is taken down, also of one that has just come
// up.
//
//	step 3: workers aren't bound here any more (workqueue_offline_cpu)
//	step 4: no task is left (sched_cpu_wait_empty, 5.11 and later)
func (h *Hotplug) leave(x *smp.Ctx, unbind bool) {
	if unbind {
		x.Step("workqueue_offline_cpu", 3)
		x.Hotplug().Unbind(true)
	}

	if h.k.cfg.Goes == GoesPushed {
		x.Step("sched_cpu_wait_empty", 4)
		for x.Hotplug().Crowded() {
			x.Sleep(kapi.Yield)
		}
	}
	h.ready(x)
}

// ready reports that the CPU's thread has made all its steps.
func (h *Hotplug) ready(x *smp.Ctx) { *h.empty.RMW(x, cpuhpDone) |= 1 << x.CPU() }

// takeDown is take_cpu_down, run by the CPU's stopper: the CPU leaves the online set and
// answers the IPIs that it was sent. Its timers stop. First it checks whether other CPUs have
// room for its interrupts, and fails if not (native_cpu_disable).
func (h *Hotplug) takeDown(x kapi.Context) {
	if h.Late {
		h.setOnline(x, false)
	}
	if h.fail(x, x.CPU(), smpev.CPUStepTeardown) {
		return
	}
	h.setOnline(x, false)
	c := ctxOf(x)
	if c.Hotplug().CallPending() {
		h.k.Sync.answer(c)
	}
	h.k.Work.stop(x.CPU())
	c.Hotplug().TakeDown()
}

// idleDead is called for each CPU that becomes idle: a CPU that was taken down stays in its idle loop
// (cpuhp_report_idle_dead). RCU is still watching it there, so the death is reported to RCU.
func (h *Hotplug) idleDead(cpu int) {
	if !h.k.M.Processors().IsOff(cpu) || h.dead.Peek()>>cpu&1 != 0 {
		return
	}
	h.k.M.Processors().PlayDead(cpu)
	if h.way != cpuFalls || !h.Untold {
		h.k.RCU.reportDead(cpu)
	}
	h.k.M.Footprint().TouchCell(h.dead.ID(), true)
	h.dead.Overwrite(h.dead.Peek() | 1<<cpu)
	h.k.M.Waits().Notify(h.dead.ID())
}

// Up is cpu_up. It does nothing if the CPU is online. CPUStepBringup, CPUStepWorkers and CPUStepActive can fail: then
// the CPU is dead again, as before. If it has already run, it goes down as any other CPU does (cpuhp_reset_state,
// undo_cpu_up).
//
//	step 1: no other CPU comes or goes, and no reader of the lock is left
//	step 2: the CPU comes out of reset
//	step 3: wait until it is active
//	step 4: if a step has failed, the CPU's thread undoes its steps, and the CPU is taken down
//
// Context: may sleep.
func (h *Hotplug) Up(x kapi.Context, cpu int, fails smpev.CPUStep) {
	h.writeLock(x)
	if h.online.ReadOnce(x)>>cpu&1 == 0 {
		h.up(x, cpu, fails)
	}
	h.writeUnlock(x)
}

// up is steps 2 to 4 of Up.
func (h *Hotplug) up(x kapi.Context, cpu int, fails smpev.CPUStep) {
	h.way, h.fails, h.failed = cpuComes, fails, false
	if h.fail(x, cpu, smpev.CPUStepBringup) { // the CPU doesn't answer
		return
	}
	*h.dead.RMW(x, kapi.Once) &^= 1 << cpu
	*h.empty.RMW(x, kapi.Once) &^= 1 << cpu
	x.Step("cpu_up", 2)
	h.k.M.Processors().PowerOn(cpu, !h.Stale)
	h.kick(cpu, cpuComes)

	x.Step("cpu_up", 3)
	if fails == smpev.CPUStepNone {
		h.await(x, &h.came[cpu])
		return
	}
	h.await(x, &h.emptied[cpu])

	x.Step("cpu_up", 4)
	*h.empty.RMW(x, kapi.Once) &^= 1 << cpu
	h.kick(cpu, cpuFalls)
	h.await(x, &h.emptied[cpu])
	h.takeCPUDown(x, cpu)
}

// watch has f called with the online CPUs whenever they change.
func (h *Hotplug) watch(f func(cpus uint64)) { h.onOnline = f }

// setOnline is set_cpu_online, on that CPU.
func (h *Hotplug) setOnline(x kapi.Context, on bool) {
	set := h.online.RMW(x, kapi.Once)
	if *set &^= 1 << x.CPU(); on {
		*set |= 1 << x.CPU()
	}
	if h.onOnline != nil {
		h.onOnline(*set)
	}
}

// starts makes the first steps of a CPU that comes up.
//
//	step 1: grace periods that begin from now on wait for it (rcutree_report_cpu_starting),
//	        and it is online (start_secondary)
//	steps 2 and 3: activate
func (h *Hotplug) starts(x *smp.Ctx) {
	x.Step("start_secondary", 1)
	h.k.RCU.reportStarting(x.CPU())
	h.setOnline(x, true)
	x.Hotplug().Online(h.k.cfg.Goes != GoesPushed)

	if h.fail(x, x.CPU(), smpev.CPUStepWorkers) {
		h.ready(x)
		return
	}
	h.activate(x, true)
}

// activate is the last part of the way up, also for a CPU that stays online after a failed step. No task runs bytes
// that the CPU fetched before it was online and was sent IPIs: some of the states between set_cpu_online and
// sched_cpu_activate execute CPUID and WRMSR, which serialise (cacheinfo_cpu_online, mce_cpu_online). So ftrace,
// which patches without cpu_hotplug_lock, is safe from tasks. Interrupts before that state may still run old text:
// local_irq_enable serialises nothing.
//
//	step 2: workers are bound to it again (workqueue_online_cpu)
//	step 3: it is active, last of all (sched_cpu_activate)
func (h *Hotplug) activate(x *smp.Ctx, bind bool) {
	if bind {
		x.Step("workqueue_online_cpu", 2)
		if h.way == cpuComes && !h.Stale {
			x.Hotplug().SerialiseStarting()
		}
		x.Hotplug().Unbind(false)
		h.k.Work.adopt(x, x.CPU())
	}

	if h.fail(x, x.CPU(), smpev.CPUStepActive) {
		h.ready(x)
		return
	}
	x.Step("sched_cpu_activate", 3)
	h.setActive(x)
}

// setActive lets tasks run on the CPU.
func (h *Hotplug) setActive(x *smp.Ctx) {
	x.Hotplug().Activate()
	*h.active.RMW(x, cpuhpDone) |= 1 << x.CPU()
}

// Idle returns a CPU that is online but inactive although no hotplug operation is under way:
// no task will ever run there. 0 means that there is none, because CPU 0 never goes.
func (h *Hotplug) Idle() int {
	if set := h.online.Peek() &^ h.active.Peek(); h.k.cfg.Offline && set != 0 {
		return bits.TrailingZeros64(set)
	}
	return 0
}

// cellName describes a cell of h, "" if the cell isn't h's.
func (h *Hotplug) cellName(id kapi.CellID) string {
	if !h.k.cfg.Offline {
		return ""
	}
	switch id {
	case h.online.ID():
		return "cpu_online_mask"
	case h.active.ID():
		return "cpu_active_mask"
	case h.empty.ID():
		return "which CPUs are ready to go"
	case h.dead.ID():
		return "which CPUs are dead"
	}
	return ""
}

// waitsFor describes the wait of a task that takes a CPU down or brings one up.
func (h *Hotplug) waitsFor(l link, id kapi.CellID) link {
	for c := range h.k.M.CPUs() {
		for _, w := range [...]*hotplugWait{&h.emptied[c], &h.gone[c], &h.came[c]} {
			if w.set.ID() == id && !w.Holds() && !h.threads[c].Held() {
				l.what, l.whose, l.to = fmt.Sprintf("cpu%d", c), "taken there by", append(l.to, h.threads[c])
			}
		}
	}
	if l.what == "" {
		l.what = h.cellName(id)
	}
	return l
}

// Grace periods with CPU hotplug. RCU has its own set of CPUs, different from the online and the active set: a CPU is
// in it from before it is online until it has run its last instruction. A grace period reads the set when it begins,
// so it doesn't wait for CPUs that come online later.
//
// Each wait for a grace period, even by a task, is a callback queued on the requesting CPU (synchronize_rcu is a
// call_rcu of wakeme_after_rcu). After the grace period that CPU runs the callback: at once if it is idle, otherwise
// at its next task switch or tick. If the CPU has gone, the callback waits until the task that took it down has
// adopted it. A grace period for all tasks has no such callbacks: a thread of its own ends it.

// awaits reports whether a grace period that begins waits for a CPU.
func (r *RCU) awaits(cpu int) bool {
	idles := r.k.M.Processors().SeenIdle(cpu) && !r.Unseen
	if !r.k.cfg.Offline {
		return !idles
	}
	r.quiet(cpu, false)
	// a CPU that is dead doesn't idle as RCU sees it
	return r.here>>cpu&1 != 0 && (!idles || r.k.M.Processors().IsOff(cpu))
}

// queued reports whether a grace period's callback must still wait, because CPU by can't run it now.
func (r *RCU) queued(g *grace, by int) bool {
	switch {
	case g.flavour == smpev.GPTasks:
		return false
	case r.k.M.Processors().IsOff(int(g.on)):
		return true
	case r.k.M.Processors().SeenIdle(int(g.on)), g.over && int(g.on) == by:
		return false
	}
	g.over = true
	return true
}

// core runs the callbacks of a CPU, at a tick (rcu_core).
func (r *RCU) core(cpu int) {
	if len(r.active) > 0 {
		r.quiet(cpu, true)
	}
	for i := len(r.active) - 1; i >= 0; i-- {
		if g := r.active[i]; int(g.on) == cpu {
			r.settle(g, cpu)
		}
	}
}

// reportDead records that a CPU has gone: its last quiescent state (rcutree_report_cpu_dead).
func (r *RCU) reportDead(cpu int) {
	if r.Deadly {
		return
	}
	r.here &^= 1 << cpu
	r.idle(cpu)
}

// adopt takes over the callbacks of a CPU that has gone (rcutree_migrate_callbacks). It runs those whose grace period
// is over.
func (r *RCU) adopt(x kapi.Context, cpu int) {
	if r.Orphans {
		return
	}
	r.k.M.Footprint().TouchService(serviceGraces, true, true)
	for _, g := range r.active {
		if g.on == uint8(cpu) {
			g.on = uint8(x.CPU())
		}
	}
	r.core(x.CPU())
}

// reportStarting records that a CPU is coming up (rcutree_report_cpu_starting).
func (r *RCU) reportStarting(cpu int) {
	if !r.Newcomer {
		r.quiet(cpu, true)
		r.here |= 1 << cpu
	}
}
