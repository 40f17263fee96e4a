// Package properties is the catalogue of what must hold in every run: properties, each
// with a monitor.
//
// What it is: All, with one file for each property. A property is data: an ID that is never reused,
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
// fault. Each monitor's file says which events it is based on.
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
