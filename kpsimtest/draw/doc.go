// Package draw draws scenarios with rapid: machines, functions, probes, programs.
//
//	rapid.Check(t, func(t *rapid.T) {
//		s := build.New("drawn")
//		m := draw.Machine(t, s)
//		fs := draw.Functions(t, s, 1, 2)
//		ks := draw.Probes(t, s, m, fs, 1, 3)
//		draw.Prober(t, s, m, ks)
//		draw.Callers(t, s, m, fs)
//		draw.Interrupts(t, s, m)
//		kpsimtest.Never(t, s, kpsimtest.Runs(200))
//	})
//
// Each draws one thing into a scenario that the rest of the property may write by hand: your own functions, your own
// patcher, what you expect. Rapid shrinks what was drawn, and kpsimtest then the scenario and the schedule. In a fuzz
// test, f.Fuzz(rapid.MakeFuzz(property)) draws from the fuzzer's bytes.
//
// What it is not: the generator of kpsim explore, which knows every operation: that is Any.
//
// Its rule: on a machine that it draws the correct engine holds every property, whatever else it draws.
//
// Its limit: Machine, Functions and what is drawn for them are of x86-64.
package draw
