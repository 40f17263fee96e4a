package overhead

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/cycles"
)

func noted(cycles.Event) string { return "assumed" }

// aProfile is one without comments.
func aProfile() string {
	u := &UserProfile{Name: "My machine", Arch: "x86_64", Edition: "4.15", MHz: 2330, Costs: *cycles.Nominal()}
	return u.Text(noted)
}

func TestReadProfile(t *testing.T) {
	u, err := ReadProfile("my.profile", aProfile())
	require.NoError(t, err)
	u.Notes = [cycles.Events]string{}
	require.Equal(t,
		&UserProfile{Name: "My machine", Arch: "x86_64", Edition: "4.15", MHz: 2330, Costs: *cycles.Nominal()},
		u)
	require.Equal(t, "my-machine/x86_64", u.ID())
	tabbed, err := ReadProfile("my.profile", strings.ReplaceAll(aProfile(), "mhz         ", "\tmhz\t"))
	tabbed.Notes = u.Notes
	require.NoError(t, err)
	require.Equal(t, u, tabbed)

	lines := strings.Count(aProfile(), "\n")
	for _, c := range []struct{ old, new, want string }{
		{"name ", "nome ", `line 1: no line begins with "nome"; did you mean "name", "node"?`},
		{"debug ", "break_point ", `line 8: no line begins with "break_point"; did you mean "breakpoint"`},
		{"name ", "colour ",
			`line 1: no line begins with "colour"; give name, arch, edition, mhz, or the cost of an event: instruction, breakpoint, debug,`},
		{"My machine", "", `line 1: name: "" is no name; write it as name My machine`},
		{"x86_64", "x86 64", `line 2: arch: "x86 64" is no name; write it as arch x86_64`},
		{"4.15", "4.16",
			`line 3: edition: there is none called "4.16"; give 2.6 (kprobes, jprobes and return probes) or 4.15`},
		{"2330", "2.33", `line 4: mhz: "2.33" is no clock rate; give a number of MHz, 10 to 100000`},
		{"mhz         2330", "", fmt.Sprintf(`line %d: mhz is missing; add a line as mhz 2330`, lines+1)},
		{"debug        200.000", "",
			fmt.Sprintf(`line %d: the cost of debug is missing; add a line with its cycles, as debug 12.5`, lines+1)},
		{"debug        200.000", "debug -1", `line 8: debug: -1 cycles are below 0; give 0 or more`},
		{"debug        200.000", "debug", `line 8: debug: "" is no number of cycles; write one, as debug 12.5`},
		{"debug        200.000", "debug 12us # as ftrace says",
			`line 8: debug: "12us" is no number of cycles; at 2330 MHz it is 27960 cycles: write debug 27960`},
		{"debug        200.000", "debug 1.5 ns",
			`line 8: debug: "1.5 ns" is no number of cycles; at 2330 MHz it is 3.495 `},
		{"debug        200.000", "debug 2 ms",
			`line 8: debug: "2 ms" is no number of cycles; at 2330 MHz it is 4660000 `},
		{"debug        200.000", "debug 12 s", `line 8: debug: "12 s" is no number of cycles; write one, as debug 12.5`},
		{"debug        200.000", "debug -3us", `line 8: debug: "-3us" is no number of cycles; write one, as debug 12.5`},
		{"debug        200.000", "debug NaN", `line 8: debug: "NaN" is no number of cycles; write one, as debug 12.5`},
		{"debug        200.000", "debug 1e10",
			`line 8: debug: 1e10 cycles are more than 1000000000; give cycles of the CPU`},
		{"debug        200.000", "iret 3", `line 10: iret is there twice, first in line 8; leave one of them out`},
	} {
		text := strings.Replace(aProfile(), c.old, c.new, 1)
		require.NotEqual(t, aProfile(), text, c.old)
		_, err := ReadProfile("my.profile", text)
		require.ErrorContains(t, err, "my.profile: "+c.want)
		require.NotContains(t, err.Error(), "\n")
	}
}

func FuzzReadProfile(f *testing.F) {
	f.Add(aProfile())
	f.Add(strings.Replace(aProfile(), "200.000", "0.001", 1))
	f.Add(strings.Replace(aProfile(), "My machine", "a\tb # c", 1))
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ReadProfile("x", text)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		again, err := ReadProfile("x", u.Text(noted))
		require.NoError(t, err)
		require.Equal(t, u, again)
	})
}

// Three decimals are enough to tell each cost from its neighbours.
func TestProfileKeepsCosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := &UserProfile{Name: "m", Arch: "a", Edition: "2.6",
			MHz: rapid.Float64Range(leastMHz, mostMHz).Draw(t, "mhz")}
		for _, e := range cycles.All() {
			u.Costs[e] = cycles.Cost(rapid.Uint64Range(0, mostCycles*cycles.Unit).Draw(t, "cost"))
		}
		again, err := ReadProfile("x", u.Text(noted))
		require.NoError(t, err)
		for _, e := range cycles.All() {
			require.Equal(t, "assumed", again.Notes[e])
		}
		again.Notes = u.Notes
		require.Equal(t, u, again)
	})
}

const columnsCSV = "machine,arch,mhz,edition,probe,usec\n"

func TestReadFigures(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "line 1: the columns are to be machine,arch,mhz,edition,probe,usec"},
		{"machine,arch,ghz,edition,probe,usec\n", "line 1: the columns are to be machine"},
		{columnsCSV + "\nA,x86_64,2000,4.15,k\n", "record on line 3: wrong number of fields"},
		{columnsCSV + "\nA,x86_64,2.0,4.15,k,1\n",
			`line 3: "2.0" is no clock rate; give a number of MHz, 10 to 100000`},
		{columnsCSV + "A,x86_64,2000,5.14,k,1\n",
			`line 2: edition: figures are of edition 2.6 (before detours) or 4.15 ` +
				`(with them, as all later ones), not of "5.14"; give one of the two`},
		{columnsCSV + "A,arm,2000,2.6,k,1\n",
			`line 2: of edition 2.6 no code is known for "arm"; there is i386, x86_64, ppc64`},
		{columnsCSV + "A,ppc64,2000,4.15,k,1\n",
			`line 2: of edition 4.15 no code is known for "ppc64"; there is i386, x86_64`},
		{columnsCSV + "A#,x86_64,2000,4.15,k,1\n", `line 2: "A#" is no name of a machine`},
		{columnsCSV + "A,x86_64,2000,4.15,j,1\n",
			`line 2: edition 4.15 has no probe "j"; there are k, b, o, r, rb, ro`},
		{columnsCSV + "A,x86_64,2000,4.15,k,570\n",
			`line 2: usec: "570" is no number of microseconds above 0 and up to 100`},
		{columnsCSV + "A,x86_64,2000,4.15,k,NaN\n", `line 2: usec: "NaN"`},
		{columnsCSV + "A,x86_64,2000,4.15,k,0\n", `line 2: usec: "0"`},
		{columnsCSV + "A,x86_64,2000,4.15,k,1\nA,x86_64,2001,4.15,b,1\n",
			"line 3: A on x86_64 has another clock rate or edition in a line before"},
		{columnsCSV + strings.Repeat("A,x86_64,2000,4.15,k,1\n", mostFigures+1),
			"line 102: more than 100 figures; give means"},
	} {
		_, err := ReadFigures("m.csv", c.text)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
}

// A user's own machine with the documents' figures costs what theirs does.
func TestOwnMachine(t *testing.T) {
	text := strings.NewReplacer("Pentium M", "Mine", "Xeon E5410", "Ours").Replace(figuresCSV)
	list, err := ReadFigures("m.csv", text)
	require.NoError(t, err)
	own, err := Fit(list)
	require.NoError(t, err)
	o := fitted(t)
	for i, m := range own.Machines() {
		require.Equal(t, &Machines[i], m.Like())
		for _, tier := range []Tier{Calibrated, Mechanistic} {
			p, err := own.Profile(m, tier)
			require.NoError(t, err)
			want, err := o.Profile(&Machines[i], tier)
			require.NoError(t, err)
			require.Equal(t, want, p, m.ID())
		}
	}
	require.Equal(t, "mine/i386", own.Machines()[0].ID())
	require.Same(t, &Machines[1], own.Machines()[1])
}

// Whatever figures a machine has, costs can be fitted to them, and written.
func TestAnyFigures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		era := rapid.SampledFrom(figureEditions[:]).Draw(t, "era")
		text := columnsCSV
		probes := probeNames(era == figureEditions[1])
		for range rapid.IntRange(1, 8).Draw(t, "figures") {
			text += fmt.Sprintf("A,%s,%d,%s,%s,%.2f\n", rapid.SampledFrom([]string{"i386", "x86_64"}).Draw(t, "arch"),
				2000, era,
				rapid.SampledFrom(probes).Draw(t, "probe"), rapid.Float64Range(0.01, 3).Draw(t, "usec"))
		}
		list, err := ReadFigures("m.csv", text)
		require.NoError(t, err)
		o, err := Fit(list)
		require.NoError(t, err)
		for _, m := range o.Machines() {
			for _, tier := range []Tier{Calibrated, Mechanistic} {
				u, err := o.UserProfile(m, tier)
				require.NoError(t, err)
				again, err := ReadProfile("x", u.Text(noted))
				require.NoError(t, err)
				again.Notes = u.Notes
				require.Equal(t, u, again)
			}
		}
		_, err = o.Consistencies()
		require.NoError(t, err)
	})
}

// TestEmptyProfile: an empty file is named as one, with the command that makes a profile.
func TestEmptyProfile(t *testing.T) {
	_, err := ReadProfile("mine.profile", " \n")
	require.EqualError(t, err,
		"mine.profile: the file is empty; kpsim overhead calibrate FIGURES.csv > mine.profile makes a profile of "+
			"measured figures, kpsim overhead nominal > mine.profile one to change by hand")
	_, err = ReadProfile("mine.profile", "# nothing\n\n")
	require.ErrorContains(t, err, "mine.profile: there is nothing but comments in it; kpsim overhead calibrate")
}

// TestLeftOut: a profile keeps its largest error of figures left out, and notes after its prices.
func TestLeftOut(t *testing.T) {
	u := NominalProfile("My machine", "arm64", 2400)
	u.LeftOut, u.Figures = 0.324, 4
	text := u.Text(func(cycles.Event) string { return "by hand" })
	again, err := ReadProfile("x", text)
	require.NoError(t, err)
	require.InDelta(t, 0.324, again.LeftOut, 1e-9)
	require.Equal(t, 4, again.Figures)
	require.Equal(t, "by hand", again.Notes[cycles.SendIPI])
	for _, bad := range []string{"", "32", "32 %", "32 % of 1", "-1 % of 4", "NaN % of 4", "2000 % of 4",
		"3 % of 101"} {
		_, err := ReadProfile("x", strings.Replace(text, "32.4 % of 4", bad, 1))
		require.ErrorContains(t, err, "x: line 5: left-out: ", bad)
	}
	o, err := Fit(Figures())
	require.NoError(t, err)
	largest, n, err := o.LargestLeftOut(Calibrated)
	require.NoError(t, err)
	margin, err := o.Margin(Calibrated)
	require.NoError(t, err)
	require.Equal(t, 27, n)
	require.InDelta(t, margin, largest, 1e-12, "of 27 errors the largest is the margin at 95 %")
}

// Files of November 2026 have era for edition, in profiles and in figures.
func TestOldWords(t *testing.T) {
	u := NominalProfile("My machine", "x86_64", 2400)
	text := u.Text(func(cycles.Event) string { return "" })
	require.Contains(t, text, "\nedition     4.15\n")
	again, err := ReadProfile("x", strings.Replace(text, "edition ", "era ", 1))
	require.NoError(t, err)
	require.Equal(t, u.Edition, again.Edition)
	_, err = ReadProfile("x", "era 4.15\n"+text)
	require.ErrorContains(t, err, "x: line 4: edition is there twice, first in line 1")
	const row = "A,x86_64,2000,4.15,k,1\n"
	now, err := ReadFigures("x", columnsCSV+row)
	require.NoError(t, err)
	old, err := ReadFigures("x", "machine,arch,mhz,era,probe,usec\n"+row)
	require.NoError(t, err)
	require.Equal(t, now, old)
}
