package kernel

import (
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A Mutex is a sleeping lock.
type Mutex struct {
	k     *Kernel
	name  string // set at the boot of a run
	id    uint64
	owner kapi.Var[int] // 1 + the task that holds it, 0 if free
	free  kapi.Is[int]  // set at boot
}

// Lock implements kapi.Mutex. Context: may sleep.
func (l *Mutex) Lock(x kapi.Context) {
	l.k.mightSleep(x.(*smp.Ctx))
	for !l.owner.Swap(x, 0, 1+int(x.Task())) {
		x.Sleep(&l.free)
	}
	x.Emit(smpev.Lock, l.id, 0, 0)
}

// Unlock implements kapi.Mutex.
func (l *Mutex) Unlock(x kapi.Context) {
	x.Emit(smpev.Unlock, l.id, 0, 0)
	l.owner.Store(x, 0)
}

// A Spinlock turns preemption off and spins.
type Spinlock struct {
	id    uint64
	owner kapi.Var[int]
	free  kapi.Is[int] // set at boot
}

// Lock takes the lock. Context: any but where it may be interrupted by a taker.
func (l *Spinlock) Lock(x kapi.Context) {
	x.PreemptDisable()
	for !l.owner.Swap(x, 0, 1+x.CPU()) {
		x.Spin(&l.free)
	}
	x.Emit(smpev.Lock, l.id, 0, 0)
}

// Unlock releases the lock.
func (l *Spinlock) Unlock(x kapi.Context) {
	x.Emit(smpev.Unlock, l.id, 0, 0)
	l.owner.Store(x, 0)
	x.PreemptEnable()
}

// Locks makes locks. It implements kapi.Locks. Locks made in a run are made
// again, in the same order, in the next.
type Locks struct {
	k       *Kernel
	spins   []*Spinlock // set at boot
	mutexes []*Mutex    // owned by the boot of a run
	n       int         // owned by the boot of a run: how many are handed out
	boot    int         // set at boot: how many are the kernel's own
	names   []string    // owned by the boot of a run: by id-1
}

func (ls *Locks) init(k *Kernel) { ls.k = k }

func (ls *Locks) reset() {
	ls.n = ls.boot
	for _, l := range ls.spins {
		l.owner.Set(0)
	}
	for i, l := range ls.mutexes {
		if i < ls.boot {
			l.owner.Set(0)
		}
	}
}

// keep makes the locks made so far the kernel's own.
func (ls *Locks) keep() { ls.boot = ls.n }

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
		l := &Mutex{k: ls.k, id: uint64(len(ls.names) + 1)}
		l.free = kapi.Is[int]{Var: &l.owner}
		ls.mutexes = append(ls.mutexes, l)
		ls.names = append(ls.names, name)
	}
	l := ls.mutexes[ls.n]
	ls.n++
	l.name = name
	l.owner.Init(&ls.k.M.Cells, 0)
	return l
}

// NewSpinlock makes a spinlock, at boot.
func (ls *Locks) NewSpinlock(name string) *Spinlock {
	ls.names = append(ls.names, name)
	l := &Spinlock{id: uint64(len(ls.names))}
	l.owner.Init(&ls.k.M.Cells, 0)
	l.free = kapi.Is[int]{Var: &l.owner}
	ls.spins = append(ls.spins, l)
	return l
}

// Name returns the name of the lock that events call id.
func (ls *Locks) Name(id uint64) string {
	if id == 0 || id > uint64(len(ls.names)) {
		return "?"
	}
	return ls.names[id-1]
}
