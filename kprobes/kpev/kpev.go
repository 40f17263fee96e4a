package kpev

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

const (
	ApiEnter     = traces.KprobesBlock + iota // [api, probe, addr] a call of the API begins (rig)
	ApiReturn                                 // [api, probe, errno] and returns; errno 0 or the positive number (rig)
	Handler                                   // [probe, which, addr] a probe's handler runs (rig); addr: of the probe
	Missed                                    // [probe, 0, 0] nmissed of a probe is incremented
	Skipped                                   // [probe, by, 0] a sibling's non-zero return skips the probe's handler
	Arm                                       // [addr, 0, 0] the breakpoint is written
	Disarm                                    // [addr, 0, 0] the original byte is written back
	Optimizing                                // [addr, 0, 0] queued on the optimizing list
	Optimized                                 // [addr, detour, 0] the jump is in place
	Unoptimizing                              // [addr, 0, 0] queued on the unoptimizing list
	Unoptimized                               // [addr, 0, 0] the breakpoint is back in place of the jump
	NoPre                                     // [probe, 0, 0] the probe has no pre_handler; heads the log (rig)
	Sysctl                                    // [on, done, 0] the sysctl debug.kprobes-optimization is written: the write begins, done 0, and returns, done 1 (rig)
	Printk                                    // [line, a, b] the kernel prints a line, see Text
	InstanceNew                               // [instance, probe, holder] an instance of a return probe is allocated
	InstanceGet                               // [instance, probe, freed] a call takes it; freed 1: somebody looks at it whose memory is given back already
	InstancePut                               // [instance, probe, 0] and gives it back
	InstanceFree                              // [instance, probe, holder] its memory is given back
	HolderDrop                                // [holder, n, left] n references to what instances belong to are dropped
	HolderFree                                // [holder, probe, 0] its memory is given back
	Hooked                                    // [instance, slot, addr] the return address at a place of the stack is kept, and the trampoline's put there
	Trampoline                                // [slot, addr, 0] a return has come to the trampoline, and goes on to addr; 0: no instance knows the address
	RetMissed                                 // [probe, 0, 0] nmissed of a return probe is incremented: no instance is free
	JprobeEnter                               // [probe, sp, 0] registers and stack are kept, and the entry of a jprobe runs
	JprobeLeave                               // [probe, sp, 0] they are as they were
	Kind                                      // [probe, kind, about] what it is, if that isn't a plain kprobe or there is an edition; about: see IsDisabled; heads the log (rig)
	Contexts                                  // [detour, returns, own] whether the handlers behind a detour, and those of return probes, run with interrupts off, and how many slots the kernel keeps for probes of its own; heads the log (rig)
	Context                                   // [probe, which, bits] of the handler that has begun: see PreemptOff (rig)
	RetEntry                                  // [probe, sp, addr] a return probe's entry_handler runs: addr is on the stack at sp (rig)
	RetLeft                                   // [probe, sp, 0] and wants nothing more of the call (rig)
	RetReturn                                 // [probe, sp, addr] its handler runs, for the call whose return address was at sp, and is told that it was addr (rig)
	Enabled                                   // [on, done, 0] kprobes/enabled is written: the write begins, done 0, and returns, done 1 (rig)
	State                                     // [addr, bits, detour] what the engine holds of a point, when kprobe_mutex is about to be free: see StateArmed; monitors alone are told (rig)
	Listed                                    // [addr, letter, tags] a line of kprobes/list, at the end of the run: see TagGone; letter 0: the file is opened; monitors alone are told (rig)
	NoJump                                    // [probe, 0, 0] no jump may be at its address while it is registered: it has a post_handler, or is a jprobe; monitors alone are told (rig)
	Returner                                  // [addr, 0, 0] where the trampoline of return probes is; monitors alone are told (rig)
	Seeks                                     // [probe, 0, 0] a call of its function looks for a free instance of a return probe; monitors alone are told
	Lies                                      // [instance, probe, free] an instance becomes one that a call can find, free 1, or 2: on this CPU, on others maybe later, or isn't any more; monitors alone are told
	Stays                                     // [instance, probe, task] it is given back, and is in the list of a task's calls in flight all the same; monitors alone are told
	Wants                                     // [probe, n, 0] how many calls a return probe asks to follow at a time, or the rules say; monitors alone are told (rig)
	Carries                                   // [addr, probe, begins] a probe that the point at an address has, when kprobe_mutex is about to be free; begins 1: the first of such a report, and none, 2: there is no report; monitors alone are told (rig)
	Foreign                                   // [0, 0, 0] kprobe_mutex is taken, and what it owns isn't as its last holder has left it; monitors alone are told
	Fits                                      // [probe, errno, or] no answer but errno, or the other errno, is right where it is registered and isn't yet; with FitsJump in or, it is to be a jump in the end, unless another probe keeps it away; monitors alone are told (rig)
	Keeps                                     // [on, 0, 0] whether a module is held as long as a probe is registered in it; monitors alone are told (rig)
	Finds                                     // [probe, pre, post] the instruction pointer that a kprobe's handlers are to find, 0: it isn't said; monitors alone are told (rig)
	Sees                                      // [probe, which, ip] the one that a handler of such a probe finds as it begins; monitors alone are told (rig)
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

var _ = traces.Define(traces.KprobesBlock,
	traces.Spec{Name: "ApiEnter", Args: []string{"api", "probe", "addr"}},
	traces.Spec{Name: "ApiReturn", Args: []string{"api", "probe", "errno"}},
	traces.Spec{Name: "Handler", Args: []string{"probe", "which", "addr"}},
	traces.Spec{Name: "Missed", Args: []string{"probe"}},
	traces.Spec{Name: "Skipped", Args: []string{"probe", "by"}},
	traces.Spec{Name: "Arm", Args: []string{"addr"}},
	traces.Spec{Name: "Disarm", Args: []string{"addr"}},
	traces.Spec{Name: "Optimizing", Args: []string{"addr"}},
	traces.Spec{Name: "Optimized", Args: []string{"addr", "detour"}},
	traces.Spec{Name: "Unoptimizing", Args: []string{"addr"}},
	traces.Spec{Name: "Unoptimized", Args: []string{"addr"}},
	traces.Spec{Name: "NoPre", Args: []string{"probe"}},
	traces.Spec{Name: "Sysctl", Args: []string{"on", "done"}},
	traces.Spec{Name: "Printk", Args: []string{"line", "a", "b"}},
	traces.Spec{Name: "InstanceNew", Args: []string{"instance", "probe", "holder"}},
	traces.Spec{Name: "InstanceGet", Args: []string{"instance", "probe"}},
	traces.Spec{Name: "InstancePut", Args: []string{"instance", "probe"}},
	traces.Spec{Name: "InstanceFree", Args: []string{"instance", "probe", "holder"}},
	traces.Spec{Name: "HolderDrop", Args: []string{"holder", "n", "left"}},
	traces.Spec{Name: "HolderFree", Args: []string{"holder", "probe"}},
	traces.Spec{Name: "Hooked", Args: []string{"instance", "slot", "addr"}},
	traces.Spec{Name: "Trampoline", Args: []string{"slot", "addr"}},
	traces.Spec{Name: "RetMissed", Args: []string{"probe"}},
	traces.Spec{Name: "JprobeEnter", Args: []string{"probe", "sp"}},
	traces.Spec{Name: "JprobeLeave", Args: []string{"probe", "sp"}},
	traces.Spec{Name: "Kind", Args: []string{"probe", "kind", "about"}},
	traces.Spec{Name: "Contexts", Args: []string{"detour", "returns", "own"}},
	traces.Spec{Name: "Context", Args: []string{"probe", "which", "bits"}},
	traces.Spec{Name: "RetEntry", Args: []string{"probe", "sp", "addr"}},
	traces.Spec{Name: "RetLeft", Args: []string{"probe", "sp"}},
	traces.Spec{Name: "RetReturn", Args: []string{"probe", "sp", "addr"}},
	traces.Spec{Name: "Enabled", Args: []string{"on", "done"}},
	traces.Spec{Name: "State", Args: []string{"addr", "bits", "detour"}},
	traces.Spec{Name: "Listed", Args: []string{"addr", "letter", "tags"}},
	traces.Spec{Name: "NoJump", Args: []string{"probe"}},
	traces.Spec{Name: "Returner", Args: []string{"addr"}},
	traces.Spec{Name: "Seeks", Args: []string{"probe"}},
	traces.Spec{Name: "Lies", Args: []string{"instance", "probe", "free"}},
	traces.Spec{Name: "Stays", Args: []string{"instance", "probe", "task"}},
	traces.Spec{Name: "Wants", Args: []string{"probe", "n"}},
	traces.Spec{Name: "Carries", Args: []string{"addr", "probe", "begins"}},
	traces.Spec{Name: "Foreign"},
	traces.Spec{Name: "Fits", Args: []string{"probe", "errno", "or"}},
	traces.Spec{Name: "Keeps", Args: []string{"on"}},
	traces.Spec{Name: "Finds", Args: []string{"probe", "pre", "post"}},
	traces.Spec{Name: "Sees", Args: []string{"probe", "which", "ip"}},
)
