// Package era declares each setting of the kprobes engine once (Table): its word in the
// scenario language, its values and their words, a description, and the value that each
// edition presets.
//
// An engine's presets (Of), the parameters of machine(), the checks and the
// printing of scenarios, kpsim editions and docs/scenarios.md are made from the
// table. To add a setting, add a field to Settings and a row to Table.
//
// What it is not: it doesn't act on settings. The engine acts on most of them; the
// kernel below it acts on Patch, SyncArm, Counting and NMILatch.
//
// Its rule: no other package lists the values of a setting or their words.
//
// Its limit: all editions use the repaired algorithm. The mutants hold the bugs of the
// editions' kernels (--as-shipped).
package era
