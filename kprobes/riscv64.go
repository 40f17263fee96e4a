package kprobes

import (
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/arch/riscv64"
)

// rowRISCV64 is riscv64 (arch/riscv/kernel/probes/kprobes.c, rethook.c): a breakpoint as long as what it replaces,
// written while the machine is stopped (patch_text); slots that end with ebreak, whatever the copy's length, and
// whose text all CPUs fetch anew once it was written (patch_text_nosync); branches and auipc are simulated.
var rowRISCV64 = row{
	word: 8, stops: true, syncsCopies: true, stepsAlone: true, reentered: true,
	stepEnd: riscv64.RV64.Breakpoint, bug: riscv64.RV64.Breakpoint,
	breakpoint: func(orig []byte) []byte {
		if orig[0]&3 == 3 { // vol. 1, "Base Instruction-Length Encoding"
			return riscvBreaks[1]
		}
		return riscvBreaks[0]
	},
	written:    writtenNumbers,
	emulates:   func(_ *insnCache, ap *Aggr) (bool, error) { return ap.verdict.Emulated, nil },
	trampoline: trampolineRISCV64,
	enter:      enterRISCV64,
	putSaved:   riscv64.StoreGeneral,
}

// riscvBreaks are c.ebreak and ebreak.
var riscvBreaks = [...][]byte{
	{byte(riscv64.CEbreak & 0xff), byte(riscv64.CEbreak >> 8)},
	riscv64.RV64.Breakpoint,
}

// writtenNumbers returns where, from off on, a breakpoint begins; len(code) if nowhere.
func writtenNumbers(a *arch.Arch, code []byte, off int) int {
	for off = (off + a.Align - 1) / a.Align * a.Align; off < len(code); off += a.Align {
		if a.IsBreakpoint(arch.Word(code[off:])) {
			return off
		}
	}
	return len(code)
}

// trampolineRISCV64 appends arch_rethook_trampoline: a register image on the stack, without what a trap saves
// beside the registers, and the callback. ra is the only register that isn't as it was.
func trampolineRISCV64(t *Rethook, buf []byte, call arch.Addr) []byte {
	word := func(w uint32) { buf = binary.LittleEndian.AppendUint32(buf, w) }
	word(riscv64.Addi(riscv64.SP, riscv64.SP, -riscv64.PtRegsSize))
	for r := riscv64.RA; r <= riscv64.Last; r++ {
		if r != riscv64.SP {
			word(riscv64.Sd(r, riscv64.SP, 8*int(r)))
		}
	}
	word(riscv64.Addi(riscv64.A0, riscv64.SP, 0))
	pair, _ := riscv64.Pair(riscv64.RA, riscv64.RA, t.trampoline+arch.Addr(len(buf)), call)
	word(pair[0])
	word(pair[1])
	for r := riscv64.RA; r <= riscv64.Last; r++ { // ra: where the callback has put the address
		if r != riscv64.SP {
			word(riscv64.Ld(r, riscv64.SP, 8*int(r)))
		}
	}
	word(riscv64.Addi(riscv64.SP, riscv64.SP, riscv64.PtRegsSize))
	word(riscv64.Ret)
	return buf
}

// enterRISCV64 reads the saved registers. The stack pointer isn't among them.
func enterRISCV64(_ *Rethook, m arch.Memory, cpu, regs *arch.Regs) (image, slot arch.Addr) {
	image = arch.Addr(cpu.R[riscv64.A0])
	*regs = arch.Regs{Flags: cpu.Flags}
	riscv64.LoadGeneral(m, image, regs)
	regs.R[riscv64.SP] = uint64(image) + riscv64.PtRegsSize
	return image, image + arch.Addr(8*riscv64.RA)
}
