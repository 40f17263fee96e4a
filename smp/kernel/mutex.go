package kernel

import (
	"fmt"

	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// The orders that locks keep. An unlocking store of a spinlock is a plain one of x86's: it
// stays in the CPU's buffer.
var (
	mutexLock = kapi.DefineBarrier("mutex: lock", kapi.OrderAcquire,
		"__mutex_trylock_fast, kernel/locking/mutex.c: atomic_long_try_cmpxchg_acquire(&lock->owner)")
	mutexUnlock = kapi.DefineBarrier("mutex: unlock", kapi.OrderRelease,
		"__mutex_unlock_fast, kernel/locking/mutex.c: atomic_long_try_cmpxchg_release(&lock->owner)")
	spinLock = kapi.DefineBarrier("spinlock: lock", kapi.OrderAcquire,
		"queued_spin_lock, include/asm-generic/qspinlock.h: atomic_try_cmpxchg_acquire(&lock->val)")
	spinUnlock = kapi.DefineBarrier("spinlock: unlock", kapi.OrderRelease,
		"queued_spin_unlock, include/asm-generic/qspinlock.h: smp_store_release(&lock->locked, 0)")
)

// A Mutex is a sleeping lock.
type Mutex struct {
	k     *Kernel
	name  string        // set at the boot of a run
	id    uint64        // set at the boot of a run
	owner kapi.Var[int] // 1 + the task that holds it, 0 if free
	free  kapi.Is[int]  `state:"boot"` // set at boot
}

// Lock implements kapi.Mutex. Context: may sleep.
func (l *Mutex) Lock(x kapi.Context) {
	c := ctxOf(x)
	l.k.mightSleep(c)
	for !l.owner.Swap(x, mutexLock, 0, 1+int(x.Task())) {
		c.Tell(smpev.Lock, l.id, smpev.LockWaits, 0)
		x.Sleep(&l.free)
	}
	x.Emit(smpev.Lock, l.id, 0, 0)
}

// Unlock implements kapi.Mutex.
func (l *Mutex) Unlock(x kapi.Context) {
	if ctxOf(x).Weak() { // state under the lock is as this CPU has left it once its stores have taken effect
		*l.owner.RMW(x, mutexUnlock) = 0
		x.Emit(smpev.Unlock, l.id, 0, 0)
		return
	}
	x.Emit(smpev.Unlock, l.id, 0, 0)
	*l.owner.RMW(x, mutexUnlock) = 0
}

// AssertHeld implements kapi.Mutex. It reads the newest owner: each change is a locked instruction.
func (l *Mutex) AssertHeld(x kapi.Context) {
	if l.owner.Peek() != 1+int(x.Task()) {
		x.Emit(smpev.Lock, l.id, smpev.LockNeeded, 0)
	}
}

// A Spinlock turns preemption off, and interrupts if irqs is set, and spins. It implements kapi.Spinlock.
type Spinlock struct {
	name  string // set at the boot of a run
	id    uint64 // set at the boot of a run
	irqs  bool   // set at the boot of a run
	owner kapi.Var[int]
	by    int          // owned by its holder: the owner by lockdep's books, while a CPU holds the store that frees it
	on    bool         // owned by its holder: interrupts were on when it was taken
	free  kapi.Is[int] `state:"boot"` // set at boot
}

// Lock implements kapi.Spinlock.
func (l *Spinlock) Lock(x kapi.Context) {
	c := ctxOf(x)
	on := false
	x.Work(kapi.WorkLock, 1)
	if l.irqs {
		x.Work(kapi.WorkFlags, 1)
		on = c.IRQ(false)
	}
	x.PreemptDisable()
	for !l.take(c) {
		c.Tell(smpev.Lock, l.id, spinContext(c)|smpev.LockWaits, 0)
		x.Spin(&l.free)
	}
	l.on, l.by = on, 1+x.CPU()
	x.Emit(smpev.Lock, l.id, spinContext(c), 0)
}

// take takes the lock if it is free. An unlock and a lock by one CPU, or of one lock, keep more in order than a
// release and an acquire do (tools/memory-model, po-unlock-lock-po).
func (l *Spinlock) take(x *smp.Ctx) (took bool) {
	x.Locks()
	took = l.owner.Swap(x, spinLock, 0, 1+x.CPU())
	x.Made()
	return took
}

// Unlock implements kapi.Spinlock.
func (l *Spinlock) Unlock(x kapi.Context) {
	x.Emit(smpev.Unlock, l.id, 0, 0)
	on := l.on
	l.on = false
	x.Work(kapi.WorkUnlock, 1)
	c := ctxOf(x)
	c.Locks()
	l.owner.StoreRelease(x, spinUnlock, 0)
	c.Made()
	l.by = 0
	if l.irqs && on {
		c.IRQ(true)
	}
	x.PreemptEnable()
}

// AssertHeld implements kapi.Spinlock.
func (l *Spinlock) AssertHeld(x kapi.Context) {
	if l.by != 1+x.CPU() {
		x.Emit(smpev.Lock, l.id, smpev.LockNeeded, 0)
	}
}

// spinContext is the context in which a spinlock was taken, as in smpev.Lock.
func spinContext(x *smp.Ctx) uint64 {
	how := uint64(smpev.LockSpins)
	irq, nmi := x.Interrupts()
	if irq {
		how |= smpev.LockInIRQ
	}
	if nmi {
		how |= smpev.LockInNMI
	}
	if x.Open() {
		how |= smpev.LockIRQsOn
	}
	return how
}

// Locks makes locks. It implements kapi.Locks. Locks made in a run are made
// again, in the same order, in the next.
type Locks struct {
	k         *Kernel
	mutexes   []*Mutex    // owned by the boot of a run
	n         int         // owned by the boot of a run: how many are handed out
	boot      int         // set at boot: how many are the kernel's own
	spins     []*Spinlock // owned by the boot of a run
	nSpins    int         // owned by the boot of a run
	bootSpins int         // set at boot
	names     []string    `state:"skip: each lock has its own"` // owned by the boot of a run: by id-1
	bootNames int         // set at boot
}

func (ls *Locks) init(k *Kernel) { ls.k = k }

func (ls *Locks) reset() {
	ls.n, ls.nSpins, ls.names = ls.boot, ls.bootSpins, ls.names[:ls.bootNames]
	for _, l := range ls.mutexes[:ls.boot] {
		l.owner.Set(0)
	}
	for _, l := range ls.spins[:ls.bootSpins] {
		l.owner.Set(0)
		l.on, l.by = false, 0
	}
}

// keep makes the locks made so far the kernel's own.
func (ls *Locks) keep() { ls.boot, ls.bootSpins, ls.bootNames = ls.n, ls.nSpins, len(ls.names) }

// NewMutex implements kapi.Locks.
func (ls *Locks) NewMutex(name string) kapi.Mutex { return ls.mutex(name) }

// bootMutex makes one of the kernel's own, at boot.
func (ls *Locks) bootMutex(name string) *Mutex {
	l := ls.mutex(name)
	ls.keep()
	return l
}

func (ls *Locks) mutex(name string) *Mutex {
	if ls.n == len(ls.mutexes) {
		l := &Mutex{k: ls.k}
		l.free = kapi.Is[int]{Var: &l.owner}
		ls.mutexes = append(ls.mutexes, l)
	}
	l := ls.mutexes[ls.n]
	ls.n++
	l.name, l.id = name, ls.newID(name)
	l.owner.Init(&ls.k.M.Cells, 0)
	return l
}

// NewSpinlock implements kapi.Locks.
func (ls *Locks) NewSpinlock(name string, irqs bool) kapi.Spinlock {
	if ls.nSpins == len(ls.spins) {
		l := new(Spinlock)
		l.free = kapi.Is[int]{Var: &l.owner}
		ls.spins = append(ls.spins, l)
	}
	l := ls.spins[ls.nSpins]
	ls.nSpins++
	l.name, l.irqs, l.on, l.by, l.id = name, irqs, false, 0, ls.newID(name)
	l.owner.Init(&ls.k.M.Cells, 0)
	return l
}

// newID returns the number that events have for a lock. Locks are numbered in the order in
// which a run makes them, independently of earlier runs.
func (ls *Locks) newID(name string) uint64 {
	ls.names = append(ls.names, name)
	return uint64(len(ls.names))
}

// Name returns the name of the lock with the number id in events. If several locks share the name, it also numbers
// them.
func (ls *Locks) Name(id uint64) string {
	switch {
	case id == smpev.WaitGrace:
		return "a grace period"
	case id >= smpev.WaitWork && id-smpev.WaitWork < uint64(len(ls.k.Work.works)):
		return "the work " + ls.k.Work.works[id-smpev.WaitWork].worker.Name
	}
	if id == 0 || id > uint64(len(ls.names)) {
		return "?"
	}
	name, before, all := ls.names[id-1], 0, 0
	for i, n := range ls.names {
		if n != name {
			continue
		}
		if all++; i < int(id-1) {
			before++
		}
	}
	if all > 1 {
		return fmt.Sprintf("%s[%d]", name, before)
	}
	return name
}
