package kpev

import (
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// The kinds. Their rows follow. The numbers enter the digests of traces, so a new kind comes last.
const (
	ApiEnter = traces.KprobesBlock + iota
	ApiReturn
	Handler
	Missed
	Skipped
	Arm
	Disarm
	Optimizing
	Optimized
	Unoptimizing
	Unoptimized
	NoPre
	Sysctl
	Printk
	InstanceNew
	InstanceGet
	InstancePut
	InstanceFree
	HolderDrop
	HolderFree
	Hooked
	Trampoline
	RetMissed
	JprobeEnter
	JprobeLeave
	Kind
	Contexts
	Context
	RetEntry
	RetLeft
	RetReturn
	Enabled
	State
	Listed
	NoJump
	Returner
	Seeks
	Lies
	Stays
	Wants
	Carries
	Foreign
	Fits
	Keeps
	Finds
	Sees
	Reading
	ReadLine
	ReadEnd
)

// Arguments of several kinds.
var (
	probe    = traces.Probe.Named("probe")
	addr     = traces.Place.Named("addr")
	api      = traces.Word("api", "a call of the probes' API", Verbs.Name).Named("api")
	which    = traces.Word("handler", "one of a probe's handlers", HandlerNames.Name).Named("which")
	errno    = traces.Errno.Named("errno")
	instance = traces.Number.Named("instance")
	holder   = traces.Number.Named("holder")
	sp       = traces.Value.Named("sp")
	on, done = traces.Flag.Named("on"), traces.Flag.Named("done")
	slot     = traces.Value.Named("slot")
	read     = traces.Word("read", "what is read of the engine's", Read.Name).Named("read")
)

type args = []traces.Arg

// written ends a sentence about a write to a file.
const written = "{done| begins|: done}"

var _ = traces.Define(
	traces.Spec{Kind: ApiEnter, Name: "ApiEnter", Args: args{api, probe, addr}, Rig: true,
		Class: traces.ClassClaim, Weight: traces.Some,
		Doc: "a call of the API begins", Says: "{api}({probe}) at {addr} begins"},
	traces.Spec{Kind: ApiReturn, Name: "ApiReturn", Args: args{api, probe, errno}, Rig: true,
		Class: traces.ClassClaim, Weight: traces.Some,
		Doc: "a call of the API returns", Says: "{api}({probe}) -> {errno}"},
	traces.Spec{Kind: Handler, Name: "Handler", Args: args{probe, which, addr}, Rig: true,
		Doc: "a probe's handler runs; addr is the probe's", Says: "{which} of {probe}"},
	traces.Spec{Kind: Missed, Name: "Missed", Args: args{probe}, Weight: traces.Some,
		Doc: "nmissed of a probe is incremented", Says: "{probe}: missed"},
	traces.Spec{Kind: Skipped, Name: "Skipped", Args: args{probe, traces.Probe.Named("by")}, Weight: traces.Some,
		Doc: "a sibling's non-zero return skips the probe's handler", Says: "{probe}: skipped, by {by}"},

	traces.Spec{Kind: Arm, Name: "Arm", Args: args{addr}, State: "armed", Class: traces.ClassClaim, Weight: traces.Near,
		Doc: "the breakpoint is written", Says: "arm {addr}"},
	traces.Spec{Kind: Disarm, Name: "Disarm", Args: args{addr}, State: "disarmed",
		Class: traces.ClassClaim, Weight: traces.Near,
		Doc: "the original byte is written back", Says: "disarm {addr}"},
	traces.Spec{Kind: Optimizing, Name: "Optimizing", Args: args{addr}, State: "optimizing",
		Class: traces.ClassClaim, Weight: traces.Near,
		Doc: "queued on the optimizing list", Says: "queued to be optimized: {addr}"},
	traces.Spec{Kind: Optimized, Name: "Optimized", Args: args{addr, traces.Place.Named("detour")}, State: "optimized",
		Class: traces.ClassClaim, Weight: traces.Near,
		Doc: "the jump is in place", Says: "optimized: {addr} jumps to {detour}"},
	traces.Spec{Kind: Unoptimizing, Name: "Unoptimizing", Args: args{addr}, State: "unoptimizing",
		Class: traces.ClassClaim, Weight: traces.Near,
		Doc: "queued on the unoptimizing list", Says: "queued to be unoptimized: {addr}"},
	traces.Spec{Kind: Unoptimized, Name: "Unoptimized", Args: args{addr}, State: "armed",
		Class: traces.ClassClaim, Weight: traces.Near,
		Doc: "the breakpoint is back in place of the jump", Says: "unoptimized: {addr}"},

	traces.Spec{Kind: NoPre, Name: "NoPre", Args: args{probe}, Heads: true, Rig: true,
		Doc: "the probe has no pre_handler", Says: "{probe} has no pre_handler"},
	traces.Spec{Kind: Sysctl, Name: "Sysctl", Args: args{on, done}, Rig: true,
		Class: traces.ClassClaim, Weight: traces.Some,
		Doc:  "a write of the sysctl debug.kprobes-optimization begins, or, done 1, returns",
		Says: "kprobes-optimization = {on}" + written},
	traces.Spec{Kind: Printk, Name: "Printk", Class: traces.ClassClaim, Weight: traces.Some,
		Args: args{traces.Number.Named("line"), traces.Value.Named("a"), traces.Value.Named("b")},
		Doc:  "the kernel prints a line, one of those of kprobes/kpev/lines.go, with two numbers",
		Text: func(e *traces.Event, _ traces.Names) string {
			return "the kernel prints: " + Text(Line(e.A), e.B, e.C)
		}},

	traces.Spec{Kind: InstanceNew, Name: "InstanceNew", Args: args{instance, probe, holder},
		Doc: "an instance of a return probe is allocated", Says: "{probe}: instance {instance}"},
	traces.Spec{Kind: InstanceGet, Name: "InstanceGet", Args: args{instance, probe, traces.Flag.Named("freed")},
		Doc:  "a call takes an instance; freed 1: its memory was freed already",
		Says: "{probe}: instance {instance} taken"},
	traces.Spec{Kind: InstancePut, Name: "InstancePut", Args: args{instance, probe},
		Doc: "a call returns its instance", Says: "{probe}: instance {instance} given back"},
	traces.Spec{Kind: InstanceFree, Name: "InstanceFree", Args: args{instance, probe, holder},
		Doc: "an instance's memory is freed", Says: "{probe}: instance {instance} freed"},
	traces.Spec{Kind: HolderDrop, Name: "HolderDrop",
		Args: args{holder, traces.Count.Named("n"), traces.Count.Named("left")},
		Doc:  "n references to a holder of instances are dropped",
		Says: "return probe memory {holder}: {n#reference} dropped, {left} left"},
	traces.Spec{Kind: HolderFree, Name: "HolderFree", Args: args{holder, probe},
		Doc:  "the memory of a holder of instances is freed",
		Says: "return probe memory {holder} of {probe} freed"},
	traces.Spec{Kind: Hooked, Name: "Hooked", Args: args{instance, slot, addr},
		Doc:  "the return address on the stack is saved, and the trampoline's stored in its place",
		Says: "instance {instance} keeps the return address {addr} at {slot}: now the trampoline's"},
	traces.Spec{Kind: Trampoline, Name: "Trampoline", Args: args{slot, addr},
		Doc:  "a return has reached the trampoline, and continues at addr; 0: no instance knows the address",
		Says: "trampoline: {addr|no instance has the return address|returns to {addr}}"},
	traces.Spec{Kind: RetMissed, Name: "RetMissed", Args: args{probe},
		Doc:  "nmissed of a return probe is incremented: no instance is free",
		Says: "{probe}: no free instance, missed"},
	traces.Spec{Kind: JprobeEnter, Name: "JprobeEnter", Args: args{probe, sp},
		Doc:  "registers and stack are saved, and the entry of a jprobe runs",
		Says: "{probe}: registers and stack kept, its entry runs"},
	traces.Spec{Kind: JprobeLeave, Name: "JprobeLeave", Args: args{probe, sp},
		Doc: "registers and stack are restored", Says: "{probe}: registers and stack put back"},

	traces.Spec{Kind: Kind, Name: "Kind", Heads: true, Rig: true,
		Args: args{probe, traces.Word("probe kind", "the kind of a probe", probeKind).Named("kind"), about},
		Doc:  "the kind of a probe, if it isn't a plain kprobe or there is an edition",
		Says: "{probe} is a {kind}"},
	traces.Spec{Kind: Contexts, Name: "Contexts", Heads: true, Rig: true,
		Args: args{traces.Flag.Named("detour"), traces.Flag.Named("returns"), traces.Count.Named("own")},
		Doc: "whether the handlers behind a detour, and those of return probes, run with interrupts off, and how " +
			"many slots the kernel keeps for its own probes",
		Says: "what runs with interrupts off: {detour|{returns|none of that|handlers of return probes}|" +
			"handlers behind a detour{returns||, handlers of return probes}}"},
	traces.Spec{Kind: Context, Name: "Context", Args: args{probe, which, context}, Rig: true,
		Doc: "of the handler that has begun", Says: "{which} of {probe} runs with {bits}"},
	traces.Spec{Kind: RetEntry, Name: "RetEntry", Args: args{probe, sp, addr}, Rig: true,
		Doc:  "a return probe's entry_handler runs: addr is on the stack at sp",
		Says: "{probe}: a call begins that is to return to {addr}"},
	traces.Spec{Kind: RetLeft, Name: "RetLeft", Args: args{probe, sp}, Rig: true,
		Doc: "the entry_handler refuses to follow the call", Says: "{probe}: this call is left alone"},
	traces.Spec{Kind: RetReturn, Name: "RetReturn", Args: args{probe, sp, addr}, Rig: true,
		Doc:  "the handler runs for the call whose return address was at sp; it gets addr as that address",
		Says: "{probe}: its handler is told that the call returns to {addr}"},
	traces.Spec{Kind: Enabled, Name: "Enabled", Args: args{on, done}, Rig: true,
		Class: traces.ClassClaim, Weight: traces.Some,
		Doc: "a write of kprobes/enabled begins, or, done 1, returns", Says: "kprobes/enabled = {on}" + written},

	traces.Spec{Kind: State, Name: "State", Args: args{addr, states, traces.Place.Named("detour")},
		Monitors: true,
		Doc:      "the engine's state of a point, when kprobe_mutex is about to be released",
		Says:     "the engine holds of {addr}: {bits}"},
	traces.Spec{Kind: Listed, Name: "Listed", Args: args{addr, traces.Number.Named("letter"), tags},
		Monitors: true,
		Doc:      "a line of kprobes/list, at the end of the run; letter 0: the file is opened",
		Says:     "kprobes/list: {addr} {tags}"},
	traces.Spec{Kind: NoJump, Name: "NoJump", Args: args{probe}, Monitors: true, Rig: true,
		Doc:  "no jump may be at its address while it is registered: it has a post_handler, or is a jprobe",
		Says: "{probe} has a post_handler, or is a jprobe: no jump may be there"},
	traces.Spec{Kind: Returner, Name: "Returner", Args: args{addr}, Monitors: true, Rig: true,
		Doc: "the address of the return probes' trampoline", Says: "return addresses are replaced with {addr}"},
	traces.Spec{Kind: Seeks, Name: "Seeks", Args: args{probe}, Monitors: true,
		Doc: "a call of its function looks for a free instance of a return probe"},
	traces.Spec{Kind: Lies, Name: "Lies", Args: args{instance, probe, traces.Number.Named("free")}, Monitors: true,
		Doc: "an instance becomes free for calls to take (free 1; 2: on this CPU, on others maybe later), or taken"},
	traces.Spec{Kind: Stays, Name: "Stays", Args: args{instance, probe, traces.Task.Named("task")}, Monitors: true,
		Doc: "an instance is returned, but is still in a task's list of calls in flight"},
	traces.Spec{Kind: Wants, Name: "Wants", Args: args{probe, traces.Count.Named("n")}, Monitors: true, Rig: true,
		Doc: "how many calls a return probe can follow at a time, as requested or by the rules"},
	traces.Spec{Kind: Carries, Name: "Carries", Args: args{addr, probe, traces.Number.Named("begins")},
		Monitors: true,
		Doc: "a probe that the point at an address has, when kprobe_mutex is about to be released; begins 1: a " +
			"report begins, without a probe, 2: there is no report"},
	traces.Spec{Kind: Foreign, Name: "Foreign", Monitors: true,
		Doc: "kprobe_mutex is taken, and state under it has changed since its last holder released it"},
	traces.Spec{Kind: Fits, Name: "Fits", Args: args{probe, errno, traces.Value.Named("or")}, Monitors: true, Rig: true,
		Doc: "where the unregistered probe is registered, only errno or the other errno is right; with FitsJump in " +
			"or, it must have a jump in the end, unless another probe prevents it"},
	traces.Spec{Kind: Keeps, Name: "Keeps", Args: args{on}, Monitors: true, Rig: true,
		Doc: "whether a module is held as long as a probe is registered in it"},
	traces.Spec{Kind: Finds, Name: "Finds", Monitors: true, Rig: true,
		Args: args{probe, traces.Place.Named("pre"), traces.Place.Named("post")},
		Doc:  "the instruction pointer that a kprobe's handlers must see, 0: not stated"},
	traces.Spec{Kind: Reading, Name: "Reading", Args: args{read, probe}, Rig: true,
		Doc:  "a task or a handler begins to read something of the engine's; the probe counts for nmissed only",
		Says: "begins to read {read}"},
	traces.Spec{Kind: ReadLine, Name: "ReadLine", Args: args{addr, traces.Number.Named("letter"), tags}, Rig: true,
		Doc:  "a line that a reader of kprobes/list gets while others work",
		Says: "reads in kprobes/list: {addr} {tags}"},
	traces.Spec{Kind: ReadEnd, Name: "ReadEnd", Args: args{read, probe, traces.Number.Named("value")}, Rig: true,
		Class: traces.ClassClaim, Weight: traces.Some,
		Doc:  "it has been read; the value is a switch's 0 or 1, the count nmissed, or how many lines there were",
		Says: "has read {read}: {value}"},
	traces.Spec{Kind: Sees, Name: "Sees", Args: args{probe, which, traces.Place.Named("ip")}, Monitors: true, Rig: true,
		Doc: "the instruction pointer that a handler of such a probe finds as it begins"},
)

// Arguments that are sets.
var (
	states = traces.Set("point", "the engine's state of a point: the bits from StateArmed on",
		"armed", "jumped", "optimized", "optimizing", "unoptimizing", "freeing", "gone", "ftrace").Named("bits")
	tags = traces.Set("tags", "of a line of kprobes/list",
		"[GONE]", "[DISABLED]", "[OPTIMIZED]", "[FTRACE]", "no tags").Named("tags")
	context = traces.Set("context", "where a handler runs",
		"preemption off", "interrupts off", "and where it was hit they were off").Named("bits")
	about = traces.Set("about", "more about a probe: the bits from IsDisabled on",
		"disabled", "entry_handler", "both handlers", "changes the path").Named("about")
)

// Verbs lists the names of the API's calls.
var Verbs = smpev.NewWords("api", "", "register", "unregister", "enable", "disable")

// HandlerNames lists the names of a probe's handlers.
var HandlerNames = smpev.NewWords("handler", "", "pre_handler", "post_handler", "entry_handler", "handler",
	"fault_handler", "entry")

// Read lists the names of what can be read.
var Read = smpev.NewWords("read", "kprobes/list", "kprobes/enabled", "the sysctl kprobes-optimization", "nmissed")

func probeKind(n uint64) string {
	return [...]string{"kprobe", "return probe", "jprobe", "?"}[min(n, 3)]
}
