package kprobes

import (
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// The trampoline of return probes, in the kernel's text (kretprobe_trampoline; since 5.15
// __kretprobe_trampoline, since 5.18 arch_rethook_trampoline):
//
//	save the registers as a trap would, below the place of the return address
//	call rethookTrampolineCallback(registers), which stores the real return address in place of sp
//	restore the registers
//	ret
//
// Since 5.15 it first pushes its own address, so that a backtrace from a handler finds that in place of the return
// address, and the real one is stored there. In 2.6 on x86-64 it is a nop with a probe on it. A ud2 follows it:
// BUG().

// trampoline86 appends the trampoline.
func trampoline86(t *Rethook, buf []byte, call arch.Addr) []byte {
	r := t.row.x86
	if t.s.Unwind {
		buf = append(buf, 0x68)
		buf = binary.LittleEndian.AppendUint32(buf, uint32(t.trampoline))
	}
	buf = r.trampolineSave(buf)
	to, _ := x86.CallRel32(t.trampoline+arch.Addr(len(buf)), call)
	buf = append(buf, to[:]...)
	buf = append(append(buf, r.pop...), r.flags...)
	if t.s.Unwind {
		buf = append(buf, r.skip...)
	}
	return append(buf, 0xc3) // ret
}

// enter86 reads the saved registers. The address to continue at belongs in the slot for sp, or in the
// room that the stub has left.
func enter86(t *Rethook, m arch.Memory, cpu, regs *arch.Regs) (image, slot arch.Addr) {
	r := t.row.x86
	image = arch.Addr(cpu.R[r.image])
	r.load(m, image, regs)
	slot = image + r.spAt
	if t.s.Unwind {
		slot = x86.SP(regs)
		regs.R[x86.RSP] += uint64(r.word)
	}
	return image, slot
}
