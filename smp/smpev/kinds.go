package smpev

import (
	"fmt"

	"kpsim/traces"
)

// The kinds. Their rows follow. The numbers enter the digests of traces, so a new kind comes last.
const (
	Load = traces.MachineBlock + iota
	Image
	TextStore
	Exec
	Trap
	Claim
	Return
	Oops
	Switch
	Wake
	Exit
	Serialise
	SendIPI
	Fire
	Alloc
	Free
	Lock
	Unlock
	MightSleep
	GPStart
	GPEnd
	StopStart
	StopEnd
	Expect
	CallEnd
	Done
	Want
	Got
	Retire
	Gives
	Due
	Tilted
	Module
	Denies
	Holds
	Asked
	Held
	Commit
	CPUState
	Debugger
	GPStall
	CPUActive
	LivePatch
	LiveSwitch
	LiveCall
	Fprobe
	CPUFails
	Uprobe
	Agrees
	Setting
	Form
	Sets
	Arrives
	Attach
	Attached
	Serves
	Leads
	Hooks
	ByHand
	Moves
	Shares
	Aliased
	Bpf
)

// The types of arguments that only these events have.
var (
	vector  = traces.Word("vector", "of an exception or interrupt, as in the IDT", Vector).Named("vector")
	owner   = traces.Word("owner", "of a trap", Owners.Name).Named("owner")
	why     = traces.Word("reason", "why a CPU serialises", Whys.Name).Named("why")
	memory  = traces.Word("memory", "the use of executable memory", Memory.Name).Named("what")
	flavour = traces.Word("flavour", "of grace period", Flavours.Name).Named("flavour")
	step    = traces.Word("step", "of a CPU's coming or going, as in cpuhp_hp_states", cpuStepName).Named("step")
	tilt    = traces.Of("tilt", "what differs", "", "preempt_count", "interrupts").Named("what")
	call    = traces.Word("call", "the number of a task's call; the top bit: it may be missing", callName).Named("call")
	check   = traces.Word("check", "a check's task, number, and subject, packed", checkName).Named("check")
	opcode  = traces.Word("byte", "a byte of text", byteName).Named("saved")
)

// Arguments of several kinds.
var (
	addr   = traces.Place.Named("addr")
	ip     = traces.IP.Named("ip")
	lo, hi = traces.Bytes.Named("lo"), traces.Arg{Name: "hi"}
	task   = traces.Task.Named("task")
	prev   = traces.Task.Named("prev")
	next   = traces.Task.Named("next")
	cpu    = traces.CPU.Named("cpu")
	size   = traces.Size.Named("size")
	lock   = traces.Lock.Named("lock")
	id     = traces.Number.Named("id")
	digest = traces.Value.Named("digest")
	value  = traces.Value.Named("value")
	where  = traces.Address.Named("where")
	module = traces.Number.Named("module")
	key    = traces.Number.Named("key")
	state  = traces.Flag.Named("state")

	function = traces.Address.Named("func")

	subject    = traces.Number.Named("subject")
	attachCall = traces.Number.Named("call")
)

func byteName(b uint64) string { return fmt.Sprintf("%02x", b) }

func callName(call uint64) string { return fmt.Sprint(call &^ MayMiss) }

func checkName(check uint64) string {
	return fmt.Sprintf("%d of task %d", CheckNumber(check), CheckTask(check))
}

type args = []traces.Arg

// Events of the machine, its kernel and the rig.
var _ = traces.Define(
	traces.Spec{Kind: Load, Name: "Load", Args: args{addr, lo, hi}, Heads: true,
		Doc: "an instruction of original text that may be patched"},
	traces.Spec{Kind: Image, Name: "Image", Args: args{addr, lo, hi}, Class: traces.ClassClaim, Weight: traces.Near,
		Doc: "a patcher is about to install this whole instruction (int3 plus the bytes after it, a jump, a " +
			"nop) at addr"},
	traces.Spec{Kind: TextStore, Name: "TextStore", Class: traces.ClassStore, Weight: traces.Near,
		Args: args{addr, traces.Value.Named("bytes"), traces.Size.Named("len")},
		Doc:  "a store of at most 8 bytes to text, inside one aligned 8-byte chunk"},
	traces.Spec{Kind: Exec, Name: "Exec", Args: args{traces.Place.Named("ip"), lo, hi},
		Doc: "a CPU begins an instruction of watched text"},
	traces.Spec{Kind: Trap, Name: "Trap", Args: args{vector, ip, addr}, Class: traces.ClassTrap,
		Doc: "an exception or interrupt is taken; ip as saved in the frame; addr: the faulting address; 1: user " +
			"mode took it"},
	traces.Spec{Kind: Claim, Name: "Claim", Args: args{vector, ip, owner}, Class: traces.ClassTrap,
		Doc:  "a handler of the notifier chain says the trap is its own; ip as in Trap",
		Says: "claimed by {owner}"},
	traces.Spec{Kind: Return, Name: "Return", Class: traces.ClassTrap,
		Args: args{vector, ip, traces.Count.Named("depth")},
		Doc:  "the IRET of a trap, going to ip; depth: traps still open on the task",
		Says: "return to {ip}"},
	traces.Spec{Kind: Oops, Name: "Oops", Args: args{vector, traces.Code.Named("ip"), addr},
		Class: traces.ClassClaim, Weight: traces.Much,
		Doc:  "no handler resolved a fault: the kernel dies",
		Says: "OOPS: unhandled {vector} at {ip}"},
	traces.Spec{Kind: Switch, Name: "Switch", Args: args{prev, next, traces.Flag.Named("voluntary")},
		Doc:  "a CPU switches tasks",
		Says: "{voluntary|preempted|switch}: {prev} -> {next}"},
	traces.Spec{Kind: Wake, Name: "Wake", Args: args{task}, Doc: "a task becomes runnable", Says: "wake {task}"},
	traces.Spec{Kind: Exit, Name: "Exit", Args: args{task}, Doc: "a task ends", Says: "{task} ends"},
	traces.Spec{Kind: Serialise, Name: "Serialise", Args: args{why},
		Doc:  "a CPU serialises its instruction stream",
		Says: "serialise ({why})"},
	traces.Spec{Kind: SendIPI, Name: "SendIPI", Args: args{traces.CPUs.Named("mask"), traces.Number.Named("why")},
		Doc:  "this CPU sends an IPI to the CPUs of mask",
		Says: "send IPI to {mask}"},
	traces.Spec{Kind: Fire, Name: "Fire", Args: args{traces.Source.Named("source")}, Weight: traces.Some,
		Doc:  "an interrupt source fires",
		Says: "{source} fires"},
	traces.Spec{Kind: Alloc, Name: "Alloc", Args: args{addr, size, memory}, Doc: "executable memory is allocated"},
	traces.Spec{Kind: Free, Name: "Free", Args: args{addr, size, memory}, Class: traces.ClassClaim, Weight: traces.Much,
		Doc: "executable memory is freed: from now on each byte is an int3"},
	traces.Spec{Kind: Lock, Name: "Lock", Args: args{lock, traces.Number.Named("how")},
		Doc: "a lock is taken; how: a set of Lock…",
		Text: func(e *traces.Event, n traces.Names) string {
			if e.B&LockNeeded != 0 {
				return "touch what " + n.Lock(e.A) + " protects, WITHOUT IT"
			}
			return "lock " + n.Lock(e.A)
		}},
	traces.Spec{Kind: Unlock, Name: "Unlock", Args: args{lock}, Doc: "a lock is released", Says: "unlock {lock}"},
	traces.Spec{Kind: MightSleep, Name: "MightSleep", Args: args{traces.Flag.Named("atomic")},
		Doc:  "a routine that may sleep was entered; atomic: 1 if it must not be",
		Says: "might sleep{atomic||, IN ATOMIC CONTEXT}"},
	traces.Spec{Kind: GPStart, Name: "GPStart", Args: args{flavour, id}, Class: traces.ClassClaim, Weight: traces.Some,
		Doc:  "a grace period begins",
		Says: "{flavour} grace period {id} begins"},
	traces.Spec{Kind: GPEnd, Name: "GPEnd", Args: args{flavour, id}, Class: traces.ClassClaim, Weight: traces.Some,
		Doc:  "a grace period ends",
		Says: "{flavour} grace period {id} ends"},
	traces.Spec{Kind: StopStart, Name: "StopStart", Class: traces.ClassClaim, Weight: traces.Much,
		Doc:  "every CPU is in its stopper with interrupts off",
		Says: "stop_machine: every CPU is stopped"},
	traces.Spec{Kind: StopEnd, Name: "StopEnd", Class: traces.ClassClaim, Weight: traces.Much,
		Doc:  "the stoppers continue",
		Says: "stop_machine: done"},

	traces.Spec{Kind: Expect, Name: "Expect", Args: args{task, call, digest}, Heads: true,
		Doc:  "the result of the twin run, without probes, at the end of a call",
		Says: "call {call} of {task} returns"},
	traces.Spec{Kind: CallEnd, Name: "CallEnd", Args: args{task, call, digest},
		Doc:  "a task's call has returned; the digest is of its results",
		Says: "call {call} of {task} returns"},
	traces.Spec{Kind: Done, Name: "Done", Args: args{traces.Flag.Named("drained")},
		Doc:  "the run is over; drained: 1 if all work is done and no list holds anything",
		Says: "the run is over, {drained|but not |}all work is done"},
	traces.Spec{Kind: Want, Name: "Want", Args: args{check, value}, Heads: true,
		Doc: "the result that the scenario states for a check of a task"},
	traces.Spec{Kind: Got, Name: "Got", Args: args{check, value, traces.Place.Named("at")},
		Doc: "the result of a check; at: where in memory, or the probe's address"},

	traces.Spec{Kind: Retire, Name: "Retire", Args: args{addr, size, memory},
		Doc: "executable memory in which a task may still be is released: its Free comes later"},
	traces.Spec{Kind: Gives, Name: "Gives", Args: args{prev, next, traces.Number.Named("how")}, Monitors: true,
		Doc: "a CPU is given up, as in Switch, or would be if another task wanted it: then next is prev; " +
			"how: a set of Give…",
		Says: "{prev} gives up its CPU: {next} is next"},
	traces.Spec{Kind: Due, Name: "Due", Args: args{task, traces.Flag.Named("fired")}, Monitors: true,
		Doc:  "a timer that will wake a worker runs, or, fired 1, is over",
		Says: "{fired|a timer runs that will wake {task}|the timer of {task} is over}"},
	traces.Spec{Kind: Tilted, Name: "Tilted", Args: args{tilt, traces.Value.Named("was"), traces.Value.Named("is")},
		Monitors: true, Doc: "a routine of the kernel has ended, and has left a CPU in another state than it found"},
	traces.Spec{Kind: Module, Name: "Module", Args: args{addr, size, module}, Monitors: true, Rig: true,
		Doc: "where a section of a module's text is while the module is loaded; comes before anything runs"},
	traces.Spec{Kind: Denies, Name: "Denies", Args: args{module, traces.Flag.Named("loading")}, Monitors: true,
		Doc: "rmmod is refused because the module is in use; loading 1: by its own load"},
	traces.Spec{Kind: Holds, Name: "Holds", Args: args{module, traces.Count.Named("n")}, Monitors: true, Rig: true,
		Doc: "references to a module at the end of a run, besides its load's"},
	traces.Spec{Kind: Asked, Name: "Asked",
		Args:     args{module, traces.Number.Named("call"), traces.Errno.Named("errno")},
		Monitors: true, Rig: true,
		Doc: "insmod (call 0) or rmmod (1) begins, or, with 2 added and its errno, ends"},
	traces.Spec{Kind: Held, Name: "Held", Args: args{where, value, size}, Class: traces.ClassStore, Weight: traces.Some,
		Doc: "a CPU holds a store while others move; size 0: where is a cell, and not memory"},
	traces.Spec{Kind: Commit, Name: "Commit", Args: args{where, value, size}, Class: traces.ClassStore,
		Weight: traces.Some,
		Doc:    "a held store takes effect"},

	traces.Spec{Kind: CPUState, Name: "CPUState", Args: args{cpu, traces.Flag.Named("online")},
		Class: traces.ClassClaim, Weight: traces.Much,
		Doc:  "a CPU is online, or, online 0, has gone and runs nothing",
		Says: "CPU {cpu} is {online|offline, and runs nothing|online}"},
	traces.Spec{Kind: Debugger, Name: "Debugger",
		Args: args{traces.Address.Named("addr"), traces.Flag.Named("set"), opcode},
		Doc:  "a debugger has written a breakpoint over the byte saved, or, set 0, has restored that byte",
		Says: "the debugger's breakpoint at {addr} is {set|cleared:|set, over} {saved}"},
	traces.Spec{Kind: GPStall, Name: "GPStall", Class: traces.ClassClaim, Weight: traces.Much,
		Args: args{flavour, traces.CPUs.Named("cpus"), traces.Value.Named("tasks")},
		Doc: "a tick finds that a grace period has lasted too long, and the kernel prints what it waits for: a set " +
			"of CPUs, and the first eight tasks, a byte each, their numbers plus 1",
		Text: func(e *traces.Event, n traces.Names) string {
			return "the kernel prints: " + Stall(e.A, e.B, e.C, e.CPU, n.Task)
		}},

	traces.Spec{Kind: CPUActive, Name: "CPUActive", Args: args{cpu, traces.Flag.Named("active")},
		Class: traces.ClassClaim, Weight: traces.Much,
		Doc: "tasks may be placed on a CPU from now on, or, active 0, no longer: it is still online, and its tasks " +
			"leave",
		Says: "CPU {cpu} {active|isn't active any more: its tasks go to others|is active: tasks may run there}"},
	traces.Spec{Kind: LivePatch, Name: "LivePatch", Class: traces.ClassClaim, Weight: traces.Some,
		Args: args{traces.Number.Named("patch"), traces.Number.Named("what"), state},
		Doc: "the transition of a live patch to a state, 1 patched or 0 unpatched, begins, is reversed (1) or " +
			"complete (2)",
		Says: "the transition of live patch {patch} to the {state|old|new} functions {what|begins|is turned " +
			"round|is complete}"},
	traces.Spec{Kind: LiveSwitch, Name: "LiveSwitch", Class: traces.ClassClaim, Weight: traces.Some,
		Args: args{task, state, traces.Number.Named("how")},
		Doc: "a task goes over to the patched, or, state 0, to the unpatched functions: by its stack (how 0), on " +
			"its way to user mode (1), or forced (2)",
		Says: "{task} goes over to the {state|old|new} functions, {how|it stands in none that goes|on its way to " +
			"user mode|wherever it is}"},
	traces.Spec{Kind: LiveCall, Name: "LiveCall", Class: traces.ClassClaim, Weight: traces.Some,
		Args: args{function, traces.Address.Named("to"), traces.Address.Named("other")},
		Doc: "a call of a patched function continues in to, which may be itself; other: an address on the task's " +
			"stack in a version of the patch's functions that is inconsistent with it, 0: none",
		Text: liveCall},
	traces.Spec{Kind: Fprobe, Name: "Fprobe", Class: traces.ClassClaim, Weight: traces.Some,
		Args: args{function, traces.Number.Named("what"), traces.Address.Named("ip")},
		Doc: "an fprobe of func is registered, on ip functions (what 0), or gone (1); a call of func runs its " +
			"entry (2) or exit handler (3), at ip, or is missed (4); its exit handlers are stopped (5)",
		Says: "{what|the fprobe of {func} is registered, of {ip#function}|the fprobe of {func} is unregistered|a " +
			"call of {func} is hooked, and the entry handler {ip} runs|a call of {func} has returned, and " +
			"the exit handler {ip} runs|a call of {func} is missed by its fprobe|the fprobe of {func} hooks " +
			"no call any more, and begins no exit handler}"},
	traces.Spec{Kind: CPUFails, Name: "CPUFails", Args: args{cpu, step, traces.Flag.Named("going")},
		Class: traces.ClassClaim, Weight: traces.Much,
		Doc:  "a step of a CPU's coming, or, going 1, of its going fails: the steps before it are undone",
		Says: "CPU {cpu} fails to {going|come|go}, at {step}: it {going|goes back|stays}"},
	traces.Spec{Kind: Uprobe, Name: "Uprobe", Class: traces.ClassClaim, Weight: traces.Some,
		Args: args{traces.Address.Named("addr"), traces.Number.Named("what"), traces.Address.Named("at")},
		Doc: "a hit of a uprobe at addr in user mode: the breakpoint (what 0), its handler at at (1), the copy at " +
			"at is stepped (2), user mode continues at at (3), or at a wrong at (4); a user with the handler at at " +
			"begins to be registered (5), or is (6), begins to be unregistered (7), or is (8); the task is killed (9); no " +
			"breakpoint stands there (10); the handler at at has returned (11); a user is registered with a return " +
			"handler (12), or without (13); it wants hits at addr (14), or not, or no longer (15); user mode calls the " +
			"function at addr, which is to return to at (16); that is replaced by the trampoline (17); the return " +
			"handler of the user at at runs (18); the call has returned to at (19), longjmp leaves it (20), it returns " +
			"to the trampoline and isn't known (21); memory at at becomes the uprobe's (22), is freed (23), is used by a " +
			"return (24); the instruction, a nop, is emulated (25); the call in its place has entered the kernel (26); a " +
			"call replaces the breakpoint (27), the nop replaces the call (28); a breakpoint is to stand at the nop (29), " +
			"the nop stands again (30)",
		Says: "{what|in user mode it comes to the uprobe at {addr}|on the way back to user mode the handler of " +
			"the uprobe at {addr} runs: {at}|it is to step the copy at {at} of the instruction at {addr}, in " +
			"user mode|after the uprobe at {addr} it continues in user mode, at {at}|after the uprobe at " +
			"{addr} it continues in user mode where it shouldn't, at {at}|registers {at} at the uprobe {addr}|" +
			"{at} is registered at the uprobe {addr}|unregisters {at} at the uprobe {addr}|{at} is unregistered at " +
			"the uprobe {addr}|is killed: a breakpoint stands at {addr}, and no uprobe is there|" +
			"runs the instruction at {addr}, where no breakpoint stands|the handler {at} of the uprobe at {addr} returns|" +
			"{at} has a return handler at the uprobe {addr}|{at} has no return handler at the uprobe {addr}|" +
			"{at} wants hits of the uprobe at {addr}|{at} wants no hits of the uprobe at {addr}|" +
			"in user mode it calls the function with the uprobe at {addr}, to return to {at}|" +
			"the return address {at} of the call of {addr} is replaced by that of the trampoline|" +
			"a call of {addr} has returned to the trampoline, and the return handler of {at} runs|" +
			"a call of {addr} is over, and user mode continues at {at}|longjmp leaves a call of {addr}|" +
			"is killed: a call of {addr} returns to the trampoline, and is not known there|" +
			"the uprobe at {addr} gets the memory {at}|the memory {at} of the uprobe at {addr} is freed|" +
			"a return from {addr} uses the memory {at} of its uprobe|the nop at {addr} is emulated|" +
			"the call at the uprobe {addr} enters the kernel|a call replaces the breakpoint at the uprobe {addr}|" +
			"the nop at the uprobe {addr} replaces the call|a breakpoint is written over the nop at the uprobe {addr}|" +
			"the nop at the uprobe {addr} stands again}"},
	traces.Spec{Kind: Bpf, Name: "Bpf", Class: traces.ClassClaim, Weight: traces.Some,
		Args: args{function, traces.Number.Named("what"), traces.Address.Named("at")},
		Doc: "a call of func runs the fentry program at at (what 0), an fmod_ret (1) or an fexit program (2), which " +
			"has returned (3), or is left out as it runs already (4); func returns to the image at at (5), or the " +
			"program leaves func out (6); an fentry program is about to be attached (7), an fmod_ret (8), an fexit " +
			"program (9); it is (10), or can't be (11); it is about to be detached (12), and is (13); for monitors, " +
			"at the head: func may have programs (14)",
		Says: "{what|a call of {func} runs the fentry program {at}|a call of {func} runs the fmod_ret program {at}|" +
			"after a call of {func} the fexit program {at} runs|the program {at} of {func} returns|a " +
			"call of {func} leaves the program {at} out, which the CPU runs already|{func} returns to its image at " +
			"{at}|the program {at} leaves {func} out|attaches the fentry program {at} to {func}|attaches the " +
			"fmod_ret program {at} to {func}|attaches the fexit program {at} to {func}|the program {at} is " +
			"attached to {func}|the program {at} isn't attached to {func}|detaches the program {at} from {func}|" +
			"the program {at} is detached from {func}|{func} may have programs}"},
	traces.Spec{Kind: Agrees, Name: "Agrees", Monitors: true,
		Doc: "under the kernel's memory model: a CPU has passed a full fence or the entry of a trap, and from now " +
			"on sees everything before the full fences so far",
		Says: "sees what was done before the full fences until here"},
	traces.Spec{Kind: Setting, Name: "Setting", Monitors: true, Rig: true,
		Args: args{key, value, traces.Number.Named("sort")},
		Doc: "a value that a key may be set to: a jump label, a static call, all lock prefixes, all alternatives or " +
			"a debugger's breakpoint; SettingFirst in sort: it has it when a run begins. Comes before anything runs"},
	traces.Spec{Kind: Form, Name: "Form", Args: args{addr, lo, hi}, Monitors: true, Rig: true,
		Doc: "how the instruction at a site of the key begins while the key has the value of the last Setting"},
	traces.Spec{Kind: Sets, Name: "Sets", Monitors: true, Rig: true,
		Args: args{key, value, traces.Number.Named("ends")},
		Doc:  "a call that sets a key begins, or, SetsEnds in ends, returns, with the errno above that bit"},
	traces.Spec{Kind: Arrives, Name: "Arrives", Args: args{ip, traces.Address.Named("sp")}, Monitors: true,
		Doc: "a CPU begins an instruction to which, or from which, a function's site may lead calls"},
	traces.Spec{Kind: Attach, Name: "Attach", Args: args{subject, attachCall, value}, Monitors: true, Rig: true,
		Doc: "a call begins that attaches a subject to functions' sites, detaches or changes it; value: the site " +
			"or function"},
	traces.Spec{Kind: Attached, Name: "Attached", Args: args{subject, attachCall, traces.Errno.Named("errno")},
		Monitors: true, Rig: true, Doc: "such a call returns"},
	traces.Spec{Kind: Serves, Name: "Serves", Args: args{subject, function, traces.Address.Named("sp")},
		Monitors: true, Rig: true, Doc: "the handler of a client is called from a function's site"},
	traces.Spec{Kind: Leads, Name: "Leads", Args: args{subject, function, value}, Monitors: true, Rig: true,
		Doc: "what is known of a subject before anything runs: its site, and the function that it leads calls to, " +
			"the number of its hooks, or what it is allowed"},
	traces.Spec{Kind: Hooks, Name: "Hooks", Args: args{subject, traces.Number.Named("what"), function}, Monitors: true,
		Doc: "an fprobe follows a call of func (what 0) and has called its entry handler (1); it misses the call, " +
			"because a handler runs on the CPU (2) or no hook is free (3); the call has returned and the exit " +
			"handler begins (4), ends (5), or isn't called any more (6); the CPU begins to handle a call (7), and is " +
			"done (8): calls between are missed; the entry handler's result leaves out the exit handler (9); it misses " +
			"the call while hooks come and go, or for another's handler on the CPU (10)"},
	traces.Spec{Kind: ByHand, Name: "ByHand", Args: args{addr, size}, Monitors: true, Rig: true,
		Doc: "text that tasks of the scenario store to by themselves, at most 64 bytes; comes before anything runs"},
	traces.Spec{Kind: Moves, Name: "Moves", Class: traces.ClassClaim, Weight: traces.Much,
		Args: args{task, traces.Address.Named("from"), traces.Address.Named("to")},
		Doc:  "a task that is stopped at from is made to continue at to",
		Says: "{task}, stopped at {from}, is to continue at {to}"},
	traces.Spec{Kind: Shares, Name: "Shares", Args: args{addr, size, traces.Number.Named("how")}, Monitors: true,
		Doc: "a patcher has read text that another one writes, too, or, with the lowest bit of how, written it; the " +
			"other bits of how: which patcher"},
	traces.Spec{Kind: Aliased, Name: "Aliased", Class: traces.ClassClaim, Weight: traces.Near,
		Args: args{where, ip, size},
		Doc:  "the instruction at ip stores size bytes through an alias of text; the stores to text follow",
		Says: "the instruction at {ip} stores through {where}"},
)

// liveCall says where a call of a patched function goes on.
func liveCall(e *traces.Event, n traces.Names) string {
	says := "a call of " + n.Symbol(e.A) + " goes on in " + n.Symbol(e.B)
	if e.A == e.B {
		says = "a call of " + n.Symbol(e.A) + " stays in the old function"
	}
	if e.C != 0 {
		says += ", but returns to " + n.Symbol(e.C) + ", of the other version"
	}
	return says
}
