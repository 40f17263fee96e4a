package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// An Optimizer writes and removes jumps (kprobe_optimizer and its lists).
type Optimizer struct {
	*env                     `state:"boot"` // set at New
	optimizingList           kapi.List[*Aggr]
	unoptimizingList         kapi.List[*Aggr]
	freeingList              kapi.List[*Aggr]
	optimizingWork           kapi.DelayedWork `state:"boot"` // set at New
	kprobesAllowOptimization bool             // owned by kprobe_mutex: the sysctl, true until it is written

	spans  []kapi.Span          `state:"skip: made anew for each look"` // owned by kprobe_mutex: the result of spansOf
	code   []byte               `state:"skip: follows from its aggr"`   // owned by text_mutex
	onWork func(x kapi.Context) `state:"boot"`                          // set at New
}

func (o *Optimizer) renew() {
	o.kprobesAllowOptimization = false
	o.optimizingList.Init(o.d.Cells)
	o.unoptimizingList.Init(o.d.Cells)
	o.freeingList.Init(o.d.Cells)
	o.optimizingWork = o.d.Work.NewDelayedWork("kprobe_optimizer", o.onWork)
}

// optimizeKprobe queues an aggr that can be optimized, or cancels its queued unoptimization.
// Context: kprobe_mutex held.
func (o *Optimizer) optimizeKprobe(x kapi.Context, ap *Aggr) {
	o.e.kprobeMutex.AssertHeld(x)
	if !o.mayOptimize(ap) {
		return
	}
	if ap.optimized.ReadOnce(x) {
		if ap.list == &o.unoptimizingList {
			o.do.Optimizer.CancelUnoptimize(o.e, x, ap)
		}
		return
	}
	ap.optimized.WriteOnce(x, true)
	o.enlist(x, ap, &o.optimizingList)
	x.Emit(kpev.Optimizing, uint64(ap.addr), 0, 0)
	o.kickKprobeOptimizer(x)
}

// mayOptimize reports whether an aggr may become a jump (spec 4.4, 7.2, 7.3). Context:
// kprobe_mutex held.
func (o *Optimizer) mayOptimize(ap *Aggr) bool {
	return o.do.Optimizer.AllowOptimization(o.e) && !o.do.Optimizer.AllDisarmed(o.e) &&
		ap.detour.size != 0 && o.do.Arm.AggrEnabled(ap) && !o.do.Optimizer.HasPostHandler(ap) && !ap.hasJprobe() &&
		o.do.Optimizer.ArchCheckOptimizedKprobe(o.e, ap)
}

// unoptimizeKprobeNow removes an aggr's jump at once. Context: kprobe_mutex held.
func (o *Optimizer) unoptimizeKprobeNow(x kapi.Context, ap *Aggr) {
	o.do.Arm.LockText(o.e, x)
	o.unoptimizeKprobe(x, ap, true)
	o.e.locks.unlockText(x)
}

// unoptimizeKprobe removes an aggr's jump, at once if forced, otherwise through the optimizer. Context: kprobe_mutex
// held, and text_mutex if forced.
func (o *Optimizer) unoptimizeKprobe(x kapi.Context, ap *Aggr, force bool) {
	o.e.kprobeMutex.AssertHeld(x)
	if !ap.optimized.ReadOnce(x) {
		return
	}
	switch {
	case ap.list == &o.optimizingList: // the jump isn't written yet: dequeue
		o.enlist(x, ap, nil)
		ap.optimized.WriteOnce(x, false)
	case force:
		o.forceUnoptimizeKprobe(x, ap)
		if ap.list == &o.unoptimizingList {
			o.enlist(x, ap, &o.freeingList)
			o.kickKprobeOptimizer(x)
		}
	case ap.list == nil:
		o.enlist(x, ap, &o.unoptimizingList)
		x.Emit(kpev.Unoptimizing, uint64(ap.addr), 0, 0)
		o.kickKprobeOptimizer(x)
	}
}

// enlist moves an aggr to a list, or off all of them. Context: kprobe_mutex held.
func (o *Optimizer) enlist(x kapi.Context, ap *Aggr, to *kapi.List[*Aggr]) {
	o.e.kprobeMutex.AssertHeld(x)
	if ap.list != nil {
		ap.list.Del(x, ap)
	}
	if ap.list = to; to != nil {
		to.Add(x, ap)
	}
}

func (o *Optimizer) kickKprobeOptimizer(x kapi.Context) { o.optimizingWork.Queue(x) }

// kprobeOptimizer is the delayed work that writes and removes jumps.
//
//	step 1: unoptimize; disarm what is disabled; hide what is unused
//	step 2: wait until no CPU or task stands inside a region or a detour
//	step 3: optimize
//	step 4: free what step 1 has hidden
//	step 5: start again if there is more to do
//
// Context: may sleep. Takes kprobe_mutex, then the locks of lockRun and lockStep.
func (o *Optimizer) kprobeOptimizer(x kapi.Context) {
	o.e.kprobeMutex.Lock(x)
	o.lockRun(x)

	o.do.Optimizer.DoUnoptimizeKprobes(o.e, x)

	x.Step("kprobe_optimizer", 2)
	o.do.Optimizer.Quiesce(o.e, x)

	o.doOptimizeKprobes(x)

	o.do.Optimizer.DoFreeCleanedKprobes(o.e, x)

	o.unlockRun(x)
	o.do.Optimizer.KickAgain(o.e, x)
	o.e.kprobeMutex.Unlock(x)
}

// kickAgain is step 5. Context: kprobe_mutex held, until 5.7 it wasn't.
func (o *Optimizer) kickAgain(x kapi.Context) {
	if o.optimizingList.Len(x)+o.unoptimizingList.Len(x) > 0 {
		o.kickKprobeOptimizer(x)
	}
}

// quiesce is step 2. Only tasks that entered a region before its int3 was written, or a
// slot or detour before it was hidden, need be waited for.
func (o *Optimizer) quiesce(x kapi.Context) {
	if o.s.Quiesce == kapi.QuiesceStackCheck {
		o.d.Stacks.Quiesce(x, o.spansOf(x))
		return
	}
	o.d.RCU.Synchronize(x, o.s.Quiesce)
}

// spansOf returns the spans in which no task may stand: regions that are to become jumps, after
// their first instruction; detours and slots of any aggr that lead into them; and memory that
// is to be freed. The regions alone are not enough: a task that was in a neighbour's detour
// when the neighbour lost its jump may leave the detour into a region that now becomes a jump.
// Context: kprobe_mutex held.
func (o *Optimizer) spansOf(x kapi.Context) []kapi.Span {
	o.spans = o.spans[:0]
	for _, ap := range o.optimizingList.Owned() {
		o.span(ap.addr+1, ap.detour.region-1)
	}
	o.do.Optimizer.DetourSpans(o.e, x)
	return o.spans
}

// detourSpans adds the detours and slots to the spans.
func (o *Optimizer) detourSpans(x kapi.Context) {
	for _, ap := range o.e.Table.aggrs {
		if x.Mark(ap.slot.ID(), kapi.Read); ap.freed || ap.slot.ID() == 0 {
			continue
		}
		if ap.list == &o.freeingList || o.leadsInside(ap.addr+arch.Addr(ap.detour.region)) {
			o.span(ap.detour.addr, ap.detour.size)
		}
		if s := ap.slot.Look(x); s.at != 0 &&
			(ap.list == &o.freeingList || o.leadsInside(ap.addr+arch.Addr(ap.verdict.Len))) {
			o.span(s.at, s.size)
		}
	}
}

func (o *Optimizer) span(at arch.Addr, size int) {
	if size > 0 {
		o.spans = append(o.spans, kapi.Span{From: at, To: at + arch.Addr(size)})
	}
}

// leadsInside reports whether addr lies in a region that is to become a jump, after its first
// instruction.
func (o *Optimizer) leadsInside(addr arch.Addr) bool {
	for _, ap := range o.optimizingList.Owned() {
		if addr > ap.addr && addr < ap.addr+arch.Addr(ap.detour.region) {
			return true
		}
	}
	return false
}

// doUnoptimizeKprobes is step 1. Context: kprobe_mutex and the locks of lockRun held; lockStep takes text_mutex if
// lockRun has not.
func (o *Optimizer) doUnoptimizeKprobes(x kapi.Context) {
	o.lockStep(x)
	x.Step("kprobe_optimizer", 1)
	for n := 0; o.unoptimizingList.Len(x) > 0 && (n < o.s.Batch || o.s.Batch == 0); n++ {
		ap := o.unoptimizingList.At(x, 0)
		o.forceUnoptimizeKprobe(x, ap)
		o.enlist(x, ap, &o.freeingList)
	}
	for _, ap := range o.freeingList.Owned() {
		if o.do.Optimizer.FreedDisarmed(o.e, ap) && ap.armed.ReadOnce(x) {
			o.e.archDisarmKprobe(x, ap)
		}
		// otherwise killUnused has removed it, and another aggr may be in its place
		if ap.Unused() && o.do.Gone.InTable(o.e, ap) {
			o.e.Table.probes.Del(x, ap.addr)
		}
	}
	for i := 0; i < len(o.freeingList.Owned()); { // aggrs still in use only lose their jump
		if ap := o.freeingList.Owned()[i]; ap.Unused() {
			i++
		} else {
			o.enlist(x, ap, nil)
			o.do.Optimizer.OptimizeBlockedLate(o.e, x, ap)
		}
	}
	o.unlockStep(x)
}

// doOptimizeKprobes is step 3. Kernels check kprobes_all_disarmed and kprobes_allow_optimization here again; the list
// is empty then, since each of the two switches has dequeued what was on it. Context: kprobe_mutex and the locks of
// lockRun held; lockStep takes text_mutex if lockRun has not.
func (o *Optimizer) doOptimizeKprobes(x kapi.Context) {
	o.lockStep(x)
	o.d.Text.Mutex().AssertHeld(x)
	x.Step("kprobe_optimizer", 3)
	for n := 0; o.optimizingList.Len(x) > 0 && (n < o.s.Batch || o.s.Batch == 0); n++ {
		ap := o.optimizingList.At(x, 0)
		jump, _ := o.cpu.Jump(ap.addr, ap.detour.addr) // in reach: archPrepareOptimizedKprobe has checked
		n := copy(o.e.slots.insn[:], jump.Bytes())
		o.d.Patch.Patch(x, ap.addr, o.e.slots.insn[:n], ap.detour.addr)
		ap.jumped = true
		o.enlist(x, ap, nil)
		x.Emit(kpev.Optimized, uint64(ap.addr), uint64(ap.detour.addr), 0)
	}
	o.unlockStep(x)
}

// doFreeCleanedKprobes is step 4. Context: kprobe_mutex held.
func (o *Optimizer) doFreeCleanedKprobes(x kapi.Context) {
	x.Step("kprobe_optimizer", 4)
	for o.freeingList.Len(x) > 0 {
		ap := o.freeingList.At(x, 0)
		o.enlist(x, ap, nil)
		o.e.freeAggrKprobe(x, ap)
		o.do.Optimizer.OptimizeBlockedLate(o.e, x, ap)
	}
}

// forceUnoptimizeKprobe replaces a jump by a breakpoint. The aggr stays marked optimized until
// that is done, so a CPU that hits the breakpoint before the tail is restored goes through the
// detour (R5; 2.6.38 to 5.5 cleared the mark when the aggr was queued). Context: text_mutex held.
func (o *Optimizer) forceUnoptimizeKprobe(x kapi.Context, ap *Aggr) {
	o.do.Optimizer.ArchUnoptimizeKprobe(o.e, x, ap)
	o.do.Optimizer.ClearOptimized(x, ap)
}

// WaitOptimizer returns when nothing is queued. Context: may sleep.
func (o *Optimizer) WaitOptimizer(x kapi.Context) {
	for {
		o.e.kprobeMutex.Lock(x)
		left := o.do.Optimizer.OptimizerQueued(o.e, x)
		o.e.kprobeMutex.Unlock(x)
		if left == 0 {
			return
		}
		o.do.Optimizer.FlushOptimizer(o.e, x)
	}
}

// Settled reports whether the optimizer has nothing left to do.
func (o *Optimizer) Settled() bool {
	return len(o.optimizingList.Owned())+len(o.unoptimizingList.Owned())+len(o.freeingList.Owned()) == 0
}

// Unoptimizing reports whether an aggr is queued to lose its jump. Context:
// kprobe_mutex held.
func (o *Optimizer) Unoptimizing(ap *Aggr) bool { return ap.list == &o.unoptimizingList }

// Dequeue takes an aggr off the optimizer's lists. Context: kprobe_mutex held.
func (o *Optimizer) Dequeue(x kapi.Context, ap *Aggr) { o.enlist(x, ap, nil) }
