// Package blame finds the choice by which a run was lost. It samples continuations of prefixes of
// the violating run, and finds the choice at which the odds of failing rise.
//
// What it is not: an explanation of the cause. It compares odds.
//
// Its rule: the continuations depend on the seed alone.
//
// Its limits: odds are estimates, with intervals of 95 %.
package blame
