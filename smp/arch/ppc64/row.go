package ppc64

import "kpsim/smp/arch"

// fetchUnit is how many aligned bytes a CPU fetches in one piece: the manual promises no more than words
// (Book II, "Concurrent Modification and Execution of Instructions").
const fetchUnit = WordLen

// ownGates is where branches of all text of a kernel lead that is moved to 0xffffffff84000000: between its data and its
// .init.text.
const ownGates = 0xffff_ffff_85f0_0000

// PPC64 is a Power processor in little-endian mode with 64 bits, with the calling convention of ELFv2 and
// the trap frame of a Linux kernel. Breakpoints are all traps without a condition: a kernel has twi for its
// assertions. A store to text is aligned, or it may be done in pieces (Book II, "Single-Copy Atomicity").
//
// It has no Short, for there is one length of branches.
var PPC64 = &arch.Arch{
	Name: "ppc64le", Word: 8, Herd: "PPC",
	Registers: arch.Registers{
		RegNames: regNames, SP: SP, Result: 3,
		Args:  []arch.Reg{3, 4, 5, 6, 7, 8, 9, 10},
		Saved: []arch.Reg{14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
		Own:   []arch.Reg{TOC, Paca},
		Entry: GlobalEntry, Local: LocalEntry,
		Used: len(regNames), IPName: "nip",
		Link: LR, LinkAt: 16, KeptAt: 8, LinkBy: 0, // the frame's header (ELFv2, "The Stack Frame")
		Cleared: arch.IRQ | arch.Step | msrTask | flagNoRI,
	},
	Branches: arch.Branches{
		BranchLen: WordLen, Reach: "32 MB", NearExec: true, Gates: ownGates,
		Jump: Jump, Call: Call, BranchNop: Nop(), BranchRet: Ret(),
		IsJump: arch.Pattern{Mask: uint64(maskB), Is: uint64(wordB)},
		IsCall: arch.Pattern{Mask: uint64(maskB), Is: uint64(wordBL)},
		Ret:    bytesOf(Ret()),
		// arch_jump_label_transform (arch/powerpc/kernel/jump_label.c)
		Labels: []arch.LabelForm{{Nop: Nop(), Jump: Jump,
			IsJump: arch.Pattern{Mask: uint64(maskB), Is: uint64(wordB)}, Reach: "32 MiB",
			Hex: [...]string{"60000000", "48… to 4b…"}, Local: true}},
		// ftrace_init_nop, ftrace_modify_code (arch/powerpc/kernel/trace/ftrace.c)
		Sites: []arch.SiteForm{
			{Compiled: 2 * WordLen, Before: bytesOf(CodeOf(wordMFLR)), Nop: arch.Always(Nop()), Call: Call, Link: LR,
				Parent: 0, Local: true},
			// CONFIG_PPC_FTRACE_OUT_OF_LINE, since eec37961a56a (6.13)
			{Compiled: WordLen, Nop: arch.Always(Nop()), Call: Call, Link: LR, Parent: 0, Local: true, Stub: stub},
		},
	},
	MaxLen: MaxLen, Align: WordLen, Aligned: true, FetchUnit: [...]int{fetchUnit, fetchUnit, fetchUnit},
	Reserves: true,
	Decode:   Decode,
	Nop:      NopN,
	Set:      set,
	Put:      put,
	ELF:      21,
	Terms: arch.NewTerms("isync", "#BP", "trap", "#UD", "illegal instruction", "#PF", "storage interrupt",
		"#DB", "single step",
		"saved ip", "saved nip"),
	Breakpoints: arch.Breakpoints{
		Breakpoint: bytesOf(Trap()),
		Breaks: []arch.Pattern{
			{Mask: 0xffe007ff, Is: uint64(wordTrap)}, // tw
			{Mask: 0xffe007ff, Is: 0x7fe00088},       // td
			{Mask: 0xffe00000, Is: 0x0fe00000},       // twi
			{Mask: 0xffe00000, Is: 0x0be00000},       // tdi
		},
		Fill: uint64(wordTrap) * 0x1_0000_0001,
	},
	Modified:   arch.Modified{Caches: "dcbst, sync, icbi and sync"},
	BootSystem: func(cpu uint32, perCPU arch.Addr) arch.System { return NewSystem(cpu, perCPU) },
	// Interrupts and rfid are context synchronizing (Book III, "Context Synchronization").
	EntrySerialises: true, ReturnSerialises: true,
	Valid: valid,
	Frame: frame, UserFrame: userFrame,
}

func bytesOf(c arch.Code) []byte { return c.Bytes() }

// stub is arch.SiteForm.Stub (ftrace_init_ool_stub): mflr r0; bl; mtlr r0; b.
func stub(at, site, trampoline arch.Addr) (code []byte, call int, ok bool) {
	there, ok1 := Call(at+WordLen, trampoline)
	back, ok2 := Jump(at+3*WordLen, site+WordLen)
	for _, c := range []arch.Code{CodeOf(wordMFLR), there, CodeOf(wordMTLR), back} {
		code = append(code, c.Bytes()...)
	}
	return code, WordLen, ok1 && ok2
}

// valid accepts all addresses: with segments any of them can be mapped (Book III, "Segment Address
// Translation").
func valid(arch.Addr) bool { return true }
