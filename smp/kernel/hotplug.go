package kernel

import (
	"fmt"

	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// The orders of cpu_hotplug_lock, by the letters that the kernel calls them: a reader is
// seen by the writer, or sees it, and what was read is over when the writer counts none.
// Here the readers are counted in one word, by locked instructions.
var (
	hotplugReads = kapi.DefineBarrier("cpus_read: count before looking", kapi.OrderMB,
		"__percpu_down_read_trylock, kernel/locking/percpu-rwsem.c: smp_mb() A, after this_cpu_inc")
	hotplugSees = kapi.DefineBarrier("cpus_read: look before reading", kapi.OrderAcquire,
		"__percpu_down_read_trylock: atomic_read_acquire(&sem->block)")
	hotplugLeaves = kapi.DefineBarrier("cpus_read: read before leaving", kapi.OrderMB,
		"__percpu_up_read, kernel/locking/percpu-rwsem.c: smp_mb() B, before this_cpu_dec")
	hotplugWrites = kapi.DefineBarrier("cpus_write: block before counting", kapi.OrderMB,
		"percpu_down_write, 4.9 to 5.5: smp_mb() D, after WRITE_ONCE(sem->readers_block); since then in atomic_xchg")
	hotplugCounted = kapi.DefineBarrier("cpus_write: count before writing", kapi.OrderMB,
		"readers_active_check, kernel/locking/percpu-rwsem.c: smp_mb() C")
	hotplugFrees = kapi.DefineBarrier("cpus_write: write before unblocking", kapi.OrderRelease,
		"percpu_up_write, kernel/locking/percpu-rwsem.c: smp_store_release(&sem->readers_block, 0)")
)

// Hotplug is the lock that CPUs come and go under (cpu_hotplug_lock, a
// percpu_rw_semaphore), and what takes them there: many read, and a writer waits until none does. While
// one waits no task begins to read, not even one that reads already. Down and
// Up are cpu_down and cpu_up; Change is what is done besides.
//
// A kernel without a writer (Config.Hotplug) has no point at its readers: they
// would count in words of their CPUs' own and never wait. The points of
// might_sleep() are those of the mutexes that are taken beside it. It implements
// kapi.CPUs.
type Hotplug struct {
	k       *Kernel
	id      uint64           // set at boot
	mutex   *Mutex           // set at boot: of writers
	readers kapi.Var[int]    // how many read
	writer  kapi.Var[bool]   // one writes, or waits until it can
	unread  kapi.Is[int]     `state:"boot"` // set at boot
	open    kapi.Is[bool]    `state:"boot"` // set at boot
	online  kapi.Var[uint64] // cpu_online_mask
	active  kapi.Var[uint64] // cpu_active_mask, a part of it
	empty   kapi.Var[uint64] // CPUs that are ready to be taken down: inactive, and all tasks have left
	dead    kapi.Var[uint64] // CPUs that have gone and run nothing: who takes one down waits for that
	down    bool             // owned by mutex: what the CPU's thread is woken for
	emptied [64]hotplugWait  `state:"boot"` // set at boot: that it is ready
	gone    [64]hotplugWait  `state:"boot"` // set at boot: that it has gone
	came    [64]hotplugWait  `state:"boot"` // set at boot: that it is active
	threads [64]*smp.Task    `state:"boot"` // set at boot: cpuhp/0, …
	Bound   bool             // owned by the boot of a run: workers stay bound to a CPU that goes: a mutant
	Stale   bool             // owned by the boot of a run: a CPU comes up without serialising: a mutant
	reads   [256]bool        // owned by the task of that number: it reads
}

func (h *Hotplug) init(k *Kernel) {
	h.k = k
	if k.cfg.Offline {
		h.initCPUs()
	}
	if k.cfg.TellReaders && !k.cfg.Hotplug {
		h.id = k.Locks.newID("cpu_hotplug_lock")
		k.Locks.keep()
	}
	if !k.cfg.Hotplug {
		return
	}
	h.mutex = k.Locks.mutex("cpu_add_remove_lock")
	h.id = k.Locks.newID("cpu_hotplug_lock")
	h.readers.Init(&k.M.Cells, 0)
	h.writer.Init(&k.M.Cells, false)
	h.unread = kapi.Is[int]{Var: &h.readers}
	h.open = kapi.Is[bool]{Var: &h.writer}
	k.Locks.keep()
}

func (h *Hotplug) reset() {
	absent := h.k.M.Absent()
	h.Stale, h.Bound, h.down = false, false, false
	h.online.Set(h.k.Sync.all &^ absent)
	h.active.Set(h.k.Sync.all &^ absent)
	h.empty.Set(absent)
	h.dead.Set(absent)
	h.readers.Set(0)
	h.writer.Set(false)
	clear(h.reads[:])
}

// ReadLock implements kapi.CPUs.
func (h *Hotplug) ReadLock(x kapi.Context) {
	if !h.k.cfg.Hotplug {
		h.tell(x, smpev.Lock, smpev.LockShared)
		return
	}
	h.k.mightSleep(ctxOf(x))
	for {
		*h.readers.RMW(x, kapi.Once)++
		x.Fence(hotplugReads)
		if !h.writer.LookAcquire(x, hotplugSees) {
			break
		}
		*h.readers.Change(x, kapi.Once)--
		h.k.M.Notify(h.readers.ID()) // the fence may have been a point, and a writer waits since
		ctxOf(x).Tell(smpev.Lock, h.id, smpev.LockWaits|smpev.LockShared, 0)
		x.Sleep(&h.open)
	}
	h.reads[x.Task()] = true
	x.Emit(smpev.Lock, h.id, smpev.LockShared, 0)
}

// ReadUnlock implements kapi.CPUs.
func (h *Hotplug) ReadUnlock(x kapi.Context) {
	if !h.k.cfg.Hotplug {
		h.tell(x, smpev.Unlock, 0)
		return
	}
	x.Emit(smpev.Unlock, h.id, 0, 0)
	h.reads[x.Task()] = false
	x.Fence(hotplugLeaves)
	kapi.Add(&h.readers, x, kapi.Once, -1)
}

// AssertHeld implements kapi.CPUs.
func (h *Hotplug) AssertHeld(x kapi.Context) {
	if h.id != 0 && !h.reads[x.Task()] {
		x.Emit(smpev.Lock, h.id, smpev.LockNeeded, 0)
	}
}

// tell tells of a reader where there is no writer that it could meet: it takes no step.
func (h *Hotplug) tell(x kapi.Context, k traces.Kind, how uint64) {
	if h.id == 0 {
		return
	}
	h.reads[x.Task()] = k == smpev.Lock
	x.Emit(k, h.id, how, 0)
}

// Change is what a CPU's coming does besides: the notifiers patch text, as those
// of alternatives do (alternatives_smp_switch), and do nothing else here.
//
// Context: may sleep.
func (h *Hotplug) Change(x kapi.Context) {
	h.writeLock(x)
	h.k.Text.mutex.Lock(x)
	x.Step("hotplug notifier", 3)
	h.k.Text.mutex.Unlock(x)
	h.writeUnlock(x)
}

// writeLock is cpu_maps_update_begin and cpus_write_lock.
//
//	step 1: keep new readers out
//	step 2: wait until none is left
func (h *Hotplug) writeLock(x kapi.Context) {
	h.mutex.Lock(x)
	h.writer.WriteOnce(x, true)
	x.Fence(hotplugWrites)

	x.Step("cpus_write_lock", 2)
	ctxOf(x).Tell(smpev.Lock, h.id, smpev.LockWaits, 0)
	x.Sleep(&h.unread)
	x.Fence(hotplugCounted)
	x.Emit(smpev.Lock, h.id, 0, 0)
}

// writeUnlock lets readers in.
func (h *Hotplug) writeUnlock(x kapi.Context) {
	x.Emit(smpev.Unlock, h.id, 0, 0)
	h.writer.StoreRelease(x, hotplugFrees, false)
	h.mutex.Unlock(x)
}

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
		h.emptied[c], h.gone[c], h.came[c] = hotplugWait{&h.empty, c}, hotplugWait{&h.dead, c}, hotplugWait{&h.active, c}
		h.threads[c] = m.AddPerCPU(fmt.Sprintf("cpuhp/%d", c), c, h.thread)
	}
}

// Online returns the set of CPUs that are online, as of now: those that answer IPIs and
// take part in stop_machine, active or not. A kernel in which none goes
// has no point here.
func (h *Hotplug) Online(x kapi.Context) uint64 {
	if !h.k.cfg.Offline {
		return h.k.Sync.all
	}
	return h.online.ReadOnce(x)
}

// Down is cpu_down. It does nothing if the CPU is offline.
//
//	step 1: no CPU comes or goes besides, and no reader of the lock is left
//	step 2: the CPU's own thread makes it inactive, and waits until its tasks have left
//	step 3: the machine is stopped, and the CPU leaves the set of those online (take_cpu_down)
//	step 4: wait until it runs nothing
//	step 5: what was queued on it goes to this CPU: callbacks of RCU, timers
//
// Context: may sleep.
func (h *Hotplug) Down(x kapi.Context, cpu int) {
	h.writeLock(x)
	if h.online.ReadOnce(x)>>cpu&1 != 0 {
		x.Step("cpu_down", 2)
		h.down = true
		h.k.M.Wake(h.threads[cpu])
		x.Sleep(&h.emptied[cpu])

		x.Step("cpu_down", 3)
		h.k.Stop.machine(x, cpu, h.takeDown)

		x.Step("cpu_down", 4)
		x.Sleep(&h.gone[cpu])

		x.Step("cpu_down", 5)
		h.k.RCU.adopt(x, cpu)
		h.k.Work.adopt(x, cpu)
	}
	h.writeUnlock(x)
}

// thread is the body of cpuhp/N: the steps of coming and going that a CPU makes itself.
func (h *Hotplug) thread(x *smp.Ctx) {
	if h.down {
		h.deactivate(x)
	} else {
		h.starts(x)
	}
}

// deactivate is what a CPU does before it is taken down. It is online meanwhile.
//
//	step 1: it isn't active: no task is placed here, and tasks leave when they schedule
//	        (sched_cpu_deactivate)
//	step 2: a grace period: those that have looked at the set before are done
//	step 3: workers aren't bound here any more (workqueue_offline_cpu)
//	step 4: no task is left (sched_cpu_wait_empty)
func (h *Hotplug) deactivate(x *smp.Ctx) {
	x.Step("sched_cpu_deactivate", 1)
	*h.active.RMW(x, kapi.Once) &^= 1 << x.CPU()
	x.Deactivate()

	h.k.RCU.Synchronize(x, kapi.QuiesceRCU)

	if !h.Bound {
		x.Step("workqueue_offline_cpu", 3)
		x.Unbind(true)
	}

	x.Step("sched_cpu_wait_empty", 4)
	for x.Crowded() {
		x.Sleep(kapi.Yield)
	}
	*h.empty.RMW(x, kapi.Once) |= 1 << x.CPU()
}

// takeDown is take_cpu_down, by the CPU's stopper: the CPU leaves the set, and answers what it
// was sent. Its timers stop.
func (h *Hotplug) takeDown(x kapi.Context) {
	*h.online.RMW(x, kapi.Once) &^= 1 << x.CPU()
	c := ctxOf(x)
	if c.CallPending() {
		h.k.Sync.answer(c)
	}
	h.k.Work.stop(x.CPU())
	c.TakeDown()
}

// idleDead is told of each CPU that becomes idle: one that has gone stays there
// (cpuhp_report_idle_dead). It is idle with RCU watching, so RCU is told.
func (h *Hotplug) idleDead(cpu int) {
	if !h.k.M.IsOff(cpu) || h.dead.Peek()>>cpu&1 != 0 {
		return
	}
	h.k.M.PlayDead(cpu)
	h.k.RCU.reportDead(cpu)
	h.k.M.Footprint().TouchCell(h.dead.ID(), true)
	h.dead.Overwrite(h.dead.Peek() | 1<<cpu)
	h.k.M.Notify(h.dead.ID())
}

// Up is cpu_up. It does nothing if the CPU is online.
//
//	step 1: no CPU comes or goes besides, and no reader of the lock is left
//	step 2: the CPU comes out of reset
//	step 3: wait until it is active
//
// Context: may sleep.
func (h *Hotplug) Up(x kapi.Context, cpu int) {
	h.writeLock(x)
	if h.online.ReadOnce(x)>>cpu&1 == 0 {
		*h.dead.RMW(x, kapi.Once) &^= 1 << cpu
		*h.empty.RMW(x, kapi.Once) &^= 1 << cpu
		x.Step("cpu_up", 2)
		h.down = false
		h.k.M.PowerOn(cpu, !h.Stale)
		h.k.M.Wake(h.threads[cpu])

		x.Step("cpu_up", 3)
		x.Sleep(&h.came[cpu])
	}
	h.writeUnlock(x)
}

// starts is what a CPU does that comes up.
//
//	step 1: grace periods that begin from now on wait for it (rcutree_report_cpu_starting),
//	        and it is online (start_secondary)
//	step 2: workers are bound to it again (workqueue_online_cpu)
//	step 3: it is active, last of all (sched_cpu_activate)
func (h *Hotplug) starts(x *smp.Ctx) {
	x.Step("start_secondary", 1)
	h.k.RCU.reportStarting(x.CPU())
	x.Online()
	*h.online.RMW(x, kapi.Once) |= 1 << x.CPU()

	x.Step("workqueue_online_cpu", 2)
	x.Unbind(false)
	h.k.Work.adopt(x, x.CPU())

	x.Step("sched_cpu_activate", 3)
	x.Activate()
	*h.active.RMW(x, kapi.Once) |= 1 << x.CPU()
}

// cellName says what a cell is, "" if it isn't one of these.
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

// waitsFor is what a task waits for that takes a CPU down, or has it come up.
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

// Grace periods where CPUs come and go. RCU has its own set of CPUs, which is neither that
// of those online nor of those active: a CPU is in it before it is online, and until it has
// run its last instruction. It is asked when a grace period begins: a CPU that comes later
// isn't waited for.
//
// What waits for a grace period, a task too, is a callback on the CPU that asked for it
// (synchronize_rcu is a call_rcu of wakeme_after_rcu). When the grace period is over that
// CPU runs it: at once if it idles, else when it next switches tasks or has a tick. If it has gone the callback waits until the task that
// took it down has adopted it. A grace period for all tasks has no such callbacks: a thread of
// its own ends it.

// awaits reports whether a grace period that begins waits for a CPU.
func (r *RCU) awaits(cpu int) bool {
	idles := r.k.M.SeenIdle(cpu) && !r.Unseen
	if !r.k.cfg.Offline {
		return !idles
	}
	r.quiet(cpu, false)
	return r.here>>cpu&1 != 0 && (!idles || r.k.M.IsOff(cpu)) // a CPU that is dead doesn't idle as RCU sees it
}

// queued reports whether what a grace period ends for isn't run by what a CPU does now.
func (r *RCU) queued(g *grace, by int) bool {
	switch {
	case g.flavour == smpev.GPTasks:
		return false
	case r.k.M.IsOff(int(g.on)):
		return true
	case r.k.M.SeenIdle(int(g.on)), g.over && int(g.on) == by:
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

// reportDead says that a CPU has gone (rcutree_report_cpu_dead): its last quiescent state.
func (r *RCU) reportDead(cpu int) {
	if r.Deadly {
		return
	}
	r.here &^= 1 << cpu
	r.idle(cpu)
}

// adopt takes over the callbacks of a CPU that has gone (rcutree_migrate_callbacks). Those
// whose grace period is over run.
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

// reportStarting says that a CPU comes up (rcutree_report_cpu_starting).
func (r *RCU) reportStarting(cpu int) {
	if !r.Newcomer {
		r.quiet(cpu, true)
		r.here |= 1 << cpu
	}
}
