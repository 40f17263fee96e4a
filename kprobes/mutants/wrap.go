package mutants

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
)

// lateDesc is text_poke_bp with its first step after the second.
type lateDesc struct{ k *kernel.Kernel }

// Patch implements kapi.Patcher.
func (p lateDesc) Patch(x kapi.Context, addr arch.Addr, insn []byte, resume arch.Addr) {
	p.k.Text.Write(x, addr, []byte{x86.Int3})
	p.k.Poke.Publish(x, addr, insn, resume)
	p.k.Sync.Core(x, smpev.SyncPoke1)

	p.k.Text.Write(x, addr+1, insn[1:])
	p.k.Sync.Core(x, smpev.SyncPoke2)

	p.k.Text.Write(x, addr, insn[:1])
	p.k.Sync.Core(x, smpev.SyncPoke3)

	p.k.Poke.Retire(x)
}

// skipSync is a kapi.Sync that leaves the syncs of one place out.
type skipSync struct {
	kapi.Sync
	why kapi.Why
}

// Core implements kapi.Sync.
func (s *skipSync) Core(x kapi.Context, why kapi.Why) {
	if why != s.why {
		s.Sync.Core(x, why)
	}
}

// Self implements kapi.Sync.
func (s *skipSync) Self(x kapi.Context, why kapi.Why) {
	if why != s.why {
		s.Sync.Self(x, why)
	}
}

// SkipSync leaves the syncs of one place out.
func SkipSync(why kapi.Why) func(w *Wiring) {
	return func(w *Wiring) {
		s := &skipSync{w.Deps.Sync, why}
		w.Kernel.Poke.Sync, w.Kernel.Stop.Sync, w.Deps.Sync = s, s, s
	}
}

// tailFirst is text_poke_bp with its first two steps swapped.
type tailFirst struct{ k *kernel.Kernel }

// Patch implements kapi.Patcher.
func (p tailFirst) Patch(x kapi.Context, addr arch.Addr, insn []byte, resume arch.Addr) {
	p.k.Poke.Publish(x, addr, insn, resume)

	p.k.Text.Write(x, addr+1, insn[1:])
	p.k.Sync.Core(x, smpev.SyncPoke2)

	p.k.Text.Write(x, addr, []byte{x86.Int3})
	p.k.Sync.Core(x, smpev.SyncPoke1)

	p.k.Text.Write(x, addr, insn[:1])
	p.k.Sync.Core(x, smpev.SyncPoke3)

	p.k.Poke.Retire(x)
}

// heldRCU waits for grace periods where that is forbidden: with preemption off, or in a
// section that they wait for.
type heldRCU struct {
	kapi.RCU
	section bool
}

// Synchronize implements kapi.RCU.
func (r *heldRCU) Synchronize(x kapi.Context, f kapi.Flavour) {
	if r.section {
		r.ReadLock(x)
		r.RCU.Synchronize(x, f)
		r.ReadUnlock(x)
		return
	}
	x.PreemptDisable()
	r.RCU.Synchronize(x, f)
	x.PreemptEnable()
}

// openLocks makes spinlocks that leave interrupts on.
type openLocks struct{ kapi.Locks }

// NewSpinlock implements kapi.Locks.
func (l openLocks) NewSpinlock(name string, _ bool) kapi.Spinlock {
	return l.Locks.NewSpinlock(name, false)
}

// lockless is text whose mutex is never taken.
type lockless struct{ kapi.Text }

// Mutex implements kapi.Text.
func (t lockless) Mutex() kapi.Mutex { return untaken{t.Text.Mutex()} }

// untaken is a mutex that is never taken.
type untaken struct{ kapi.Mutex }

// Lock implements kapi.Mutex.
func (untaken) Lock(kapi.Context) {}

// Unlock implements kapi.Mutex.
func (untaken) Unlock(kapi.Context) {}
