package riscv64

import "kpsim/smp/arch"

// The registers that code has names for, by their number (riscv-elf-psabi, "Integer Register
// Convention").
const (
	Zero arch.Reg = 0
	RA   arch.Reg = 1
	SP   arch.Reg = 2
	GP   arch.Reg = 3
	TP   arch.Reg = 4
	T0   arch.Reg = 5
	T1   arch.Reg = 6
	A0   arch.Reg = 10
	Last arch.Reg = 31
)

// regNames are the registers as people write them.
var regNames = []string{"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
	"a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"}

// fetchUnit is how many aligned bytes a hart fetches in one piece (profiles, Ziccif). A full
// instruction at an odd multiple of two bytes has two pieces.
const fetchUnit = 4

// RV64 is RISC-V of 64 bits, with the calling convention and the trap frame of a Linux kernel.
// A branch is a pair of auipc and jalr, through t1 for a jump and through t0 for a call, which links
// there, too: ra is the caller's at a function's entry, and a call that patching writes is there
// (arch/riscv/include/asm/ftrace.h).
var RV64 = &arch.Arch{
	Name: "riscv64", Word: 8, Herd: "RISCV",
	Registers: arch.Registers{
		RegNames: regNames,
		SP:       SP, Result: A0,
		Args:    []arch.Reg{10, 11, 12, 13, 14, 15, 16, 17},
		Saved:   []arch.Reg{8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27},
		Own:     []arch.Reg{Zero, GP, TP},
		Used:    len(regNames),
		IPName:  "pc",
		Link:    RA,
		Cleared: arch.IRQ | arch.Step,
	},
	Branches: arch.Branches{
		BranchLen: PairLen, Reach: "2 GB",
		Jump:      func(at, target arch.Addr) (arch.Code, bool) { return pair(T1, 0, at, target) },
		Call:      call,
		CallOf:    paired,
		BranchNop: Code(Nop, Nop),
		BranchRet: Code(Ret, Ebreak),
		IsJump:    arch.Pattern{Mask: 0x000fffff_00000fff, Is: 0x00030067_00000317},
		IsCall:    arch.Pattern{Mask: 0x000fffff_00000fff, Is: 0x000282e7_00000297},
		Ret:       []byte{0x67, 0x80, 0x00, 0x00},
		// arch/riscv/include/asm/jump_label.h; jal links to x0
		Labels: []arch.LabelForm{{Nop: Code(Nop), Jump: short, IsJump: arch.Pattern{Mask: 0xfff, Is: uint64(opJAL)},
			Reach: "1 MiB", Hex: [...]string{"00000013", "…06f"}}},
		Sites: []arch.SiteForm{
			// Since 8547649981e6 (2025) auipc stands there from boot on, and jalr or the nop behind it is written
			// (ftrace_init_nop, arch/riscv/kernel/ftrace.c).
			{Compiled: PairLen, Nop: fixed, Call: call, Keep: WordLen, Link: T0, Parent: RA},
			// Until then both are, by stop_machine (__ftrace_modify_call).
			{Compiled: PairLen, Nop: arch.Always(Code(Nop, Nop)), Call: call, Link: T0, Parent: RA, Stopped: true},
		},
	},
	MaxLen: MaxLen, Align: HalfLen, Aligned: true, FetchUnit: [...]int{fetchUnit, fetchUnit, HalfLen},
	Reserves: true,
	Decode:   Decode,
	Nop:      NopN,
	Set:      load,
	Put:      put,
	ELF:      243,
	Terms: arch.NewTerms("fence.i", "#BP", "ebreak", "#UD", "illegal instruction", "#PF", "page fault",
		"saved ip", "saved pc"),
	Breakpoints: arch.Breakpoints{
		Breakpoint: []byte{0x73, 0x00, 0x10, 0x00},
		Breaks:     []arch.Pattern{{Mask: 0xffffffff, Is: uint64(Ebreak)}, {Mask: 0xffff, Is: uint64(CEbreak)}},
		Fill:       uint64(CEbreak) * 0x0001_0001_0001_0001,
	},
	BootSystem: func(hart uint32, _ arch.Addr) arch.System { return NewSystem(hart) },
	Valid:      canonical,
	Frame:      frame, UserFrame: userFrame,
}

func pair(via, link arch.Reg, at, target arch.Addr) (arch.Code, bool) {
	p, ok := Pair(via, link, at, target)
	return Code(p[:]...), ok
}

// call is Call of the row, which links to t0.
func call(at, target arch.Addr) (arch.Code, bool) { return pair(T0, T0, at, target) }

// paired is CallOf of the row: auipc and jalr, which links to ra.
func paired(before []byte, end arch.Addr) (target arch.Addr, ok bool) {
	if len(before) < PairLen {
		return 0, false
	}
	w := arch.Word(before[len(before)-PairLen:])
	auipc, jalr := uint32(w), uint32(w>>32)
	hi, lo := int32(auipc&^0xfff), int32(jalr)>>20
	target = end - PairLen + arch.Addr(int64(hi)) + arch.Addr(int64(lo))
	p, ok := Pair(arch.Reg(auipc>>7&31), RA, end-PairLen, target)
	return target, ok && p == [2]uint32{auipc, jalr}
}

// fixed is the nop of a site whose auipc stays.
func fixed(at, target arch.Addr) arch.Code {
	p, _ := Pair(T0, T0, at, target)
	return Code(p[0], Nop)
}

// short is Jump of a jump label's form.
func short(at, target arch.Addr) (arch.Code, bool) {
	w, ok := Jal(0, at, target)
	return Code(w), ok
}

// NopN returns n bytes of nops, as few of them as it takes. n is even: no instruction has an odd
// length.
func NopN(n int) []byte {
	if n%HalfLen != 0 {
		panic("riscv64: nops of an odd length")
	}
	b := make([]byte, 0, max(n, 0))
	for ; n >= WordLen; n -= WordLen {
		c := Code(Nop)
		b = append(b, c.Bytes()...)
	}
	if n > 0 {
		c := Half(CNop)
		b = append(b, c.Bytes()...)
	}
	return b
}

// canonical reports whether bits 63 to 47 are the same: there are four levels of paging (vol. 2,
// "Sv48").
func canonical(a arch.Addr) bool { return int64(a<<16)>>16 == int64(a) }
