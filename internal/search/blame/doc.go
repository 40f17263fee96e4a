// Package blame finds the choice by which a run was lost: it samples how the runs end that
// begin as the violating one does, and looks for the choice at which the odds rise.
//
// What it is not: an explanation of the cause. It compares odds.
//
// Its rule: the suffixes depend on the seed alone.
//
// Its limits: odds are estimates, with intervals of 95 %.
package blame
