package kprobes

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
)

// rowARM64 is arm64 (arch/arm64/kernel/probes/kprobes.c, kprobes_trampoline.S): brk 4, written while the machine is
// stopped (aarch64_insn_patch_text), slots that end with brk 6. A trap synchronises the context, so no CPU needs an
// IPI for a slot. A hit in what handles the fault of a copy was fatal until 2026.
var rowARM64 = row{
	word: 8, stops: true, reentered: true,
	stepEnd: breakARM64(arm64.BrkKprobeStep), bug: breakARM64(arm64.BrkFault),
	breakpoint: func([]byte) []byte { return arm64.ARM64.Breakpoint },
	written:    writtenNumbers,
	emulates:   func(_ *insnCache, ap *Aggr) (bool, error) { return ap.verdict.Emulated, nil },
	trampoline: trampolineARM64,
	enter:      enterARM64,
	putSaved:   arm64.StoreGeneral,
}

func breakARM64(imm uint16) []byte {
	c := arm64.Brk(imm)
	return c.Bytes()
}

// trampolineARM64 appends arch_rethook_trampoline: a register image on the stack, and the callback. x30 is the only
// register that isn't as it was.
func trampolineARM64(t *Rethook, buf []byte, call arch.Addr) []byte {
	add := func(c arch.Code) { buf = append(buf, c.Bytes()...) }
	add(arm64.SubImm(arm64.SP, arm64.SP, arm64.PtRegsSize))
	for r := range arm64.SP {
		add(arm64.StrAt(r, arm64.SP, uint32(r)))
	}
	add(arm64.AddImm(0, arm64.SP, 0))
	to, _ := arm64.Call(t.trampoline+arch.Addr(len(buf)), call)
	add(to)
	for r := range arm64.SP { // x30: where the callback has put the address
		add(arm64.LdrAt(r, arm64.SP, uint32(r)))
	}
	add(arm64.AddImm(arm64.SP, arm64.SP, arm64.PtRegsSize))
	add(arm64.Ret())
	return buf
}

// enterARM64 reads the saved registers. The stack pointer isn't among them.
func enterARM64(_ *Rethook, m arch.Memory, cpu, regs *arch.Regs) (image, slot arch.Addr) {
	image = arch.Addr(cpu.R[0])
	*regs = arch.Regs{Flags: cpu.Flags}
	arm64.LoadGeneral(m, image, regs)
	regs.R[arm64.SP] = uint64(image) + arm64.PtRegsSize
	return image, image + arch.Addr(8*arm64.LR)
}
