package mutantsearch

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
)

// drawnSoon: mutants that so few programs find are searched for again.
const drawnSoon = 8

// TestDrawnPage: docs/drawn-history.md has each historical mutant, without the scenario of the catalogue; its total is
// that of its rows. Some of those that are found soon are searched for again, all of them in thorough runs.
func TestDrawnPage(t *testing.T) {
	data, err := os.ReadFile("../../../docs/drawn-history.md")
	require.NoError(t, err)
	aHead := regexp.MustCompile("(?m)^Written by `kpsim mutants --drawn (\\d+) --markdown`")
	head := aHead.FindStringSubmatch(string(data))
	require.NotNil(t, head)
	most, err := strconv.ParseUint(head[1], 10, 64)
	require.NoError(t, err)

	rows := make(map[string][]string)
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) == 4 && cells[0] != "mutant" {
			rows[cells[0]] = cells
		}
	}
	found, again := 0, 0
	all := Historical()
	require.Len(t, rows, len(all))
	for _, mu := range all {
		r := rows[mu.Name]
		require.NotNil(t, r, "%s isn't on the page", mu.Name)
		require.Equal(t, mu.Scenario, r[1], mu.Name)
		programs, err := strconv.ParseUint(r[3], 10, 64)
		require.NoError(t, err)
		if r[2] == "not found" {
			require.Equal(t, most, programs, mu.Name)
			continue
		}
		found++
		require.LessOrEqual(t, programs, most)
		if programs > drawnSoon && !thorough.Set() || again > 3 && !thorough.Set() {
			continue
		}
		again++
		d := Drawn{Seed: 1, Programs: most, Each: 3}
		k, err := d.Kill(mu)
		require.NoError(t, err)
		require.Equal(t, r[2:], []string{k.Property, fmt.Sprint(k.Programs)}, mu.Name)
	}
	require.Positive(t, again)
	require.Contains(t, string(data), fmt.Sprintf("%d of %d mutants found among %d drawn programs each", found,
		len(all), most))
}

// TestWithout: the scenario and its variants are taken away, and drawn programs aren't derived from them.
func TestWithout(t *testing.T) {
	list := Copies("cancel-detour")
	require.Equal(t, []string{"cancel-detour", "cancel-detour-interrupted", "cancel-detour-pages"}, list)
	require.Contains(t, Copies("return-nmi-five"), "return-nmi")
}
