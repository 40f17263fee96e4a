package overhead

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A cost is the sum of its terms: none is left out, and none belongs to
// something else.
func TestTermsAreTheCosts(t *testing.T) {
	o := fitted(t)
	for _, m := range o.Machines() {
		for _, tier := range []Tier{Calibrated, Mechanistic} {
			p, err := o.Profile(m, tier)
			require.NoError(t, err)
			for _, e := range cycles.All() {
				sum := 0.0
				for _, term := range o.Terms(m, tier, e) {
					sum += term.Cycles()
				}
				require.InDelta(t, float64(p[e]), math.Round(sum*cycles.Unit), 1, "%s, %v: %v", m.ID(), tier, e)
			}
		}
	}
}

// Costs that no figure has a part in say so, and nothing of them is counted.
func TestUnseenCosts(t *testing.T) {
	o := fitted(t)
	m := &Machines[4]
	require.Equal(t, "fitted instruction × 18 (assumed); no figure has one",
		o.Note(m, Calibrated, cycles.Work(kprobes.WorkWalk)))
	require.Equal(t, "assumed nothing; no figure has one", o.Note(m, Calibrated, cycles.Work(kprobes.WorkEmulate)))
	require.Equal(t, "assumed nothing", o.Note(&Machines[0], Calibrated, cycles.Work(kapi.WorkFlags)))
	require.Equal(t, "assumed nominal; no figure has one", o.Note(m, Calibrated, cycles.Switch))
	require.Equal(t, "fitted instruction × 2 (assumed) + typical locked instruction",
		o.Note(m, Calibrated, cycles.Work(kapi.WorkLock)))
	require.Contains(t, o.Note(&Machines[0], Calibrated, cycles.Debug), "+ fitted single step",
		"though it is fitted as 0")
	require.Equal(t, 4, o.InFigures(m, cycles.Breakpoint))
	require.Contains(t, o.Note(m, Mechanistic, cycles.Breakpoint), "× 65 (counted)")
	require.Contains(t, o.Note(&Machines[2], Mechanistic, cycles.Breakpoint), "× 65 (assumed)",
		"POWER5 has x86_64's code")
}

// What is counted in other machines' hits isn't in those of one without such figures.
func TestCountsOfOwnFigures(t *testing.T) {
	list, err := ReadFigures("m.csv", columnsCSV+"A,x86_64,2000,4.15,b,0.4\nA,x86_64,2000,4.15,o,0.05\n")
	require.NoError(t, err)
	o, err := Fit(list)
	require.NoError(t, err)
	m := o.Machines()[0]
	require.Contains(t, o.Note(m, Mechanistic, cycles.Breakpoint), "fitted instruction × 65 (counted)")
	require.Contains(t, o.Note(m, Mechanistic, cycles.Debug), "fitted instruction × 65 (assumed)")
	require.Contains(t, o.Note(m, Mechanistic, cycles.Debug), "fitted single step × 1 (assumed); no figure has one")
}

// Where all exceptions come by way of an IST stack, what that takes isn't told apart.
func TestISTIsToldApartByTwoArchs(t *testing.T) {
	require.Len(t, fitted(t).Fitted(&Machines[4]), 4)
	o, err := Fit(Figures()[21:])
	require.NoError(t, err)
	m := o.Machines()[0]
	require.True(t, m.ist)
	list := o.Fitted(m)
	require.Len(t, list, 3)
	require.True(t, strings.HasSuffix(list[0].Of, "IST stack"))
	require.Zero(t, o.Cores[m.core].IST)
	require.NotContains(t, o.Note(m, Mechanistic, cycles.Breakpoint), "IST")
}
