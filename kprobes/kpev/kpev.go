package kpev

import (
	"kpsim/smp/smpev"
)

// FitsJump is a bit of or of a Fits.
const FitsJump = 1 << 16

// The bits of State.
const (
	StateArmed        = 1 << iota // the breakpoint or the jump is there
	StateJumped                   // the jump is
	StateOptimized                // it is marked optimized
	StateOptimizing               // it is on that list
	StateUnoptimizing             // likewise
	StateFreeing                  // likewise
	StateGone                     // its text is
	StateFtrace                   // ftrace arms it
	StateCalled                   // ftrace calls the engine from there, or will when there is text again
)

// The tags of Listed.
const (
	TagGone = 1 << iota
	TagDisabled
	TagOptimized
	TagFtrace
	TagNone // the kernel is too old to print any
)

// The calls of the API.
const (
	Register   = 1
	Unregister = 2
	Enable     = 3
	Disable    = 4
)

// The handlers of a probe.
const (
	Pre    = 1
	Post   = 2
	Entry  = 3 // of a return probe
	Return = 4 // likewise
	Fault  = 5
	Jump   = 6 // the entry of a jprobe
)

// The bits of Kind's about.
const (
	IsDisabled  = 1 // it is registered disabled
	HasEntry    = 2 // a return probe: an entry_handler
	HasPost     = 4 // a kprobe: both handlers
	ChangesPath = 8 // its pre_handler may return non-zero
)

// The bits of Context.
const (
	PreemptOff = 1 // preemption is off
	IRQsOff    = 2 // interrupts are
	WereOff    = 4 // they were, where the probe was hit
)

// Why a CPU serialises, as in smpev.Serialise.
const (
	SyncArm    = 4  // after arming
	SyncDisarm = 5  // after disarming
	SyncUnopt1 = 6  // after the breakpoint replaced the jump's head
	SyncUnopt2 = 7  // after the tail was restored
	SyncCopy   = 11 // after a copy was written that a return is to lead to
)

// Owners of a trap, as in smpev.Claim.
const (
	OwnerKprobe  = 2 // a kprobe is registered at the address, or its out-of-line copy ended there
	OwnerRemoved = 3 // the fallback: the breakpoint is no longer there
)

// What smpev.Alloc hands out.
const (
	SlotMem   = 1 // the out-of-line copy of one instruction
	DetourMem = 2 // a detour buffer
)

func init() {
	smpev.Whys.Define(SyncArm, "armed")
	smpev.Whys.Define(SyncDisarm, "disarmed")
	smpev.Whys.Define(SyncUnopt1, "unoptimizing, breakpoint written")
	smpev.Whys.Define(SyncUnopt2, "unoptimizing, tail restored")
	smpev.Whys.Define(SyncCopy, "copy written")
	smpev.Owners.Define(OwnerKprobe, "kprobes")
	smpev.Owners.Define(OwnerRemoved, "kprobes: breakpoint already removed")
	smpev.Memory.Define(SlotMem, "slot")
	smpev.Memory.Define(DetourMem, "detour")
}
