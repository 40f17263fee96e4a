package rules

// ofPPC64 is arch/powerpc/kernel/kprobes.c: arch_prepare_kprobe, whose can_single_step is in asm/probes.h, and
// emulate_step of arch/powerpc/lib/sstep.c, which is asked before a copy is stepped. The processor is a POWER10
// (CPU_FTR_ARCH_31). An instruction with an exception-table entry may be probed: a fault in its slot is taken to the
// original (kprobe_fault_handler).
var ofPPC64 = numbers{
	arch: "ppc64le", align: 4, odd: inval, inner: inval, traces: true, first: true, traced: true,
	length: func(w uint32) int {
		if w>>26 == ppcPrefix { // ppc_inst_len
			return 8
		}
		return 4
	},
	sort: func(k *Kernel, w uint64) (handling, ReasonKind) {
		if !ppcSteps(k, uint32(w)) {
			return rejected, ppcWhy(uint32(w))
		}
		if k.Edition == Edition26 { // of 2005: emulate_step came with the booster (2.6.22)
			return stepped, None
		}
		return ppcEmulates(uint32(w), uint32(w>>32)), None
	},
	around:    behindPrefix,
	optimizes: ppcOptimizes,
	entry:     ppcEntry,
	near:      8,
}

// Primary opcodes of the Power ISA that have further opcodes.
const (
	ppcPrefix = 1
	ppcVector = 4
	ppcCR     = 19
	ppcRotate = 30
	ppcX      = 31
)

// extended returns the extended opcode of ten bits.
func extended(w uint32) uint32 { return w >> 1 & 0x3ff }

// ppcSteps is can_single_step, which came with 54cdacd7d3b3 (5.19): an instruction that raises an exception, or leaves
// one, doesn't end its step (Book III, "Trace Interrupt"). Before that mtmsr, mtmsrd, rfid and rfi were refused.
func ppcSteps(k *Kernel, w uint32) bool {
	op, xo := w>>26, extended(w)
	switch {
	case op == ppcCR && (xo == 18 || xo == 50), op == ppcX && (xo == 146 || xo == 178):
		return false
	case k.Edition < Edition65:
		return true
	}
	switch op {
	case 2, 3, 17: // tdi, twi; sc and scv
		return false
	case ppcCR: // rfmci, rfdi, rfci, rfscv, hrfid, urfid; stop, doze, nap, sleep, rvwinkle
		return !has(xo, 38, 39, 51, 82, 274, 306, 370, 402, 434, 466, 498)
	case ppcX: // tw, td
		return !has(xo, 4, 68)
	}
	return true
}

// ppcWhy says why such an instruction is refused.
func ppcWhy(w uint32) ReasonKind {
	switch w >> 26 {
	case 2, 3:
		return Breaks
	case 17:
		return Excepts
	case ppcX:
		if has(extended(w), 4, 68) {
			return Breaks
		}
	}
	return System
}

func has(v uint32, of ...uint32) bool {
	for _, o := range of {
		if v == o {
			return true
		}
	}
	return false
}

// ppcEmulates is what emulate_step makes of an instruction that nothing keeps from being emulated. suffix is the
// second word of a prefixed one. Simulated: analyse_instr says all of it, by the registers.
func ppcEmulates(w, suffix uint32) handling {
	switch op := w >> 26; op {
	case ppcPrefix:
		return ppcPrefixed(w, suffix)
	case ppcVector: // maddhd, maddhdu, maddld
		return when(has(w&63, 48, 49, 51), simulated)
	case 2, 3: // a trap is emulated if it doesn't trap
		return accessed
	case 6: // lxvp, stxvp
		return when(w&15 <= 1, accessed)
	case ppcCR:
		return when(has(extended(w), 0, 16, 528, 150, 33, 129, 193, 225, 257, 289, 417, 449) || w>>1&31 == 2, simulated)
	case ppcRotate:
		return when(w&16 == 0 || w>>1&7 <= 1, simulated)
	case ppcX:
		return ppcExtended(w)
	case 56: // lq
		return when(w>>21&1 == 0 && w>>21&31 != w>>16&31, accessed)
	case 57: // lfdp, lxsd, lxssp
		return when(w&3 == 0 && w>>21&1 == 0 || w&3 >= 2, accessed)
	case 58: // ld, ldu, lwa
		return when(w&3 <= 2, accessed)
	case 61: // stfdp, lxv, stxsd, stxssp, stxv
		return accessed
	case 62: // std, stdu, stq
		return when(w&3 <= 1 || w&3 == 2 && w>>21&1 == 0, accessed)
	case 46: // lmw
		return when(w>>16&31 < w>>21&31, accessed)
	case 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 47, 48, 49, 50, 51, 52, 53, 54, 55:
		return accessed // also with a base that they can't update: the check of that never holds
	case 7, 8, 10, 11, 12, 13, 14, 15, 16, 18, 20, 21, 23, 24, 25, 26, 27, 28, 29:
		return simulated
	}
	return stepped
}

func when(emulated bool, how handling) handling {
	if emulated {
		return how
	}
	return stepped
}

// ppcPrefixed is ppcEmulates of the loads and stores of two words, and of paddi. One whose operand is relative has no
// base.
func ppcPrefixed(w, suffix uint32) handling {
	if w>>20&1 != 0 && suffix>>16&31 != 0 {
		return stepped
	}
	switch op := suffix >> 26; w >> 24 & 3 {
	case 0: // of eight bytes
		return when(has(op, 41, 42, 43, 46, 47, 50, 51, 54, 55, 56, 57, 58, 60, 61, 62), accessed)
	case 2: // modified
		if op == 14 {
			return simulated
		}
		return when(has(op, 32, 34, 36, 38, 40, 42, 44, 48, 50, 52, 54), accessed)
	}
	return stepped
}

// ppcExtended is ppcEmulates of the opcode with the most. Forms with OE, which set OV, are other opcodes to
// analyse_instr, and it knows none of them.
func ppcExtended(w uint32) handling {
	xo := extended(w)
	switch how := ppcTable[xo]; {
	case xo&31 == 15: // isel
		return simulated
	case xo == 339 || xo == 467: // mfspr, mtspr
		return when(has(w>>16&31|w>>6&0x3e0, 1, 8, 9), simulated) // XER, LR, CTR
	case xo == 755: // darn
		return when(w>>16&3 != 3, simulated)
	case xo == 276: // lqarx
		t := w >> 21 & 31
		return when(t&1 == 0 && t != w>>16&31 && t != w>>11&31, accessed)
	case xo == 182: // stqcx.
		return when(w>>21&1 == 0, accessed)
	default:
		return how
	}
}

// ppcTable is by extended opcode: what analyse_instr takes for arithmetic, comparisons, logic, shifts, barriers and
// moves of CR, and for accesses to memory, to caches and to MSR.
var ppcTable = func() (t [1024]handling) {
	for _, xo := range [...]uint32{
		0, 32, 508, 8, 9, 10, 11, 40, 73, 75, 104, 136, 138, 200, 202, 232, 233, 234, 235, 265, 266, 267, 457, 459, 489,
		491, 425, 393, 777, 779, 26, 58, 28, 60, 122, 124, 154, 186, 252, 284, 316, 378, 412, 444, 476, 506, 538, 570,
		922, 954, 986, 24, 536, 792, 824, 27, 539, 794, 826, 827, 890, 891, 19, 128, 144, 598, 854,
	} {
		t[xo] = simulated
	}
	for _, xo := range [...]uint32{
		4, 68, 83, 54, 86, 246, 278, 982, 1014, // traps, mfmsr, caches
		20, 52, 84, 116, 150, 214, 694, 726, // reservations
		21, 23, 53, 55, 87, 119, 149, 151, 181, 183, 215, 247, 279, 311, 341, 343, 373, 375, 407, 439, 532, 533, 534,
		597, 660, 661, 662, 725, 790, 918,
		535, 567, 599, 631, 663, 695, 727, 759, 791, 855, 887, 919, 983, // floats
		7, 39, 71, 103, 135, 167, 199, 231, 359, 487, // vectors
		12, 76, 140, 268, 269, 301, 332, 333, 364, 396, 397, 429, 461, 524, 588, 652, 716, 780, 781, 812, 813, 844, 876,
		908, 909, 940, 941, 972, 1004,
	} {
		t[xo] = accessed
	}
	return t
}()

// behindPrefix refuses the second word of a prefixed instruction: the word before it, if that is in the same page, is
// a prefix. The kernel doesn't ask whether that word is one's second word.
func behindPrefix(j *Judge, at int) Reason {
	const page = 64 << 10
	if j.k.Unchecked&CheckPrefix != 0 || at < 4 || (uint64(j.f.Addr)+uint64(at))%page == 0 {
		return Reason{}
	}
	if uint32(j.wordAt(at-4))>>26 == ppcPrefix {
		return Reason{Kind: Boundary, At: at - 4}
	}
	return Reason{}
}

// ppcOptimizes is can_optimize (arch/powerpc/kernel/optprobes.c): the way back from the detour is a branch to where
// the instruction goes, so that must be known, and the detour emulates by registers alone. Returns and jumps through
// CTR count as conditional, whatever their condition (is_conditional_branch). The detour must lie within reach of the
// instruction, which is asked when it is made.
func ppcOptimizes(w uint64, how handling) ReasonKind {
	op, xo := uint32(w)>>26, extended(uint32(w))
	switch {
	case op == 16, op == ppcCR && has(xo, 16, 528, 560):
		return Conditional
	case how != simulated:
		return NotByRegisters
	}
	return None
}

// ppcEntry returns where a function's local entry point is: behind the two instructions with which it finds its TOC
// from r12 or from a constant, if it has these (ppc_function_entry, asm/text-patching.h; ELFv2).
func ppcEntry(code []byte) int {
	if len(code) < 8 {
		return 0
	}
	first, second := uint32(wordOf(code)), uint32(wordOf(code[4:]))
	if high := first & 0xffff0000; (high == 0x3c4c0000 || high == 0x3c400000) && second&0xffff0000 == 0x38420000 {
		return 8
	}
	return 0
}
