package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/smp"
)

// TestEnableLost: what kernels forget is forgotten as there (docs/findings.md). Alone
// at its address a probe stays marked, and the list says so. Of one that could be a
// jump, or shares its address, nothing shows it. Disabled and enabled it is hit.
func TestEnableLost(t *testing.T) {
	short := code{name: "short", at: textBase + 0x200, bytes: []byte{0x89, 0xf8, 0xc3}}
	for _, c := range []struct {
		name     string
		at       code
		two      bool
		disabled bool
	}{
		{"alone", short, false, true},
		{"shared", short, true, false},
		{"can be optimized", victim, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := settingsOf(rules.Edition69, true)
			breakSteps(&set, "enable-lost")
			newBench(t, set, []code{victim, short}, func(b *bench, x *smp.Ctx) {
				hits := 0
				k := b.at(c.at.at, &hits)
				k.Flags = FlagDisabled
				require.NoError(t, b.e.Register(x, k))
				if c.two {
					other := b.at(c.at.at, new(int))
					other.Flags = FlagDisabled
					require.NoError(t, b.e.Register(x, other))
				}
				require.NoError(t, b.e.Files.WriteEnabled(x, "0"))
				require.NoError(t, b.e.Enable(x, k))
				require.NoError(t, b.e.Files.WriteEnabled(x, "1"))
				require.Equal(t, c.disabled, b.e.FlagsOf(k)&FlagDisabled != 0)
				x.Call(c.at.at)
				require.Zero(t, hits)
				require.NoError(t, b.e.Disable(x, k))
				require.NoError(t, b.e.Enable(x, k))
				x.Call(c.at.at)
				require.Equal(t, 1, hits)
			}).pass(t)
		})
	}
}
