package mutantsearch

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/mutants"
	"kpsim/properties"
)

// A pageRow is a row of docs/mutants.md.
type pageRow struct {
	scenario, source  string
	by                []string // the properties that noticed
	low, high, median uint64
	witness           string
}

// page reads docs/mutants.md: its rows by the name of the mutant.
func page(t *testing.T) map[string]pageRow {
	t.Helper()
	data, err := os.ReadFile("../../../docs/mutants.md")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^Written by `+"`kpsim mutants --markdown`"+` on \d{4}-\d\d-\d\d\.`, string(data))
	require.NotContains(t, string(data), "WRONG")
	require.NotContains(t, string(data), "is wrong:")
	rows := make(map[string]pageRow)
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 8 || cells[0] == "mutant" {
			continue
		}
		r := pageRow{source: cells[1], scenario: cells[2], witness: cells[7]}
		for _, name := range strings.Split(cells[3], ", ") {
			name, _, _ = strings.Cut(name, " ")
			r.by = append(r.by, name)
		}
		if r.witness != "equivalent" {
			_, err := fmt.Sscanf(cells[4]+" "+cells[5], "%d %d to %d", &r.median, &r.low, &r.high)
			require.NoError(t, err, "%s", line)
		}
		require.NotContains(t, rows, cells[0])
		rows[cells[0]] = r
	}
	return rows
}

// TestPage: docs/mutants.md has each mutant, and what it says of it is what the
// catalogue says; all are killed, nine in ten of them soon, and each property kills.
func TestPage(t *testing.T) {
	rows := page(t)
	require.Len(t, rows, len(mutants.All), "kpsim mutants --markdown > docs/mutants.md")
	soon, killed := 0, 0
	for i := range mutants.All {
		mu := &mutants.All[i]
		r, ok := rows[mu.Name]
		require.True(t, ok, "%s isn't on the page: kpsim mutants --markdown > docs/mutants.md", mu.Name)
		require.Equal(t, mu.Scenario, r.scenario, mu.Name)
		require.Equal(t, mu.Source, r.source, mu.Name)
		require.Equal(t, mu.Equivalent != nil, r.witness == "equivalent", mu.Name)
		if mu.Equivalent != nil {
			require.Equal(t, []string{"nobody"}, r.by, mu.Name)
			continue
		}
		require.Contains(t, r.by, mu.Property, mu.Name)
		for _, name := range r.by {
			require.True(t, name == mu.Property || slices.Contains(mu.Also, name), "%s is noticed by %s", mu.Name, name)
		}
		require.Regexp(t, `^\d+ deviations?$`, r.witness, mu.Name)
		killed++
		if r.high <= 5000 {
			soon++
		}
	}
	require.GreaterOrEqual(t, soon*10, killed*9, "killed within 5,000 schedules")

	data, err := os.ReadFile("../../../docs/mutants.md")
	require.NoError(t, err)
	for _, q := range properties.All {
		if q.OfKernel() {
			continue // mutants are of the engine in Go
		}
		m := regexp.MustCompile(`(?m)^\| ` + q.ID + " " + q.Name +
			` \| (\d+) \| (\d+) \|$`).FindStringSubmatch(string(data))
		require.NotNil(t, m, "%s: kpsim mutants --markdown > docs/mutants.md", q.ID)
		for _, n := range m[1:] {
			count, err := strconv.Atoi(n)
			require.NoError(t, err)
			require.Positive(t, count, "%s kills none", q.ID)
		}
	}
	for _, s := range mutants.Absent {
		require.Contains(t, string(data), s.Row)
	}
}

// requireOnPage holds what was found of a mutant against its row of the page. The
// same searches find the same; a change of the program may move them, but not far.
func requireOnPage(t *testing.T, rows map[string]pageRow, k *Kill) {
	t.Helper()
	r, ok := rows[k.Mutant.Name]
	require.True(t, ok)
	const apart, few = 4, 25
	_, low, high := k.First.Median()
	require.LessOrEqual(t, low, max(r.high*apart, few), "docs/mutants.md says %d (%d to %d)", r.median, r.low, r.high)
	require.GreaterOrEqual(t, max(high*apart, few), r.low, "docs/mutants.md says %d (%d to %d)", r.median, r.low,
		r.high)
}
