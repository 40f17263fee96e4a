package overhead

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes"
	"kpsim/smp/cycles"
)

func fitted(t *testing.T) *Model {
	t.Helper()
	o, err := Fit(Figures())
	require.NoError(t, err)
	return o
}

func mean(list []float64) (sum float64) {
	for _, v := range list {
		sum += math.Abs(v) / float64(len(list))
	}
	return sum
}

// What was reached, so that it isn't lost.
func TestTiers(t *testing.T) {
	o := fitted(t)
	table, err := o.Table(Calibrated)
	require.NoError(t, err)
	require.Len(t, table, 27)
	var errs []float64
	same := 0
	for _, l := range table {
		errs = append(errs, l.Error)
		require.LessOrEqual(t, math.Abs(l.Error), 0.015, "%s %s", l.Machine.ID(), l.Probe.Name)
		if l.Same() {
			same++
		}
	}
	require.LessOrEqual(t, mean(errs), 0.005)
	require.GreaterOrEqual(t, same, 19)

	table, err = o.Table(Mechanistic)
	require.NoError(t, err)
	errs = errs[:0]
	for _, l := range table {
		errs = append(errs, l.Error)
		require.LessOrEqual(t, l.Beyond(), 0.06, "%s %s", l.Machine.ID(), l.Probe.Name)
	}
	require.LessOrEqual(t, mean(errs), 0.025)
	for l, most := range map[Left]float64{LeftFigure: 0.045, LeftMachine: 0.30, LeftArch: 0.20} {
		left, err := o.LeaveOut(Mechanistic, l)
		require.NoError(t, err)
		require.LessOrEqual(t, mean(left), most)
	}
	left, err := o.LeaveOut(Calibrated, LeftFigure)
	require.NoError(t, err)
	require.LessOrEqual(t, mean(left), 0.03)
}

// The exceptions of a hit are those that the study of its code counts.
func TestExceptions(t *testing.T) {
	want := map[string][2]float64{ // #BP and #DB
		"2.6 k": {1, 1}, "2.6 j": {2, 1}, "2.6 r": {2, 1}, "2.6 kr": {2, 1}, "2.6 jr": {3, 1},
		"4.15 k": {1, 1}, "4.15 b": {1, 0}, "4.15 o": {0, 0}, "4.15 r": {1, 1}, "4.15 rb": {1, 0}, "4.15 ro": {0, 0},
	}
	for era, detour := range map[string]bool{"2.6 ": false, "4.15 ": true} {
		for i, p := range Probes(detour) {
			h, err := p.Measure(nil)
			require.NoError(t, err)
			require.Equal(t, want[era+p.Name], [2]float64{h.Events[cycles.Breakpoint], h.Events[cycles.Debug]},
				era+p.Name)
			q := ProbesOn("i386", detour)[i]
			own, err := q.Measure(nil)
			require.NoError(t, err)
			require.Equal(t, want[era+p.Name], [2]float64{own.Events[cycles.Breakpoint], own.Events[cycles.Debug]},
				"i386 "+era+p.Name)
			if p.Name == "o" || p.Name == "ro" { // a detour saves half as many registers
				require.Less(t, own.Events[cycles.Instruction], h.Events[cycles.Instruction]-10, p.Name)
			}
			delete(want, era+p.Name)
		}
	}
	require.Empty(t, want)
}

// The figures of i386 are those of its own engine, within the bounds that they were asked for.
func TestFiguresOf386(t *testing.T) {
	o := fitted(t)
	for tier, most := range map[Tier]float64{Calibrated: 0.005, Mechanistic: 0.03} {
		table, err := o.Table(tier)
		require.NoError(t, err)
		var errs []float64
		for _, l := range table {
			if l.Machine.Arch == "i386" {
				require.Contains(t, l.Probe.Machine, `arch = "i386"`)
				errs = append(errs, l.Error)
			}
		}
		require.Len(t, errs, 11)
		require.LessOrEqual(t, mean(errs), most)
		t.Logf("%v: mean error %.2f %%", tier, 100*mean(errs))
	}
}

// Without any one sort of event some figure would be another.
func TestEachEventCounts(t *testing.T) {
	o := fitted(t)
	for _, e := range cycles.All() {
		switch e {
		// no hit of these has one
		case cycles.Trap, cycles.Switch, cycles.SyncCore, cycles.SendIPI, cycles.Line, cycles.Work(kprobes.WorkEmulate):
			continue
		}
		moved := false
		for i := range o.Samples {
			s := &o.Samples[i]
			p, err := o.Profile(s.Machine, Calibrated)
			require.NoError(t, err)
			moved = moved || s.events[e] != 0 && p[e] != 0
		}
		require.True(t, moved, "%v moves no figure", e)
	}
}

// A hit's cycles are those of its events.
func TestShares(t *testing.T) {
	o := fitted(t)
	table, err := o.Table(Mechanistic)
	require.NoError(t, err)
	for _, l := range table {
		p, err := o.Profile(l.Machine, Mechanistic)
		require.NoError(t, err)
		sum := 0.0
		for _, v := range l.Hit.Shares(p) {
			sum += v
		}
		require.InDelta(t, l.Hit.Cycles, sum, 1e-6*sum)
	}
}
