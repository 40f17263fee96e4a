package riscv64

import "kpsim/smp/arch"

// A form is an instruction of 32 bits as the manual's listing has it (vol. 1, "RV32/64G
// Instruction Set Listings").
type form struct {
	name string
	pattern
	layout
	run  exec
	size uint8 // of the memory operand in bytes; 0: there is none
	// refused says that run always refuses.
	refused bool
}

// A pattern is which bits of an instruction must have which values.
type pattern struct{ mask, value uint32 }

// Patterns of opcode, funct3 and what lies above: funct7, the 6 bits above a shift by up to 63,
// the 5 bits of an atomic one, all 12 bits.
func p0(op uint32) pattern         { return pattern{0x7f, op} }
func p3(op, f3 uint32) pattern     { return pattern{0x707f, op | f3<<12} }
func p7(op, f3, f7 uint32) pattern { return pattern{0xfe00707f, op | f3<<12 | f7<<25} }
func p6(op, f3, f6 uint32) pattern { return pattern{0xfc00707f, op | f3<<12 | f6<<26} }
func p5(op, f3, f5 uint32) pattern { return pattern{0xf800707f, op | f3<<12 | f5<<27} }
func p12(op, f3, f uint32) pattern { return pattern{0xfff0707f, op | f3<<12 | f<<20} }
func exact(w uint32) pattern       { return pattern{^uint32(0), w} }

// The major opcodes.
const (
	opLoad   = 0x03
	opFence  = 0x0f
	opImm    = 0x13
	opAUIPC  = 0x17
	opImm32  = 0x1b
	opStore  = 0x23
	opAMO    = 0x2f
	opReg    = 0x33
	opLUI    = 0x37
	opReg32  = 0x3b
	opBranch = 0x63
	opJALR   = 0x67
	opJAL    = 0x6f
	opSystem = 0x73
)

// refusal is a form that exists and isn't executed.
func refusal(name string, p pattern, l layout) form {
	return form{name: name, pattern: p, layout: l, run: execRefused, refused: true}
}

// forms are all forms with a name here. The first that fits is meant.
var forms = [...]form{
	// RV64I.
	{name: "lui", pattern: p0(opLUI), layout: layU, run: execAdd},
	{name: "auipc", pattern: p0(opAUIPC), layout: layPC, run: execAdd},
	{name: "jal", pattern: p0(opJAL), layout: layJ, run: execJal},
	{name: "jalr", pattern: p3(opJALR, 0), layout: layJalr, run: execJalr},
	{name: "beq", pattern: p3(opBranch, 0), layout: layBranch, run: execBeq},
	{name: "bne", pattern: p3(opBranch, 1), layout: layBranch, run: execBne},
	{name: "blt", pattern: p3(opBranch, 4), layout: layBranch, run: execBlt},
	{name: "bge", pattern: p3(opBranch, 5), layout: layBranch, run: execBge},
	{name: "bltu", pattern: p3(opBranch, 6), layout: layBranch, run: execBltu},
	{name: "bgeu", pattern: p3(opBranch, 7), layout: layBranch, run: execBgeu},
	{name: "lb", pattern: p3(opLoad, 0), layout: layLoad, run: execLoad, size: 1},
	{name: "lh", pattern: p3(opLoad, 1), layout: layLoad, run: execLoad, size: 2},
	{name: "lw", pattern: p3(opLoad, 2), layout: layLoad, run: execLoad, size: 4},
	{name: "ld", pattern: p3(opLoad, 3), layout: layLoad, run: execLoadU, size: 8},
	{name: "lbu", pattern: p3(opLoad, 4), layout: layLoad, run: execLoadU, size: 1},
	{name: "lhu", pattern: p3(opLoad, 5), layout: layLoad, run: execLoadU, size: 2},
	{name: "lwu", pattern: p3(opLoad, 6), layout: layLoad, run: execLoadU, size: 4},
	{name: "sb", pattern: p3(opStore, 0), layout: layStore, run: execStore, size: 1},
	{name: "sh", pattern: p3(opStore, 1), layout: layStore, run: execStore, size: 2},
	{name: "sw", pattern: p3(opStore, 2), layout: layStore, run: execStore, size: 4},
	{name: "sd", pattern: p3(opStore, 3), layout: layStore, run: execStore, size: 8},
	{name: "addi", pattern: p3(opImm, 0), layout: layI, run: execAdd},
	{name: "slti", pattern: p3(opImm, 2), layout: layI, run: execSlt},
	{name: "sltiu", pattern: p3(opImm, 3), layout: layI, run: execSltu},
	{name: "xori", pattern: p3(opImm, 4), layout: layI, run: execXor},
	{name: "ori", pattern: p3(opImm, 6), layout: layI, run: execOr},
	{name: "andi", pattern: p3(opImm, 7), layout: layI, run: execAnd},
	{name: "slli", pattern: p6(opImm, 1, 0x00), layout: layShift, run: execSll},
	{name: "srli", pattern: p6(opImm, 5, 0x00), layout: layShift, run: execSrl},
	{name: "srai", pattern: p6(opImm, 5, 0x10), layout: layShift, run: execSra},
	{name: "add", pattern: p7(opReg, 0, 0x00), layout: layR, run: execAdd},
	{name: "sub", pattern: p7(opReg, 0, 0x20), layout: layR, run: execSub},
	{name: "sll", pattern: p7(opReg, 1, 0x00), layout: layR, run: execSll},
	{name: "slt", pattern: p7(opReg, 2, 0x00), layout: layR, run: execSlt},
	{name: "sltu", pattern: p7(opReg, 3, 0x00), layout: layR, run: execSltu},
	{name: "xor", pattern: p7(opReg, 4, 0x00), layout: layR, run: execXor},
	{name: "srl", pattern: p7(opReg, 5, 0x00), layout: layR, run: execSrl},
	{name: "sra", pattern: p7(opReg, 5, 0x20), layout: layR, run: execSra},
	{name: "or", pattern: p7(opReg, 6, 0x00), layout: layR, run: execOr},
	{name: "and", pattern: p7(opReg, 7, 0x00), layout: layR, run: execAnd},
	{name: "addiw", pattern: p3(opImm32, 0), layout: layI, run: execAddw},
	{name: "slliw", pattern: p7(opImm32, 1, 0x00), layout: layShift, run: execSllw},
	{name: "srliw", pattern: p7(opImm32, 5, 0x00), layout: layShift, run: execSrlw},
	{name: "sraiw", pattern: p7(opImm32, 5, 0x20), layout: layShift, run: execSraw},
	{name: "addw", pattern: p7(opReg32, 0, 0x00), layout: layR, run: execAddw},
	{name: "subw", pattern: p7(opReg32, 0, 0x20), layout: layR, run: execSubw},
	{name: "sllw", pattern: p7(opReg32, 1, 0x00), layout: layR, run: execSllw},
	{name: "srlw", pattern: p7(opReg32, 5, 0x00), layout: layR, run: execSrlw},
	{name: "sraw", pattern: p7(opReg32, 5, 0x20), layout: layR, run: execSraw},
	{name: "pause", pattern: exact(Pause), layout: layNone, run: execRelax},
	{name: "fence.tso", pattern: exact(0x8330000f), layout: layFence, run: execNothing},
	{name: "fence", pattern: p3(opFence, 0), layout: layFence, run: execNothing},
	{name: "fence.i", pattern: p3(opFence, 1), layout: layDrain, run: execFenceI},
	{name: "ecall", pattern: exact(0x00000073), layout: flows(arch.FlowOther), run: execRefused, refused: true},
	{name: "ebreak", pattern: exact(Ebreak), layout: flows(arch.FlowBreakpoint), run: execEbreak},

	// M.
	{name: "mul", pattern: p7(opReg, 0, 0x01), layout: layR, run: execMul},
	{name: "mulh", pattern: p7(opReg, 1, 0x01), layout: layR, run: execMulh},
	{name: "mulhsu", pattern: p7(opReg, 2, 0x01), layout: layR, run: execMulhsu},
	{name: "mulhu", pattern: p7(opReg, 3, 0x01), layout: layR, run: execMulhu},
	{name: "div", pattern: p7(opReg, 4, 0x01), layout: layR, run: execDiv},
	{name: "divu", pattern: p7(opReg, 5, 0x01), layout: layR, run: execDivu},
	{name: "rem", pattern: p7(opReg, 6, 0x01), layout: layR, run: execRem},
	{name: "remu", pattern: p7(opReg, 7, 0x01), layout: layR, run: execRemu},
	{name: "mulw", pattern: p7(opReg32, 0, 0x01), layout: layR, run: execMulw},
	{name: "divw", pattern: p7(opReg32, 4, 0x01), layout: layR, run: execDivw},
	{name: "divuw", pattern: p7(opReg32, 5, 0x01), layout: layR, run: execDivuw},
	{name: "remw", pattern: p7(opReg32, 6, 0x01), layout: layR, run: execRemw},
	{name: "remuw", pattern: p7(opReg32, 7, 0x01), layout: layR, run: execRemuw},

	// A.
	{name: "lr.w", pattern: p12(opAMO, 2, 0x100).without(aqrl), layout: layLR, run: execLR, size: 4},
	{name: "lr.d", pattern: p12(opAMO, 3, 0x100).without(aqrl), layout: layLR, run: execLR, size: 8},
	{name: "sc.w", pattern: p5(opAMO, 2, 0x03), layout: layAMO, run: execSC, size: 4},
	{name: "sc.d", pattern: p5(opAMO, 3, 0x03), layout: layAMO, run: execSC, size: 8},
	{name: "amoswap.w", pattern: p5(opAMO, 2, 0x01), layout: layAMO, run: execAmoswap, size: 4},
	{name: "amoadd.w", pattern: p5(opAMO, 2, 0x00), layout: layAMO, run: execAmoadd, size: 4},
	{name: "amoxor.w", pattern: p5(opAMO, 2, 0x04), layout: layAMO, run: execAmoxor, size: 4},
	{name: "amoand.w", pattern: p5(opAMO, 2, 0x0c), layout: layAMO, run: execAmoand, size: 4},
	{name: "amoor.w", pattern: p5(opAMO, 2, 0x08), layout: layAMO, run: execAmoor, size: 4},
	{name: "amomin.w", pattern: p5(opAMO, 2, 0x10), layout: layAMO, run: execAmomin, size: 4},
	{name: "amomax.w", pattern: p5(opAMO, 2, 0x14), layout: layAMO, run: execAmomax, size: 4},
	{name: "amominu.w", pattern: p5(opAMO, 2, 0x18), layout: layAMO, run: execAmominu, size: 4},
	{name: "amomaxu.w", pattern: p5(opAMO, 2, 0x1c), layout: layAMO, run: execAmomaxu, size: 4},
	{name: "amoswap.d", pattern: p5(opAMO, 3, 0x01), layout: layAMO, run: execAmoswap, size: 8},
	{name: "amoadd.d", pattern: p5(opAMO, 3, 0x00), layout: layAMO, run: execAmoadd, size: 8},
	{name: "amoxor.d", pattern: p5(opAMO, 3, 0x04), layout: layAMO, run: execAmoxor, size: 8},
	{name: "amoand.d", pattern: p5(opAMO, 3, 0x0c), layout: layAMO, run: execAmoand, size: 8},
	{name: "amoor.d", pattern: p5(opAMO, 3, 0x08), layout: layAMO, run: execAmoor, size: 8},
	{name: "amomin.d", pattern: p5(opAMO, 3, 0x10), layout: layAMO, run: execAmomin, size: 8},
	{name: "amomax.d", pattern: p5(opAMO, 3, 0x14), layout: layAMO, run: execAmomax, size: 8},
	{name: "amominu.d", pattern: p5(opAMO, 3, 0x18), layout: layAMO, run: execAmominu, size: 8},
	{name: "amomaxu.d", pattern: p5(opAMO, 3, 0x1c), layout: layAMO, run: execAmomaxu, size: 8},

	// Zba.
	{name: "add.uw", pattern: p7(opReg32, 0, 0x04), layout: layR, run: execAdduw},
	{name: "sh1add", pattern: p7(opReg, 2, 0x10), layout: layR, run: execSh1add},
	{name: "sh2add", pattern: p7(opReg, 4, 0x10), layout: layR, run: execSh2add},
	{name: "sh3add", pattern: p7(opReg, 6, 0x10), layout: layR, run: execSh3add},
	{name: "sh1add.uw", pattern: p7(opReg32, 2, 0x10), layout: layR, run: execSh1adduw},
	{name: "sh2add.uw", pattern: p7(opReg32, 4, 0x10), layout: layR, run: execSh2adduw},
	{name: "sh3add.uw", pattern: p7(opReg32, 6, 0x10), layout: layR, run: execSh3adduw},
	{name: "slli.uw", pattern: p6(opImm32, 1, 0x02), layout: layShift, run: execSlliuw},

	// Zbb.
	{name: "andn", pattern: p7(opReg, 7, 0x20), layout: layR, run: execAndn},
	{name: "orn", pattern: p7(opReg, 6, 0x20), layout: layR, run: execOrn},
	{name: "xnor", pattern: p7(opReg, 4, 0x20), layout: layR, run: execXnor},
	{name: "clz", pattern: p12(opImm, 1, 0x600), layout: layUnary, run: execClz},
	{name: "ctz", pattern: p12(opImm, 1, 0x601), layout: layUnary, run: execCtz},
	{name: "cpop", pattern: p12(opImm, 1, 0x602), layout: layUnary, run: execCpop},
	{name: "clzw", pattern: p12(opImm32, 1, 0x600), layout: layUnary, run: execClzw},
	{name: "ctzw", pattern: p12(opImm32, 1, 0x601), layout: layUnary, run: execCtzw},
	{name: "cpopw", pattern: p12(opImm32, 1, 0x602), layout: layUnary, run: execCpopw},
	{name: "max", pattern: p7(opReg, 6, 0x05), layout: layR, run: execMax},
	{name: "maxu", pattern: p7(opReg, 7, 0x05), layout: layR, run: execMaxu},
	{name: "min", pattern: p7(opReg, 4, 0x05), layout: layR, run: execMin},
	{name: "minu", pattern: p7(opReg, 5, 0x05), layout: layR, run: execMinu},
	{name: "sext.b", pattern: p12(opImm, 1, 0x604), layout: layUnary, run: execSextb},
	{name: "sext.h", pattern: p12(opImm, 1, 0x605), layout: layUnary, run: execSexth},
	{name: "zext.h", pattern: p12(opReg32, 4, 0x080), layout: layUnary, run: execZexth},
	{name: "rol", pattern: p7(opReg, 1, 0x30), layout: layR, run: execRol},
	{name: "ror", pattern: p7(opReg, 5, 0x30), layout: layR, run: execRor},
	{name: "rori", pattern: p6(opImm, 5, 0x18), layout: layShift, run: execRor},
	{name: "rolw", pattern: p7(opReg32, 1, 0x30), layout: layR, run: execRolw},
	{name: "rorw", pattern: p7(opReg32, 5, 0x30), layout: layR, run: execRorw},
	{name: "roriw", pattern: p7(opImm32, 5, 0x30), layout: layShift, run: execRorw},
	{name: "orc.b", pattern: p12(opImm, 5, 0x287), layout: layUnary, run: execOrcb},
	{name: "rev8", pattern: p12(opImm, 5, 0x6b8), layout: layUnary, run: execRev8},

	// Zicsr.
	{name: "csrrw", pattern: p3(opSystem, 1), layout: layCSR, run: execCSRRW},
	{name: "csrrs", pattern: p3(opSystem, 2), layout: layCSR, run: execCSRRS},
	{name: "csrrc", pattern: p3(opSystem, 3), layout: layCSR, run: execCSRRC},
	{name: "csrrwi", pattern: p3(opSystem, 5), layout: layCSRI, run: execCSRRW},
	{name: "csrrsi", pattern: p3(opSystem, 6), layout: layCSRI, run: execCSRRS},
	{name: "csrrci", pattern: p3(opSystem, 7), layout: layCSRI, run: execCSRRC},

	// Zawrs.
	{name: "wrs.nto", pattern: exact(0x00d00073), layout: layNone, run: execRelax},
	{name: "wrs.sto", pattern: exact(0x01d00073), layout: layNone, run: execRelax},

	// Supervisor mode (vol. 2, "Supervisor-Level ISA").
	{name: "wfi", pattern: exact(0x10500073), layout: flows(arch.FlowHalt), run: execWfi},
	{name: "sfence.vma", pattern: p7(opSystem, 0, 0x09).with(0x1f<<7, 0), layout: layTLB, run: execNothing},
	refusal("sret", exact(0x10200073), flows(arch.FlowTrapReturn)),
	refusal("mret", exact(0x30200073), flows(arch.FlowTrapReturn)),
	refusal("mnret", exact(0x70200073), flows(arch.FlowTrapReturn)),
	refusal("dret", exact(0x7b200073), flows(arch.FlowTrapReturn)),
	refusal("sinval.vma", p7(opSystem, 0, 0x0b).with(0x1f<<7, 0), layTLB),
	refusal("sfence.w.inval", exact(0x18000073), layNone),
	refusal("sfence.inval.ir", exact(0x18100073), layNone),
	refusal("hfence.vvma", p7(opSystem, 0, 0x11).with(0x1f<<7, 0), layTLB),
	refusal("hfence.gvma", p7(opSystem, 0, 0x31).with(0x1f<<7, 0), layTLB),
}

// aqrl are the bits of an atomic instruction that order it. All accesses here are in order.
const aqrl = 3 << 25

// without leaves bits of a pattern open, with adds some.
func (p pattern) without(bits uint32) pattern     { return pattern{p.mask &^ bits, p.value &^ bits} }
func (p pattern) with(mask, value uint32) pattern { return pattern{p.mask | mask, p.value | value} }
