package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
)

// never searches a program for anything that breaks.
func never(t *testing.T, name, text string, runs uint64) {
	t.Helper()
	sc, err := lang.Parse(name, []byte(text+"\nnever()\n"))
	require.NoError(t, err, name)
	res, err := explore.Run(explore.Spec{Scenario: sc, Runs: runs / searchtest.Slow, Seed: 1, Blind: true})
	require.NoError(t, err, name)
	require.Empty(t, res.Broken, name)
}

// TestMovedInATrampoline: a task goes on elsewhere when its CPU goes offline, whichever
// trampoline it is in, with its own registers, and returns to where it came from.
func TestMovedInATrampoline(t *testing.T) {
	for name, part := range map[string][3]string{
		"fprobe":    {`p = fprobe("p", [f], entry = e, exit = e)`, `register_fprobe(p)`, `unregister_fprobe(p)`},
		"exit":      {`p = fprobe("p", [f], exit = e)`, `register_fprobe(p)`, `unregister_fprobe(p)`},
		"kretprobe": {`p = kretprobe("p", at = g, handler = [call(e)])`, `register(p)`, `unregister(p)`},
		"optprobe":  {`p = kprobe("p", at = g, pre = [call(e)])`, `register(p), wait_optimized()`, `unregister(p)`},
		"ftrace":    {`p = kprobe("p", at = f, pre = [call(e)])`, `register(p)`, `unregister(p)`},
		"tracer":    {``, `tracer(True)`, `tracer(False)`},
	} {
		for _, edition := range []string{`edition = "6.5"`, `edition = "4.15"`, `ftrace = True, quiesce = "tasks"`} {
			if edition == `edition = "4.15"` && strings.HasPrefix(part[0], "p = fprobe") {
				continue
			}
			never(t, name+" "+edition, fmt.Sprintf(`
machine(cpus = 2, preempt = "full", %s)
f = text("f", "0f1f440000 ffcf 7805 e8f2ffffff 8d4701 c3")
g = text("g", "4889f8 4883c001 90 90 90 c3")
e = text("e", "50 58 c3")
fentry(f)
%s
task("prober", cpu = 0, ops = [%s, offline(1), %s])
task("caller", cpu = 1, ops = [call(f, 1), call(g, 1), call(f, 0), call(g, 2)], repeat = 3)
task("other", cpu = 1, ops = [schedule()], repeat = 4)
task("another", cpu = 0, ops = [call(g, 1), schedule(), call(f, 1)], repeat = 3)
preempt(cpu = 1, at_most = 3)
`, edition, part[0], part[1], part[2]), thorough.Of[uint64](800, 3000))
		}
	}
}

// TestHandlerLeavesRegisters: a handler of an optimized probe calls text that points all the
// registers to data in which a detour gives its arguments. Nothing is written there: the probed
// function reads what it reads without the probe.
func TestHandlerLeavesRegisters(t *testing.T) {
	for arch, text := range map[string][3]string{
		// mov $d,%rsi; xor of edi, edx, eax
		"x86-64": {"48c7c600200081 31ff 31d2 31c0 c3", "0xffffffff81002000", "488b042500200081 c3"},
		// mov $d,%edx; xor of eax, ecx
		"i386": {"ba00000483 31c0 31c9 c3", "0x83040000", "a100000483 c3"},
	} {
		for _, edition := range []string{"4.15", "5.14", "6.5", "6.9"} {
			never(t, arch+" "+edition, fmt.Sprintf(`
machine(cpus = 1, edition = "%s", arch = "%s")
f = text("f", "90 90 90 90 90 90 %s")
g = text("g", "%s")
d = data("d", at = %s, hex = "%s")
k = kprobe("k", at = f, pre = [call(g)])
task("prober", cpu = 0, ops = [register(k), wait_optimized(), call(f, 1, 2)])
`, edition, arch, text[2], text[0], text[1], strings.Repeat("a5", 256)), 20)
		}
	}
}

// TestComingCPU: ftrace patches without the lock against hotplug, while a CPU is on its way from
// reset to the set of those online. No task runs there what it fetched before.
func TestComingCPU(t *testing.T) {
	for name, part := range map[string][2]string{
		"fprobe": {`p = fprobe("p", [f], exit = e)`, `register_fprobe(p), unregister_fprobe(p), register_fprobe(p)`},
		"kprobe": {`p = kprobe("p", at = f)`, `register(p), unregister(p), register(p)`},
		"tracer": {``, `tracer(True), tracer(False), tracer(True)`},
	} {
		for _, fetch := range []string{"stale", "mixing"} {
			never(t, name+" "+fetch, fmt.Sprintf(`
machine(cpus = 2, preempt = "full", fetch = "%s", edition = "6.5", offline = [1])
f = text("f", at = 0xffffffff81050207, hex = "0f1f440000 ffcf 7805 e8f2ffffff 31c0 c3")
e = text("e", "50 58 c3")
fentry(f)
%s
task("patcher", cpu = 0, ops = [%s])
task("caller", cpu = 1, ops = [call(f, 6)])
task("onliner", cpu = 0, ops = [online(1)])
nmi(cpu = 1)
`, fetch, part[0], part[1]), 3000)
		}
	}
}
