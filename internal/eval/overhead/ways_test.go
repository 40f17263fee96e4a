package overhead

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// However a hit is priced it is the table's: with the engine of its own edition, by one CPU of many, with one probe
// in the table. The engine is that of the machine's architecture.
func TestWaysAgree(t *testing.T) {
	o := fitted(t)
	table, err := o.Table(Calibrated)
	require.NoError(t, err)
	for i := range table {
		l := &table[i]
		name := l.Machine.ID() + " " + l.Probe.Name
		u, err := o.UserProfile(l.Machine, Calibrated)
		require.NoError(t, err)
		found := false
		for _, p := range u.ProbesIn(u.Edition) {
			if p.Name != l.Probe.Name {
				continue
			}
			found = true
			h, err := p.Measure(&u.Costs)
			require.NoError(t, err, name)
			require.Equal(t, l.Hit.Cycles, h.Cycles, name)
			scaled, err := p.Scale([]int{1}, "", &u.Costs)
			require.NoError(t, err, name)
			require.InEpsilon(t, l.Hit.Cycles, scaled[0].Cycles, 0.002, name)
			point, err := p.ScaleProbes(1, &u.Costs, NominalCache)
			require.NoError(t, err, name)
			require.InEpsilon(t, l.Hit.Cycles, point.OneHitCycles, 1e-9, name)
		}
		require.True(t, found, name)
	}
}

// What is left out of a fit says nothing in it: figures of it that are ten times as long change no prediction.
func TestLeaveOutLeavesOut(t *testing.T) {
	o := fitted(t)
	for _, tier := range []Tier{Calibrated, Mechanistic} {
		for _, l := range []Left{LeftFigure, LeftMachine, LeftArch} {
			want, err := o.LeaveOut(tier, l)
			require.NoError(t, err)
			for i := range o.Samples {
				wrong := slices.Clone(o.Samples)
				for k := range wrong {
					if s := &wrong[k]; l.out(&wrong[i], s) {
						s.Usec *= 10
					}
				}
				got, err := wrong[i].without(of(wrong, func(t *sample) bool { return !l.out(&wrong[i], t) }), tier)
				require.NoError(t, err)
				require.InDelta(t, want[i], got/o.Samples[i].Usec-1, 1e-9)
			}
		}
	}
}

// By hand: POWER5's core is fitted to no figure of its own once its machine is left out, nor is it
// once its architecture is, which no other has; a Xeon's architecture leaves the figures of its
// other one.
func TestLeftMachines(t *testing.T) {
	o := fitted(t)
	machine, err := o.LeaveOut(Mechanistic, LeftMachine)
	require.NoError(t, err)
	arch, err := o.LeaveOut(Mechanistic, LeftArch)
	require.NoError(t, err)
	for i, s := range o.Samples {
		var rest []sample
		for _, q := range o.Samples {
			if q.Machine.Arch != s.Machine.Arch &&
				(s.Machine.Name != "Xeon E5410" || q.Machine.Name == s.Machine.Name) {
				rest = append(rest, q)
			}
		}
		core := fitCore(rest)
		require.InDelta(t, core.predict(&s)/s.Usec-1, arch[i], 1e-9, s.Machine.ID())
		if s.Machine.Name == "POWER5" {
			require.InDelta(t, arch[i], machine[i], 1e-12)
		} else {
			require.NotEqual(t, arch[i], machine[i])
		}
	}
}

// Numbers at their bound and below 0 are marked, and no others.
func TestMarks(t *testing.T) {
	o := fitted(t)
	for _, m := range o.CoreOwners() {
		for _, n := range o.Fitted(m) {
			require.Equal(t, n.Each == 0, n.Mark != "", "%s %s", m.Name, n.Of)
		}
	}
	require.Equal(t, "at its bound of 0: -35.74 without it", o.Fitted(&Machines[0])[1].Mark)
	for _, m := range o.Machines() {
		for _, n := range o.Calibration(m) {
			require.Equal(t, n.Each < 0, n.Mark != "", "%s %s", m.ID(), n.Of)
		}
	}
	// One figure tells one number of three.
	figures, err := ReadFigures("mine.csv", "machine,arch,mhz,edition,probe,usec\nMy box,x86_64,3000,4.15,k,0.72\n")
	require.NoError(t, err)
	one, err := Fit(figures)
	require.NoError(t, err)
	untold := 0
	for _, n := range one.Fitted(figures[0].Machine) {
		if n.Each == 0 {
			untold++
			require.Equal(t, "0: the figures don't tell it apart", n.Mark)
		}
	}
	require.Positive(t, untold)
}
