package kernel

import (
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// Sync makes CPUs serialise by IPI (on_each_cpu(do_sync_core, wait)). It implements kapi.Sync. Calls are numbered;
// each CPU stores the number up to which it has served them.
type Sync struct {
	k      *Kernel
	calls  kapi.Var[syncCall] // the last one
	served kapi.PerCPU[uint64]
	wake   kapi.Var[int] // stored at each answer, in the same step: callers wait for it
	// owned by the task of that number
	waits [256]syncWait `state:"skip: a task's own: what its routine sets it to follows from what that has read"`
	all   uint64        // set at boot: the set of all CPUs
}

// A syncCall is the request that a CPU is sent.
type syncCall struct {
	number uint64   // owned by the cell that holds it
	why    kapi.Why // owned by the cell that holds it
}

// The orders of calls.
var (
	syncCalls = kapi.DefineBarrier("sync_core: call before the IPI", kapi.OrderFull,
		"smp_call_function_many_cond, kernel/smp.c: llist_add(), try_cmpxchg(&head->first)")
	syncTakes = kapi.DefineBarrier("sync_core: take the call", kapi.OrderAcquire,
		"__flush_smp_call_function_queue, kernel/smp.c: llist_del_all(), xchg(&head->first)")
	syncAnswers = kapi.DefineBarrier("sync_core: answer", kapi.OrderRelease,
		"csd_unlock, kernel/smp.c: smp_store_release(&csd->node.u_flags, 0); here one word of all answers, "+
			"changed by a locked instruction")
)

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
	s.calls.Init(&k.M.Cells, syncCall{})
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
	s.calls.Set(syncCall{})
	s.wake.Set(0)
	for c := range s.k.M.CPUs() {
		*s.served.Of(c) = 0
	}
}

// Core implements kapi.Sync: text_poke_sync. Context: interrupts on.
//
//	step 1: send the IPI to all other CPUs
//	step 2: serialise this one
//	step 3: wait until each has answered
func (s *Sync) Core(x kapi.Context, why kapi.Why) {
	c := ctxOf(x)
	w := &s.waits[x.Task()]
	c.PreemptDisable()

	c.Step("sync_core", 1)
	call := s.calls.Change(c, syncCalls)
	call.number, call.why = call.number+1, why
	w.call = call.number
	w.set = s.k.Hotplug.Online(x) &^ (1 << x.CPU())
	s.k.M.Interrupts().SendIPI(c, w.set, smp.IPICall)

	c.SyncCore(why)

	c.SpinForIPI(w)
	c.PreemptEnable()
}

// Some makes the CPUs of a set serialise: this one first, then each other one, as it answers its IPI, before the next
// one is asked. Offline CPUs aren't. Context: interrupts on.
func (s *Sync) Some(x kapi.Context, cpus uint64, why kapi.Why) {
	c := ctxOf(x)
	w := &s.waits[x.Task()]
	c.PreemptDisable()
	if cpus>>x.CPU()&1 != 0 {
		c.Step("sync_core", 0)
		c.SyncCore(why)
	}
	for cpu := range s.k.M.CPUs() {
		if cpus&^(1<<x.CPU())>>cpu&1 == 0 {
			continue
		}
		c.Step("sync_core", 1)
		call := s.calls.Change(c, syncCalls)
		call.number, call.why = call.number+1, why
		w.call = call.number
		w.set = s.k.Hotplug.Online(x) & (1 << cpu)
		s.k.M.Interrupts().SendIPI(c, w.set, smp.IPICall)
		c.SpinForIPI(w)
	}
	c.PreemptEnable()
}

// Self implements kapi.Sync.
func (s *Sync) Self(x kapi.Context, why kapi.Why) { ctxOf(x).SyncCore(why) }

// answer is the IPI's handler (do_sync_core).
func (s *Sync) answer(x *smp.Ctx) {
	call := s.calls.LoadAcquire(x, syncTakes)
	x.SyncCore(call.why)
	*s.wake.RMW(x, syncAnswers)++
	*s.served.This(x) = call.number // in the step that tells of it
}
