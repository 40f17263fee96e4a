package rules

import (
	"fmt"
	"strings"
)

// A ReasonKind says why a probe is refused, not boosted or not optimized.
type ReasonKind uint8

// The kinds of reasons.
const (
	None ReasonKind = iota

	// Why it is refused:
	NoSymbol       // no symbol
	NotText        // not in text
	InitFreed      // a module's freed init text; its symbols are gone too
	Blacklisted    // blacklisted
	Preamble       // __pfx_ or __cfi_ before a function: since 6.6
	InSite         // in a BUG, jump label, static call or alternative at At
	Boundary       // inside the instruction at At
	BehindBad      // after the undecodable bytes at At
	BehindInt3     // after the int3 at At: until 6.0
	Undecodable    // the kernel's decoder knows no such instruction: since 5.12
	Breakpoint     // int3
	Traps          // int n, int1, into, ud0 to ud2: since 6.9
	MasksTraps     // mov to ss, and bytes taken for pop ss
	ForcedEmulated // the prefix of a hypervisor
	Unsupported    // changes control in a way that is neither stepped nor emulated
	NoRoom         // 15 bytes, and one for int3: since 5.13

	// Why it isn't optimized:
	NoOptprobes     // CONFIG_OPTPROBES=n, or edition 2.6
	ViaFtrace       // a probe through ftrace
	Straddles       // the region extends beyond the function's end
	ExtableEntry    // the instruction at At has an exception-table entry
	UndecodableAt   // the function doesn't decode at At
	Int3At          // an int3 at At
	IndirectJumpAt  // an indirect jump at At
	ThunkJumpAt     // a jump to a thunk at At
	TargetedBy      // a jump into the region at At
	CallInRegion    // a call in the region at At
	JumpInRegion    // a jump in the region at At
	FixedInRegion   // another instruction in the region at At that can't be moved
	SiteInRegion    // text at At that something else rewrites
	UnreachableCopy // the RIP-relative operand at At is out of the detour's reach

	// Why it isn't boosted:
	NoBooster   // edition 2.6 on x86_64
	Preemptible // CONFIG_PREEMPTION
	Fixed       // can't run elsewhere without fix-ups
	NoRoomJump  // the copy and a jump don't fit the slot

	// Why it is refused on other processors:
	Misaligned  // no instruction begins at such an address
	Breaks      // a breakpoint
	System      // an instruction of the system
	Fence       // a fence
	Unsimulated // a jump that kernels of that time don't simulate
	Fixup       // it has an exception-table entry
	Literal     // it reads relative to itself, and isn't simulated
	Exclusive   // an exclusive access
	Excepts     // it raises an exception
	Hint        // a hint that isn't stepped
	// behind the exclusive load at At, before its store
	BehindExclusive

	// Why it isn't optimized on other processors:
	Conditional    // it may go to more than one place
	NotByRegisters // emulating it takes more than registers
)

// A Reason is a kind and its operands.
type Reason struct {
	Kind ReasonKind
	Site SiteKind // of InSite and SiteInRegion
	At   int      // an offset in the function, where the kind has one
}

var siteNames = [...]string{"BUG", "jump label", "static call", "alternative", "fentry site"}

func (s SiteKind) String() string { return siteNames[s] }

// A reasonText uses the document's terms: DCR is the region, JTPR the bytes that no
// jump may target. %s stands for the place.
var reasonTexts = [...]string{
	None:     "",
	NoSymbol: "no symbol", NotText: "not in text", InitFreed: "init text, freed", Blacklisted: "blacklisted",
	Preamble: "preamble of a function", InSite: "%s", Boundary: "not an instruction boundary, inside %s",
	BehindBad: "behind the undecodable bytes at %s", BehindInt3: "behind the int3 at %s",
	Undecodable: "undecodable", Breakpoint: "int3", Traps: "int or ud instruction",
	MasksTraps:     "masks exceptions: to ss",
	ForcedEmulated: "forced-emulation prefix", Unsupported: "neither stepped nor emulated",
	NoRoom: "no room for int3 behind 15 bytes",

	NoOptprobes: "no optprobes", ViaFtrace: "through ftrace", Straddles: "DCR straddles the function's end",
	ExtableEntry: "exception-table entry at %s", UndecodableAt: "undecodable byte at %s", Int3At: "int3 at %s",
	IndirectJumpAt: "indirect jump at %s", ThunkJumpAt: "jump to a thunk at %s", TargetedBy: "JTPR targeted by %s",
	CallInRegion: "call in DCR at %s", JumpInRegion: "jump in DCR at %s", FixedInRegion: "not relocatable in DCR at %s",
	SiteInRegion: "%s in DCR", UnreachableCopy: "operand out of reach at %s",

	NoBooster: "no booster", Preemptible: "preemptible kernel", Fixed: "not relocatable",
	NoRoomJump: "no room for a jump behind it",

	Misaligned: "no instruction begins at such an address", Breaks: "breakpoint", System: "system instruction",
	Fence: "fence", Unsimulated: "jump that isn't simulated",
	Fixup: "it has an exception-table entry", Literal: "relative to itself, and not simulated",
	Exclusive: "exclusive access", Excepts: "raises an exception", Hint: "hint that isn't stepped",
	BehindExclusive: "behind the exclusive load at %s",

	Conditional: "may go to several places", NotByRegisters: "not emulated by registers alone",
}

// hasAt reports whether the kind's text has a place.
func (k ReasonKind) hasAt() bool {
	switch k {
	case InSite, Boundary, BehindBad, BehindInt3, ExtableEntry, UndecodableAt, Int3At, IndirectJumpAt, ThunkJumpAt,
		TargetedBy, CallInRegion, JumpInRegion, FixedInRegion, SiteInRegion, UnreachableCopy, BehindExclusive:
		return true
	}
	return false
}

// In returns the reason as text, for a function of that name: "JTPR targeted by
// f+0x12". It is "" if there is none.
func (r Reason) In(function string) string {
	text := reasonTexts[r.Kind]
	if !r.Kind.hasAt() {
		return text
	}
	at := fmt.Sprintf("%s+%#x", function, r.At)
	if r.Kind == InSite || r.Kind == SiteInRegion {
		at = r.Site.String() + " at " + at
	}
	return fmt.Sprintf(text, at)
}

// String returns the kind as text, without the place.
func (k ReasonKind) String() string {
	switch k {
	case InSite:
		return "in text that something else rewrites, or that traps on purpose"
	case SiteInRegion:
		return "text in DCR that something else rewrites, or that traps on purpose"
	case TargetedBy:
		return "JTPR targeted by a jump"
	}
	text := reasonTexts[k]
	for _, cut := range []string{", inside %s", " at %s"} {
		text = strings.TrimSuffix(text, cut)
	}
	return text
}
