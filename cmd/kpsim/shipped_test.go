package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/internal/ui/cli/inputs"
)

// TestShipped: --as-shipped says what it brings back, wherever it is taken, and that
// there may be more; a Never under it says so, too.
func TestShipped(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args  string
		never bool // it finds nothing
	}{
		{"explore --as-shipped --edition 6.9 --runs 50 --traces " + dir + " torn-jump", true},
		{"verify --as-shipped --edition 6.9 --deviations 1 --traces " + dir + " torn-jump", true},
		{"fuzz --as-shipped --edition 6.9 --preempt none --runs 2 --each 2 --traces " + dir, true},
		{"run --as-shipped --edition 6.9 torn-jump", false},
		{"fuzz --as-shipped --seed 1 --runs 30 --traces " + dir, false},
	}[:thorough.Of(3, 5)] {
		words := strings.Fields(c.args)
		out, errs := ran(words...)
		require.Empty(t, errs, c.args)
		assert.Contains(t, out, "--as-shipped, edition 6.9, brings back 17 faults of its kernels:\n", c.args)
		assert.Regexp(t, `(?m)^    objpool-last +6\.7 and later +\S`, out, c.args)
		assert.Equal(t, 1, strings.Count(out, "    objpool-last "), c.args)
		assert.Regexp(t, `(?m)^the history \(kpsim list history\) knows \d+ faults of 6\.9: 17 are brought back, \d+ aren't:$`, out, c.args)
		assert.Contains(t, out, "\n"+inputs.NotAll+"\n", c.args)
		if c.never {
			assert.Regexp(t, `Never.*`+inputs.OfThoseKnown, out, c.args)
		}

		out, errs = ran(append(words, "--json")...)
		require.Empty(t, errs, c.args)
		found := 0
		for line := range strings.Lines(out) {
			var row struct {
				Shipped *inputs.Shipped `json:"as_shipped"`
			}
			require.NoError(t, json.Unmarshal([]byte(line), &row), c.args)
			if s := row.Shipped; s != nil && s.Edition == "6.9" {
				found++
				assert.Len(t, s.Faults, 17, c.args)
				assert.Equal(t, "6.9", s.Release, c.args)
				assert.Equal(t, 17, s.Has, c.args)
				not := 0
				for _, n := range s.Not {
					not += n.Faults
				}
				assert.Equal(t, s.Known, s.Has+not, c.args)
				assert.Equal(t, inputs.NotAll, s.Limit, c.args)
			}
		}
		assert.NotZero(t, found, c.args)
	}
	_, errs := ran("explore", "--as-shipped", "--edition", "documented", "torn-jump")
	assert.Contains(t, errs, "no known faults were shipped with edition documented")
}

// ran runs a command line, and returns what it has printed.
func ran(args ...string) (out, errs string) {
	var o, e strings.Builder
	run(args, &o, &e)
	return o.String(), e.String()
}
