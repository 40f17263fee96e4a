package target

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
	"kpsim/smp/arch/ppc64"
	"kpsim/smp/arch/riscv64"
	"kpsim/smp/arch/x86"
)

// A Processor is one that a kernel is built for, as scenarios name it: the number of its row.
type Processor uint8

// The processors.
const (
	X8664 Processor = iota
	I386
	RISCV64
	ARM64
	PPC64LE
)

// A Service is what a simulated kernel may have on a processor.
type Service uint32

// The services.
const (
	Kprobes      Service = 1 << iota // the kprobes engine, with return probes
	Sites                            // ftrace, with live patches and direct calls
	Labels                           // jump labels
	Keys                             // static calls, lock prefixes, alternatives
	Debugger                         // a debugger's breakpoints
	Uprobes                          // text of user programs
	Modules                          // modules given as objects
	BPF                              // BPF's trampolines, dispatcher and tail calls
	Trampolines                      // ftrace's trampolines as text
	FprobeData                       // data that an fprobe's handlers share, in a register
	StoreOrder                       // a CPU's stores are held and take effect in order, as under TSO
	ERETS                            // returns from traps that don't serialise where others do (FRED)
	Drawn                            // the generator draws programs for it
	Derived                          // and makes some of built-in scenarios, also for a kernel's own engine
	Jumps                            // jump optimization
	OwnEngine                        // a kernel's own engine
	Fprobes                          // fprobes
	OwnSites                         // sites of ftrace that a kernel's own engine writes
	OwnClients                       // clients of ftrace that a kernel's own engine has: direct calls, trampolines
	FtraceProbes                     // kprobes that go through ftrace
	Jprobes                          // boosting, jprobes, and the settings of kprobes that x86 alone has
)

// row is what is known of a processor.
type row struct {
	word   string
	arch   *arch.Arch
	short  *arch.Arch // of kernels before 5.3
	linux  *arch.Arch // of kernels' own engines, from 5.19 on
	serves Service
}

const all = Kprobes | Sites | Labels | Keys | Debugger | Uprobes | Modules | StoreOrder | ERETS | Drawn | Derived |
	Jumps | OwnEngine | Fprobes | OwnSites | FtraceProbes | Jprobes

var rows = [...]row{
	X8664: {word: "x86-64", arch: x86.AMD64, short: x86.AMD64, linux: x86.AMD64,
		serves: all | BPF | Trampolines | FprobeData | OwnClients},
	I386: {word: "i386", arch: x86.I386, short: x86.I386Short, linux: x86.I386Linux, serves: all},
	RISCV64: {word: "riscv64", arch: riscv64.RV64, short: riscv64.RV64, linux: riscv64.RV64,
		serves: Labels | Kprobes | Sites | OwnEngine | OwnSites | Drawn},
	ARM64: {word: "arm64", arch: arm64.ARM64, short: arm64.ARM64, linux: arm64.ARM64,
		serves: Labels | Kprobes | Sites | OwnEngine | OwnSites | Drawn},
	PPC64LE: {word: "ppc64le", arch: ppc64.PPC64, short: ppc64.PPC64, linux: ppc64.PPC64,
		serves: Labels | Kprobes | Sites | Jumps | OwnEngine | OwnSites | FtraceProbes | Fprobes | Drawn},
}

// Words are the names of the processors, by number.
var Words = func() (list []string) {
	for i := range rows {
		list = append(list, rows[i].word)
	}
	return list
}()

// Row returns the row of a processor. whole: what kernels of 32 bits have made of each
// trap frame since 5.3, which has a stack pointer in it.
func (p Processor) Row(whole bool) *arch.Arch {
	if whole {
		return rows[p].arch
	}
	return rows[p].short
}

// Linux returns the row of a processor as a kernel's own engine has it, from 5.19 on.
func (p Processor) Linux() *arch.Arch { return rows[p].linux }

// Bits32 reports whether addresses have four bytes.
func (p Processor) Bits32() bool { return rows[p].arch.Word == 4 }

// Serves reports whether a kernel has all of these services on the processor.
func (p Processor) Serves(s Service) bool { return rows[p].serves&s == s }

// String returns the name.
func (p Processor) String() string { return rows[p].word }
