package findings

import (
	"testing"
)

func TestDefaultRuns(t *testing.T) {
	for _, c := range []struct{ points, runs uint64 }{
		{0, defaultRunsMax}, {50, defaultRunsMax}, {200, 120_000}, {1000, 24_000}, {1 << 40, defaultRunsMin},
	} {
		if got := defaultRuns(c.points); got != c.runs {
			t.Errorf("defaultRuns(%d) = %d, want %d", c.points, got, c.runs)
		}
	}
}
