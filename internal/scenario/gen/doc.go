// Package gen draws scenarios on which the right engine breaks no property in
// any schedule: storms of calls of the API over library functions and
// whole scenarios with drawn machines and drawn functions (Generate).
//
// What it is not: it judges nothing. A property that breaks in a drawn scenario
// is a fault of the engine or of a mutant, and the search says which.
//
// Its rule: every question a generator asks goes through Choices, so random
// numbers, rapid (gentest) and a recorded list of answers draw the same scenarios.
//
// Its limit: the rule of soundness is by construction (sound), so
// settings under which the kernel itself races are never drawn.
package gen
