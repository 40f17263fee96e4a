package kprobes

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/ppc64"
	"kpsim/smp/kapi"
)

// rowPPC64 is ppc64le (arch/powerpc/kernel/kprobes.c, rethook.c): trap, stored whole under running CPUs
// (patch_instruction); no CPU but the writing one is made to serialise. What emulate_step can do is done on the saved
// registers; anything else, and what has faulted so, runs in a slot by MSR.SE.
//
// Two things are as kernels had them once. Interrupts are off during a step: prepare_singlestep of 6.12 leaves MSR.EE,
// so an interrupt's handler may be hit and fault in between. And post_handlers find the address after the probed
// instruction; kprobe_post_handler calls them with the slot's.
var rowPPC64 = row{
	word: 8, local: true, tries: true, bug: bugPPC64(),
	breakpoint: func([]byte) []byte { return ppc64.PPC64.Breakpoint },
	written:    writtenPPC64,
	trampoline: trampolinePPC64,
	enter:      enterPPC64,
	putSaved:   ppc64.StorePtRegs,
	resume:     goOn,
	opt: &optRow{shape: shapePPC64, prepare: preparePPC64, unoptimize: unoptimizePPC64, id: 3, saved: 4,
		load: ppc64.LoadPtRegs, putSaved: ppc64.StorePtRegs, emulates: true,
		ipAt: ppc64.PtNIP - ppc64.HeaderSize},
}

// bugPPC64 returns BUG(), which is twi 31,r0,0.
func bugPPC64() []byte {
	c := ppc64.CodeOf(0x0fe00000)
	return c.Bytes()
}

// writtenPPC64 returns where, from off on, a breakpoint begins or a branch that a probe may have become; len(code) if
// nowhere.
func writtenPPC64(a *arch.Arch, code []byte, off int) int {
	for off = (off + a.Align - 1) / a.Align * a.Align; off < len(code); off += a.Align {
		if w := arch.Word(code[off:]); a.IsBreakpoint(w) || a.IsJump.Match(w) {
			return off
		}
	}
	return len(code)
}

// goOn has the CPU go on after the probed instruction, as it has gone on after the copy. Kernels that stepped branches,
// too, did them again (resume_execution of 2.6.13, which counts twice: here what the step has counted is taken back).
func goOn(_ *Hits, x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs) {
	n := arch.Addr(ap.verdict.Len)
	regs.Flags &^= arch.Step
	in, ok := ap.insn.(*ppc64.Inst)
	switch {
	case ok && in.Flow() != arch.FlowNext && !ap.verdict.Emulated:
		if in.Counts() {
			regs.R[ppc64.CTR]++
		}
		regs.IP = ap.addr
		in.Exec(regs, x.Memory())
	case regs.IP == kcb.copy+n:
		regs.IP = ap.addr + n
	}
}

// Registers of which a callback's frame has the values: r13 belongs to the CPU.
var savedPPC64 = func() (list []arch.Reg) {
	for r := ppc64.TOC; r < ppc64.LR; r++ {
		if r != ppc64.Paca {
			list = append(list, r)
		}
	}
	return list
}()

// specialPPC64 are the others, and where they lie in struct pt_regs.
var specialPPC64 = [...]struct {
	reg ppc64.Saved
	at  int
}{
	{ppc64.SavedMSR, ppc64.PtMSR}, {ppc64.SavedCTR, ppc64.PtCTR}, {ppc64.SavedLR, ppc64.PtLink},
	{ppc64.SavedXER, ppc64.PtXER}, {ppc64.SavedCR, ppc64.PtCCR},
}

const scratchPPC64 = 5

// savePPC64 returns the instructions that make a frame with the registers, as a trap would, behind what code may use
// below its stack pointer. Neither the soft mask nor the kernel's TOC is loaded: handlers are no text.
func savePPC64() (buf []byte) {
	buf = addCode(buf, ppc64.StoreUpdate(ppc64.SP, ppc64.SP, -ppc64.IntFrameSize))
	buf = addCode(buf, ppc64.StoreAt(0, ppc64.SP, ppc64.PtGPR))
	buf = addCode(buf, ppc64.AddImm(0, ppc64.SP, ppc64.IntFrameSize))
	buf = addCode(buf, ppc64.StoreAt(0, ppc64.SP, ppc64.PtGPR+8*int(ppc64.SP)))
	for _, r := range savedPPC64 {
		buf = addCode(buf, ppc64.StoreAt(r, ppc64.SP, ppc64.PtGPR+8*int(r)))
	}
	for _, s := range specialPPC64 {
		buf = addCode(buf, s.reg.From(scratchPPC64))
		buf = addCode(buf, ppc64.StoreAt(scratchPPC64, ppc64.SP, s.at))
	}
	return buf
}

// restorePPC64 returns the instructions that take the registers back.
func restorePPC64() (buf []byte) {
	for _, s := range specialPPC64 {
		buf = addCode(buf, ppc64.LoadAt(scratchPPC64, ppc64.SP, s.at))
		buf = addCode(buf, s.reg.To(scratchPPC64))
	}
	buf = addCode(buf, ppc64.LoadAt(0, ppc64.SP, ppc64.PtGPR))
	for _, r := range savedPPC64 {
		buf = addCode(buf, ppc64.LoadAt(r, ppc64.SP, ppc64.PtGPR+8*int(r)))
	}
	return addCode(buf, ppc64.AddImm(ppc64.SP, ppc64.SP, ppc64.IntFrameSize))
}

var saveCode, restoreCode = savePPC64(), restorePPC64()

func addCode(buf []byte, c arch.Code) []byte { return append(buf, c.Bytes()...) }

// trampolinePPC64 appends what the probe on the trampoline has become where probes become jumps, and the blr after it.
func trampolinePPC64(t *Rethook, buf []byte, call arch.Addr) []byte {
	buf = append(buf, saveCode...)
	buf = addCode(buf, ppc64.AddImm(3, ppc64.SP, ppc64.HeaderSize))
	to, _ := ppc64.Call(t.trampoline+arch.Addr(len(buf)), call)
	buf = addCode(buf, to)
	buf = append(buf, restoreCode...) // LR: where the callback has put the address
	return addCode(buf, ppc64.Ret())
}

// enterPPC64 reads the saved registers.
func enterPPC64(_ *Rethook, m arch.Memory, cpu, regs *arch.Regs) (image, slot arch.Addr) {
	image = arch.Addr(cpu.R[3])
	ppc64.LoadPtRegs(m, image, regs)
	return image, image + ppc64.PtLink - ppc64.HeaderSize
}

// shapePPC64 returns the detour of an aggr, without its address (optprobes_head.S): up to the call of emulate_step it
// loads two values of five instructions each and two addresses of the frame, and calls the callback; the last
// instruction is the way back.
func shapePPC64(_ *Optimizer, ap *Aggr) detour {
	n := len(saveCode) + 13*ppc64.WordLen
	return detour{region: ap.verdict.Region, copy: n, size: n + 2*ppc64.WordLen + len(restoreCode)}
}

// preparePPC64 fills buf. It returns false if a target is out of a branch's reach.
func preparePPC64(o *Optimizer, buf []byte, d detour, ap *Aggr) bool {
	b, reached := append(buf[:0], saveCode...), true
	call := func(to arch.Addr) {
		c, ok := ppc64.Call(d.addr+arch.Addr(len(b)), to)
		b, reached = addCode(b, c), reached && ok
	}
	load := func(r arch.Reg, v uint64) {
		for _, c := range ppc64.LoadImm(r, v) {
			b = addCode(b, c)
		}
	}
	load(3, ap.id)
	b = addCode(b, ppc64.AddImm(4, ppc64.SP, ppc64.HeaderSize))
	call(o.e.Hits.callback)
	b = addCode(b, ppc64.AddImm(3, ppc64.SP, ppc64.HeaderSize))
	load(4, arch.Word(ap.orig[:ap.verdict.Len]))
	call(o.e.Hits.stepper)
	b = append(b, restoreCode...)

	next := ap.addr + arch.Addr(ap.verdict.Len)
	if ap.insn == nil {
		return false
	}
	if to, known := ap.insn.Target(); known {
		next = to
	}
	back, ok := ppc64.Jump(d.addr+arch.Addr(len(b)), next)
	addCode(b, back)
	_, near := ppc64.Jump(ap.addr, d.addr)
	return reached && ok && near
}

// unoptimizePPC64 stores the breakpoint over the branch (arch_arm_kprobe).
func unoptimizePPC64(o *Optimizer, x kapi.Context, ap *Aggr) {
	o.do.Arm.WriteProbe(o.e, x, ap.addr, o.row.breakpoint(ap.orig[:]))
}
