package arm64

import "kpsim/smp/arch"

// branchForms are branches, exceptions and system instructions (ARM ARM C4.1, "Branches, Exception
// Generating and System instructions").
var branchForms = []form{
	{"0 00101 ..........................", "b", makeBranch, nil},
	{"1 00101 ..........................", "bl", makeBranch, nil},
	{"01010100 ................... 0 ....", "b.cond", makeBranchIf, nil},
	{". 011010 . ................... .....", "cbz or cbnz", makeBranchZero, nil},
	{". 011011 . ..... .............. .....", "tbz or tbnz", makeBranchBit, nil},

	{"1101011 0000 11111 000000 ..... 00000", "br", makeBranchRegister, nil},
	{"1101011 0001 11111 000000 ..... 00000", "blr", makeBranchRegister, nil},
	{"1101011 0010 11111 000000 ..... 00000", "ret", makeBranchRegister, nil},
	{"1101011 .000 11111 00001. ..... .....", "braa and the like", makeBranchSigned, textBranchSigned},
	{"1101011 .001 11111 00001. ..... .....", "blraa and the like", makeBranchSigned, textBranchSigned},
	{"1101011 0010 11111 00001. 11111 11111", "retaa or retab", makeReturnSigned, textReturnSigned},
	{"1101011 0100 11111 000000 11111 00000", "eret", makeTrapReturn, nil},
	{"1101011 0100 11111 00001. 11111 11111", "eretaa or eretab", makeTrapReturn, textTrapReturnSigned},
	{"1101011 0101 11111 000000 11111 00000", "drps", refuse, nil},

	{"11010100 000 ................ 000 01", "svc", makeCall, nil},
	{"11010100 000 ................ 000 10", "hvc", makeCall, textCall},
	{"11010100 000 ................ 000 11", "smc", makeCall, textCall},
	{"11010100 001 ................ 000 00", "brk", makeBreakpoint, nil},
	{"11010100 010 ................ 000 00", "hlt", makeUndefined, nil},
	{"11010100 101 ................ 000 01", "dcps1", refuse, nil},
	{"11010100 101 ................ 000 10", "dcps2", refuse, nil},
	{"11010100 101 ................ 000 11", "dcps3", refuse, nil},

	{"11010101000000110010 .... ... 11111", "hint", makeHint, textHint},
	{"11010101000000110011 .... 010 11111", "clrex", makeClear, nil},
	{"11010101000000110011 .... 100 11111", "dsb", makeBarrier, textBarrier},
	{"11010101000000110011 .... 101 11111", "dmb", makeBarrier, nil},
	{"11010101000000110011 .... 110 11111", "isb", makeISB, nil},
	{"11010101000000110011 0000 111 11111", "sb", makeNop, textSB},
	{"1101010100000 ... 0100 .... ... 11111", "msr, immediate", makeMoveToState, textMoveToState},
	{"1101010100001 ... .... .... ... .....", "sys", makeSys, textSys},
	{"1101010100101 ... .... .... ... .....", "sysl", refuse, nil},
	{"110101010001 . ... .... .... ... .....", "msr", makeMoveToSystem, textMoveToSystem},
	{"110101010011 . ... .... .... ... .....", "mrs", makeMoveFromSystem, textMoveFromSystem},
}

// target makes the branch go as far as a signed field says, in words.
func (in *Inst) target(w word, lo, n uint) {
	in.imm = uint64(in.Addr) + w.signed(lo, n)<<2
}

func makeBranch(in *Inst, w word) error {
	in.target(w, 0, 26)
	in.flow, in.Run = arch.FlowJump, execBranch
	if w.bit(31) {
		in.flow, in.Run = arch.FlowCall, execCall
	}
	return nil
}

func execBranch(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = arch.Addr(whole(op).imm)
	return arch.Next
}

func execCall(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.R[LR] = uint64(r.IP) + Len
	r.IP = arch.Addr(whole(op).imm)
	return arch.Next
}

func makeBranchIf(in *Inst, w word) error {
	in.target(w, 5, 19)
	in.cond = conditions[w.field(0, 4)]
	in.flow, in.Run = arch.FlowCond, execBranchIf
	return nil
}

func execBranchIf(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	if in.holds(r.Flags) {
		r.IP = arch.Addr(in.imm)
	} else {
		r.IP += Len
	}
	return arch.Next
}

// makeBranchZero is cbz and cbnz, which test the bits of bMask as tbz and tbnz do.
func makeBranchZero(in *Inst, w word) error {
	in.setWidth(w.bit(31))
	in.bMask = in.mask
	in.target(w, 5, 19)
	in.makeTest(w)
	return nil
}

func makeBranchBit(in *Inst, w word) error {
	in.bMask = 1 << (w.field(31, 1)<<5 | w.field(19, 5))
	in.target(w, 5, 14)
	in.makeTest(w)
	return nil
}

func (in *Inst) makeTest(w word) {
	in.n, in.flow, in.Run = w.reg(0), arch.FlowCond, execBranchZero
	if w.bit(24) {
		in.Run = execBranchNonzero
	}
}

func execBranchZero(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	if r.R[in.n]&in.bMask == 0 {
		r.IP = arch.Addr(in.imm)
	} else {
		r.IP += Len
	}
	return arch.Next
}

func execBranchNonzero(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	in := whole(op)
	if r.R[in.n]&in.bMask != 0 {
		r.IP = arch.Addr(in.imm)
	} else {
		r.IP += Len
	}
	return arch.Next
}

// makeBranchRegister is br, blr and ret.
func makeBranchRegister(in *Inst, w word) error {
	in.n, in.Run = w.reg(5), execBranchRegister
	switch w.field(21, 2) {
	case 0:
		in.flow = arch.FlowIndirectJump
	case 1:
		in.flow, in.Run = arch.FlowIndirectCall, execCallRegister
	default:
		in.flow = arch.FlowRet
	}
	return nil
}

// makeBranchSigned is for br and blr that authenticate their target. No key is enabled, so they are br
// and blr. Forms with Z have no modifier: its field is 31.
func makeBranchSigned(in *Inst, w word) error {
	if !w.bit(24) && w.field(0, 5) != 31 {
		return ErrUnknown
	}
	return makeBranchRegister(in, w)
}

func makeReturnSigned(in *Inst, _ word) error {
	in.n, in.flow, in.Run = uint8(LR), arch.FlowRet, execBranchRegister
	return nil
}

func execBranchRegister(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	r.IP = arch.Addr(r.R[whole(op).n])
	return arch.Next
}

// execCallRegister reads its target before it writes the link register: the two may be the same.
func execCallRegister(op *arch.Op, r *arch.Regs, _ arch.Memory) arch.Outcome {
	to := r.R[whole(op).n]
	r.R[LR] = uint64(r.IP) + Len
	r.IP = arch.Addr(to)
	return arch.Next
}

// makeTrapReturn is eret. It is refused: traps and their returns belong to the machine.
func makeTrapReturn(in *Inst, w word) error {
	in.flow = arch.FlowTrapReturn
	return refuse(in, w)
}

// makeCall is svc, hvc and smc. They are refused: there is nothing above the kernel.
func makeCall(in *Inst, w word) error {
	in.flow = arch.FlowOther
	return refuse(in, w)
}

func makeBreakpoint(in *Inst, _ word) error {
	in.flow, in.Run = arch.FlowBreakpoint, execBreakpoint
	return nil
}

// syndromeBRK is ESR_EL1 of brk without its immediate: the class of the exception, and IL (ARM ARM, "ESR_EL1").
const syndromeBRK = 0x3c<<26 | 1<<25

// Syndrome returns what brk with an immediate leaves in ESR_EL1.
func Syndrome(imm uint16) uint64 { return syndromeBRK | uint64(imm) }

// execBreakpoint leaves IP at the breakpoint: ELR_EL1 has its address (ARM ARM D2, "Breakpoint
// Instruction exceptions"). ESR_EL1 has the immediate.
func execBreakpoint(op *arch.Op, _ *arch.Regs, m arch.Memory) arch.Outcome {
	imm, _ := whole(op).Breakpoint()
	system(m).kept[ESREL1] = Syndrome(imm)
	return arch.Breakpoint
}

// makeUndefined is udf, and hlt, which is undefined where no debugger halts the CPU (ARM ARM C6.2,
// "HLT").
func makeUndefined(in *Inst, _ word) error {
	in.flow, in.Run = arch.FlowUndefined, execUndefined
	return nil
}

func execUndefined(*arch.Op, *arch.Regs, arch.Memory) arch.Outcome { return arch.Undefined }

// Breakpoint returns the immediate of brk, by which a kernel finds its owner.
func (in *Inst) Breakpoint() (imm uint16, ok bool) {
	return uint16(in.word.field(5, 16)), in.flow == arch.FlowBreakpoint
}
