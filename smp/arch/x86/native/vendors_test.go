package native

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"sync"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Where processors differ among themselves nothing is compared. These are all
// the places there are, besides x86.UndefinedFlags, x86.UndefinedResult and what
// unfit and interpret leave out.

// faultsAnywhere: if both operands of cmps fault, AMD's reports the second one;
// the order isn't specified (SDM vol. 2, CMPS).
func faultsAnywhere(in *x86.Inst) bool {
	if in == nil {
		return false
	}
	a := dissect(in)
	return a.space == 1 && !a.vex && (a.op == 0xa6 || a.op == 0xa7)
}

// writesBeforeFault: enter and pusha have written below RSP when they fault,
// which no program may rely on.
func writesBeforeFault(in *x86.Inst) bool {
	if in == nil {
		return false
	}
	a := dissect(in)
	return a.space == 1 && !a.vex && (a.op == 0xc8 || a.op == 0x60)
}

// forgive takes out of how it ended there what an instruction that faulted has
// half done: popa has loaded registers, all but ESP, which it loads anew when it
// is run again (SDM vol. 2, POPA: nothing is said of it; seen on AMD's).
func (e *ending) forgive(in *x86.Inst, ours *ending) {
	if in == nil || ours.trap != vectorPF {
		return
	}
	if a := dissect(in); a.space == 1 && !a.vex && a.op == 0x61 {
		sp := e.s.R[x86.RSP]
		e.s.R = ours.s.R
		e.s.R[x86.RSP] = sp
	}
}

// vendorsDiffer says why an instruction isn't compared at all; "" if it is.
func vendorsDiffer(mode x86.Mode, a *anatomy) string {
	if !a.vex && a.space == 1 && a.op == 0xf1 {
		return "int1: under a hypervisor it may be reported before itself"
	}
	if mode == x86.Mode32 && a.cs && (a.mem || a.space == 1 && !a.vex && (a.op == 0xa2 || a.op == 0xa3)) {
		return "may store to a code segment: the rights of segments aren't modelled"
	}
	return ""
}

// onlyAMD reports whether an instruction that has gone from one state to what came of it
// did so as AMD's processors do, and Intel's don't; Exec is as the former, which were
// recorded:
//
//   - f3 90 with REX.B exchanges r8 and rax; to Intel's it is a pause.
//   - A repeated string instruction with 32-bit addresses in 64-bit mode that does nothing,
//     for ecx is 0 or its first access faults, leaves the high halves of its registers
//     alone; Intel's clears them.
//   - A repeated cmps or scas that faults has the flags of its last whole iteration; Intel's
//     those of before its first (SDM vol. 2, REP).
//   - bound loads both bounds before it compares; Intel's are done (#BR) with the lower one,
//     where the upper one would fault.
func onlyAMD(in *x86.Inst, before *arch.Regs, out arch.Outcome) bool {
	raw := in.Raw()
	if !slices.ContainsFunc(raw[:in.Len], func(b byte) bool { return b == 0x62 || b == 0xf2 || b == 0xf3 }) {
		return false // most have none
	}
	a := dissect(in)
	switch {
	case a.vex || a.space != 1:
		return false
	case a.op == 0x62:
		return out == arch.PageFault
	case !a.f2 && !a.f3:
		return false
	case a.op == 0x90:
		return a.f3 && a.b
	}
	compares := a.op&0xfe == 0xa6 || a.op&0xfe == 0xae
	if !compares && a.op&0xfe != 0xa4 && a.op&0xfe != 0xaa && a.op&0xfe != 0xac {
		return false
	}
	if compares && out == arch.PageFault {
		return true
	}
	high := (before.R[x86.RCX] | before.R[x86.RSI] | before.R[x86.RDI]) >> 32
	return a.addr && in.Mode() == x86.Mode64 && high != 0 && (uint32(before.R[x86.RCX]) == 0 || out == arch.PageFault)
}

// hostIsAMD reports whether the processor that the test runs on is AMD's.
var hostIsAMD = sync.OnceValue(func() bool {
	info, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && bytes.Contains(info, []byte("AuthenticAMD"))
})

// overlapLost reports whether an instruction is a forward rep movs with 16-bit addresses
// from 32-bit code, whose destination begins within what it reads, while the upper half
// of EDI isn't 0. Each iteration has to read what those before it have written (SDM vol. 2,
// REP: the steps are one iteration each; AMD64 manual, vol. 3, REP), and bits 16 to 31 don't
// count. AMD's family 1Ah, model 2 (microcode 0x1000065) looks at them when it decides
// whether it may copy in larger pieces, and then loads before it has stored: of 20,000 such
// copies a third to a half are wrong, with an upper half of 0 none, whatever those of ESI
// and ECX are, and with 32-bit addresses in 64-bit code none.
func overlapLost(in *x86.Inst, before *arch.Regs) bool {
	raw := in.Raw()
	if in.Mode() != x86.Mode32 || raw[in.Len-1]&0xfe != 0xa4 || before.R[x86.RDI]>>16&0xffff == 0 ||
		before.Flags&x86.DF != 0 {
		return false
	}
	a := dissect(in)
	if a.vex || a.space != 1 || a.op&0xfe != 0xa4 || !a.addr || !a.f2 && !a.f3 {
		return false
	}
	width := uint64(4)
	if a.op == 0xa4 {
		width = 1
	} else if a.opsize {
		width = 2
	}
	ahead := uint64(uint16(before.R[x86.RDI] - before.R[x86.RSI]))
	return ahead != 0 && ahead < width*uint64(uint16(before.R[x86.RCX]))
}

// hostLosesOverlaps reports whether the processor that the test runs on is of the family
// of which overlapLost tells.
var hostLosesOverlaps = sync.OnceValue(func() bool {
	info, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && bytes.Contains(info, []byte("AuthenticAMD")) && familyOf1A.Match(info)
})

var familyOf1A = regexp.MustCompile(`(?m)^cpu family\s*: 26$`)

// needs is the feature, by Linux's name, without which a processor takes the
// instruction for another one; "" if all have it.
func needs(a *anatomy) string {
	switch op := a.op; {
	case a.vex && (a.space == 4 || op >= 0xf5):
		return "bmi2" // no processor has it without bmi1, whose bextr is among these
	case a.vex:
		return "bmi1"
	case a.space == 1 && (op == 0x9e || op == 0x9f):
		return "lahf_lm"
	case a.space == 2:
		switch {
		case op == 0x01:
			return "serialize"
		case op == 0x0d:
			return "3dnowprefetch"
		case op == 0xb8:
			return "popcnt"
		case op == 0xbc && a.f3:
			return "bmi1"
		case op == 0xbd && a.f3:
			return "lzcnt"
		case op == 0xc7 && a.w:
			return "cx16"
		case op == 0xae && !a.mem && a.f3 && a.reg < 4: // rdfsbase, rdgsbase, wrfsbase, wrgsbase
			return "fsgsbase"
		case op == 0xae && a.mem && a.opsize:
			return [8]string{6: "clwb", 7: "clflushopt"}[a.reg]
		}
	case a.space == 3:
		switch {
		case op == 0xf6:
			return "adx"
		case op == 0xf8:
			return "movdir64b"
		case op == 0xf9:
			return "movdiri"
		case a.f2:
			return "sse4_2"
		case op == 0xf0 || op == 0xf1:
			return "movbe"
		}
	}
	return ""
}
