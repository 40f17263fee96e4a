package ppc64

import "kpsim/smp/arch"

// branchForms are branches, system calls and traps (Book I, "Branch Instructions", "System Call
// Instructions", "Fixed-Point Trap Instructions").
var branchForms = []form{
	{name: "b", pattern: d(18), layout: layBranch, run: execBranch},
	{name: "bc", pattern: d(16), layout: layBranchIf, run: execBranchIf},
	{name: "bclr", pattern: xl(16).zero(7 << 13).free(bitLK), layout: layReturn, run: execBranchRegister},
	{name: "bcctr", pattern: xl(528).zero(7 << 13).free(bitLK), layout: layJumpCTR, run: execBranchRegister},
	{name: "bctar", pattern: xl(560).zero(7 << 13).free(bitLK), layout: layJumpTAR, run: execBranchTAR},

	{name: "tw", pattern: x(4), layout: layTrap, run: execTrapWord},
	{name: "td", pattern: x(68), layout: layTrap, run: execTrap},
	{name: "twi", pattern: d(3), layout: layTrapI, run: execTrapWord},
	{name: "tdi", pattern: d(2), layout: layTrapI, run: execTrap},

	// Traps and their returns belong to the machine, and there is nothing above the kernel.
	{name: "sc", pattern: pattern{^levels, 0x44000002}, layout: layCall, flow: arch.FlowOther},
	{name: "scv", pattern: pattern{^levels, 0x44000001}, layout: layCall, flow: arch.FlowOther},
	{name: "rfid", pattern: xl(18).zero(0x7fff << 11), layout: layNone, flow: arch.FlowTrapReturn},
	{name: "hrfid", pattern: xl(274).zero(0x7fff << 11), layout: layNone, flow: arch.FlowTrapReturn},
	{name: "rfscv", pattern: xl(82).zero(0x7fff << 11), layout: layNone, flow: arch.FlowTrapReturn},
}

// levels is the field LEV of system calls.
const levels word = 0x7f << 5

// Values of BO, of which a bit says that something isn't asked or how (Book I, "Branch Instructions").
const (
	boIfSet     = 1 << 3 // the condition is that the bit of CR is set
	boUntilZero = 1 << 1
	boNoCount   = 1 << 2
	boNoIf      = 1 << 4
	boAlways    = boNoCount | boNoIf
)

func (w word) bo() uint8    { return w.fieldT() }
func (w word) links() bool  { return w&bitLK != 0 }
func (w word) always() bool { return w.bo()&boAlways == boAlways }

// target reads a displacement, which is absolute with AA.
func (in *Inst) target(d uint64) {
	in.imm = d
	if in.word&bitAA == 0 {
		in.imm += uint64(in.Addr)
	}
}

var layBranch = by("p", func(in *Inst) {
	in.target(uint64(int64(int32(in.word&0x03fffffc)<<6) >> 6))
	in.flow = arch.FlowJump
	if in.word.links() {
		in.flow, in.Run = arch.FlowCall, execCall
	}
})

// layBranchIf is bc. With LK and a target of the next instruction code reads its own address: that is no
// call.
var layBranchIf = by("O,I,p", func(in *Inst) {
	in.target(in.word.signed() &^ 3)
	in.test()
	switch {
	case in.word.links() && in.imm == uint64(in.next):
		in.flow = arch.FlowNext
	case in.word.links():
		in.flow = arch.FlowCall
	case in.word.always():
		in.flow = arch.FlowJump
	case in.counts:
		in.flow = arch.FlowLoop
	default:
		in.flow = arch.FlowCond
	}
	if in.counts || in.word.links() {
		in.Run = execBranchCount
	}
})

// test reads BO and BI. Without a condition no bit is tested. The bits of BO that predict are
// ignored.
func (in *Inst) test() {
	bo := in.word.bo()
	in.counts, in.untilZero = bo&boNoCount == 0, bo&boUntilZero != 0
	if bo&boNoIf == 0 {
		in.mask = 1 << crBit(in.word.fieldA())
	}
	if bo&boIfSet == 0 {
		in.flip = in.mask
	}
}

// through is a layout of a branch through a register.
func (in *Inst) through(reg arch.Reg, plain arch.Flow) {
	in.c = uint8(reg)
	in.test()
	switch {
	case in.word.links():
		in.flow = arch.FlowIndirectCall
	case in.word.always():
		in.flow = plain
	default:
		in.flow = arch.FlowOther
	}
}

var (
	layReturn  = by("O,I,H", func(in *Inst) { in.through(LR, arch.FlowRet) })
	layJumpTAR = by("O,I,H", func(in *Inst) { in.through(0, arch.FlowIndirectJump) })
	// A jump to CTR can't count.
	layJumpCTR = layout{func(in *Inst) error {
		in.through(CTR, arch.FlowIndirectJump)
		if in.counts {
			return ErrInvalid
		}
		return nil
	}, "O,I,H"}
)

func execBranch(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = arch.Addr(of(op).imm)
	return arch.Next
}

func execCall(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	r.R[LR] = uint64(in.next)
	r.IP = arch.Addr(in.imm)
	return arch.Next
}

// execBranchIf is bc that neither counts nor links.
func execBranchIf(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	if (r.Flags^in.flip)&in.mask == in.mask {
		r.IP = arch.Addr(in.imm)
	} else {
		r.IP = in.next
	}
	return arch.Next
}

func execBranchCount(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.branch(r, arch.Addr(in.imm))
}

// execBranchRegister reads its target before LR changes. The target is a multiple of four.
func execBranchRegister(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	return in.branch(r, arch.Addr(r.R[in.c]&^3))
}

func execBranchTAR(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	return of(op).branch(r, arch.Addr(system(m).TAR&^3))
}

// branch counts, and branches if the condition holds. LR is set either way.
func (in *Inst) branch(r *arch.Regs, to arch.Addr) arch.Outcome {
	taken := (r.Flags^in.flip)&in.mask == in.mask
	if in.counts {
		r.R[CTR]--
		taken = taken && r.R[CTR] == 0 == in.untilZero
	}
	if !taken {
		to = in.next
	}
	if in.word.links() {
		r.R[LR] = uint64(in.next)
	}
	r.IP = to
	return arch.Next
}

var (
	layTrap  = by("T,a,b", func(in *Inst) { in.setTrap(); in.setB() })
	layTrapI = by("T,a,i", func(in *Inst) { in.setTrap(); in.imm = in.word.signed() })
	layCall  = by("v", func(*Inst) {})
)

// trapAlways is TO of a trap without a condition.
const trapAlways = 31

func (in *Inst) setTrap() {
	in.a, in.c = in.word.fieldA(), in.word.fieldT()
	if in.c == trapAlways {
		in.flow = arch.FlowBreakpoint
	}
}

// trap is a breakpoint if a condition of TO holds: less, greater, equal, less or greater unsigned. A
// kernel takes any trap instruction for a breakpoint, whichever register it tests (is_trap in
// arch/powerpc/include/asm/probes.h). IP stays at it: SRR0 has its address (Book III, "Program
// Interrupt").
func (in *Inst) trap(r *arch.Regs, less, greater, lessU, greaterU bool) arch.Outcome {
	to := in.c
	switch {
	case to&16 != 0 && less, to&8 != 0 && greater, to&4 != 0 && !less && !greater, to&2 != 0 && lessU,
		to&1 != 0 && greaterU:
		return arch.Breakpoint
	}
	r.IP = in.next
	return arch.Next
}

func execTrap(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := r.R[in.a], in.second(r)
	return in.trap(r, int64(a) < int64(b), int64(a) > int64(b), a < b, a > b)
}

func execTrapWord(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := of(op)
	a, b := uint32(r.R[in.a]), uint32(in.second(r))
	return in.trap(r, int32(a) < int32(b), int32(a) > int32(b), a < b, a > b)
}
