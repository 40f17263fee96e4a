// Package small runs all serial programs of a few calls on small worlds and compares each with a
// reference.
//
// What it is: a world (worlds/*.star) is a scenario whose only task lists the calls. World makes
// letters of these; state is the reference, written from the rules of spec.md and nothing of an
// engine; Search runs each program of 1, 2, … calls up to symmetry on an engine, and compares
// what each call answers, which handlers each call of a function runs, each probe's state, and
// kprobes/list. Then all probes are unregistered and all modules unloaded, so that the monitors
// of the properties judge the text, the memory and the counts that remain. witness makes a
// scenario of a program.
//
// What it is not: it searches no schedules. One task does the calls, by the default schedule.
//
// Its rule: it is complete to its bound, and says what it left out: a program that only renames
// interchangeable probes; a second call that changes nothing by the rules; the continuations of a
// program that already differs.
//
// # Limits
//
// Functions of a world are straight code. The prefix of a program is run again for each program.
package small
