package harness

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/properties"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A garbler is Text as a broken engine uses it: what it fills of a slot or a detour
// begins with other bytes.
type garbler struct {
	kapi.Text
	least int // of the pieces that are garbled: their size
	bytes []byte
}

// Fill implements kapi.Text.
func (g *garbler) Fill(x kapi.Context, at arch.Addr, b []byte) {
	if len(b) >= g.least {
		b = append(append([]byte(nil), g.bytes...), b[min(len(b), len(g.bytes)):]...)
	}
	g.Text.Fill(x, at, b)
}

// TestGarbage: what an engine writes, and no processor or simulator executes, kills
// the kernel, with a witness that comes out the same again. It is no bad input.
func TestGarbage(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		least       int
		says        string
	}{
		{"no instruction, in a slot", "\x06", 0, "no instruction"},
		{"a vector instruction, in a slot", "\x0f\x28\xc1", 0, "is not executed by this simulator"},
		{"x87, in a slot", "\xd9\xc0", 0, "is not executed by this simulator"},
		{"hlt, in a slot", "\xf4", 0, "only the idle task halts"},
		{"ud2, in a slot", "\x0f\x0b", 0, "#UD"},
		{"no instruction, in a detour", "\x06", 64, "no instruction"},
		{"a vector instruction, in a detour", "\x0f\x28\xc1", 64, "is not executed by this simulator"},
		{"a jump into the gate page, in a detour", "\x48\xc7\xc0\x05\x01\x00\x82\xff\xe0", 64, "no routine begins here"}, // mov $0x82000105,%rax; jmp *%rax
	} {
		t.Run(c.name, func(t *testing.T) {
			sc := loadTinier(t, `quiesce = "sched", patch = "breakpoint"`, `
v = text("v", hex = "55 4889e5 53 8d443701 5b 5d c3")
k = kprobe("k", at = v)
task("a", cpu = 0, ops = [register(k), wait_optimized(), call(v), unregister(k)])
task("b", cpu = 1, ops = [call(v)])
`)
			rig, err := build(sc, "", false)
			require.NoError(t, err)
			defer rig.Close()
			rig.deps.Text = &garbler{rig.deps.Text, c.least, []byte(c.bytes)}
			run := rig.Run(new(sched.Default))
			require.Equal(t, smp.Violated, run.Outcome, "%v", run.Err)
			require.Same(t, &properties.NoOops, run.Property)
			require.Contains(t, rig.message(&run), c.says)
			again := rig.Run(new(sched.Default))
			require.Equal(t, run.Digest, again.Digest)
		})
	}
}

// TestOwnRefused: an instruction that the simulator doesn't execute, and that the
// scenario has linked, is bad input wherever a CPU comes to it: behind a branch that
// the run without probes doesn't take, in an interrupt's function, and in the copy of
// it that a probe has made.
func TestOwnRefused(t *testing.T) {
	for _, text := range []string{
		// a handler sends the call to it
		`f = text("f", "90 85ff 7504 90 90 90 c3 0f28c1 c3")
k = kprobe("k", at = f, pre = [set_reg("rdi", 1)])
task("a", cpu = 0, ops = [register(k), call(f, 0, changed = True)])
`,
		// only an NMI calls it
		`f = text("f", "0f28c1 c3")
g = text("g", "c3")
k = kprobe("k", at = g)
task("a", cpu = 0, ops = [register(k), call(g)])
nmi(cpu = 0, run = f)
`,
		// and the probe is on it
		`f = text("f", "0f28c1 c3")
k = kprobe("k", at = f)
task("a", cpu = 0, ops = [register(k)])
nmi(cpu = 0, run = f)
`,
	} {
		_, err := Explore(Spec{Scenario: loadTinier(t, `quiesce = "sched", patch = "breakpoint"`, text), Runs: 300, Seed: 1, Blind: true})
		require.Error(t, err, text)
		require.True(t, strings.HasSuffix(err.Error(), ": is not executed by this simulator"), err)
	}
}
