package lang_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/kprobes/era"
)

// TestPrint386: a setting is printed if it isn't what its edition has on its processor:
// on i386 2.6 boosts.
func TestPrint386(t *testing.T) {
	for machine, want := range map[string]era.Boost{
		`edition = "2.6"`:                                    era.BoostNever,
		`edition = "2.6", boost = "stepped"`:                 era.BoostStepped,
		`edition = "2.6", arch = "i386"`:                     era.BoostStepped,
		`edition = "2.6", boost = "never", arch = "i386"`:    era.BoostNever,
		`edition = "4.15", boost = "prepare", arch = "i386"`: era.BoostPrepare,
	} {
		src := "machine(cpus = 1, " + machine + ")\nf = text(\"f\", \"55 5d c3\")\ntask(cpu = 0, ops = [call(f)])\n"
		s, err := lang.Load("s.star", []byte(src), nil)
		require.NoError(t, err, machine)
		require.Equal(t, want, s.Machine.Boost, machine)
		require.Contains(t, lang.Print(s), machine)
		require.Equal(t, strings.Contains(machine, "boost"), strings.Contains(lang.Print(s), "boost"), machine)
	}
}
