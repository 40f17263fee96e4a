package arm64

import (
	"strconv"

	"kpsim/smp/arch"
)

// ARM64 is a processor in AArch64 state at EL1, with the procedure call standard and the trap frame of
// a Linux kernel.
var ARM64 = &arch.Arch{
	Name: "arm64", Word: 8, Herd: "AArch64",
	Registers: arch.Registers{
		RegNames: names(), SP: SP, Result: 0,
		Args:  []arch.Reg{0, 1, 2, 3, 4, 5, 6, 7},
		Saved: []arch.Reg{19, 20, 21, 22, 23, 24, 25, 26, 27, 28, FP},
		Own:   []arch.Reg{Platform, ZR},
		Used:  int(ZR), IPName: "pc",
		Link:    LR,
		Cleared: arch.IRQ | arch.Step,
		// bit 9 is kpsim's own: interrupts are taken
		FlagNames: []string{9: "interrupts on", 28: "V", 29: "C", 30: "Z", 31: "N"},
	},
	Branches: arch.Branches{
		BranchLen: Len, Reach: "128 MB", Jump: Jump, Call: Call, BranchNop: Nop(), BranchRet: Ret(),
		IsJump: arch.Pattern{Mask: 0xfc000000, Is: wordB}, IsCall: arch.Pattern{Mask: 0xfc000000, Is: wordBL},
		Ret: bytesOf(Ret()), Pad: "bti c",
		// arch/arm64/include/asm/jump_label.h
		Labels: []arch.LabelForm{{Nop: Nop(), Jump: Jump, IsJump: arch.Pattern{Mask: 0xfc000000, Is: wordB},
			Reach: "128 MiB", Hex: [...]string{"d503201f", "14… to 17…"}}},
		// ftrace_init_nop, ftrace_modify_code (arch/arm64/kernel/ftrace.c)
		Sites: []arch.SiteForm{{Compiled: 2 * Len, Before: bytesOf(Mov(9, LR)), Nop: arch.Always(Nop()), Call: Call,
			Link: LR, Parent: 9, Local: true}},
	},
	MaxLen: Len, Align: Len, Aligned: true, FetchUnit: [...]int{Len, Len, Len},
	Reserves: true,
	Decode: func(b []byte, at arch.Addr) (arch.Inst, error) {
		in, err := Decode(b, at)
		if err != nil {
			return nil, err
		}
		return in, nil
	},
	Nop: nops,
	Set: set,
	Put: put,
	ELF: 183,
	Terms: arch.NewTerms("isb", "#BP", "BRK", "#UD", "undefined instruction", "#PF", "abort", "#DB", "single step",
		"saved ip", "saved pc"),
	Breakpoints: arch.Breakpoints{
		Breakpoint: bytesOf(Brk(BrkKprobe)),
		Breaks:     []arch.Pattern{{Mask: 0xffe0001f, Is: wordBRK}},
		Fill:       uint64(wordBRK|BrkFault<<5) * 0x1_0000_0001,
	},
	Modified: arch.Modified{
		Caches: "dc cvau, dsb, ic ivau and dsb",
		Live: []arch.Pattern{
			{Mask: 0xfc000000, Is: wordB}, {Mask: 0xfc000000, Is: wordBL}, {Mask: 0xffe0001f, Is: wordBRK},
			{Mask: 0xffe0001f, Is: 0xd4000001}, {Mask: 0xffe0001f, Is: 0xd4000002}, // SVC, HVC
			{Mask: 0xffe0001f, Is: 0xd4000003}, // SMC
			{Mask: 0xfffff0ff, Is: wordISB & 0xfffff0ff}, {Mask: 0xffffffff, Is: wordNop},
		},
		LiveSays: "b, bl, brk, hvc, isb, nop, smc and svc (ARM ARM, B2.2.5)",
	},
	BootSystem: func(cpu uint32, perCPU arch.Addr) arch.System { return bootSystem(cpu, perCPU) },
	// Both are context synchronization events (ARM ARM, "Context synchronization event").
	EntrySerialises: true, ReturnSerialises: true,
	Valid: valid,
	Frame: frame, UserFrame: frameUser,
}

// names returns x0 to x30 and sp. The zero register isn't among them, for it is no state.
func names() (list []string) {
	for i := range SP {
		list = append(list, "x"+strconv.Itoa(int(i)))
	}
	return append(list, "sp")
}

func bytesOf(c arch.Code) []byte { return c.Bytes() }

// nops returns n bytes of nops. A rest shorter than an instruction is zeroes.
func nops(n int) []byte {
	b := make([]byte, 0, max(n, 0))
	for len(b)+Len <= n {
		b = append(b, bytesOf(Nop())...)
	}
	return append(b, make([]byte, max(n, 0)-len(b))...)
}
