// Package drawable has the names of the machines on which programs are drawn, for flags.
//
// What it is not: the generator (package gen). Package inputs doesn't import that, so that a program that draws nothing
// is without it.
//
// Its rule: the names are those of gen.Machines, in their order.
package drawable
