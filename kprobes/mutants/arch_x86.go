package mutants

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// emulated applies f to the effects of an emulated instruction of x86; before has the registers that it found.
func emulated(f func(ap *aggr, r *regs, m arch.Memory, before *regs)) func(*Wiring) {
	return on(func(s *steps) {
		emulate := s.Copy.Emulate
		s.Copy.Emulate = func(e *engine, x context, ap *aggr, r *regs) bool {
			before := *r
			done := emulate(e, x, ap, r)
			if insnOf(ap) != nil {
				f(ap, r, x.Memory(), &before)
			}
			return done
		}
	})
}

// insnOf returns the probed instruction if it is one of x86, otherwise nil.
func insnOf(ap *aggr) *x86.Inst {
	in, _ := ap.Insn().(*x86.Inst)
	return in
}

// jng sends a jng or jg that was emulated the other way where "ZF and SF !=
// OF" has another answer than "ZF or SF != OF" (SDM vol. 2, "Jcc").
func jng(ap *aggr, r *regs, _ arch.Memory, _ *regs) {
	in := insnOf(ap)
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
func callsFive(ap *aggr, r *regs, m arch.Memory, _ *regs) {
	if group, _ := insnOf(ap).RegField(); insnOf(ap).Opcode() == 0xff && group == 2 {
		m.Store(x86.SP(r), 8, uint64(ap.Addr())+5)
	}
}

// widenFlags has an emulated pushf or popf with an operand size of 16 bits (66 9C, 66 9D; SDM
// vol. 2, "PUSHF", "POPF") move a word, where it should two bytes.
func widenFlags(ap *aggr, r *regs, m arch.Memory, before *regs) {
	sp := x86.SP(before)
	word := arch.Addr(8)
	if sp>>32 == 0 { // i386
		word = 4
	}
	switch {
	case insnOf(ap).Opcode() == 0x9c && x86.SP(r) == sp-2:
		r.R[x86.RSP] = uint64(sp - word)
		m.Store(sp-word, int(word), r.Flags)
	case insnOf(ap).Opcode() == 0x9d && x86.SP(r) == sp+2:
		r.R[x86.RSP] = uint64(sp + word)
	}
}

// lateLoop makes an emulated loop test the counter before it is decremented (E0 to E2; SDM vol. 2, "LOOP":
// afterwards).
func lateLoop(ap *aggr, r *regs, _ arch.Memory, before *regs) {
	in := insnOf(ap)
	on := true // the condition besides the counter
	switch in.Opcode() {
	case 0xe0:
		on = before.Flags&x86.ZF == 0
	case 0xe1:
		on = before.Flags&x86.ZF != 0
	case 0xe2:
	default:
		return
	}
	counter := before.R[x86.RCX]
	if in.Prefixes()&x86.PrefixAddrSize != 0 {
		counter &= 1<<32 - 1
	}
	if r.IP = in.Next(); on && counter != 0 {
		r.IP, _ = in.Target()
	}
}

// retKeeps makes an emulated ret with an operand leave its arguments on the stack (C2; SDM vol. 2, "RET").
func retKeeps(ap *aggr, r *regs, _ arch.Memory, before *regs) {
	if insnOf(ap).Opcode() == 0xc2 {
		r.R[x86.RSP] = before.R[x86.RSP] + 8
	}
}
