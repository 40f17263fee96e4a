package mutants

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// jng sends a jng or jg that was emulated the other way where "ZF and SF !=
// OF" has another answer than "ZF or SF != OF" (SDM vol. 2, "Jcc")..
func jng(in *x86.Inst, r *regs) {
	target, _ := in.Target()
	switch in.Opcode() {
	case 0x7e, 0x7f, 0x0f8e, 0x0f8f:
	default:
		return
	}
	equal := r.Flags&x86.ZF != 0
	less := (r.Flags&x86.SF != 0) != (r.Flags&x86.OF != 0)
	if equal == less {
		return
	}
	if r.IP == target {
		r.IP = in.Next()
	} else {
		r.IP = target
	}
}

func jprobeKeepsIP(regs, saved *regs) { regs.IP, regs.R[x86.RSP] = saved.IP, saved.R[x86.RSP] }

// callsFive puts the return address of an emulated call through a register (FF /2, SDM
// vol. 2, "CALL") five bytes behind its start, as if it were a call by displacement.
func callsFive(ap *aggr, r *regs, m arch.Memory) {
	if group, _ := ap.Insn().Group(); ap.Insn().Opcode() == 0xff && group == 2 {
		m.Store(x86.SP(r), 8, uint64(ap.Addr())+5)
	}
}
