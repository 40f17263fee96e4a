package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// preHandlerKretprobe is the pre_handler of a return probe's kprobe: it follows the call if
// an instance is free (spec 2.1, 2.3). Context: a pre_handler's.
func (e *Engine) preHandlerKretprobe(x kapi.Context, p *Kprobe, regs *arch.Regs) int {
	rp := p.ret
	x.Mark(rp.nmissed.ID(), kapi.Read) // the end of unregisterKprobes drops the holder
	switch {
	case rp.holder == nil: // nil only without the grace period of unregister
	case e.listed():
		e.rethookEnter(x, rp, regs)
	case e.s.Return == era.ReturnHashed:
		e.kretprobeEnterHashed(x, rp, regs)
	default:
		e.kretprobeEnterGlobal(x, rp, regs)
	}
	return 0
}

// rethookEnter is that of 5.11 and later.
func (e *Engine) rethookEnter(x kapi.Context, rp *Kretprobe, regs *arch.Regs) {
	e.seeks(x, rp.holder)
	ri := e.rethookTryGet(x, rp.holder)
	if ri == nil {
		e.noInstance(x, rp)
		return
	}
	if !e.begins(x, rp, ri, regs) {
		e.rethookRecycle(x, ri)
		return
	}
	e.archPrepareKretprobe(x, ri, regs)
	first := &e.ret.calls[x.Task()]
	ri.below = first.ReadOnce(x)
	first.WriteOnce(x, ri)
}

// locked reports whether what the CPU was doing may hold a lock that a call needs
// to be followed: in an NMI the call is missed (pre_handler_kretprobe, 3.8 to 5.9).
func (e *Engine) locked(x kapi.Context, rp *Kretprobe) bool {
	if !e.do.InNMI(x) {
		return false
	}
	e.noInstance(x, rp)
	return true
}

// kretprobeEnterHashed is that of 2.6.28 to 5.10: a lock for the free instances, and one
// for the bucket of the task. The entry_handler runs between the two.
func (e *Engine) kretprobeEnterHashed(x kapi.Context, rp *Kretprobe, regs *arch.Regs) {
	if e.locked(x, rp) {
		return
	}
	rph := rp.holder
	e.seeks(x, rph)
	rph.lock.Lock(x)
	ri := e.firstOf(x, rph.lock, &rph.free)
	rph.lock.Unlock(x)
	if ri == nil {
		e.noInstance(x, rp)
		return
	}
	x.Emit(kpev.InstanceGet, ri.ID, rph.probe, 0)
	if !e.begins(x, rp, ri, regs) {
		e.do.RefuseCall(e, x, ri)
		return
	}
	e.archPrepareKretprobe(x, ri, regs)
	b := e.bucket(x)
	b.lock.Lock(x)
	b.calls.Push(x, ri)
	b.lock.Unlock(x)
}

// refuseCall gives back the instance of a call that its entry_handler doesn't let pass.
func (e *Engine) refuseCall(x kapi.Context, ri *Instance) {
	rph := ri.holder
	x.Emit(kpev.InstancePut, ri.ID, rph.probe, 0)
	rph.lock.Lock(x)
	e.giveBack(x, rph, ri)
	rph.lock.Unlock(x)
}

// kretprobeEnterGlobal is that of kernels until 2.6.27: one lock over all of it.
func (e *Engine) kretprobeEnterGlobal(x kapi.Context, rp *Kretprobe, regs *arch.Regs) {
	if e.locked(x, rp) {
		return
	}
	rph := rp.holder
	e.seeks(x, rph)
	e.ret.global.Lock(x)
	ri := e.firstOf(x, e.ret.global, &rph.free)
	if ri == nil {
		e.noInstance(x, rp)
	} else {
		x.Emit(kpev.InstanceGet, ri.ID, rph.probe, 0)
		e.begins(x, rp, ri, regs)
		e.archPrepareKretprobe(x, ri, regs)
		rph.used.Push(x, ri)
		e.bucket(x).calls.Push(x, ri)
	}
	e.ret.global.Unlock(x)
}

// firstOf takes the first instance of a list. Context: its lock held.
func (e *Engine) firstOf(x kapi.Context, lock kapi.Spinlock, l *kapi.List[*Instance]) *Instance {
	lock.AssertHeld(x)
	if l.Len(x) == 0 {
		return nil
	}
	ri := l.Owned()[0]
	l.Del(x, ri)
	e.lies(x, ri, false)
	return ri
}

// giveBack puts an instance on the list of free ones. Context: its lock held.
func (e *Engine) giveBack(x kapi.Context, rph *holder, ri *Instance) {
	rph.free.Push(x, ri)
	e.lies(x, ri, true)
}

// noInstance counts a call that can't be followed (spec 2.3).
func (e *Engine) noInstance(x kapi.Context, rp *Kretprobe) {
	kapi.Plus(&rp.nmissed, x, 1)
	x.Emit(kpev.RetMissed, rp.Kprobe.ID, 0, 0)
}

// begins gives an instance its call, and asks the entry_handler whether it is to
// be followed (spec 2.4).
func (e *Engine) begins(x kapi.Context, rp *Kretprobe, ri *Instance, regs *arch.Regs) bool {
	x.Work(WorkCall, 1)
	ri.Rp, ri.Task, ri.RetAddr = rp, x.Task(), 0
	if rp.Entry == nil {
		return true
	}
	x.Work(kapi.WorkHandler, 1)
	return e.do.CallEntryHandler(x, rp, ri, regs) == 0
}

// rethookTrampolineHandler runs the handlers of the call that returns from a frame, and
// returns the address to go on at. The stack pointer in regs is the caller's. If no
// call in flight has that frame the kernel dies (spec 2.8). Context: preemption off.
func (e *Engine) rethookTrampolineHandler(x kapi.Context, regs *arch.Regs, frame arch.Addr) arch.Addr {
	to := arch.Addr(0)
	if e.listed() {
		to = e.rethookReturn(x, regs, frame)
	} else {
		to = e.kretprobeReturnHashed(x, regs, frame)
	}
	x.Emit(kpev.Trampoline, uint64(frame), uint64(to), 0)
	if to == 0 {
		e.do.ReturnLost(e, x)
		return e.ret.bug
	}
	return to
}

// mine reports whether a call returns from a frame. Of those that do, the one
// whose return address isn't the trampoline's knows where to: the newer ones are
// of other return probes on the function, or of functions that jumped to it. What
// lies between is of frames that were left without a return (K4).
func (e *Engine) mine(ri *Instance, frame arch.Addr) bool {
	return e.do.SameFrame(ri.frame, frame)
}

// knows reports whether a call knows where the return from a frame goes to.
func (e *Engine) knows(ri *Instance, frame arch.Addr) bool {
	return e.mine(ri, frame) && ri.RetAddr != e.ret.trampoline
}

// mostCalls is more than a task has in flight: an instance that was handed out twice
// makes its list a ring, in which the address of one of the two isn't found.
const mostCalls = 1 << 16

// rethookReturn is that of 5.11 and later. Until 5.14 the calls are taken from the
// list before the handlers run, since then after them, so that a backtrace in a
// handler finds them.
func (e *Engine) rethookReturn(x kapi.Context, regs *arch.Regs, frame arch.Addr) (to arch.Addr) {
	first := &e.ret.calls[x.Task()]
	newest := first.ReadOnce(x)
	var last *Instance // the one that knows where to
	for ri, n := newest, 0; ri != nil && n < mostCalls; ri, n = ri.below, n+1 {
		if e.knows(ri, frame) {
			last = ri
			break
		}
	}
	if last == nil {
		return 0
	}
	to = last.RetAddr
	was := busy{}
	if !e.s.Unwind {
		was = e.kprobeBusyBegin(x, &e.ret.busyAggr)
		e.do.LeaveCalls(x, first, last.below)
	} else {
		regs.IP = to
	}
	for ri := newest; ; ri = ri.below {
		if e.mine(ri, frame) && ri.holder.live.Deref(x) {
			e.do.KretprobeRethookHandler(e, x, ri, to, regs)
		}
		if ri == last {
			break
		}
	}
	if e.s.Unwind {
		e.do.LeaveCalls(x, first, last.below)
	}
	for ri := newest; ; {
		below := ri.below
		e.rethookRecycle(x, ri)
		if ri == last {
			break
		}
		ri = below
	}
	if !e.s.Unwind {
		e.kprobeBusyEnd(x, was)
	}
	return to
}

// kretprobeReturnHashed is that of kernels until 5.10: the handlers run with the lock held,
// and interrupts off.
func (e *Engine) kretprobeReturnHashed(x kapi.Context, regs *arch.Regs, frame arch.Addr) (to arch.Addr) {
	b := e.bucket(x)
	was := busy{}
	if e.s.Return == era.ReturnHashed { // the other's trampoline is a probe
		was = e.kprobeBusyBegin(x, &e.ret.busyAggr)
	}
	b.lock.Lock(x)
	last := 0
	for i := range b.calls.Len(x) {
		ri := b.calls.At(x, i)
		if ri.Task == x.Task() && e.knows(ri, frame) {
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
			if e.mine(ri, frame) && !ri.gone {
				e.do.KretprobeRethookHandler(e, x, ri, to, regs)
			}
			empty = e.recycleRpInst(x, b, ri, empty)
		}
	}
	b.lock.Unlock(x)
	freeAll(x, empty)
	if e.s.Return == era.ReturnHashed {
		e.kprobeBusyEnd(x, was)
	}
	return to
}

// recycleRpInst makes an instance free again, or puts it before empty if its
// return probe is gone: its memory goes when no lock is held (K1). Context: the
// bucket's lock held.
func (e *Engine) recycleRpInst(x kapi.Context, b *bucket, ri, empty *Instance) *Instance {
	b.lock.AssertHeld(x)
	rph := ri.holder
	e.do.LeaveBucket(x, &b.calls, ri)
	x.Emit(kpev.InstancePut, ri.ID, rph.probe, 0)
	e.stays(x, ri)
	switch {
	case ri.gone:
		ri.below = empty
		return ri
	case e.s.Return == era.ReturnHashed:
		rph.lock.Lock(x)
		e.giveBack(x, rph, ri)
		rph.lock.Unlock(x)
	default:
		rph.used.Del(x, ri)
		e.giveBack(x, rph, ri)
	}
	return empty
}

// freeAll frees what recycleRpInst has put together.
func freeAll(x kapi.Context, ri *Instance) {
	for ; ri != nil; ri = ri.below {
		ri.free(x)
	}
}

// kretprobeRethookHandler runs the handler of a call, and tells it where the call returns to: an
// instance that isn't the first of its frame has kept the trampoline's address, and
// until 2.6.37 its handler was told that (mutant ret-addr-kept). A probe that is hit
// meanwhile is nested.
func (e *Engine) kretprobeRethookHandler(x kapi.Context, ri *Instance, to arch.Addr, regs *arch.Regs) {
	rp := ri.Rp
	e.do.SetRetAddr(e, ri, to)
	x.Work(WorkReturn, 1)
	if rp.Handler == nil {
		return
	}
	ap := rp.Kprobe.aggr
	if ap == nil { // unregister has come as far as that
		ap = &e.ret.busyAggr
	}
	was := e.kprobeBusyBegin(x, ap)
	x.Work(kapi.WorkHandler, 1)
	rp.Handler(x, ri, regs)
	e.kprobeBusyEnd(x, was)
}

// kprobeBusyBegin makes the CPU busy with an aggr, so that a probe that it hits is
// nested; kprobeBusyEnd takes that back. Context: preemption off.
func (e *Engine) kprobeBusyBegin(x kapi.Context, ap *Aggr) (was busy) {
	kcb := e.kcb.This(x)
	was = kcb.busy
	kcb.busy = busy{current: ap, status: kprobeHitActive}
	return was
}

func (e *Engine) kprobeBusyEnd(x kapi.Context, was busy) { e.kcb.This(x).busy = was }

// lost prints the kernel's line for a return to the trampoline that no call in flight
// matches.
func (e *Engine) lost(x kapi.Context) {
	if e.s.Return == era.ReturnFreelist {
		x.Emit(kpev.Printk, uint64(kpev.LineRetLost), 0, 0)
		return
	}
	if e.listed() {
		x.Emit(kpev.Printk, uint64(kpev.LineRethookLost), 0, 0)
		return
	}
	probe, addr := uint64(0), uint64(0)
	for _, ri := range e.bucket(x).calls.Owned() {
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
func (e *Engine) kprobeFlushTask(x kapi.Context) {
	if e.ret.ready.Look(x) {
		e.do.FlushTask(e, x)
	}
}

// flushTask is kprobeFlushTask where there are return probes.
func (e *Engine) flushTask(x kapi.Context) {
	x.PreemptDisable()
	if e.listed() {
		first := &e.ret.calls[x.Task()]
		ri := first.ReadOnce(x)
		if ri != nil {
			e.do.LeaveCalls(x, first, nil)
		}
		for ri != nil {
			below := ri.below
			e.rethookRecycle(x, ri)
			ri = below
		}
	} else {
		was := e.kprobeBusyBegin(x, &e.ret.busyAggr)
		b := e.bucket(x)
		b.lock.Lock(x)
		var empty *Instance
		for i := 0; i < b.calls.Len(x); {
			if ri := b.calls.At(x, i); ri.Task == x.Task() {
				empty = e.recycleRpInst(x, b, ri, empty)
			} else {
				i++
			}
		}
		b.lock.Unlock(x)
		e.do.FreeFlushed(x, empty)
		e.kprobeBusyEnd(x, was)
	}
	x.PreemptEnable()
}

// A bucket is the calls in flight of tasks whose numbers hash alike, newest first
// of each task.
type bucket struct {
	lock  kapi.Spinlock `state:"boot"` // set at New
	calls kapi.List[*Instance]
}

// maxBuckets is how many there are (KPROBE_TABLE_SIZE).
const maxBuckets = 64

// bucket returns the bucket of the context's task.
func (e *Engine) bucket(x kapi.Context) *bucket {
	return &e.ret.buckets[int(x.Task())%len(e.ret.buckets)]
}

// rethookFindRetAddr says what a word of a task's stack stands for: where the trampoline has
// taken a return address's place, that. Unwinders know it since 5.15; until then they gave
// up at the trampoline, which still hasn't a frame that they know in its midst. Context: the
// task is the context's, or its runqueue is held.
func (e *Engine) rethookFindRetAddr(x kapi.Context, t kapi.TaskID, slot, word arch.Addr) (to arch.Addr, ok bool) {
	r := &e.ret
	switch {
	case word < r.trampoline || word >= r.bug || !r.ready.Look(x):
		return word, true
	case word > r.trampoline || slot == 0:
		return word, false
	case !e.listed():
		for _, ri := range r.buckets[int(t)%len(r.buckets)].calls.Look(x) {
			if ri.Task == t && e.knows(ri, slot) {
				return ri.RetAddr, e.s.Unwind
			}
		}
		return word, false
	}
	for ri, n := r.calls[t].Look(x), 0; ri != nil && n < mostCalls; ri, n = ri.below, n+1 {
		if e.knows(ri, slot) {
			return ri.RetAddr, e.s.Unwind
		}
	}
	return word, false
}
