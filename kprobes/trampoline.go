package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// init makes the routines, as values.
func (t *Rethook) init() {
	t.onTramp, t.onNop = t.rethookTrampolineCallback, t.trampolineProbeHandler
	t.onExit, t.onUnwind = t.kprobeFlushTask, t.rethookFindRetAddr
}

// renew resets the trampoline and the lists of calls to what New would make. No state of the
// previous run remains.
func (t *Rethook) renew() {
	t.ready.Init(t.d.Cells, false)
	t.nop = Kprobe{}
	if len(t.regs) != t.d.CPUs {
		t.regs = make([]retRegs, t.d.CPUs)
	}
	for i := range t.regs {
		t.regs[i].depth = 0
	}
	t.trampoline = t.d.Bind.Stub(trampoline)
	t.linkTrampoline()
	t.d.Tasks.OnExit(t.onExit)
	t.d.Tasks.OnUnwind(t.onUnwind)
	t.buckets = t.buckets[:0]
	switch t.s.Return {
	case era.ReturnGlobal:
		t.global = t.d.Locks.NewSpinlock("kretprobe_lock", true)
		t.addBuckets(func() kapi.Spinlock { return t.global })
	case era.ReturnHashed:
		t.addBuckets(func() kapi.Spinlock { return t.d.Locks.NewSpinlock("kretprobe_table_lock", true) })
	}
}

// addBuckets makes one bucket for each hash value of the tasks' numbers.
func (t *Rethook) addBuckets(lock func() kapi.Spinlock) {
	for range min(maxBuckets, t.d.Tasks.Count()) {
		n := len(t.buckets)
		if n == cap(t.buckets) {
			t.buckets = append(t.buckets, bucket{})
		}
		t.buckets = t.buckets[:n+1]
		b := &t.buckets[n]
		b.lock = lock()
		b.calls.Init(t.d.Cells)
	}
}

// linkTrampoline writes the trampoline.
func (t *Rethook) linkTrampoline() {
	if t.row == nil { // there are no probes on this processor
		return
	}
	call := t.d.Bind.Bind("trampoline_handler", t.onTramp)
	if t.row.trampoline == nil {
		return
	}
	buf := t.code[:0]
	if t.s.NopTrampoline() {
		buf = append(buf, t.cpu.Breakpoint...) // a probe is registered there at boot
	} else {
		buf = t.row.trampoline(t, buf, call)
	}
	t.bug = t.trampoline + arch.Addr(len(buf))
	buf = append(buf, t.row.bug...)
	t.code = buf
	t.d.Bind.Link(t.trampoline, buf)
}

// Size returns how many bytes the trampoline has, with the BUG() after it.
func (t *Rethook) Size() int { return len(t.code) }

// readyReturns runs when the first return probe is registered. Context:
// kprobe_mutex held.
func (t *Rethook) readyReturns(x kapi.Context) {
	if t.ready.Owned() {
		return
	}
	t.ready.Put(x, true)
	if t.e.Kretprobes.listed() {
		if n := t.d.Tasks.Count(); len(t.calls) != n {
			t.calls = make([]kapi.Var[*Instance], n)
		}
		for i := range t.calls {
			t.calls[i].Init(t.d.Cells, nil)
		}
	}
	if t.s.NopTrampoline() {
		t.archInitKprobes(x)
	}
}

// archInitKprobes makes the probe on the trampoline. It is never unregistered, and kprobes/enabled leaves it alone
// (arch_trampoline_kprobe), since calls in flight return through it. It isn't one of the engine's aggrs. Its
// breakpoint is in the text already, and its nop is never executed.
func (t *Rethook) archInitKprobes(x kapi.Context) {
	p, ap, c := &t.nop, t.do.Ret.TrampolineAggr(t.e), t.e.Table.newList()
	*p = Kprobe{Addr: t.trampoline, Pre: t.onNop, aggr: ap}
	p.nmissed.Init(t.d.Cells, 0)
	p.disabled.Init(t.d.Cells, false)
	ap.verdict.Len = copy(ap.orig[:], t.cpu.Nop(len(t.cpu.Breakpoint)))
	ap.slot.Init(t.d.Cells, insnSlot{})
	ap.armed.Init(t.d.Cells, true)
	ap.optimized.Init(t.d.Cells, false)
	c.add(p)
	ap.probes.Init(t.d.Cells, c)
	t.e.Table.probes.Put(x, ap.addr, ap)
}

// trampolineAggr makes the aggr of the trampoline's probe, which isn't among the engine's.
func (t *Rethook) trampolineAggr() *Aggr {
	t.nopAggr = Aggr{addr: t.trampoline}
	return &t.nopAggr
}

// archPrepareKretprobe saves the return address in the instance, and replaces it, on the stack or in the link
// register, by the trampoline's address.
func (t *Rethook) archPrepareKretprobe(x kapi.Context, ri *Instance, regs *arch.Regs) {
	ri.frame = t.cpu.StackPointer(regs)
	ri.RetAddr, _ = t.cpu.Caller(x.Memory(), regs)
	t.do.Ret.ReplaceReturn(t.e, x, regs)
	x.Emit(kpev.Hooked, ri.ID, uint64(ri.frame), uint64(ri.RetAddr))
}

func (t *Rethook) replaceReturn(x kapi.Context, regs *arch.Regs) {
	x.Work(kapi.WorkMispredict, 1) // the function's return: the processor predicted another address
	t.cpu.SetCaller(x.Memory(), regs, t.trampoline)
}

// rethookTrampolineCallback is called by the trampoline's code, with a register that points to
// the saved registers. It stores the address to continue at where the trampoline takes it from.
// Context: interrupts as they were.
func (t *Rethook) rethookTrampolineCallback(x kapi.Context, cpu *arch.Regs) {
	x.PreemptDisable()
	on := &t.regs[x.CPU()]
	regs := &on.regs[on.depth]
	on.depth++
	image, slot := t.row.enter(t, x.Memory(), cpu, regs)
	regs.IP = t.trampoline
	to := t.rethookTrampolineHandler(x, regs, t.frameOf(regs))
	t.row.putSaved(x.Memory(), image, regs)
	x.Memory().Store(slot, t.row.word, uint64(to))
	x.Work(kapi.WorkMispredict, 1) // the trampoline's return has no call
	on.depth--
	x.PreemptEnable()
}

// frameOf returns the frame of a call that has returned, given the registers then: where its return address was on
// the stack, or where a function begins with that in a register, the stack pointer, which it has restored. Kernels
// take the frame pointer there (s0 of riscv, x29 of arm64), which a function restores, too.
func (t *Rethook) frameOf(regs *arch.Regs) arch.Addr {
	return t.cpu.StackPointer(regs) - arch.Addr(t.cpu.Pushed)
}

// trampolineProbeHandler is the pre_handler of the probe on the trampoline (2.6).
func (t *Rethook) trampolineProbeHandler(x kapi.Context, _ *Kprobe, regs *arch.Regs) int {
	regs.IP = t.rethookTrampolineHandler(x, regs, t.frameOf(regs))
	if t.cpu.Pushed == 0 { // a return leaves its address there (arch_rethook_fixup_return)
		regs.R[t.cpu.Link] = uint64(regs.IP)
	}
	return 1
}
