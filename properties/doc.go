// Package properties says what must hold in every run, as a catalogue of
// properties with a monitor each.
//
// What it is: All, one file a property. A property is data: an ID that is never
// reused, a name, a sentence, the kinds of event it rests on. Monitors are the
// monitors of several, over one Scene, which follows for all of them what more
// than one wants to know: the text (text.go), API calls (probes.go), open traps
// (frames.go). The wording of findings is in say.go.
//
// What it is not: it runs nothing and knows neither the machine nor the engine.
//
// Its rule: a monitor sees events only, and its model of the truth is its own.
// What the engine says of itself (Arm, Optimized, …) no monitor is told of, but where
// that is what is held against the truth (R2, T4, F1). Where
// the order of two overlapping API calls can't be known, a monitor claims less
// rather than more: a finding is always a fault.
//
//	ID  name                rests on
//	T2  no-start-inside     Load, Image, TextStore: is a byte behind the head of a patched site changed?
//	T1  whole-instructions  the same, and TextStore since Alloc for slots and detours
//	T3  no-sail-past        Load and the API calls
//	B1  owned-breakpoint    Trap, Claim, Return, Oops
//	X2  right-result        Want, what the scenario says, against Got, what the harness found
//	X1  transparent         Expect, from the twin run without probes, against CallEnd
//	A1  accounted           Trap and Exec (a jump, ftrace's call) against Handler, Missed, Skipped, at each CallEnd
//	A2  post-called         Handler against Handler, at each CallEnd
//	R1  return-pairs        RetEntry, RetLeft and RetReturn, Hooked without an entry_handler, Trampoline for where a call goes
//	R2  instances           what the engine says of its instances, against itself
//	C1  handler-context     Context, against Contexts and the open traps
//	E1  answers             the API calls against each other
//	E2  linearizable        nothing: harness judges it by the API calls and the switches, when all is over
//	L1  after-unregister    the API calls against Handler, Missed, Skipped
//	L2  text-restored       Load and Image against what TextStore left; Retire and Free, of a module's text that goes
//	L3  optimization-off    Sysctl and the API calls against TextStore; Retire and Free, as L2
//	L4  all-off             Enabled and the API calls against TextStore; Retire and Free, as L2
//	S1  no-use-after-free   Alloc, Free against Exec, Return, what page faults are for, and the saved ip of open interrupts
//	O1  no-oops             Oops
//	K1  locks               Lock, Unlock, MightSleep
//	P1  progress            nothing: harness judges it by how the run ended
//	P2  optimized-again     Image, the API calls and the switches against what TextStore left
//	P3  returns             the API calls and the switches against Wake, Gives and Due: who has had a CPU meanwhile
//	P4  unoptimized         Image, the API calls and NoJump, which probes keep a jump away, against what TextStore left
//	T4  text-agrees         State, what the engine holds of each point, against what TextStore left
//	F1  list-agrees         Listed, what kprobes/list says, against the text, the API calls and Kind
//
// Speed: a monitor is told of some hundred events a run and tens of thousands
// of runs a second. An event costs a few ns, Reset keeps memory, and only a
// finding allocates. What is dull (scene.go) the scene takes, and no monitor is
// told of it: a linked instruction that runs where nothing is patched, a store
// to a detour.
//
// Orders: Touches says which events' order a monitor may notice, for searches that
// leave orders out. A finding ends a run, and which of two comes first is no
// matter: that a property is broken is the same.
//
// What it takes for granted of those who emit, and can't check:
//
//   - Load events come first, in ascending order within a function, and cover
//     all text that isn't handed out with Alloc and yet emits Exec.
//   - Images of raw sites stand at the head, before the first store or API call.
//   - Register leaves a probe enabled.
//   - Lock is emitted when the lock is had, Unlock while it still is.
//
// Limits: T1 knows the bytes of a slot or a detour only from stores since Alloc,
// and takes any others there for good. S1 doesn't follow return addresses on
// stacks, only the saved ip of hardware interrupts and NMIs. A1 lets a hit go
// uncounted whose probe was being disabled or unregistered meanwhile. A hit of a
// breakpoint that is single-stepped twice (spec 1.15) is two hits.
package properties
