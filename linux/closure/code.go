package closure

import (
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// A code is what the walk must know of a processor's instructions, and where the kernel has its
// part for the processor: a row.
type code struct {
	dir   string // the folder in the kernel's source
	fills bool   // breakpoints fill gaps between functions; they are no BUG or WARN

	// functions returns the functions of the sets' files.
	functions func() []function

	// follow returns a function that is called with each instruction of a function of the kernel, by
	// address. It returns the instruction, as a branch if it ends one that has several instructions, and
	// the address that it may take; 0: none.
	follow func(c *Closure, f *Function) func(in arch.Inst) (arch.Inst, uint64)

	// table returns how many bytes of a jump table code begins with, after the instruction that jumps by it; nil:
	// tables lie elsewhere.
	table func(code []byte) int

	// special reports whether an instruction concerns the machine.
	special func(in arch.Inst) bool
}

// codes has a row for each processor.
var codes = [...]code{
	target.X8664:   {"arch/x86/", true, functionsX86, followX86, nil, specialX86},
	target.I386:    {"arch/x86/", true, functionsX86, followX86, nil, specialX86},
	target.RISCV64: {"arch/riscv/", false, functionsRISCV, followRISCV, nil, specialRISCV},
	target.ARM64:   {"arch/arm64/", false, functionsARM, followARM, nil, specialARM},
	target.PPC64LE: {"arch/powerpc/", false, functionsPPC, followPPC, tablePPC, specialPPC},
}

func codeOf(p target.Processor) *code { return &codes[p] }

// has reports whether a function of a set's files belongs to the set on this processor.
func (c *code) has(s *Set, f *function) bool {
	return s.has(f) && (!strings.HasPrefix(f.file, "arch/") || strings.HasPrefix(f.file, c.dir))
}

// unsupported reports whether the simulator doesn't execute an instruction.
func unsupported(in arch.Inst) bool {
	u, ok := in.(interface{ Unsupported() bool })
	return ok && u.Unsupported()
}

// A branch is the last instruction of several that make a branch together.
type branch struct {
	arch.Inst
	flow arch.Flow
	to   arch.Addr
}

// Flow implements arch.Inst.
func (b *branch) Flow() arch.Flow { return b.flow }

// Target implements arch.Inst.
func (b *branch) Target() (arch.Addr, bool) { return b.to, true }

// trapping reports whether an instruction leaves the ordinary way, whatever the processor.
func trapping(in arch.Inst) bool {
	switch in.Flow() {
	case arch.FlowUndefined, arch.FlowOther, arch.FlowHalt, arch.FlowTrapReturn, arch.FlowBreakpoint:
		return true
	}
	return false
}

// mnemonic returns the first word of an instruction.
func mnemonic(in arch.Inst) string {
	word, _, _ := strings.Cut(in.String(), " ")
	return word
}
