// Package catalogue prints what kpsim contains: kpsim list (scenarios, properties, mutants,
// strategies), kpsim editions and kpsim version.
//
// What it is not: it defines none of them.
//
// Its rule: everything that can be named on a command line is in a list here.
//
// Its limits: facts that Go didn't record about a build are printed as unknown.
package catalogue
