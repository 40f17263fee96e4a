package smp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp/arch/x86"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Which CPU has a line, and when: by hand, of three CPUs, each with its clock.
func TestLines(t *testing.T) {
	const line = sim.Time(100 * cycles.Unit)
	type access struct {
		cpu   int
		cell  kapi.CellID
		store bool
		pays  bool
		at    sim.Time // its CPU's clock after it
	}
	for name, list := range map[string][]access{
		"a CPU alone never pays": {
			{0, 1, true, false, 0}, {0, 1, false, false, 0}, {0, 1, true, false, 0}, {0, 2, true, false, 0}},
		"what another has stored": {
			{0, 1, true, false, 0}, {1, 1, false, true, line}, {1, 1, false, false, line}, {0, 1, false, false, 0}},
		"what others look at is taken from them": {
			{0, 1, true, false, 0}, {1, 1, false, true, line}, {0, 1, true, true, 2 * line},
			{1, 1, false, true, 3 * line}},
		"one that has it too": {
			{0, 1, false, false, 0}, {1, 1, false, true, line}, {2, 1, false, true, line}, {1, 1, false, false, line}},
		"who stores has it": {
			{0, 1, true, false, 0}, {1, 1, true, true, line}, {1, 1, true, false, line}, {0, 1, true, true, 2 * line}},
		"of those that want it at once one has it after the other": {
			{0, 1, true, false, 0}, {1, 1, true, true, line}, {2, 1, true, true, 2 * line},
			{0, 1, true, true, 3 * line}},
		"another cell is another line": {
			{0, 1, true, false, 0}, {1, 2, true, false, 0}, {2, 3, false, false, 0}},
	} {
		m, err := New(Config{Arch: x86.AMD64, CPUs: 3}, new(traces.Log))
		require.NoError(t, err)
		defer m.Close()
		m.Clocks().Costs(nil)
		var tally [sim.MaxCPUs]cycles.Tally
		m.Clocks().Count(&tally)
		for range 2 { // a run finds nothing of the last one's
			m.Reset(nil)
			for i, a := range list {
				was := tally[a.cpu][cycles.Line]
				m.time.bring(&m.cpus.list[a.cpu], m.time.lines.cell(a.cell), a.store)
				require.Equal(t, a.pays, tally[a.cpu][cycles.Line] > was, "%s: %d", name, i)
				require.Equal(t, a.at, m.Clocks().Of(a.cpu), "%s: %d", name, i)
			}
		}
		require.Zero(t, testing.AllocsPerRun(10, func() { m.time.bring(&m.cpus.list[0], m.time.lines.cell(1), true) }))
	}
}

// What is waited for isn't spent.
func TestLineWaits(t *testing.T) {
	m, err := New(Config{Arch: x86.AMD64, CPUs: 3}, new(traces.Log))
	require.NoError(t, err)
	defer m.Close()
	m.Clocks().Costs(nil)
	m.Reset(nil)
	for c := range 3 {
		m.time.bring(&m.cpus.list[c], m.time.lines.cell(1), true)
	}
	require.Equal(t, sim.Time(200*cycles.Unit), m.Clocks().Of(2))
	require.Equal(t, sim.Time(100*cycles.Unit), m.Clocks().Spent(2))
}
