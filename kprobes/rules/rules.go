package rules

import (
	"fmt"
	"slices"

	"kpsim/smp/arch"
)

// An Edition is an edition of the specification: a document, and the kernels of its time. Its
// rules are those of the last of these kernels.
type Edition uint8

// The editions, oldest first: a rule that came with one holds for all later ones.
const (
	EditionNone       Edition = iota // none of them
	Edition26                        // 2.6.2x
	Edition415                       // 3.12 to 4.19; optprobes under CONFIG_PREEMPT, as since 4.15
	Edition514                       // 5.14 to 6.0
	Edition65                        // 6.1 to 6.5
	Edition69                        // like 6.5, but with the optimizer that the documents describe
	EditionDocumented                // as 6.5, but its optimizer is as the documents describe it

	Editions = int(EditionDocumented) // number of editions
)

var editionNames = [Editions + 1]string{"", "2.6", "4.15", "5.14", "6.5", "6.9", "documented"}

func (e Edition) String() string {
	if int(e) < len(editionNames) {
		return editionNames[e]
	}
	return fmt.Sprintf("%d?", uint8(e))
}

// AllEditions lists the editions, oldest first.
func AllEditions() []Edition {
	return []Edition{Edition26, Edition415, Edition514, Edition65, Edition69, EditionDocumented}
}

// EditionNames lists the editions' names, oldest first.
func EditionNames() []string { return editionNames[1:] }

// ParseEdition returns the edition of that name.
func ParseEdition(name string) (Edition, bool) {
	i := slices.Index(editionNames[:], name)
	return Edition(max(i, 0)), i > 0
}

// Numbers reports whether an edition has kprobes of processors whose instructions are numbers, as they are here: those
// of
// riscv64 came with 5.12.
func (e Edition) Numbers() bool { return e >= Edition514 && e != EditionDocumented }

// Rules returns the edition whose rules apply: 6.5 for EditionDocumented. A Kernel has one of these.
func (e Edition) Rules() Edition {
	if e == EditionDocumented {
		return Edition65
	}
	return e
}

// A Kernel is an edition and the configuration that the rules depend on.
type Kernel struct {
	Edition    Edition
	Preemption bool // CONFIG_PREEMPTION, dynamic included: nothing is boosted
	Retpoline  bool // CONFIG_RETPOLINE: no jump tables, but jumps to thunks
	IBT        bool // CONFIG_X86_KERNEL_IBT: functions begin with endbr64 (5.18 and later)
	Ftrace     bool // CONFIG_KPROBES_ON_FTRACE: a probe at a fentry site goes through ftrace (not in 2.6)
	Optprobes  bool // CONFIG_OPTPROBES (not in 2.6)
	Bits32     bool // an i386 kernel
	Decoder    Decoder

	Unchecked Checks // for mutants: steps that are skipped
}

// Checks is a set of checks that the rules make.
type Checks uint16

// The checks.
const (
	CheckEnd        Checks = 1 << iota // the region lies within the function
	CheckTargets                       // no jump leads into it
	CheckIndirect                      // no jump in the function has an unknown target
	CheckExtable                       // no instruction of the function has an exception-table entry
	CheckFault                         // a boosted instruction has no exception-table entry
	CheckStaticCall                    // no probe is on a static call's site
	CheckForced                        // no probe is on the prefix that asks a hypervisor to emulate an instruction
	// an ip-relative instruction in a region is relocated for its own place in the detour, not
	// for the detour's start
	CheckPlace
	CheckInt3 // no probe is on another probe's breakpoint
	// CheckPrefix: no probe is on the second word of a prefixed instruction
	CheckPrefix
)

// The kernels whose answers were recorded.
var (
	// K61 is Debian's 6.1.192.
	K61 = Kernel{Edition: Edition65, Preemption: true, Retpoline: true, Ftrace: true, Optprobes: true}
	// K612 is Debian's 6.12.113.
	K612 = Kernel{Edition: Edition69, Preemption: true, Retpoline: true, IBT: true, Ftrace: true, Optprobes: true}
	// K61I386 is Debian's 6.1.176 for i386, 6.1.0-50-686.
	K61I386 = Kernel{Edition: Edition65, Preemption: true, Retpoline: true, Ftrace: true, Optprobes: true, Bits32: true}
)

// A SiteKind says what a range of text is for, besides execution.
type SiteKind uint8

// The kinds of sites.
const (
	SiteBug        SiteKind = iota // ud2 or ud1 of BUG and WARN, in __bug_table
	SiteJumpLabel                  // a row of __jump_table
	SiteStaticCall                 // a row of .static_call_sites
	// an alternative that is kept for rewriting: .smp_locks; only where it may still be patched
	SiteAlternative
	SiteFentry // the call of __fentry__, in __mcount_loc
)

// A Site is a range of a function's text that something other than kprobes may
// rewrite, or that traps on purpose.
type Site struct {
	Offset int // from the function's start
	Len    int // in bytes; a BUG's is 2, though only its first byte counts
	Kind   SiteKind
}

// A Span is a range of addresses; End is the first one after it.
type Span struct{ Start, End arch.Addr }

// A Function is what a kernel knows about a function: its symbol, its bytes and the
// facts about its text.
type Function struct {
	Name string
	Addr arch.Addr
	// Size extends to the next symbol, padding included, as in the kernel's symbol
	// table.
	Size int
	// Code begins at Addr. It has Size bytes and the MaxLen-1 bytes after them in
	// memory, because the last instruction may extend beyond the function. Missing
	// bytes are read as 0.
	Code []byte

	Sites   []Site // in any order; one beyond Size counts if a region reaches it
	Extable []int  // offsets of instructions that have an exception-table entry
	Thunks  []Span // of __x86_indirect_thunk_* and __x86_return_thunk

	Debugger []int // offsets of a debugger's breakpoints

	// NOKPROBE_SYMBOL, .kprobes.text, .noinstr.text, entry text; for 2.6 the caller sets it for __kprobes only
	Blacklisted bool
	InitFreed   bool // a module's init text, after its init
	NoSymbol    bool // no symbol covers Addr: Size is the number of bytes to judge
	NotText     bool // data, or nothing
}

// The errnos of Verdict.
const (
	noent  = -2
	inval  = -22
	nospc  = -28
	ilseq  = -84
	notsup = -95
)

// A Verdict is the kernel's answer for a probe at one byte of a function. The probe has
// a pre_handler, is alone and enabled.
type Verdict struct {
	Offset int // the offset judged
	Errno  int // 0, or negative; then only Why is valid as well
	Delta  int // the probe's offset minus Offset, if it is moved past an endbr64

	Ftrace   bool // there is no breakpoint: ftrace calls it
	Len      int  // of the instruction as the kernel decodes it; 0 with Ftrace
	Emulated bool // the kernel emulates the instruction; if Boosted too, that wins
	Boosted  bool // a jump back follows the copy, so nothing is stepped
	Region   int  // bytes of whole instructions that the jump replaces; 0: it can't be optimized

	Why     Reason // why it is refused, or why it can't be optimized
	NoBoost Reason // why it isn't boosted
}

// Optimizable reports whether the probe would become a jump.
func (v *Verdict) Optimizable() bool { return v.Region != 0 }
