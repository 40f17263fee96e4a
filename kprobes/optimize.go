package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// optimizeKprobe queues an aggr that can be optimized, or takes back that it was to
// be unoptimized. Context: kprobe_mutex held.
func (e *Engine) optimizeKprobe(x kapi.Context, p *Aggr) {
	e.mutex.AssertHeld(x)
	if !e.mayOptimize(p) {
		return
	}
	if p.optimized.Load(x) {
		if p.list == &e.unoptimizing {
			e.do.CancelUnoptimize(e, x, p)
		}
		return
	}
	p.optimized.Store(x, true)
	e.enlist(x, p, &e.optimizing)
	x.Emit(kpev.Optimizing, uint64(p.addr), 0, 0)
	e.kickKprobeOptimizer(x)
}

// mayOptimize reports whether nothing keeps an aggr from being a jump (spec 4.4,
// 7.2, 7.3). Context: kprobe_mutex held.
func (e *Engine) mayOptimize(p *Aggr) bool {
	return e.do.AllowOptimization(e) && !e.do.AllDisarmed(e) &&
		p.detour.size != 0 && e.do.AggrEnabled(p) && !e.do.HasPostHandler(p) && !p.hasJprobe() && e.do.ArchCheckOptimizedKprobe(e, p)
}

// archCheckOptimizedKprobe reports whether no other instruction of the region is
// probed (spec 4.4). Context: kprobe_mutex held.
func (e *Engine) archCheckOptimizedKprobe(p *Aggr) bool {
	for d := 1; d < p.detour.region; d++ {
		if q, ok := e.table.Peek(p.addr + arch.Addr(d)); ok && q.armed.Peek() {
			return false
		}
	}
	return true
}

// unoptimizeKprobeNow takes an aggr's jump away at once. Context: kprobe_mutex held.
func (e *Engine) unoptimizeKprobeNow(x kapi.Context, p *Aggr) {
	e.do.LockText(e, x)
	e.unoptimizeKprobe(x, p, true)
	e.unlockText(x)
}

// unoptimizeKprobe takes an aggr's jump away: at once if forced, else by way of
// the optimizer. Context: kprobe_mutex held, and text_mutex if forced.
func (e *Engine) unoptimizeKprobe(x kapi.Context, p *Aggr, force bool) {
	e.mutex.AssertHeld(x)
	if !p.optimized.Load(x) {
		return
	}
	switch {
	case p.list == &e.optimizing: // not yet written: taken back
		e.enlist(x, p, nil)
		p.optimized.Store(x, false)
	case force:
		e.doUnoptimizeKprobe(x, p)
		if p.list == &e.unoptimizing {
			e.enlist(x, p, &e.freeing)
			e.kickKprobeOptimizer(x)
		}
	case p.list == nil:
		e.enlist(x, p, &e.unoptimizing)
		x.Emit(kpev.Unoptimizing, uint64(p.addr), 0, 0)
		e.kickKprobeOptimizer(x)
	}
}

// enlist moves an aggr to a list, or off all of them. Context: kprobe_mutex held.
func (e *Engine) enlist(x kapi.Context, p *Aggr, to *kapi.List[*Aggr]) {
	e.mutex.AssertHeld(x)
	if p.list != nil {
		p.list.Del(x, p)
	}
	if p.list = to; to != nil {
		to.Add(x, p)
	}
}

func (e *Engine) kickKprobeOptimizer(x kapi.Context) { e.work.Queue(x) }

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
	e.mutex.Lock(x)
	e.lockRun(x)

	e.do.DoUnoptimizeKprobes(e, x)

	x.Step("kprobe_optimizer", 2)
	e.do.Quiesce(e, x)

	e.doOptimizeKprobes(x)

	e.do.DoFreeCleanedKprobes(e, x)

	e.unlockRun(x)
	e.do.KickAgain(e, x)
	e.mutex.Unlock(x)
}

// kickAgain is step 5. Context: kprobe_mutex held, until 5.7 it wasn't.
func (e *Engine) kickAgain(x kapi.Context) {
	if e.optimizing.Len(x)+e.unoptimizing.Len(x) > 0 {
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
// freed. The documents speak of the first alone; but who was in a neighbour's
// detour when that lost its jump comes out of it inside a region of today.
// Context: kprobe_mutex held.
func (e *Engine) spansOf(x kapi.Context) []kapi.Span {
	e.spans = e.spans[:0]
	for _, p := range e.optimizing.Peek() {
		e.span(p.addr+1, p.detour.region-1)
	}
	e.do.DetourSpans(e, x)
	return e.spans
}

// detourSpans adds the detours and slots to the spans.
func (e *Engine) detourSpans(x kapi.Context) {
	for _, p := range e.aggrs {
		if x.Touch(p.slot.ID(), kapi.Read); p.freed {
			continue
		}
		if p.list == &e.freeing || e.leadsInside(p.addr+arch.Addr(p.detour.region)) {
			e.span(p.detour.addr, p.detour.size)
		}
		if s := p.slot.Peek(); s.at != 0 && (p.list == &e.freeing || e.leadsInside(p.addr+arch.Addr(p.verdict.Len))) {
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
	for _, p := range e.optimizing.Peek() {
		if addr > p.addr && addr < p.addr+arch.Addr(p.detour.region) {
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
	for n := 0; e.unoptimizing.Len(x) > 0 && (n < e.s.Batch || e.s.Batch == 0); n++ {
		p := e.unoptimizing.At(x, 0)
		e.doUnoptimizeKprobe(x, p)
		e.enlist(x, p, &e.freeing)
	}
	for _, p := range e.freeing.Peek() {
		if e.do.FreedDisarmed(e, p) && p.armed.Load(x) {
			e.archDisarmKprobe(x, p)
		}
		if p.Unused() {
			e.table.Del(x, p.addr)
		}
	}
	for i := 0; i < len(e.freeing.Peek()); { // those still in use only lose their jump
		if p := e.freeing.Peek()[i]; p.Unused() {
			i++
		} else {
			e.enlist(x, p, nil)
			e.do.OptimizeBlockedLate(e, x, p)
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
	for n := 0; e.optimizing.Len(x) > 0 && (n < e.s.Batch || e.s.Batch == 0); n++ {
		p := e.optimizing.At(x, 0)
		jump, _ := x86.JumpRel32(p.addr, p.detour.addr) // in reach: archPrepareOptimizedKprobe has checked
		n := copy(e.insn[:], jump[:])
		e.d.Patch.Patch(x, p.addr, e.insn[:n], p.detour.addr)
		p.jumped = true
		e.enlist(x, p, nil)
		x.Emit(kpev.Optimized, uint64(p.addr), uint64(p.detour.addr), 0)
	}
	e.unlockStep(x)
}

// doFreeCleanedKprobes is step 4. Context: kprobe_mutex held.
func (e *Engine) doFreeCleanedKprobes(x kapi.Context) {
	x.Step("kprobe_optimizer", 4)
	for e.freeing.Len(x) > 0 {
		p := e.freeing.At(x, 0)
		e.enlist(x, p, nil)
		e.freeAggrKprobe(x, p)
		e.do.OptimizeBlockedLate(e, x, p)
	}
}

// doUnoptimizeKprobe makes a jump a breakpoint. The aggr stays marked until that is done:
// a CPU that meets the breakpoint before the tail is there goes by the detour
// (R5; 2.6.38 to 5.5 cleared the mark when the aggr was queued). Context:
// text_mutex held.
func (e *Engine) doUnoptimizeKprobe(x kapi.Context, p *Aggr) {
	e.do.ArchUnoptimizeKprobe(e, x, p)
	e.do.ClearOptimized(x, p)
}

// archUnoptimizeKprobe puts the breakpoint and the original tail back over the
// jump. A CPU that meets the breakpoint meanwhile is ours: the aggr is still
// marked optimized, so it goes to the detour's copy.
//
//	step 1: a breakpoint over the jump's first byte; sync
//	step 2: the original tail;                       sync
//
// Context: text_mutex held.
func (e *Engine) archUnoptimizeKprobe(x kapi.Context, p *Aggr) {
	e.d.Text.Mutex().AssertHeld(x)
	image := e.insn[:jumpSize]
	copy(image, p.orig[:])
	copy(image[1:], e.do.CopiedInsn(p))
	image[0] = x86.Int3
	if e.s.Breakpoint() {
		e.d.Text.Poke(x, p.addr, image[:1])
		e.d.Sync.Core(x, kpev.SyncUnopt1)

		e.d.Text.Poke(x, p.addr+1, image[1:])
		e.d.Sync.Core(x, kpev.SyncUnopt2)
	} else {
		e.d.Patch.Patch(x, p.addr, image, p.detour.addr)
	}
	p.jumped = false
	x.Emit(kpev.Unoptimized, uint64(p.addr), 0, 0)
}

// WaitOptimizer returns when nothing is queued any more. Context: may sleep.
func (e *Engine) WaitOptimizer(x kapi.Context) {
	for {
		e.mutex.Lock(x)
		left := e.do.OptimizerQueued(e, x)
		e.mutex.Unlock(x)
		if left == 0 {
			return
		}
		e.do.FlushOptimizer(e, x)
	}
}
