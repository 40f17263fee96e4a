package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
)

// Objects that were compiled of the source of a kernel for another processor, unedited, end each run as that kernel
// does.
func TestOthersObjects(t *testing.T) {
	for _, c := range []struct {
		processor string
		programs  []guest
	}{{"riscv64", scenariosRISCV}, {"arm64", scenariosARM}, {"ppc64le", scenariosPPC}} {
		t.Run(c.processor, func(t *testing.T) {
			path := kerneltest.PathOn(t, c.processor, "6.12")
			files := kerneltest.ObjectsOf(t, path)
			plain, err := linux.Open(path)
			require.NoError(t, err)
			laid, err := linux.Open(path, files...)
			require.NoError(t, err)
			require.True(t, laid.Replaced(arch.Addr(symbolBelow(t, laid, "register_kprobe"))))
			for _, p := range c.programs {
				var ends [2]map[string]int
				for i, k := range []*linux.Kernel{plain, laid} {
					linux.Give(k)
					ends[i] = make(map[string]int)
					r := rigOn(t, c.processor, p.text, "", "")
					shape, _ := r.Survey(0)
					random := sched.NewRandom(sched.Params{Seed: 1, Shape: shape})
					for seed := range uint64(10) {
						random.Begin(seed)
						run := r.Run(random)
						random.End(run.Counts.Points)
						end := run.Outcome.String()
						if run.Property != nil {
							end = run.Property.ID
						}
						ends[i][end]++
						require.Contains(t, []smp.Outcome{smp.Passed, smp.Violated}, run.Outcome, p.name)
					}
				}
				for end := range ends[1] {
					require.Contains(t, ends[0], end, p.name)
				}
			}
		})
	}
}
