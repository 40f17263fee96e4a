package rig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
)

// TestEachOperationUnderKernels: what a task can do, it can do beside a kernel's own engine, too, or it is refused in
// words. Each operation is tried with the first scenarios of the library that have it.
func TestEachOperationUnderKernels(t *testing.T) {
	const enough = 2 // scenarios of each operation
	t.Parallel()
	for _, series := range []string{"6.1", "6.12"} {
		k, err := linux.Open(kerneltest.Path(t, series))
		require.NoError(t, err)
		linux.Give(k)
		tried := make(map[*scenario.Operation]int)
		for _, sc := range library.All() {
			if !sc.Any(func(op *scenario.Op) bool { return tried[op.Kind] < enough }) || sc.SetLinux(k) != nil {
				continue
			}
			r, err := rig.New(sc, "")
			if err != nil { // a setting that this kernel doesn't have
				continue
			}
			random := sched.NewRandom(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
			for i := range uint64(2) {
				random.Begin(i)
				run := r.Run(random)
				require.NotEqual(t, smp.Refused, run.Outcome, "%s: %s", sc.Name, r.Message(&run))
			}
			r.Close()
			sc.Any(func(op *scenario.Op) bool { tried[op.Kind]++; return false })
		}
		var none []string
		for _, op := range act.All() {
			if tried[op] == 0 {
				none = append(none, op.Word)
			}
		}
		t.Logf("%s: no scenario has %s", series, strings.Join(none, ", "))
		require.NotZero(t, tried[act.Hits])
	}
}
