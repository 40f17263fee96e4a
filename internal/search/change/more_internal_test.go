package change

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// More often is what chance doesn't make.
func TestMore(t *testing.T) {
	for _, c := range []struct {
		n, runs, base, baseRuns uint64
		more                    bool
	}{
		{250, 300, 16, 1200, true},
		{300, 300, 1200, 1200, false}, // always, both
		{10, 300, 20, 1200, false},    // twice as often, of few
		{3, 300, 1, 19200, false},
		{60, 300, 12, 19200, true},
		{180, 300, 600, 1200, false}, // not twice as often
	} {
		b := Break{Runs: c.runs, Violations: c.n, BaseRuns: c.baseRuns, Base: c.base}
		require.Equal(t, c.more, b.More(), "%+v", c)
	}
}
