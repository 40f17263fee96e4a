package overhead

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/testkit/thorough"
	"kpsim/properties"
	"kpsim/smp"
)

// Each scenario of the library has a price, or is refused for a reason that the scenario itself states: compiled code
// patches, by way of an alias; or it expects that its patches get stuck, or that CPUs run into what they leave. Then it
// is priced with the number of CPUs that the refusal names.
func TestLibraryHasPrices(t *testing.T) {
	priced := 0
	for _, name := range library.Names() {
		s, err := library.Load(name)
		require.NoError(t, err, name)
		need := Patchers(s)
		wrong := s.Expect.Sometimes
		most := need
		if wrong && name != "never-schedules-resched" || thorough.Set() { // whose loop takes 8 s to give up
			most++
		}
		for cpus := max(1, need); cpus <= max(1, most); cpus++ {
			c := PatcherConfig{Scenario: s, CPUs: cpus, Runs: 2, Seed: 1}
			p, err := c.Measure()
			if err == nil {
				require.NotEmpty(t, p.List, name)
				text, err := library.Source(name)
				require.NoError(t, err)
				require.NotContains(t, string(text), "= alias(", "%s: compiled code patches", name)
				require.Empty(t, unexpected(p, wrong), name)
				priced++
				continue
			}
			if need == 0 {
				require.ErrorContains(t, err, "write what it does as steps by hand", name)
				text, err := library.Source(name)
				require.NoError(t, err)
				require.Contains(t, string(text), "= alias(", name)
				continue
			}
			var u *Unpriced
			require.True(t, errors.As(err, &u), "%s: %v", name, err)
			require.True(t, wrong, "%s: %v", name, err)
			switch {
			case u.Ended != smp.Violated:
				require.Contains(t, []string{properties.Progress.ID, properties.Progress.Name}, s.Expect.Property,
					"%s: %v", name, err)
			default:
				require.ErrorContains(t, err, "mend the patcher, or give --cpus 1", name)
				c.CPUs = u.Fewer
				_, err := c.Measure()
				require.NoError(t, err, name)
			}
		}
	}
	require.Greater(t, priced, 200)
}

// unexpected are the properties that the runs of a patcher broke that breaks none in its scenario.
func unexpected(p *Patches, wrong bool) []string {
	if wrong {
		return nil
	}
	return p.Broke
}

// A refusal names what to change.
func TestRefusals(t *testing.T) {
	for _, of := range []struct {
		u    Unpriced
		says string
	}{
		{Unpriced{"x", 2, "it runs into half a jump", smp.Violated, 1}, "x with 2 CPUs: a run ended before its " +
			"patches were done, so they have no price: it runs into half a jump; mend the patcher, or give --cpus 1"},
		{Unpriced{"x", 1, "it waits", smp.Stuck, 0}, "x with 1 CPU: the patches don't end, so they have no price: " +
			"it waits; change what they wait for"},
	} {
		require.Equal(t, of.says, of.u.Error())
		require.False(t, strings.Contains(of.says, "\n"))
	}
}
