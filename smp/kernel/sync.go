package kernel

import (
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// Sync makes CPUs serialise by IPI (on_each_cpu(do_sync_core, wait)). It
// implements kapi.Sync. Calls are numbered; a CPU that answers says up to which
// number it has served.
type Sync struct {
	k      *Kernel
	calls  kapi.Var[uint64] // the number of the last call
	why    kapi.Why         // owned by the last caller
	served kapi.PerCPU[uint64]
	wake   kapi.Var[int] // stored at each answer: what callers wait on
	waits  [256]syncWait `state:"skip: a task's own: what its routine sets it to follows from what that has read"` // owned by the task of that number
	all    uint64        // set at boot: the set of all CPUs
}

// syncWait is the condition that every CPU of a set has served a call.
type syncWait struct {
	s    *Sync
	set  uint64 // owned by its task
	call uint64 // owned by its task
}

func (w *syncWait) Cell() kapi.CellID { return w.s.wake.ID() }

func (w *syncWait) Holds() bool {
	for c := range w.s.k.M.CPUs() {
		if w.set>>c&1 != 0 && *w.s.served.Of(c) < w.call {
			return false
		}
	}
	return true
}

func (s *Sync) init(k *Kernel) {
	s.k = k
	s.calls.Init(&k.M.Cells, 0)
	s.wake.Init(&k.M.Cells, 0)
	s.served.Init(k.M.CPUs())
	s.all = 1<<k.M.CPUs() - 1
	if k.M.CPUs() == 64 {
		s.all = ^uint64(0)
	}
	for i := range s.waits {
		s.waits[i].s = s
	}
}

func (s *Sync) reset() {
	s.calls.Set(0)
	s.wake.Set(0)
	s.why = 0
	for c := range s.k.M.CPUs() {
		*s.served.Of(c) = 0
	}
}

// Core implements kapi.Sync. Context: interrupts on.
//
//	step 1: send the IPI to all other CPUs
//	step 2: serialise this one
//	step 3: wait until each has answered
func (s *Sync) Core(x kapi.Context, why kapi.Why) {
	c := ctxOf(x)
	w := &s.waits[x.Task()]
	c.PreemptDisable()

	c.Step("sync_core", 1)
	c.Touch(s.calls.ID(), kapi.Write)
	w.call = s.calls.Peek() + 1
	s.calls.Set(w.call)
	s.why = why
	w.set = s.all &^ (1 << x.CPU())
	s.k.M.SendIPI(c, w.set, smp.IPICall)

	c.SyncCore(why)

	c.SpinForIPI(w)
	c.PreemptEnable()
}

// Self implements kapi.Sync.
func (s *Sync) Self(x kapi.Context, why kapi.Why) { ctxOf(x).SyncCore(why) }

// answer is the IPI's handler.
func (s *Sync) answer(x *smp.Ctx) {
	call := s.calls.ReadOnce(x)
	x.SyncCore(s.why)
	*s.served.This(x) = call
	s.wake.WriteOnce(x, s.wake.Peek()+1)
}
