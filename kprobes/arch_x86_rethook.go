package kprobes

import (
	"encoding/binary"

	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// The trampoline of return probes, text of the kernel's:
//
//	save the registers as a trap would have, below where the return address was
//	call rethookTrampolineCallback(registers), which puts the real one where they have sp
//	restore the registers
//	ret
//
// Since 5.15 it first pushes its own address, so that a backtrace from a handler
// meets that where the return address was; the real one is put there. In 2.6 on
// x86-64 it is a nop with a probe on it. After it lies a ud2: BUG().
const trampoline = "kretprobe_trampoline"

// newReturns makes what Renew keeps.
func (e *Engine) newReturns() {
	t := &e.ret
	t.onTramp, t.onEntry, t.onNop = e.rethookTrampolineCallback, func(x kapi.Context, p *Kprobe, regs *arch.Regs) int { return e.do.PreHandlerKretprobe(e, x, p, regs) }, e.trampolineProbeHandler
	t.onExit, t.onUnwind = e.kprobeFlushTask, e.rethookFindRetAddr
	e.newJprobes()
}

// renewReturns makes the engine's return probes what New would: nothing is left
// of the last run's.
func (e *Engine) renewReturns() {
	t := &e.ret
	t.nInstances, t.nHolders, t.memories = 0, 0, 0
	t.ready.Init(e.d.Cells, false)
	t.nop = Kprobe{}
	if len(t.regs) != e.d.CPUs {
		t.regs = make([]retRegs, e.d.CPUs)
	}
	for i := range t.regs {
		t.regs[i].depth = 0
	}
	t.trampoline = e.d.Bind.Stub(trampoline)
	t.linkTrampoline(e)
	e.d.Tasks.OnExit(t.onExit)
	e.d.Tasks.OnUnwind(t.onUnwind)
	t.buckets = t.buckets[:0]
	switch e.s.Return {
	case era.ReturnGlobal:
		t.global = e.d.Locks.NewSpinlock("kretprobe_lock", true)
		e.addBuckets(func() kapi.Spinlock { return t.global })
	case era.ReturnHashed:
		e.addBuckets(func() kapi.Spinlock { return e.d.Locks.NewSpinlock("kretprobe_table_lock", true) })
	}
	e.renewJprobes()
}

// addBuckets makes as many buckets as the numbers of tasks hash to.
func (e *Engine) addBuckets(lock func() kapi.Spinlock) {
	t := &e.ret
	for range min(maxBuckets, e.d.Tasks.Count()) {
		n := len(t.buckets)
		if n == cap(t.buckets) {
			t.buckets = append(t.buckets, bucket{})
		}
		t.buckets = t.buckets[:n+1]
		b := &t.buckets[n]
		b.lock = lock()
		b.calls.Init(e.d.Cells)
	}
}

// linkTrampoline writes the trampoline.
func (t *retState) linkTrampoline(e *Engine) {
	call := e.d.Bind.Bind("trampoline_handler", t.onTramp)
	buf := t.code[:0]
	if e.s.NopTrampoline() {
		buf = append(buf, x86.Int3) // its probe was registered at boot
	} else {
		if e.s.Unwind {
			buf = append(buf, 0x68)
			buf = binary.LittleEndian.AppendUint32(buf, uint32(t.trampoline))
		}
		buf = e.row.trampolineSave(buf)
		to, _ := x86.CallRel32(t.trampoline+arch.Addr(len(buf)), call)
		buf = append(buf, to[:]...)
		buf = append(append(buf, e.row.pop...), e.row.flags...)
		if e.s.Unwind {
			buf = append(buf, e.row.skip...)
		}
		buf = append(buf, 0xc3) // ret
	}
	t.bug = t.trampoline + arch.Addr(len(buf))
	buf = append(buf, 0x0f, 0x0b) // ud2
	t.code = buf
	e.d.Bind.Link(t.trampoline, buf)
}

// readyReturns is done when the first return probe is registered. Context:
// kprobe_mutex held.
func (e *Engine) readyReturns(x kapi.Context) {
	t := &e.ret
	if t.ready.Owned() {
		return
	}
	t.ready.Put(x, true)
	if e.listed() {
		if n := e.d.Tasks.Count(); len(t.calls) != n {
			t.calls = make([]kapi.Var[*Instance], n)
		}
		for i := range t.calls {
			t.calls[i].Init(e.d.Cells, nil)
		}
	}
	if e.s.NopTrampoline() {
		e.archInitKprobes(x)
	}
}

// archInitKprobes makes the probe on the trampoline. It is never unregistered, and
// kprobes/enabled leaves it alone (arch_trampoline_kprobe), since calls in
// flight return through it: it is none of the engine's aggrs. Its breakpoint is in
// the text already, and its nop is never executed.
func (e *Engine) archInitKprobes(x kapi.Context) {
	t := &e.ret
	p, ap, c := &t.nop, e.do.TrampolineAggr(e), e.newList()
	*p = Kprobe{Addr: t.trampoline, Pre: t.onNop, aggr: ap}
	p.nmissed.Init(e.d.Cells, 0)
	p.disabled.Init(e.d.Cells, false)
	ap.verdict.Len, ap.orig[0] = 1, 0x90
	ap.slot.Init(e.d.Cells, insnSlot{})
	ap.armed.Init(e.d.Cells, true)
	ap.optimized.Init(e.d.Cells, false)
	c.add(p)
	ap.probes.Init(e.d.Cells, c)
	e.kprobeTable.Put(x, ap.addr, ap)
}

// trampolineAggr is the place of the trampoline's probe, beside those of the engine.
func (e *Engine) trampolineAggr() *Aggr {
	t := &e.ret
	t.nopAggr = Aggr{addr: t.trampoline}
	return &t.nopAggr
}

// archPrepareKretprobe keeps the return address in the instance, and puts the trampoline's in its
// place.
func (e *Engine) archPrepareKretprobe(x kapi.Context, ri *Instance, regs *arch.Regs) {
	ri.frame = x86.SP(regs)
	word, _ := x.Memory().Load(ri.frame, e.row.word)
	ri.RetAddr = arch.Addr(word)
	e.do.ReplaceReturn(e, x, regs)
	x.Emit(kpev.Hooked, ri.ID, uint64(ri.frame), word)
}

func (e *Engine) replaceReturn(x kapi.Context, regs *arch.Regs) {
	x.Work(kapi.WorkMispredict, 1) // the function's return: its call was another one's
	x.Memory().Store(x86.SP(regs), e.row.word, uint64(e.ret.trampoline))
}

// rethookTrampolineCallback is what the code of the trampoline calls: a register points to the
// saved ones. The stub goes on to the address that it puts where they have sp, or
// where the stub has left room for it. Context: interrupts as they were.
func (e *Engine) rethookTrampolineCallback(x kapi.Context, cpu *arch.Regs) {
	image, word := arch.Addr(cpu.R[e.row.image]), arch.Addr(e.row.word)
	x.PreemptDisable()
	t := &e.ret.regs[x.CPU()]
	regs := &t.regs[t.depth]
	t.depth++
	e.row.load(x.Memory(), image, regs)
	slot := image + e.row.spAt
	if e.s.Unwind {
		slot = x86.SP(regs)
		regs.R[x86.RSP] += uint64(word)
	}
	regs.IP = e.ret.trampoline
	to := e.rethookTrampolineHandler(x, regs, x86.SP(regs)-word)
	e.row.putSaved(x.Memory(), image, regs)
	x.Memory().Store(slot, e.row.word, uint64(to))
	x.Work(kapi.WorkMispredict, 1) // the trampoline's return has no call
	t.depth--
	x.PreemptEnable()
}

// trampolineProbeHandler is the pre_handler of the probe on the trampoline (2.6).
func (e *Engine) trampolineProbeHandler(x kapi.Context, _ *Kprobe, regs *arch.Regs) int {
	regs.IP = e.rethookTrampolineHandler(x, regs, x86.SP(regs)-arch.Addr(e.row.word))
	return 1
}
