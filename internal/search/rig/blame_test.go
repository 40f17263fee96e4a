package rig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/searchtest"
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
		// mov $0x82000105,%rax; jmp *%rax
		{"a jump into the gate page, in a detour", "\x48\xc7\xc0\x05\x01\x00\x82\xff\xe0", 64,
			"no routine begins here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc := searchtest.LoadTinier(t, `quiesce = "sched", patch = "breakpoint"`, `
v = text("v", hex = "55 4889e5 53 8d443701 5b 5d c3")
k = kprobe("k", at = v)
task("a", cpu = 0, ops = [register(k), wait_optimized(), call(v), unregister(k)])
task("b", cpu = 1, ops = [call(v)])
`)
			rig, err := build(sc, "", false)
			require.NoError(t, err)
			defer rig.Close()
			rig.wiring.config.Deps.Text = &garbler{rig.wiring.config.Deps.Text, c.least, []byte(c.bytes)}
			run := rig.Run(new(sched.Default))
			require.Equal(t, smp.Violated, run.Outcome, "%v", run.Err)
			require.Same(t, &properties.NoOops, run.Property)
			require.Contains(t, rig.Message(&run), c.says)
			again := rig.Run(new(sched.Default))
			require.Equal(t, run.Digest, again.Digest)
		})
	}
}
