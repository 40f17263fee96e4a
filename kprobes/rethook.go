package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// preHandlerKretprobe is the pre_handler of a return probe's kprobe: it follows the call if
// an instance is free (spec 2.1, 2.3). Context: a pre_handler's.
func (t *Rethook) preHandlerKretprobe(x kapi.Context, p *Kprobe, regs *arch.Regs) int {
	rp := p.ret
	x.Mark(rp.nmissed.ID(), kapi.Read) // the end of unregisterKprobes drops the holder
	switch {
	case rp.holder == nil: // nil only without the grace period of unregister
	case t.e.Kretprobes.listed():
		t.rethookEnter(x, rp, regs)
	case t.s.Return == era.ReturnHashed:
		t.kretprobeEnterHashed(x, rp, regs)
	default:
		t.kretprobeEnterGlobal(x, rp, regs)
	}
	return 0
}

// rethookEnter follows a call in kernels of 5.11 and later.
func (t *Rethook) rethookEnter(x kapi.Context, rp *Kretprobe, regs *arch.Regs) {
	t.e.Kretprobes.seeks(x, rp.holder)
	ri := t.e.Kretprobes.rethookTryGet(x, rp.holder)
	if ri == nil {
		t.noInstance(x, rp)
		return
	}
	if !t.begins(x, rp, ri, regs) {
		t.e.Kretprobes.rethookRecycle(x, ri)
		return
	}
	t.archPrepareKretprobe(x, ri, regs)
	first := &t.calls[x.Task()]
	ri.below = first.ReadOnce(x)
	first.WriteOnce(x, ri)
}

// locked reports whether the interrupted code may hold a lock that is needed to follow a call: in an NMI the call is
// missed (pre_handler_kretprobe, 3.8 to 5.9).
func (t *Rethook) locked(x kapi.Context, rp *Kretprobe) bool {
	if !t.do.Ret.InNMI(x) {
		return false
	}
	t.noInstance(x, rp)
	return true
}

// kretprobeEnterHashed follows a call in kernels of 2.6.28 to 5.10. One lock covers the free
// instances, another the bucket of the task. The entry_handler runs between the two.
func (t *Rethook) kretprobeEnterHashed(x kapi.Context, rp *Kretprobe, regs *arch.Regs) {
	if t.locked(x, rp) {
		return
	}
	rph := rp.holder
	t.e.Kretprobes.seeks(x, rph)
	rph.lock.Lock(x)
	ri := t.e.Kretprobes.firstOf(x, rph.lock, &rph.free)
	rph.lock.Unlock(x)
	if ri == nil {
		t.noInstance(x, rp)
		return
	}
	x.Emit(kpev.InstanceGet, ri.ID, rph.probe, 0)
	if !t.begins(x, rp, ri, regs) {
		t.do.Ret.RefuseCall(t.e, x, ri)
		return
	}
	t.archPrepareKretprobe(x, ri, regs)
	b := t.bucket(x)
	b.lock.Lock(x)
	b.calls.Push(x, ri)
	b.lock.Unlock(x)
}

// refuseCall gives back the instance of a call that the entry_handler refuses to follow.
func (t *Rethook) refuseCall(x kapi.Context, ri *Instance) {
	rph := ri.holder
	x.Emit(kpev.InstancePut, ri.ID, rph.probe, 0)
	rph.lock.Lock(x)
	t.e.Kretprobes.giveBack(x, rph, ri)
	rph.lock.Unlock(x)
}

// kretprobeEnterGlobal follows a call in kernels until 2.6.27. One lock covers everything.
func (t *Rethook) kretprobeEnterGlobal(x kapi.Context, rp *Kretprobe, regs *arch.Regs) {
	if t.locked(x, rp) {
		return
	}
	rph := rp.holder
	t.e.Kretprobes.seeks(x, rph)
	t.global.Lock(x)
	ri := t.e.Kretprobes.firstOf(x, t.global, &rph.free)
	if ri == nil {
		t.noInstance(x, rp)
	} else {
		x.Emit(kpev.InstanceGet, ri.ID, rph.probe, 0)
		t.begins(x, rp, ri, regs)
		t.archPrepareKretprobe(x, ri, regs)
		rph.used.Push(x, ri)
		t.bucket(x).calls.Push(x, ri)
	}
	t.global.Unlock(x)
}

// firstOf takes the first instance of a list. Context: its lock held.
func (k *Kretprobes) firstOf(x kapi.Context, lock kapi.Spinlock, l *kapi.List[*Instance]) *Instance {
	lock.AssertHeld(x)
	if l.Len(x) == 0 {
		return nil
	}
	ri := l.Owned()[0]
	l.Del(x, ri)
	k.lies(x, ri, false)
	return ri
}

// giveBack puts an instance on the list of free ones. Context: its lock held.
func (k *Kretprobes) giveBack(x kapi.Context, rph *holder, ri *Instance) {
	rph.free.Push(x, ri)
	k.lies(x, ri, true)
}

// noInstance counts a call that can't be followed (spec 2.3).
func (t *Rethook) noInstance(x kapi.Context, rp *Kretprobe) {
	kapi.Plus(&rp.nmissed, x, 1)
	x.Emit(kpev.RetMissed, rp.Kprobe.ID, 0, 0)
}

// begins assigns a call to an instance, and asks the entry_handler whether to follow the call
// (spec 2.4).
func (t *Rethook) begins(x kapi.Context, rp *Kretprobe, ri *Instance, regs *arch.Regs) bool {
	x.Work(WorkCall, 1)
	ri.Rp, ri.Task, ri.RetAddr = rp, x.Task(), 0
	if rp.Entry == nil {
		return true
	}
	x.Work(kapi.WorkHandler, 1)
	return t.do.Ret.CallEntryHandler(x, rp, ri, regs) == 0
}

// rethookTrampolineHandler runs the handlers of the call that returns from a frame, and returns the address to
// continue at. The stack pointer in regs is the caller's. If no call in flight has that frame the kernel dies (spec
// 2.8). Context: preemption off.
func (t *Rethook) rethookTrampolineHandler(x kapi.Context, regs *arch.Regs, frame arch.Addr) arch.Addr {
	to := arch.Addr(0)
	if t.e.Kretprobes.listed() {
		to = t.rethookReturn(x, regs, frame)
	} else {
		to = t.kretprobeReturnHashed(x, regs, frame)
	}
	x.Emit(kpev.Trampoline, uint64(frame), uint64(to), 0)
	if to == 0 {
		t.do.Ret.ReturnLost(t.e, x)
		return t.bug
	}
	return to
}

// mine reports whether a call returns from a frame. Several may: the one whose return address isn't the trampoline's
// has the real address; the newer ones belong to other return probes on the function, or on functions that jumped to
// it. Calls in between belong to frames that were left without a return (K4).
func (t *Rethook) mine(ri *Instance, frame arch.Addr) bool {
	return t.do.Ret.SameFrame(ri.frame, frame)
}

// knows reports whether a call knows where the return from a frame goes to.
func (t *Rethook) knows(ri *Instance, frame arch.Addr) bool {
	return t.mine(ri, frame) && ri.RetAddr != t.trampoline
}

// mostCalls exceeds the calls that a task can have in flight. It bounds walks, because an
// instance that was handed out twice makes the list a ring.
const mostCalls = 1 << 16

// rethookReturn handles a return in kernels of 5.11 and later. Until 5.14 the calls are taken
// off the list before the handlers run. Since then they are taken off afterwards, so that a
// backtrace in a handler finds them.
func (t *Rethook) rethookReturn(x kapi.Context, regs *arch.Regs, frame arch.Addr) (to arch.Addr) {
	first := &t.calls[x.Task()]
	newest := first.ReadOnce(x)
	var last *Instance // the one with the real address
	for ri, n := newest, 0; ri != nil && n < mostCalls; ri, n = ri.below, n+1 {
		if t.knows(ri, frame) {
			last = ri
			break
		}
	}
	if last == nil {
		return 0
	}
	to = last.RetAddr
	was := busy{}
	if !t.s.Unwind {
		was = t.e.Hits.kprobeBusyBegin(x, &t.busyAggr)
		t.do.Ret.LeaveCalls(x, first, last.below)
	} else {
		regs.IP = to
	}
	for ri := newest; ; ri = ri.below {
		if t.mine(ri, frame) && ri.holder.live.Deref(x) {
			t.do.Ret.KretprobeRethookHandler(t.e, x, ri, to, regs)
		}
		if ri == last {
			break
		}
	}
	if t.s.Unwind {
		t.do.Ret.LeaveCalls(x, first, last.below)
	}
	for ri := newest; ; {
		below := ri.below
		t.e.Kretprobes.rethookRecycle(x, ri)
		if ri == last {
			break
		}
		ri = below
	}
	if !t.s.Unwind {
		t.e.Hits.kprobeBusyEnd(x, was)
	}
	return to
}

// kretprobeReturnHashed handles a return in kernels until 5.10. The handlers run with the lock
// held and interrupts off.
func (t *Rethook) kretprobeReturnHashed(x kapi.Context, regs *arch.Regs, frame arch.Addr) (to arch.Addr) {
	b := t.bucket(x)
	was := busy{}
	if t.s.Return == era.ReturnHashed { // the other's trampoline is a probe
		was = t.e.Hits.kprobeBusyBegin(x, &t.busyAggr)
	}
	b.lock.Lock(x)
	last := 0
	for i := range b.calls.Len(x) {
		ri := b.calls.At(x, i)
		if ri.Task == x.Task() && t.knows(ri, frame) {
			to, last = ri.RetAddr, i
			break
		}
	}
	var empty *Instance
	if to != 0 {
		for i, n := 0, last; n >= 0; n-- {
			ri := b.calls.At(x, i)
			if ri.Task != x.Task() {
				i++
				continue
			}
			if t.mine(ri, frame) && !ri.gone {
				t.do.Ret.KretprobeRethookHandler(t.e, x, ri, to, regs)
			}
			empty = t.recycleRpInst(x, b, ri, empty)
		}
	}
	b.lock.Unlock(x)
	freeAll(x, empty)
	if t.s.Return == era.ReturnHashed {
		t.e.Hits.kprobeBusyEnd(x, was)
	}
	return to
}

// recycleRpInst returns an instance to the free ones. If its return probe is gone, it prepends
// the instance to empty instead, to be freed once no lock is held (K1). Context: the bucket's
// lock held.
func (t *Rethook) recycleRpInst(x kapi.Context, b *bucket, ri, empty *Instance) *Instance {
	b.lock.AssertHeld(x)
	rph := ri.holder
	t.do.Ret.LeaveBucket(x, &b.calls, ri)
	x.Emit(kpev.InstancePut, ri.ID, rph.probe, 0)
	t.stays(x, ri)
	switch {
	case ri.gone:
		ri.below = empty
		return ri
	case t.s.Return == era.ReturnHashed:
		rph.lock.Lock(x)
		t.e.Kretprobes.giveBack(x, rph, ri)
		rph.lock.Unlock(x)
	default:
		rph.used.Del(x, ri)
		t.e.Kretprobes.giveBack(x, rph, ri)
	}
	return empty
}

// freeAll frees the list of instances that recycleRpInst has built.
func freeAll(x kapi.Context, ri *Instance) {
	for ; ri != nil; ri = ri.below {
		ri.free(x)
	}
}

// kretprobeRethookHandler runs the handler of a call, and passes it the real return address: an instance that isn't
// the first of its frame has kept the trampoline's address, and until 2.6.37 its handler got that (mutant
// ret-addr-kept). A probe that is hit meanwhile is nested.
func (t *Rethook) kretprobeRethookHandler(x kapi.Context, ri *Instance, to arch.Addr, regs *arch.Regs) {
	rp := ri.Rp
	t.do.Ret.SetRetAddr(t.e, ri, to)
	x.Work(WorkReturn, 1)
	if rp.Handler == nil {
		return
	}
	ap := rp.Kprobe.aggr
	if ap == nil { // unregister has come as far as that
		ap = &t.busyAggr
	}
	was := t.e.Hits.kprobeBusyBegin(x, ap)
	x.Work(kapi.WorkHandler, 1)
	rp.Handler(x, ri, regs)
	t.e.Hits.kprobeBusyEnd(x, was)
}

// kprobeBusyBegin makes the CPU busy with an aggr, so that a probe that it hits is
// nested; kprobeBusyEnd takes that back. Context: preemption off.
func (h *Hits) kprobeBusyBegin(x kapi.Context, ap *Aggr) (was busy) {
	kcb := h.kcb.This(x)
	was = kcb.busy
	kcb.busy = busy{current: ap, status: kprobeHitActive}
	return was
}

func (h *Hits) kprobeBusyEnd(x kapi.Context, was busy) { h.kcb.This(x).busy = was }

// lost prints the kernel's line for a return to the trampoline that no call in flight
// matches.
func (t *Rethook) lost(x kapi.Context) {
	if t.s.Return == era.ReturnFreelist {
		x.Emit(kpev.Printk, uint64(kpev.LineRetLost), 0, 0)
		return
	}
	if t.e.Kretprobes.listed() {
		x.Emit(kpev.Printk, uint64(kpev.LineRethookLost), 0, 0)
		return
	}
	probe, addr := uint64(0), uint64(0)
	for _, ri := range t.bucket(x).calls.Owned() {
		if ri.Task == x.Task() {
			probe, addr = ri.holder.probe, uint64(ri.Rp.Kprobe.Addr)
			break
		}
	}
	x.Emit(kpev.Printk, uint64(kpev.LineRetBug), probe, addr)
}

// kprobeFlushTask recycles the instances of an ending task: of calls that never returned
// (spec 2.8). The CPU is marked busy with a probe meanwhile, so that a return probe on
// a function called here does not take the same lock (K2).
func (t *Rethook) kprobeFlushTask(x kapi.Context) {
	if t.ready.Look(x) {
		t.do.Ret.FlushTask(t.e, x)
	}
}

// flushTask is kprobeFlushTask where there are return probes.
func (t *Rethook) flushTask(x kapi.Context) {
	x.PreemptDisable()
	if t.e.Kretprobes.listed() {
		first := &t.calls[x.Task()]
		ri := first.ReadOnce(x)
		if ri != nil {
			t.do.Ret.LeaveCalls(x, first, nil)
		}
		for ri != nil {
			below := ri.below
			t.e.Kretprobes.rethookRecycle(x, ri)
			ri = below
		}
	} else {
		was := t.e.Hits.kprobeBusyBegin(x, &t.busyAggr)
		b := t.bucket(x)
		b.lock.Lock(x)
		var empty *Instance
		for i := 0; i < b.calls.Len(x); {
			if ri := b.calls.At(x, i); ri.Task == x.Task() {
				empty = t.recycleRpInst(x, b, ri, empty)
			} else {
				i++
			}
		}
		b.lock.Unlock(x)
		t.do.Ret.FreeFlushed(x, empty)
		t.e.Hits.kprobeBusyEnd(x, was)
	}
	x.PreemptEnable()
}

// A bucket has the calls in flight of tasks whose numbers hash alike, newest first of each task.
type bucket struct {
	lock  kapi.Spinlock `state:"boot"` // set at New
	calls kapi.List[*Instance]
}

// maxBuckets is the most buckets (KPROBE_TABLE_SIZE).
const maxBuckets = 64

// bucket returns the bucket of the context's task.
func (t *Rethook) bucket(x kapi.Context) *bucket {
	return &t.buckets[int(x.Task())%len(t.buckets)]
}

// rethookFindRetAddr returns the return address that a word of a task's stack stands for, if the
// trampoline's address has replaced it there. Unwinders use it since 5.15; before, they gave up
// at the trampoline. They still don't know the frame inside the trampoline's code. Context: the
// task is the context's, or its runqueue is held.
func (t *Rethook) rethookFindRetAddr(x kapi.Context, task kapi.TaskID, slot, word arch.Addr) (to arch.Addr, ok bool) {
	r := t
	switch {
	case word < r.trampoline || word >= r.bug || !r.ready.Look(x):
		return word, true
	case word > r.trampoline || slot == 0:
		return word, false
	case !t.e.Kretprobes.listed():
		for _, ri := range r.buckets[int(task)%len(r.buckets)].calls.Look(x) {
			if ri.Task == task && t.knows(ri, slot) {
				return ri.RetAddr, t.s.Unwind
			}
		}
		return word, false
	}
	for ri, n := r.calls[task].Look(x), 0; ri != nil && n < mostCalls; ri, n = ri.below, n+1 {
		if t.knows(ri, slot) {
			return ri.RetAddr, t.s.Unwind
		}
	}
	return word, false
}

// Trampoline returns the address of the trampoline, which replaces return addresses.
func (t *Rethook) Trampoline() arch.Addr { return t.trampoline }

// InFlight returns an instance that is in a list of calls in flight. ok is false if there is
// none.
func (t *Rethook) InFlight() (ri *Instance, ok bool) {
	for i := range t.buckets {
		if calls := t.buckets[i].calls.Owned(); len(calls) > 0 {
			return calls[0], true
		}
	}
	if !t.ready.Owned() || !t.e.Kretprobes.listed() {
		return nil, false
	}
	for i := range t.calls {
		if ri := t.calls[i].Owned(); ri != nil {
			return ri, true
		}
	}
	return nil, false
}
