package smpev

import "kpsim/traces"

// Events of the machine. Bytes of an instruction are packed with traces.PackBytes.
const (
	Load       = traces.MachineBlock + iota // [addr, lo, hi] an instruction of original text that may be patched; heads the log
	Image                                   // [addr, lo, hi] a patcher is about to install this whole instruction (int3 plus the bytes after it, a jump, a nop) at addr
	TextStore                               // [addr, bytes, len] a store of at most 8 bytes to text, inside one aligned 8-byte chunk
	Exec                                    // [ip, lo, hi] a CPU begins an instruction of watched text
	Trap                                    // [vector, ip, addr] an exception or interrupt is taken; ip as saved in the frame; addr: what faulted, or TrapUser: user mode has taken it
	Claim                                   // [vector, ip, owner] a handler of the notifier chain says the trap is its own; ip as in Trap
	Return                                  // [vector, ip, depth] the IRET of a trap, going to ip; depth: traps still open on the task
	Oops                                    // [vector, ip, addr] no handler resolved a fault: the kernel dies
	Switch                                  // [prev, next, voluntary] a CPU switches tasks
	Wake                                    // [task, 0, 0] a task becomes runnable
	Exit                                    // [task, 0, 0] a task ends
	Serialise                               // [why, 0, 0] a CPU serialises its instruction stream
	SendIPI                                 // [mask, why, 0] this CPU sends an IPI to the CPUs of mask
	Fire                                    // [source, 0, 0] an interrupt source fires
	Alloc                                   // [addr, size, what] executable memory is handed out
	Free                                    // [addr, size, what] and taken back: from now on an int3 in each byte
	Lock                                    // [lock, how, 0] a lock is taken; how: a set of Lock…
	Unlock                                  // [lock, 0, 0]
	MightSleep                              // [atomic, 0, 0] a routine that may sleep was entered; atomic: 1 if it must not be
	GPStart                                 // [flavour, id, 0] a grace period begins
	GPEnd                                   // [flavour, id, 0] and ends
	StopStart                               // [0, 0, 0] every CPU is in its stopper with interrupts off
	StopEnd                                 // [0, 0, 0]

	// Events of the rig.
	Expect  // [task, call, digest] what the twin run, without probes, found at the end of a call; heads the log. MayMiss is or-ed to a call that may be missing
	CallEnd // [task, call, digest] a task's call has returned with this digest of what it left
	Done    // [drained, 0, 0] the run is over; drained: 1 if all work is done and no list holds anything
	Want    // [check, value, 0] what the scenario says that a check of a task finds; heads the log
	Got     // [check, value, at] and what it has found; at: where in memory, or the probe's address

	Retire // [addr, size, what] executable memory in which a task may still be is given back: its Free comes later
	Gives  // [prev, next, how] a CPU is given up, as in Switch, or would be if another task wanted it: then next is prev; how: a set of Give…; monitors alone are told
	Due    // [task, fired, 0] a timer that will wake a worker runs, or, fired 1, is over; monitors alone are told
	Tilted // [what, was, is] a routine of the kernel's has ended, and has left a CPU otherwise than it was: see TiltPreempt; monitors alone are told
	Module // [addr, size, module] where a section of a module's text is when it is there; monitors alone are told, before anything runs (rig)
	Denies // [module, loading, 0] rmmod is refused, since somebody holds the module; loading 1: its own load does; monitors alone are told
	Holds  // [module, n, 0] how many hold it at the end of a run, beside its load; monitors alone are told (rig)
	Asked  // [module, call, errno] insmod or rmmod begins, or, with its errno, ends: see AskedLoad; monitors alone are told (rig)
	Held   // [where, value, size] a CPU holds a store while others move; size 0: where is a cell, and not memory
	Commit // [where, value, size] and it takes effect

	CPUState // [cpu, online, 0] a CPU is online, or, online 0, has gone and runs nothing
	Debugger // [addr, set, saved] a debugger has written a breakpoint over the byte saved, or, set 0, has put that back
	GPStall  // [flavour, cpus, tasks] a tick finds that a grace period has lasted too long, and the kernel prints what it waits for: a set of CPUs, and the first StallTasks tasks, a byte each, their numbers plus 1

	CPUActive  // [cpu, active, 0] tasks may be placed on a CPU from now on, or, active 0, no more: it is online yet, and those that are there leave
	LivePatch  // [patch, what, state] the transition of a live patch to a state, 1 patched or 0 unpatched: see LiveBegins
	LiveSwitch // [task, state, how] a task goes over to the patched, or, state 0, to the unpatched functions: see LiveLooked
	LiveCall   // [func, to, other] a call of a patched function goes on in to, which may be itself; other: an address on the task's stack in a version of the patch's functions that doesn't go with it, 0: there is none
	Fprobe     // [func, what, with] what becomes of an fprobe: see FprobeSet; func: one that it is on, the first of those where all are meant, and with then how many they are; else the handler, 0: none runs
	CPUFails   // [cpu, step, going] a step of a CPU's coming, or, going 1, of its going fails, a CPUStep: what was done before it is undone
	Uprobe     // [addr, what, at] what becomes of a hit of a uprobe, which is at addr in user mode: see UprobeHit
	Agrees     // [0, 0, 0] under the kernel's memory model: a CPU is behind a full fence or the entry of a trap, and sees from now on what was done before the full fences until here; monitors alone are told
)

// TrapUser is the addr of a Trap that user mode takes.
const TrapUser = 1

// What a routine leaves as it was, as in Tilted.
const (
	TiltPreempt = 1 // the count of preempt_disable
	TiltIRQs    = 2 // whether interrupts are on
)

// What becomes of a transition, as in LivePatch.
const (
	LiveBegins   = 0
	LiveReversed = 1
	LiveComplete = 2
)

// How a task is switched, as in LiveSwitch.
const (
	LiveLooked = 0 // it doesn't run, and its stack was looked at; or it has looked itself
	LiveUser   = 1 // on its way to user mode
	LiveForced = 2 // wherever it is
)

// What becomes of an fprobe, as in Fprobe.
const (
	FprobeSet   = 0 // it is registered
	FprobeGone  = 1 // unregister has returned
	FprobeEntry = 2 // its entry handler runs
	FprobeExit  = 3 // its exit handler runs
	FprobeMiss  = 4 // neither does: no hook is free, or a handler runs on the CPU
	FprobeStop  = 5 // its exit handlers are stopped
)

// What becomes of a hit of a uprobe, as in Uprobe.
const (
	UprobeHit    = 0 // a task in user mode is about to execute the breakpoint
	UprobeRuns   = 1 // its handler runs, the function at at, on the way back to user mode
	UprobeSteps  = 2 // the task is to step the instruction's copy, at at
	UprobeDone   = 3 // the copy has been stepped, and the task goes on in user mode at at
	UprobeStrays = 4 // user mode goes on at at, where it shouldn't
)

// The calls of Asked. A module that is there from the beginning was loaded before.
const (
	AskedLoad   = 0 // insmod begins
	AskedUnload = 1 // rmmod begins
	AskedEnds   = 2 // added to either: it ends
)

// MayMiss says of an expected call that it doesn't have to be made.
const MayMiss = 1 << 63

// Check is the word for a check: its task, its number among the task's, and
// what it looks at.
func Check(task uint64, n, what int) uint64 { return task<<32 | uint64(n)<<2 | uint64(what) }

// CheckTask, CheckNumber and CheckWhat take it apart.
func CheckTask(check uint64) uint64   { return check >> 32 }
func CheckNumber(check uint64) uint32 { return uint32(check) >> 2 } // see CheckTask
func CheckWhat(check uint64) int      { return int(check & 3) }     // see CheckTask

// What a check looks at.
const (
	CheckResult = 0 // what a call returned
	CheckMemory = 1 // at most 8 bytes of memory
	CheckErrno  = 2 // what a call of the probes' API returned
)

// Vectors, as in the IDT; hardware interrupts from 32 on.
const (
	VecDE    = 0
	VecDB    = 1
	VecNMI   = 2
	VecBP    = 3
	VecOF    = 4
	VecBR    = 5
	VecUD    = 6
	VecDF    = 8
	VecGP    = 13
	VecPF    = 14
	VecTimer = 0xec
	VecResch = 0xfd
	VecCall  = 0xfb // function call IPI: sync_core

	// VecGarbage is no vector: the CPU stands before what the machine doesn't execute.
	VecGarbage = 0x100
)

// Why a CPU serialises, as in Serialise; 0: it runs an instruction that does. An
// engine defines more (Whys).
const (
	SyncPoke1 = 1  // text_poke_bp, after the breakpoint
	SyncPoke2 = 2  // text_poke_bp, after the tail
	SyncPoke3 = 3  // text_poke_bp, after the head
	SyncStop  = 8  // stop_machine, each CPU before it leaves
	SyncSelf  = 9  // text_poke, the storing CPU
	SyncFlush = 10 // translations of unmapped memory are flushed
	SyncDebug = 12 // a debugger has written a breakpoint, or taken one away
)

// Owners of a trap, as in Claim. An engine defines more (Owners).
const (
	OwnerPoke     = 1 // the text-poke handler: the address is in its descriptor
	OwnerFault    = 4 // a fault that was fixed up
	OwnerDebugger = 7 // a debugger: it has a breakpoint there, or had one
	OwnerUprobe   = 8 // uprobes: the task is in user mode, at an instruction with one, or steps it
)

// ModuleMem is a section of a module, as in Alloc and Free. An engine defines
// more (Memory).
const ModuleMem = 3

// How a CPU is given up, as in Gives; 0: the task was preempted. A task's Wake says that
// it wants a CPU again.
const (
	GiveWilling = 1 << iota // voluntarily
	GiveRests               // and the task waits, or has ended: it doesn't want a CPU; nor do idle loops
)

// How a lock was taken, as in Lock; 0: a mutex.
const (
	LockSpins  = 1 << iota // it keeps the CPU
	LockIRQsOn             // and interrupts are on while it is held
	LockInIRQ              // by the handler of an interrupt
	LockInNMI              // or of an NMI
	LockShared             // by one of several readers
	LockWaits              // it isn't taken: a task waits until the holder is done, and others may take it meanwhile
	LockNeeded             // it isn't taken: the caller should have it, and hasn't
)

// What is waited for like a lock, and can form a circle with locks: the task
// that does it counts as the holder. Monitors alone are told of these
// (traces.Log.Tell).
const (
	WaitWork  = 1 << 16 // and up: a delayed work, had by its worker while it runs
	WaitGrace = 1 << 17 // a grace period, had by read-side sections
)

// Flavours of grace period, as in GPStart.
const (
	GPSched = 1
	GPRcu   = 2
	GPTasks = 3
)

var _ = traces.Define(traces.MachineBlock,
	traces.Spec{Name: "Load", Args: []string{"addr", "lo", "hi"}},
	traces.Spec{Name: "Image", Args: []string{"addr", "lo", "hi"}},
	traces.Spec{Name: "TextStore", Args: []string{"addr", "bytes", "len"}},
	traces.Spec{Name: "Exec", Args: []string{"ip", "lo", "hi"}},
	traces.Spec{Name: "Trap", Args: []string{"vector", "ip", "addr"}},
	traces.Spec{Name: "Claim", Args: []string{"vector", "ip", "owner"}},
	traces.Spec{Name: "Return", Args: []string{"vector", "ip", "depth"}},
	traces.Spec{Name: "Oops", Args: []string{"vector", "ip", "addr"}},
	traces.Spec{Name: "Switch", Args: []string{"prev", "next", "voluntary"}},
	traces.Spec{Name: "Wake", Args: []string{"task"}},
	traces.Spec{Name: "Exit", Args: []string{"task"}},
	traces.Spec{Name: "Serialise", Args: []string{"why"}},
	traces.Spec{Name: "SendIPI", Args: []string{"mask", "why"}},
	traces.Spec{Name: "Fire", Args: []string{"source"}},
	traces.Spec{Name: "Alloc", Args: []string{"addr", "size", "what"}},
	traces.Spec{Name: "Free", Args: []string{"addr", "size", "what"}},
	traces.Spec{Name: "Lock", Args: []string{"lock", "how"}},
	traces.Spec{Name: "Unlock", Args: []string{"lock"}},
	traces.Spec{Name: "MightSleep", Args: []string{"atomic"}},
	traces.Spec{Name: "GPStart", Args: []string{"flavour", "id"}},
	traces.Spec{Name: "GPEnd", Args: []string{"flavour", "id"}},
	traces.Spec{Name: "StopStart"},
	traces.Spec{Name: "StopEnd"},
	traces.Spec{Name: "Expect", Args: []string{"task", "call", "digest"}},
	traces.Spec{Name: "CallEnd", Args: []string{"task", "call", "digest"}},
	traces.Spec{Name: "Done", Args: []string{"drained"}},
	traces.Spec{Name: "Want", Args: []string{"check", "value"}},
	traces.Spec{Name: "Got", Args: []string{"check", "value", "at"}},
	traces.Spec{Name: "Retire", Args: []string{"addr", "size", "what"}},
	traces.Spec{Name: "Gives", Args: []string{"prev", "next", "how"}},
	traces.Spec{Name: "Due", Args: []string{"task", "fired"}},
	traces.Spec{Name: "Tilted", Args: []string{"what", "was", "is"}},
	traces.Spec{Name: "Module", Args: []string{"addr", "size", "module"}},
	traces.Spec{Name: "Denies", Args: []string{"module", "loading"}},
	traces.Spec{Name: "Holds", Args: []string{"module", "n"}},
	traces.Spec{Name: "Asked", Args: []string{"module", "call", "errno"}},
	traces.Spec{Name: "Held", Args: []string{"where", "value", "size"}},
	traces.Spec{Name: "Commit", Args: []string{"where", "value", "size"}},
	traces.Spec{Name: "CPUState", Args: []string{"cpu", "online"}},
	traces.Spec{Name: "Debugger", Args: []string{"addr", "set", "saved"}},
	traces.Spec{Name: "GPStall", Args: []string{"flavour", "cpus", "tasks"}},
	traces.Spec{Name: "CPUActive", Args: []string{"cpu", "active"}},
	traces.Spec{Name: "LivePatch", Args: []string{"patch", "what", "state"}},
	traces.Spec{Name: "LiveSwitch", Args: []string{"task", "state", "how"}},
	traces.Spec{Name: "LiveCall", Args: []string{"func", "to", "other"}},
	traces.Spec{Name: "Fprobe", Args: []string{"func", "what", "ip"}},
	traces.Spec{Name: "CPUFails", Args: []string{"cpu", "step", "going"}},
	traces.Spec{Name: "Uprobe", Args: []string{"addr", "what", "at"}},
	traces.Spec{Name: "Agrees"},
)
