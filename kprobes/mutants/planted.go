package mutants

import (
	"slices"

	// the packages that have faults, and that nothing else here imports
	_ "kpsim/engine/debugger"
	_ "kpsim/engine/staticcall"

	"kpsim/smp/kapi"
)

// planted are the mutants of the faults that stand in the code which they break (kapi.DefineFault): in the clients of
// the waist beside kprobes, and in the kernel below. A row says where one shows; the rest is said there.
var planted = plant(
	Mutant{Name: "debugger-forgets", Scenario: "debugger-comes-and-goes", Property: "owned-breakpoint"},
)

// plant completes rows of planted.
func plant(rows ...Mutant) []Mutant {
	known := kapi.KnownFaults()
	for i := range rows {
		m := &rows[i]
		f := slices.IndexFunc(known, func(f kapi.FaultInfo) bool { return f.Name == m.Name })
		if f < 0 {
			panic("mutants: no code has the fault " + m.Name)
		}
		m.Says, m.Source = known[f].Says, known[f].Source
		m.Apply = func(w *Wiring) { w.Kernel.Plant(kapi.Fault(f)) }
	}
	return rows
}
