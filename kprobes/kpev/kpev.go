package kpev

import (
	"kpsim/smp/smpev"
)

// FitsJump is a bit of the argument "or" of a Fits event.
const FitsJump = 1 << 16

// The bits of State.
const (
	StateArmed        = 1 << iota // the breakpoint or the jump is written
	StateJumped                   // the jump is written
	StateOptimized                // the point is marked optimized
	StateOptimizing               // the point is on the optimizing list
	StateUnoptimizing             // the point is on the unoptimizing list
	StateFreeing                  // the point is on the freeing list
	StateGone                     // the point's text is gone
	StateFtrace                   // ftrace arms the point
	StateCalled                   // ftrace calls the engine from there, or will once the text is loaded again
)

// The tags of Listed.
const (
	TagGone = 1 << iota
	TagDisabled
	TagOptimized
	TagFtrace
	TagNone // the kernel is too old to print tags
)

// The calls of the API.
const (
	Register   = 1
	Unregister = 2
	Enable     = 3
	Disable    = 4
)

// What Reading is about.
const (
	ReadList = iota
	ReadEnabled
	ReadOptimization
	ReadMissed
)

// The handlers of a probe.
const (
	Pre    = 1
	Post   = 2
	Entry  = 3 // the entry_handler of a return probe
	Return = 4 // the handler of a return probe
	Fault  = 5
	Jump   = 6 // the entry of a jprobe
)

// The bits of Kind's about.
const (
	IsDisabled  = 1 // the probe is registered disabled
	HasEntry    = 2 // the return probe has an entry_handler
	HasPost     = 4 // the kprobe has both handlers
	ChangesPath = 8 // the probe's pre_handler may return non-zero
)

// The bits of Context.
const (
	PreemptOff = 1 // preemption is off
	IRQsOff    = 2 // interrupts are off
	WereOff    = 4 // interrupts were off where the probe was hit
)

// The reasons why a CPU serialises, as in smpev.Serialise.
const (
	SyncArm    = 4  // after arming
	SyncDisarm = 5  // after disarming
	SyncUnopt1 = 6  // after the breakpoint replaced the jump's head
	SyncUnopt2 = 7  // after the tail was restored
	SyncCopy   = 11 // after the write of a copy that CPUs will reach by a return
)

// The owners of a trap, as in smpev.Claim.
const (
	OwnerKprobe  = 2 // a kprobe is registered at the address, or its out-of-line copy ended there
	OwnerRemoved = 3 // the fallback: the breakpoint is no longer there
)

// The kinds of memory that smpev.Alloc hands out.
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
