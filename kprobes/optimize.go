package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// optimizeKprobe queues an aggr that can be optimized, or takes back that it was to
// be unoptimized. Context: kprobe_mutex held.
func (e *Engine) optimizeKprobe(x kapi.Context, ap *Aggr) {
	e.kprobeMutex.AssertHeld(x)
	if !e.mayOptimize(ap) {
		return
	}
	if ap.optimized.ReadOnce(x) {
		if ap.list == &e.unoptimizingList {
			e.do.CancelUnoptimize(e, x, ap)
		}
		return
	}
	ap.optimized.WriteOnce(x, true)
	e.enlist(x, ap, &e.optimizingList)
	x.Emit(kpev.Optimizing, uint64(ap.addr), 0, 0)
	e.kickKprobeOptimizer(x)
}

// mayOptimize reports whether nothing keeps an aggr from being a jump (spec 4.4,
// 7.2, 7.3). Context: kprobe_mutex held.
func (e *Engine) mayOptimize(ap *Aggr) bool {
	return e.do.AllowOptimization(e) && !e.do.AllDisarmed(e) &&
		ap.detour.size != 0 && e.do.AggrEnabled(ap) && !e.do.HasPostHandler(ap) && !ap.hasJprobe() && e.do.ArchCheckOptimizedKprobe(e, ap)
}

// unoptimizeKprobeNow takes an aggr's jump away at once. Context: kprobe_mutex held.
func (e *Engine) unoptimizeKprobeNow(x kapi.Context, ap *Aggr) {
	e.do.LockText(e, x)
	e.unoptimizeKprobe(x, ap, true)
	e.unlockText(x)
}

// unoptimizeKprobe takes an aggr's jump away: at once if forced, else by way of
// the optimizer. Context: kprobe_mutex held, and text_mutex if forced.
func (e *Engine) unoptimizeKprobe(x kapi.Context, ap *Aggr, force bool) {
	e.kprobeMutex.AssertHeld(x)
	if !ap.optimized.ReadOnce(x) {
		return
	}
	switch {
	case ap.list == &e.optimizingList: // not yet written: taken back
		e.enlist(x, ap, nil)
		ap.optimized.WriteOnce(x, false)
	case force:
		e.forceUnoptimizeKprobe(x, ap)
		if ap.list == &e.unoptimizingList {
			e.enlist(x, ap, &e.freeingList)
			e.kickKprobeOptimizer(x)
		}
	case ap.list == nil:
		e.enlist(x, ap, &e.unoptimizingList)
		x.Emit(kpev.Unoptimizing, uint64(ap.addr), 0, 0)
		e.kickKprobeOptimizer(x)
	}
}

// enlist moves an aggr to a list, or off all of them. Context: kprobe_mutex held.
func (e *Engine) enlist(x kapi.Context, ap *Aggr, to *kapi.List[*Aggr]) {
	e.kprobeMutex.AssertHeld(x)
	if ap.list != nil {
		ap.list.Del(x, ap)
	}
	if ap.list = to; to != nil {
		to.Add(x, ap)
	}
}

func (e *Engine) kickKprobeOptimizer(x kapi.Context) { e.optimizingWork.Queue(x) }

// kprobeOptimizer is the delayed work that writes and takes away jumps.
//
//	step 1: unoptimize; disarm what is disabled; hide what is unused
//	step 2: wait until no CPU or task stands inside a region or a detour
//	step 3: optimize
//	step 4: free what step 1 has hidden
//	step 5: start again if there is more to do
//
// Context: may sleep. Takes kprobe_mutex, then what lockRun and lockStep say.
func (e *Engine) kprobeOptimizer(x kapi.Context) {
	e.kprobeMutex.Lock(x)
	e.lockRun(x)

	e.do.DoUnoptimizeKprobes(e, x)

	x.Step("kprobe_optimizer", 2)
	e.do.Quiesce(e, x)

	e.doOptimizeKprobes(x)

	e.do.DoFreeCleanedKprobes(e, x)

	e.unlockRun(x)
	e.do.KickAgain(e, x)
	e.kprobeMutex.Unlock(x)
}

// kickAgain is step 5. Context: kprobe_mutex held, until 5.7 it wasn't.
func (e *Engine) kickAgain(x kapi.Context) {
	if e.optimizingList.Len(x)+e.unoptimizingList.Len(x) > 0 {
		e.kickKprobeOptimizer(x)
	}
}

// quiesce is step 2. Only tasks that entered a region before its int3 was written, or a
// slot or detour before it was hidden, need be waited for.
func (e *Engine) quiesce(x kapi.Context) {
	if e.s.Quiesce == kapi.QuiesceStackCheck {
		e.d.Stacks.Quiesce(x, e.spansOf(x))
		return
	}
	e.d.RCU.Synchronize(x, e.s.Quiesce)
}

// spansOf returns where no task may stand: after the first instruction of what is
// to become a jump, in code of any aggr that leads there, and in what is to be
// freed. A task that was in a neighbour's detour when the neighbour lost its jump leaves the
// detour inside a region that is to become a jump now: the first alone is not enough.
// Context: kprobe_mutex held.
func (e *Engine) spansOf(x kapi.Context) []kapi.Span {
	e.spans = e.spans[:0]
	for _, ap := range e.optimizingList.Owned() {
		e.span(ap.addr+1, ap.detour.region-1)
	}
	e.do.DetourSpans(e, x)
	return e.spans
}

// detourSpans adds the detours and slots to the spans.
func (e *Engine) detourSpans(x kapi.Context) {
	for _, ap := range e.aggrs {
		if x.Mark(ap.slot.ID(), kapi.Read); ap.freed {
			continue
		}
		if ap.list == &e.freeingList || e.leadsInside(ap.addr+arch.Addr(ap.detour.region)) {
			e.span(ap.detour.addr, ap.detour.size)
		}
		if s := ap.slot.Look(x); s.at != 0 && (ap.list == &e.freeingList || e.leadsInside(ap.addr+arch.Addr(ap.verdict.Len))) {
			e.span(s.at, s.size)
		}
	}
}

func (e *Engine) span(at arch.Addr, size int) {
	if size > 0 {
		e.spans = append(e.spans, kapi.Span{From: at, To: at + arch.Addr(size)})
	}
}

// leadsInside reports whether addr lies in what is to become a jump, after its
// first instruction.
func (e *Engine) leadsInside(addr arch.Addr) bool {
	for _, ap := range e.optimizingList.Owned() {
		if addr > ap.addr && addr < ap.addr+arch.Addr(ap.detour.region) {
			return true
		}
	}
	return false
}

// doUnoptimizeKprobes is step 1. Context: kprobe_mutex held, and what lockRun takes;
// lockStep takes text_mutex if lockRun has not.
func (e *Engine) doUnoptimizeKprobes(x kapi.Context) {
	e.lockStep(x)
	x.Step("kprobe_optimizer", 1)
	for n := 0; e.unoptimizingList.Len(x) > 0 && (n < e.s.Batch || e.s.Batch == 0); n++ {
		ap := e.unoptimizingList.At(x, 0)
		e.forceUnoptimizeKprobe(x, ap)
		e.enlist(x, ap, &e.freeingList)
	}
	for _, ap := range e.freeingList.Owned() {
		if e.do.FreedDisarmed(e, ap) && ap.armed.ReadOnce(x) {
			e.archDisarmKprobe(x, ap)
		}
		if ap.Unused() && e.do.InTable(e, ap) { // else killUnused has taken it out, and another may be there
			e.kprobeTable.Del(x, ap.addr)
		}
	}
	for i := 0; i < len(e.freeingList.Owned()); { // those still in use only lose their jump
		if ap := e.freeingList.Owned()[i]; ap.Unused() {
			i++
		} else {
			e.enlist(x, ap, nil)
			e.do.OptimizeBlockedLate(e, x, ap)
		}
	}
	e.unlockStep(x)
}

// doOptimizeKprobes is step 3. Context: kprobe_mutex held, and what lockRun takes;
// lockStep takes text_mutex if lockRun has not.
func (e *Engine) doOptimizeKprobes(x kapi.Context) {
	e.lockStep(x)
	e.d.Text.Mutex().AssertHeld(x)
	x.Step("kprobe_optimizer", 3)
	for n := 0; e.optimizingList.Len(x) > 0 && (n < e.s.Batch || e.s.Batch == 0); n++ {
		ap := e.optimizingList.At(x, 0)
		jump, _ := x86.JumpRel32(ap.addr, ap.detour.addr) // in reach: archPrepareOptimizedKprobe has checked
		n := copy(e.insn[:], jump[:])
		e.d.Patch.Patch(x, ap.addr, e.insn[:n], ap.detour.addr)
		ap.jumped = true
		e.enlist(x, ap, nil)
		x.Emit(kpev.Optimized, uint64(ap.addr), uint64(ap.detour.addr), 0)
	}
	e.unlockStep(x)
}

// doFreeCleanedKprobes is step 4. Context: kprobe_mutex held.
func (e *Engine) doFreeCleanedKprobes(x kapi.Context) {
	x.Step("kprobe_optimizer", 4)
	for e.freeingList.Len(x) > 0 {
		ap := e.freeingList.At(x, 0)
		e.enlist(x, ap, nil)
		e.freeAggrKprobe(x, ap)
		e.do.OptimizeBlockedLate(e, x, ap)
	}
}

// forceUnoptimizeKprobe makes a jump a breakpoint. The aggr stays marked until that is done:
// a CPU that meets the breakpoint before the tail is there goes by the detour
// (R5; 2.6.38 to 5.5 cleared the mark when the aggr was queued). Context:
// text_mutex held.
func (e *Engine) forceUnoptimizeKprobe(x kapi.Context, ap *Aggr) {
	e.do.ArchUnoptimizeKprobe(e, x, ap)
	e.do.ClearOptimized(x, ap)
}

// WaitOptimizer returns when nothing is queued any more. Context: may sleep.
func (e *Engine) WaitOptimizer(x kapi.Context) {
	for {
		e.kprobeMutex.Lock(x)
		left := e.do.OptimizerQueued(e, x)
		e.kprobeMutex.Unlock(x)
		if left == 0 {
			return
		}
		e.do.FlushOptimizer(e, x)
	}
}
