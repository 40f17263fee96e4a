// Package small runs all serial programs of a few calls on small worlds and compares each with a
// reference.
//
// What it is: a world (worlds/*.star) is a scenario whose only task lists the calls. World makes
// letters of these; state is the reference, written from the rules of spec.md and nothing of an
// engine; Search runs each program of 1, 2, … calls up to symmetry on an engine, and compares
// what each call answers, which handlers each call of a function runs and what it returns, each
// probe's state, and kprobes/list. Then all probes are unregistered and all modules unloaded, so that the monitors
// of the properties judge the text, the memory and the counts that remain. witness makes a
// scenario of a program.
//
// Beside takes two calls, after a program, into two tasks, and runs every schedule of a few deviations.
//
// What it is not: Search runs no schedule but the default one, in one task.
//
// Its rule: it is complete to its bound, and says what it left out: a program that only renames
// interchangeable probes; a second call that changes nothing by the rules; the continuations of a
// program that already differs.
//
// # Limits
//
// The reference knows few instructions (body_x86.go, body_words.go): others change no result that it knows. Beside
// has no kernel's own engine. The prefix of a program is run again for each program.
package small
