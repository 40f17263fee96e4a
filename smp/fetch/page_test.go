package fetch_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/fetch"
)

const page = "../../docs/fetch-models.md"

var updatePage = flag.Bool("update-page", false, "write the outcomes in docs/fetch-models.md anew; read the diff")

var enumerated = regexp.MustCompile(`(?s)<!-- outcomes (\S+) -->\n.*?<!-- end -->\n`)

// TestPage: the outcomes on the page are those that the models have, every one.
func TestPage(t *testing.T) {
	raw, err := os.ReadFile(page)
	require.NoError(t, err)
	want := enumerated.ReplaceAllStringFunc(string(raw), func(s string) string {
		name := enumerated.FindStringSubmatch(s)[1]
		table := protocol(t)
		if name != "protocol" {
			table = history(t, name)
		}
		return "<!-- outcomes " + name + " -->\n\n" + table + "\n<!-- end -->\n"
	})
	if *updatePage {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(raw), "go test ./smp/fetch -run TestPage -update-page")
	require.Len(t, enumerated.FindAllString(want, -1), 6)
}

var models = func() (all []fetch.Model) {
	for _, name := range fetch.Names() {
		m, err := fetch.Parse(name)
		if err != nil {
			panic(err)
		}
		all = append(all, m)
	}
	return all
}()

// protocol enumerates what a CPU may run that comes by when so much of a patch is done,
// in one chunk and across two.
func protocol(t *testing.T) string {
	names := map[step]string{bp: "bp", tail: "tail", head: "head", s: "s"}
	table := "| done so far | coherent | stale, one chunk | stale, two chunks | mixing, one chunk | mixing, two chunks " +
		"|\n|---|---|---|---|---|---|\n"
	for _, done := range [][]step{
		{bp}, {bp, s}, {bp, tail}, {bp, s, tail}, {bp, tail, head}, {bp, s, tail, head}, {bp, s, tail, s, head},
		{bp, s, tail, s, head, s},
	} {
		row := ""
		for _, d := range done {
			row += " " + names[d]
		}
		table += "|" + row + " |"
		for _, m := range models {
			for _, site := range []uint64{within, across} {
				l := litmus{text: nopRet, site: site, steps: append(slices.Clone(done), runs)}
				if m == fetch.Coherent && site == across {
					continue // the same
				}
				table += " " + cell(l.outcomes(t, m)) + " |"
			}
		}
		table += "\n"
	}
	return table
}

// history enumerates what a litmus test may see.
func history(t *testing.T, name string) string {
	i := slices.IndexFunc(litmusTests, func(l litmus) bool { return l.name == name })
	require.NotEqual(t, -1, i, name)
	table := "| model | what may be seen |\n|---|---|\n"
	for _, m := range models {
		table += "| " + m.String() + " | " + cell(litmusTests[i].outcomes(t, m)) + " |\n"
	}
	return table
}

// blends are what is neither old nor new in these histories, nor a breakpoint.
var blends = []string{"66 10 c3", "eb 90"}

// cell lists outcomes, what memory holds first.
func cell(o outcomes) string {
	all := slices.Clone(o.all)
	slices.SortFunc(all, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == o.first:
			return -1
		case b == o.first:
			return 1
		}
		return strings.Compare(a, b)
	})
	for i, seen := range all {
		looks := strings.Split(seen, " | ")
		for j, l := range looks {
			if looks[j] = "`" + l + "`"; slices.Contains(blends, l) {
				looks[j] = "**" + looks[j] + "**"
			}
		}
		all[i] = strings.Join(looks, " then ")
	}
	return strings.Join(all, ", ")
}
