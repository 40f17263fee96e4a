package linux_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp"
)

func openRISCV(t testing.TB) *linux.Kernel {
	k, err := linux.Open(kerneltest.PathOn(t, "riscv64", "6.12"))
	require.NoError(t, err)
	linux.Give(k)
	return k
}

// scenariosRISCV are programs that a kernel for riscv64 runs. Instructions of two and of four bytes, copied and
// simulated, have probes, alone and several at a place; functions have return probes.
var scenariosRISCV = []struct{ name, text string }{
	{"copied", `
f = text("f", "0505 0505 8082")                        # addi a0,a0,1; twice; ret
p = kprobe("p", at = f, pre = [count()], post = [count()])
q = kprobe("q", at = f + 2)
task("prober", cpu = 0, ops = [register(p, errno = 0), call(f, 1, returns = 3), register(q, errno = 0),
    call(f, 1, returns = 3), disable(p), enable(p), unregister(q), unregister(p), call(f, 1, returns = 3)])
task("caller", cpu = 1, ops = [call(f, 4, returns = 6), call(f, 5, returns = 7)], repeat = 2)
`},
	{"simulated", `
f = text("f", "c119 00150513 00000297 00050463 0505 8082")  # beqz a0,+6; addi; auipc t0,0; beqz a0,+8; addi; ret
p = kprobe("p", at = f)
q = kprobe("q", at = f + 6)
r = kprobe("r", at = f + 10)
task("prober", cpu = 0, ops = [register(p, errno = 0), register(q, errno = 0), register(r, errno = 0),
    call(f, 0, returns = 0), call(f, 1, returns = 3), unregister(r), unregister(q), unregister(p)])
task("caller", cpu = 1, ops = [call(f, 0, returns = 0), call(f, 7, returns = 9)], repeat = 2)
`},
	{"shared", `
f = text("f", "00150513 0505 8082")                    # addi a0,a0,1, of four bytes and of two
a = kprobe("a", at = f)
b = kprobe("b", at = f, pre = [count()], post = [count()])
task("first", cpu = 0, ops = [register(a, errno = 0), call(f, 1, returns = 3), unregister(a)])
task("second", cpu = 1, ops = [register(b, errno = 0), call(f, 1, returns = 3), unregister(b)])
`},
	{"returns", `
f = text("f", "0505 8082")
r = kretprobe("r", at = f, entry = [count()], handler = [count()], maxactive = 2)
task("prober", cpu = 0, ops = [register(r, errno = 0), call(f, 1, returns = 2), unregister(r), call(f, 1, returns = 2)])
task("caller", cpu = 1, ops = [call(f, 1, returns = 2), schedule(), call(f, 2, returns = 3)], repeat = 2)
`},
}

// rigRISCV makes a rig of a program on two CPUs, with timers.
func rigRISCV(t testing.TB, text string) *rig.Rig {
	sc, err := lang.Parse("riscv64", []byte("machine(cpus = 2, arch = \"riscv64\", engine = \"linux\")\n"+text+
		"timer(cpu = 0)\ntimer(cpu = 1)\n"))
	require.NoError(t, err)
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// keptSlot is how the find slot-kept reads: arch_remove_kprobe does nothing (arch/riscv/kernel/probes/kprobes.c).
const keptSlot = "hasn't been freed: of kprobe_insn_slots"

// TestRISCV: a kernel for riscv64 breaks nothing, but that it frees no slot.
func TestRISCV(t *testing.T) {
	openRISCV(t)
	for _, c := range scenariosRISCV {
		t.Run(c.name, func(t *testing.T) {
			r := rigRISCV(t, c.text)
			shape, _ := r.Survey(0)
			kept := 0
			for _, strategy := range []string{"random", "sticky"} {
				s, err := sched.New(strategy, sched.Params{Seed: 1, Shape: shape})
				require.NoError(t, err)
				for i := range thorough.Of[uint64](100, 2000) {
					s.Begin(i)
					run := r.Run(s)
					s.End(run.Counts.Points)
					if run.Property != nil && strings.Contains(run.Finding.Message, keptSlot) {
						kept++
						continue
					}
					require.Equal(t, smp.Passed, run.Outcome, "%s %v", run.Finding.Message, run.Err)
				}
			}
			require.Equal(t, slices.Contains([]string{"copied", "shared", "returns"}, c.name), kept > 0)
		})
	}
}
