package gen

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
)

// Every operation of a patcher of one's own is drawn, and every service that compiled code calls. Compiled code stores
// by an alias, also to text with a jump label. No probe is at a label under rules that don't know labels.
func TestHands(t *testing.T) {
	drawn := make(map[*scenario.Operation]int)
	called, by, shared := make(map[string]int), 0, 0
	for seed := range uint64(20000) {
		sc, _ := Of(&Recipe{Seed: seed}, On{})
		for i := range sc.Texts {
			if f := &sc.Texts[i]; strings.HasPrefix(f.Name, "compiled") {
				for _, name := range slices.Concat(syncs, others, waits) {
					if to, _ := scenario.KernelExport(name); calls(sc, f, to) {
						called[name]++
					}
				}
			}
		}
		for _, a := range sc.Aliases {
			by++
			require.NoError(t, scenario.Check(sc), "seed %d", seed)
			sc.Patched(func(p scenario.Patched) {
				if p.Func == a.Of {
					shared++
				}
			})
		}
		if sc.Machine.Kernel.Edition == rules.Edition26 {
			require.Empty(t, sc.Labels, "seed %d", seed)
		}
		for _, k := range act.All() {
			if k.Traits&scenario.ByHand != 0 && sc.Does(k) {
				drawn[k]++
			}
		}
		if sc.Does(act.Write) {
			require.NoError(t, scenario.Check(sc), "seed %d", seed)
		}
	}
	for _, k := range act.All() {
		if k.Traits&scenario.ByHand != 0 {
			require.NotZero(t, drawn[k], k)
		}
	}
	for _, name := range slices.Concat(syncs, others, waits) {
		require.NotZero(t, called[name], name)
	}
	require.NotZero(t, by)
	require.NotZero(t, shared)
}

// calls reports whether a function has a call of a routine.
func calls(sc *scenario.Scenario, f *scenario.Text, to arch.Addr) bool {
	for _, at := range Boundaries(sc, f.Name) {
		at := f.At + arch.Addr(at)
		call, ok := sc.Machine.Processor().Call(at, sc.Machine.Processor().Addr(to))
		if ok && bytes.HasPrefix(f.Code[at-f.At:], call.Bytes()) {
			return true
		}
	}
	return false
}
