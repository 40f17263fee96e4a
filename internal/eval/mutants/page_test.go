package mutants

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/mutants"
)

var updatePage = flag.Bool("update-page", false, "write docs/mutants.md anew from its own rows; read the diff")

const pageFile = "../../../docs/mutants.md"

// readRow reads a row of the page.
func readRow(t *testing.T, c *Mutants, cells []string) mutantRow {
	t.Helper()
	mu, ok := mutants.ByName(cells[0])
	require.True(t, ok, "docs/mutants.md: there is no mutant %s; take its row out", cells[0])
	r := mutantRow{Mutant: mu.Name, Scenario: cells[2], Property: mu.Property, By: map[string]int{}, Seeds: c.Seeds}
	if cells[7] == "equivalent" {
		r.Equivalent = cells[7]
		return r
	}
	seeds := 0
	for _, noticed := range strings.Split(cells[3], ", ") {
		name, times, some := strings.Cut(noticed, " ")
		n := c.Seeds
		if some {
			var err error
			n, err = strconv.Atoi(times)
			require.NoError(t, err, cells[0])
		}
		r.By[name] += n
		seeds += n
	}
	require.Equal(t, c.Seeds, seeds, "%s: %s", cells[0], cells[3])
	_, err := fmt.Sscanf(cells[4]+" "+cells[5], "%d %d to %d", &r.Median, &r.Low, &r.High)
	require.NoError(t, err, cells[0])
	r.Slowest, err = strconv.ParseUint(cells[6], 10, 64)
	require.NoError(t, err, cells[0])
	return r
}

// TestPage: what docs/mutants.md says of all mutants together follows from its rows, which are
// in the catalogue's order, and what it says that they do is the catalogue's. The rows
// themselves are what kpsim mutants --markdown NAME has printed, and aren't searched for again.
func TestPage(t *testing.T) {
	data, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	c := new(Mutants)
	said := regexp.MustCompile(`It is searched for (\d+) times, from seed (\d+) on, in the scenario where it shows, at most (\d+) schedules each`).FindStringSubmatch(string(data))
	require.NotNil(t, said, "docs/mutants.md: how often is each mutant searched for?")
	_, err = fmt.Sscan(strings.Join(said[1:], " "), &c.Seeds, &c.Seed, &c.Most)
	require.NoError(t, err)

	var head, proofs []string
	lines, rows := make(map[string]string), make(map[string]mutantRow)
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "## ") {
			break
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		switch {
		case len(cells) == 8 && cells[0] != "mutant":
			require.NotContains(t, rows, cells[0])
			lines[cells[0]], rows[cells[0]] = line, readRow(t, c, cells)
		case len(rows) == 0:
			head = append(head, line)
		case line != "\n" && !strings.Contains(line, " killed within "):
			proofs = append(proofs, line)
		}
	}

	var want bytes.Buffer
	want.WriteString(strings.Join(head, ""))
	var all []mutantRow
	for i := range mutants.All {
		name := mutants.All[i].Name
		require.Contains(t, rows, name, "it has no row: kpsim mutants --markdown %s", name)
		want.WriteString(lines[name])
		all = append(all, rows[name])
	}
	fmt.Fprintf(&want, "\n%s\n", c.summary(all))
	for _, line := range proofs {
		fmt.Fprint(&want, "\n"+line)
	}
	c.pageEnd(&want, all)
	if *updatePage {
		require.NoError(t, os.WriteFile(pageFile, want.Bytes(), 0o644))
		return
	}
	require.Equal(t, want.String(), string(data), "go test ./internal/eval/mutants -run Page -update-page")
}
