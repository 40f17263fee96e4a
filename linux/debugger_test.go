package linux_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/kpev"
	"kpsim/linux"
	"kpsim/linux/mutate"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// debugged has a debugger's breakpoints beside probes: where a probe is refused meanwhile,
// and in a function that a handler calls, and an interrupt.
const debugged = `
machine(cpus = 2%[1]s, preempt = "none", fetch = "stale")
f = text("f", "55 %[2]s 5d c3")
g = text("g", "%[2]s c3")
k = kprobe("k", at = f, pre = [call(g)], post = [count()])
b = kprobe("b", at = f + %[3]d + 1, post = [count()])
task("debugger", cpu = 0, ops = [
    set_breakpoint(f + %[3]d + 1, errno = 0), set_breakpoint(g, errno = 0), call(f, 4, returns = 7), register(b), register(k, errno = 0), call(f, 4, returns = 7),
    schedule(), clear_breakpoint(f + %[3]d + 1, errno = 0), register(b, errno = 0), call(f, 4, returns = 7), clear_breakpoint(g, errno = 0), unregister(b), unregister(k)])
task("caller", cpu = 1, ops = [call(f, 4, returns = 7), call(g, 4, returns = 7)], repeat = 3)
timer(cpu = 1, run = g)
`

// inJump has one set on an instruction that a probe's jump covers.
const inJump = `
machine(cpus = 2%[1]s, preempt = "none")
f = text("f", "%[2]s c3")
k = kprobe("k", at = f)
task("prober", cpu = 0, ops = [register(k, errno = 0), wait_optimized(), signal(), schedule(), unregister(k)])
task("debugger", cpu = 1, ops = [wait_signal(), set_breakpoint(f + %[3]d), call(f, 4, returns = 7)])
`

// written is one of these for kernels of 64 bits or of 32: mov %rdi,%rax; add $3,%rax, or
// mov %eax,%ecx; add $3,%eax, of which the second begins at the third argument.
func written(t *testing.T, k *linux.Kernel, text string) *scenario.Scenario {
	arch, code, second := "", "4889f8 4883c003", 3
	if k.Image.Word() == 4 {
		arch, code, second = `, arch = "i386"`, "89c1 83c003", 2
	}
	sc, err := lang.Parse("written", fmt.Appendf(nil, text, arch, code, second))
	require.NoError(t, err)
	return sc
}

// A kernel's own handler passes a debugger's breakpoints on, which don't become part of a
// probe; what its engine doesn't ask is found. A handler that takes a breakpoint that stands
// for one that has gone, for which kernels until 6.1 look, sends the CPU back to it for ever;
// where the debugger isn't asked the kernel dies.
func TestDebugger(t *testing.T) {
	for name, path := range map[string]func(t testing.TB) string{
		"6.1":  func(t testing.TB) string { return kerneltest.Path(t, "6.1") },
		"6.12": func(t testing.TB) string { return kerneltest.Path(t, "6.12") },
		"i386": kerneltest.I386,
	} {
		t.Run(name, func(t *testing.T) {
			k, err := linux.Open(path(t))
			require.NoError(t, err)
			linux.Give(k)
			r := rigOf(t, k, written(t, k, debugged))
			var by claims
			r.Log.Subscribe(&by, smpev.Claim)
			require.Empty(t, brokenBy(r, thorough.Of[uint64](20, 400)))
			require.Positive(t, by[smpev.OwnerDebugger], "the debugger claims nothing")
			require.Positive(t, by[kpev.OwnerKprobe], "no probe is hit")

			require.Contains(t, brokenBy(rigOf(t, k, written(t, k, inJump)), 8), properties.WholeInstructions.Name)
			if k.Image.Word() == 8 {
				require.Contains(t, brokenBy(rigOf(t, k, load(t, "debugger-under-probe")), 40),
					properties.TextRestored.Name)
				require.Contains(t, brokenBy(rigOf(t, k, refuses(t)), 60), properties.WholeInstructions.Name)
			}

			i := slices.IndexFunc(mutate.All(k.Closure), func(m mutate.Mutant) bool {
				return strings.HasPrefix(m.Says, "compare with a number off by one: cmpb $0xcc") &&
					strings.Contains(m.Says, " kprobe_int3_handler+")
			})
			require.Equal(t, name != "6.12", i >= 0)
			if i >= 0 {
				sc := written(t, k, debugged)
				require.NoError(t, onlinux.Set(sc, k))
				r, err := rig.New(sc, mutate.All(k.Closure)[i].Name)
				require.NoError(t, err)
				defer r.Close()
				require.Contains(t, brokenBy(r, 1), properties.Progress.Name)
			}
			require.Positive(t, k.Without("notify_die"))
			require.Contains(t, brokenBy(rigOf(t, k, written(t, k, debugged)), 1), properties.NoOops.Name)

			k.KgdbFirst()
			require.ErrorContains(t, onlinux.Set(written(t, k, debugged), k),
				`task "debugger" ops[0]: the kernel was built with CONFIG_KGDB_LOW_LEVEL_TRAP`)
		})
	}
}

// refuses is debugger-refuses-probe without the answers, which aren't the same in all
// releases. Without CONFIG_KGDB an int3 that isn't a probe's is padding.
func refuses(t *testing.T) *scenario.Scenario {
	sc := load(t, "debugger-refuses-probe")
	for i := range sc.Tasks[0].Ops {
		if op := &sc.Tasks[0].Ops[i]; op.Kind == act.Register {
			op.Checked, op.Returns = false, 0
		}
	}
	return sc
}

// brokenBy returns the names of the properties that a scenario breaks in some schedules.
func brokenBy(r *rig.Rig, schedules uint64) (names []string) {
	s := sched.NewSticky(sched.Params{Seed: 1, Length: r.Run(new(sched.Default)).Counts.Points})
	for i := range schedules {
		s.Begin(i)
		run := r.Run(s)
		s.End(run.Counts.Points)
		if run.Property != nil {
			names = append(names, run.Property.Name)
		}
	}
	return names
}

// claims counts who claims breakpoints.
type claims [16]int

func (c *claims) Event(e *traces.Event) *traces.Finding { c[e.C%uint64(len(c))]++; return nil }
