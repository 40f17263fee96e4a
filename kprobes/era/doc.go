// Package era declares the settings of the kprobes engine, each once: its word
// in the scenario language, its values and their words, what it decides, and the
// value that each edition presets (Table).
//
// An engine's presets (Of), the parameters of machine(), the checks and the
// printing of scenarios, kpsim editions and docs/scenarios.md are made from the
// table. To add a setting, add a field to Settings and a row to Table.
//
// What it is not: it does nothing with a setting. The engine goes by most; the
// kernel below it goes by Patch, SyncArm, Counting and NMILatch.
//
// Its rule: no other package lists the values of a setting or their words.
//
// Its limit: the editions are all on the repaired algorithm. What their kernels
// did wrong is in the mutants (--as-shipped).
package era
