// Package gen draws scenarios on which the correct engine breaks no property in any schedule:
// storms of API calls over library functions, small scenarios about one thing (scene), and whole
// scenarios with random machines and functions (Generate).
//
// What it is not: it judges nothing. A property that breaks in a drawn scenario is a fault of the
// engine or of a mutant; the search decides which.
//
// Its rule: all questions of a generator go through Choices, so random numbers, rapid (gentest)
// and a recorded list of answers draw the same scenarios.
//
// Scenarios of riscv64, arm64 and ppc64le are simpler (words.go): their functions are a few instructions of a row.
//
// Its limit: scenarios are sound by construction (sound, in machine.go), so settings under which
// the kernel itself races are never drawn.
package gen
