package kernel

import (
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// The orders of cpu_hotplug_lock, by the kernel's letters. Either the writer sees a reader or the reader sees the
// writer, and read sections are over when the writer counts no readers. Here the readers are counted in one word, by
// locked instructions.
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

// Hotplug is the lock that CPU hotplug holds (cpu_hotplug_lock, a percpu_rw_semaphore), and the operations that take
// CPUs down and up (cpuhp.go). Many tasks may read; a writer waits until none does. While a writer waits, no task
// begins to read, not even one that already reads. Down and Up are cpu_down and cpu_up; Change is the work that
// accompanies them.
//
// A kernel without a writer (Config.Hotplug) has no point at its readers, which would only count in their own CPUs'
// words and never wait. The points of might_sleep() are those of the mutexes that are taken with it. It implements
// kapi.CPUs.
type Hotplug struct {
	k        *Kernel
	id       uint64            // set at boot
	mutex    *Mutex            // set at boot: of writers
	readers  kapi.Var[int]     // how many read
	writer   kapi.Var[bool]    // a task writes, or waits until it can
	unread   kapi.Is[int]      `state:"boot"` // set at boot
	open     kapi.Is[bool]     `state:"boot"` // set at boot
	online   kapi.Var[uint64]  // cpu_online_mask
	onOnline func(cpus uint64) `state:"boot"` // set at boot, by watch; called when online has changed
	active   kapi.Var[uint64]  // cpu_active_mask; a subset of the online set
	empty    kapi.Var[uint64]  // CPUs that are ready to be taken down: inactive, and all tasks have left
	dead     kapi.Var[uint64]  // CPUs that have gone and run nothing: the task that takes one down waits for that
	way      cpuWay            // owned by mutex: why the CPU's thread is woken
	fails    smpev.CPUStep     // owned by mutex: the step that fails, of those on the way
	failed   bool              // owned by mutex, and by the CPU's thread that runs for its owner: it has
	emptied  [64]hotplugWait   `state:"boot"` // set at boot: that it is ready
	gone     [64]hotplugWait   `state:"boot"` // set at boot: the condition that it has gone
	came     [64]hotplugWait   `state:"boot"` // set at boot: that it is active
	threads  [64]*smp.Task     `state:"boot"` // set at boot: cpuhp/0, …
	Bound    bool              // owned by the boot of a run: workers stay bound to a CPU that goes: a mutant
	Stale    bool              // owned by the boot of a run: a CPU comes up without serialising: a mutant
	// owned by the boot of a run: a CPU that refuses to go has left those online by then: a mutant
	Late bool
	// owned by the boot of a run: a CPU that fails to come up doesn't report its death to RCU: a mutant
	Untold bool
	// owned by the boot of a run: a CPU that stays online after a failed step isn't made active again: a mutant
	Idles bool
	reads [256]bool // owned by the task of that number: it reads
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
	absent := h.k.M.Processors().Absent()
	h.Stale, h.Bound, h.Late, h.Untold, h.Idles = false, false, false, false, false
	h.way, h.fails, h.failed = cpuComes, smpev.CPUStepNone, false
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
		h.k.M.Waits().Notify(h.readers.ID()) // the fence may have been a point, and a writer waits since
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

// tell reports a reader to monitors in a kernel without a writer. It takes no step.
func (h *Hotplug) tell(x kapi.Context, k traces.Kind, how uint64) {
	if h.id == 0 {
		return
	}
	h.reads[x.Task()] = k == smpev.Lock
	x.Emit(k, h.id, how, 0)
}

// Change runs the notifiers of a CPU that comes up. They patch text, as those of alternatives do
// (alternatives_smp_switch), and do nothing else here.
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
