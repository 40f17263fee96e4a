package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Which claims the documents' own figures bear out. It says nothing of ours.
func TestVerdicts(t *testing.T) {
	o := fitted(t)
	table, err := o.Table(Calibrated)
	require.NoError(t, err)
	want := map[string]Answer{
		"1-2 million hits a second: opteron-246/x86_64 k":                                   Fails,
		"a kprobe hit takes 0.5-1.0 µs: opteron-246/x86_64 k":                               Fails,
		"a return probe takes 50-75 % longer: xeon-e5410/i386 r over k":                     Fails,
		"a return probe takes 50-75 % longer: xeon-e5410/i386 rb over b":                    Fails,
		"a return probe takes 50-75 % longer: xeon-e5410/i386 ro over o":                    Fails,
		"a return probe takes 50-75 % longer: xeon-e5410/x86_64 r over k":                   Fails,
		"a return probe takes 50-75 % longer: xeon-e5410/x86_64 ro over o":                  Fails,
		"a jprobe takes 50-75 % longer: pentium-m/i386 j over k":                            Open,
		"a kprobe added to a return probe: essentially no overhead: power5/ppc64 kr over r": Fails,
		"an optimized hit takes 0.07-0.1 µs: xeon-e5410/i386 o":                             Fails,
		"an optimized hit takes 0.07-0.1 µs: xeon-e5410/x86_64 o":                           Fails,
	}
	list := Verdicts(table)
	require.Len(t, list, 5+5+9+3+3+2)
	for _, v := range list {
		name := v.Claim.Says + ": " + v.Machine.ID() + " " + v.Of
		require.Equal(t, want[name], v.Answer, name)
		delete(want, name)
	}
	require.Empty(t, want)
}

// Ours are judged by ours, and a row whose other figure isn't in the table by nothing.
func TestVerdictsOfOurs(t *testing.T) {
	m := &Machines[0]
	line := func(probe string, us, ours float64) Line {
		return Line{Figure: Figure{m, &Probe{Name: probe}, us}, Ours: ours}
	}
	for _, v := range Verdicts([]Line{line("k", 0.57, 1.2), line("r", 0.92, 1.2*1.6)}) {
		switch v.Claim.Says {
		case "1-2 million hits a second", "a kprobe hit takes 0.5-1.0 µs":
			require.Equal(t, []Answer{Holds, Fails}, []Answer{v.Answer, v.OurAnswer}, v.Claim.Says)
		default:
			require.Equal(t, "r over k", v.Of)
			require.Equal(t, []Answer{Holds, Holds}, []Answer{v.Answer, v.OurAnswer}, v.Claim.Says)
		}
	}
	require.Empty(t, Verdicts([]Line{line("r", 0.92, 1)}))
}
