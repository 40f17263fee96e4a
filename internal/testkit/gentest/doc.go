// Package gentest draws scenarios with rapid, which shrinks them: small ones over the library's
// functions (Draw), and everything that package gen generates (DrawAny).
//
// What it is not: part of the program. Only tests import it: rapid links package testing, and
// kpsim's own searches draw by recipes (gen.Of).
//
// Its rule: the same draws give the same scenario.
//
// Its limit: Draw knows probes, calls and interrupts; DrawAny draws everything else.
package gentest
