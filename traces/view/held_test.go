package view_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/internal/testkit/tracetest"
	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

const x, y, stack = 0xffffffff83000000, 0xffffffff83000008, 0xffffc9000000df00

// storeBuffering is a run in which cpu0 holds its store to x while cpu1 looks at it: one store
// takes effect before the end, one doesn't; no other CPU looks at what is stored to a stack.
func storeBuffering() view.Input {
	tr := tracetest.New()
	a := tr.On(0, prober)
	a.Emit(smpev.Held, x, 1, 4)
	b := tr.On(1, caller)
	b.Emit(smpev.Switch, 1, caller, 1)
	a.Emit(smpev.Held, 3, 0, 0)
	a.Emit(smpev.Held, stack, 5, 8)
	b.CallEnd(0, 0)
	a.Emit(smpev.Commit, x, 1, 4)
	b.Emit(smpev.Switch, caller, 1, 1)
	a.Emit(smpev.Got, 0, 0, 0)
	in := input(tr, 2)
	in.Property, in.At, in.Memory = "X2 right-result", 7, "tso"
	in.Cell = func(id uint64) string { return fmt.Sprintf("poke.desc%d", id) }
	in.Stack = func(a uint64) string { return map[bool]string{true: "prober"}[a >= stack && a < stack+0x100] }
	symbol := in.Symbol
	in.Symbol = func(a uint64) string {
		switch a {
		case x:
			return "x+0x0"
		case y:
			return "x+0x8"
		}
		return symbol(a)
	}
	in.Schedule = []traces.Deviation{
		{Mover: "cpu0", Name: "idle", Occ: 1, Kind: sim.Buffer, Alt: "held"},
		{Mover: "drain@cpu0", Name: "victim", Off: 6, Text: true, Occ: 1, Alt: "cpu1"},
	}
	return in
}

func TestHeldStores(t *testing.T) {
	in := storeBuffering()
	golden(t, "held", in)
	s := view.Lay(in, nil)
	assert.Equal(t, []string{"cpu0 prober holds: x 0-5", "cpu0 prober holds: poke.desc3 2-7"}, spans(s, view.SpanHeld))
	in.All = true
	golden(t, "held-all", in)
}

func TestHeldInWords(t *testing.T) {
	for _, test := range []struct {
		line, words string
	}{
		{"cpu0 in idle, 1st time, buffer: held", "stores may be held in this run: other CPUs see them late"},
		{"drain@cpu0 in victim+0x6, 1st time: cpu1", "cpu1 goes on, and cpu0's store, made before victim+0x6, waits"},
		{"drain@cpu0 in victim+0x6, 1st time: cpu0", "cpu0 goes on in victim+0x6, and its store waits"},
		{"drain@cpu0 in victim+0x6, 1st time: drain@cpu1",
			"cpu1's store takes effect, and cpu0's, made before victim+0x6, waits"},
		{"drain@cpu0 in victim+0x6, 1st time: ipi@cpu1",
			"cpu1 takes its IPI, and cpu0's store, made before victim+0x6, waits"},
		{"drain@cpu0 in victim+0x6, 1st time: timer@cpu1",
			"timer@cpu1 fires, and cpu0's store, made before victim+0x6, waits"},
		{"cpu1 in victim+0x6, 1st time: drain@cpu0",
			"cpu0's oldest store takes effect while cpu1 stands in victim+0x6"},
		{"cpu1 in text_poke_bp step 3, 1st time, version: older 1",
			"cpu1 meets an older value at text_poke_bp step 3, or its store goes before one"},
	} {
		list, err := traces.ParseSchedule(test.line)
		assert.NoError(t, err)
		assert.Equal(t, test.words, view.Choice(list[0]))
	}
	assert.Empty(t, view.NotX86("tso"))
	assert.NotEmpty(t, view.NotX86("lkmm"))
}
