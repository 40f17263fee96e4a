// Package catalogue prints what kpsim has: kpsim list (scenarios, properties, mutants,
// strategies), kpsim editions and kpsim version.
//
// What it is not: it defines none of them.
//
// Its rule: everything that can be named on a command line is in a list here.
//
// Its limits: what Go didn't note about a build is printed as not known.
package catalogue
