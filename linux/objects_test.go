package linux_test

import (
	"os"
	"path/filepath"
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
		files     []string
	}{
		{"riscv64", scenariosRISCV, []string{"kernel/kprobes.o", "lib/objpool.o", "kernel/trace/rethook.o",
			"arch/riscv/kernel/probes/kprobes.o", "arch/riscv/kernel/probes/decode-insn.o",
			"arch/riscv/kernel/probes/simulate-insn.o", "arch/riscv/kernel/probes/rethook.o", "arch/riscv/kernel/patch.o"}},
		{"arm64", scenariosARM, []string{"kernel/kprobes.o", "lib/objpool.o", "arch/arm64/kernel/probes/kprobes.o",
			"arch/arm64/kernel/probes/decode-insn.o", "arch/arm64/kernel/probes/simulate-insn.o",
			"arch/arm64/kernel/patching.o", "arch/arm64/lib/insn.o"}},
	} {
		t.Run(c.processor, func(t *testing.T) {
			path := kerneltest.PathOn(t, c.processor, "6.12")
			var files []string
			for _, name := range c.files {
				files = append(files, filepath.Join(filepath.Dir(path), "objects", name))
			}
			if _, err := os.Stat(files[0]); err != nil {
				release := filepath.Base(filepath.Dir(path))
				t.Skipf("no objects of %s at hand: run scripts/kernel-objects %s", release, release)
			}
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
						require.Contains(t, []smp.Outcome{smp.Passed, smp.Violated}, run.Outcome, "%s %v", p.name, run.Err)
						end := run.Outcome.String()
						if run.Property != nil {
							end = run.Property.ID
						}
						ends[i][end]++
					}
				}
				for end := range ends[1] {
					require.Contains(t, ends[0], end, p.name)
				}
			}
		})
	}
}
