// Package properties is the catalogue of what must hold in every run: properties, each
// with a monitor.
//
// What it is: All, one file a property. A property is data: an ID that is never reused,
// a name, a sentence, and the kinds of event that it needs. Monitors runs the monitors
// of several properties over one Scene, which keeps the state that more than one of
// them needs: the text (text.go), API calls (probes.go), open traps (frames.go). The
// wording of findings is in say.go.
//
// What it is not: it runs nothing and knows neither the machine nor the engine.
//
// Its rule: a monitor sees events only, and has its own model of the truth. It gets no
// event in which the engine reports its own state (Arm, Optimized, …), except where
// that report is compared with the truth (R2, T4, F1). Where the order of two
// overlapping API calls can't be known, a monitor claims less: a finding is always a
// fault.
//
//	ID  name                based on
//	T2  no-start-inside     Load, Image, TextStore: has a byte after the head of a patched site changed?
//	T1  whole-instructions  the same, and TextStore since Alloc for slots and detours
//	T3  no-sail-past        Load and the API calls
//	B1  owned-breakpoint    Trap, Claim, Return, Oops
//	X2  right-result        Want, which the scenario states, against Got, which the rig found
//	X1  transparent         Expect, from the twin run without probes, against CallEnd
//	A1  accounted           Trap and Exec (a jump, ftrace's call) against Handler, Missed, Skipped, at each CallEnd
//	A2  post-called         Handler against Handler, at each CallEnd
//	R1  return-pairs        RetEntry, RetLeft and RetReturn, Hooked without an entry_handler, Trampoline for where a call goes
//	R2  instances           the engine's events about its instances, against each other
//	C1  handler-context     Context, against Contexts and the open traps
//	E1  answers             the API calls against each other
//	E2  linearizable        nothing: the rig judges it by the API calls and the switches, after the run
//	L1  after-unregister    the API calls against Handler, Missed, Skipped
//	L2  text-restored       Load and Image against what TextStore left; Retire and Free, for the text of a module that goes
//	L3  optimization-off    Sysctl and the API calls against TextStore; Retire and Free, as L2
//	L4  all-off             Enabled and the API calls against TextStore; Retire and Free, as L2
//	S1  no-use-after-free   Alloc, Free against Exec, Return, the addresses of page faults, and the saved ip of open interrupts
//	O1  no-oops             Oops
//	K1  locks               Lock, Unlock, MightSleep
//	P1  progress            nothing: the rig judges it by how the run ended
//	P2  optimized-again     Image, the API calls and the switches against what TextStore left
//	P3  returns             the API calls and the switches against Wake, Gives and Due: which tasks have had a CPU meanwhile
//	P4  unoptimized         Image, the API calls and NoJump (probes that rule out a jump) against what TextStore left
//	T4  text-agrees         State, the engine's view of each address, against what TextStore left
//	F1  list-agrees         Listed, the lines of kprobes/list, against the text, the API calls and Kind
//
// Speed: a monitor gets some hundred events a run, in tens of thousands of runs a
// second. An event costs a few ns, Reset keeps memory, and only a finding allocates.
// The scene handles irrelevant events (scene.go) alone: a linked instruction that runs
// where nothing is patched, a store to a detour.
//
// Orders: Touches says which events' order a monitor may notice, for searches that skip
// orders. A finding ends a run; which of two findings comes first doesn't matter,
// because a property is broken in both cases.
//
// Assumptions about the emitters that monitors can't check:
//
//   - Load events come first, in ascending order within a function, and cover
//     all text that emits Exec and isn't handed out with Alloc.
//   - Images of raw sites are at the head, before the first store or API call.
//   - Register leaves a probe enabled.
//   - Lock is emitted when the lock has been taken, Unlock while it is still held.
//
// Limits: T1 knows the bytes of a slot or a detour only from stores since Alloc, and
// accepts any others there. S1 doesn't follow return addresses on stacks, only the
// saved ip of hardware interrupts and NMIs. A1 ignores a hit whose probe was being
// disabled or unregistered meanwhile. A hit of a breakpoint that is single-stepped
// twice (spec 1.15) is two hits.
package properties
