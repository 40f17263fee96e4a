package mutants

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/ui/cli"
)

// mutantsHTML writes the page of rows.
func mutantsHTML(t *testing.T, c *Mutants, rows []mutantRow) (path, text string, status int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "m.html")
	c.HTML = cli.FileName(path)
	var out bytes.Buffer
	status, err := c.conclude(&cli.Program{Out: &out, Err: &out}, rows)
	require.NoError(t, err)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(out.String(), path+": "), out.String())
	require.Contains(t, out.String(), "seeds each: ", "the summary")
	pagetest.Check(t, string(b))
	return path, string(b), status
}

func mutantRows() []mutantRow {
	deviations := 4
	return []mutantRow{
		{Mutant: "no-quiesce", Scenario: "safe-none", Property: "no-start-inside",
			By: map[string]int{"no-start-inside": 4, "no-use-after-free": 16}, Seeds: 20, Killed: 20, Most: 1000,
			Median: 2, Low: 2, High: 6, Slowest: 15, Deviations: &deviations, source: "R1, M01",
			says: "the optimizer doesn't wait"},
		{Mutant: "lost", Scenario: "hotplug", Property: "locks", Seeds: 20, Most: 1000,
			Fault: "20 of 20 searches have not found it", source: "R2", says: "it is <lost>"},
		{Mutant: "alike", Scenario: "hotplug", Property: "locks", Seeds: 1, Most: 1000, Equivalent: "nobody can tell",
			source: "R3", says: "nothing"},
	}
}

// The page says of each mutant what the table does, what is wrong, and draws it.
func TestMutantsPage(t *testing.T) {
	path, text, status := mutantsHTML(t, &Mutants{Seeds: 20, Most: 1000, Seed: 1}, mutantRows())
	require.Equal(t, cli.Against, status)
	require.Contains(t, text, "<code>kpsim mutants --most=1000 --html m.html</code>")
	require.Contains(t, text, "written on "+cli.Today()+".")
	require.Contains(t, text, "<p>3 mutants, 20 seeds each: 1 of 2 killed within 1000 schedules by every seed (50.0 %), 1 of them within 5000 (50.0 %); 1 marked equivalent.</p>")
	killed := pagetest.Section(text, "killed")
	for _, want := range []string{
		`<a href="#mutant-no-quiesce">no-quiesce</a></th><td>R1, M01</td><td>safe-none</td><td><span class="good"><span aria-hidden="true">✓` + "\u00a0" + `</span>no-start-inside 4, no-use-after-free 16</span></td><td class="n">2</td><td class="n">2 to 6</td><td class="n">15</td><td class="n">4</td>`,
		`<span class="bad"><span aria-hidden="true">✗` + "\u00a0" +
			`</span>nobody</span></td><td class="n">&gt; 1000</td><td class="n">&gt; 1000 to &gt; 1000</td><td class="n">&gt; 1000</td><td class="n">-</td>`,
		`</span>nobody: equivalent</span></td><td class="n">-</td>`,
		"<li>lost: 20 of 20 searches have not found it</li>", "T1 whole-instructions notices no mutant",
	} {
		require.Contains(t, killed, want)
	}
	soon := pagetest.Section(text, "soon")
	require.Contains(t, soon, ">no-quiesce</text>")
	require.NotContains(t, soon, ">alike</text>")
	require.Contains(t, soon, ">1,000</text>", "what isn't found stands at the end")
	require.Contains(t, soon, "The median search kills 1 of 2 mutants, half of those in 2 schedules or fewer; the slowest kills 1, half of those in 15 or fewer.")
	require.Contains(t, pagetest.Section(text, "do"),
		`<th scope="row" id="mutant-lost">lost</th><td>it is &lt;lost&gt;</td><td><code>kpsim explore hotplug --mutant lost</code></td>`)
	require.Contains(t, pagetest.Section(text, "equivalent"), "alike: nobody can tell")
	require.Regexp(t, `\w+ no-start-inside</th><td>[^<]+</td><td class="n">1</td><td class="n">4</td>`,
		pagetest.Section(text, "who"))
	require.Contains(t, pagetest.Section(text, "absent"), "<li>R43, M14: ")

	o := pagetest.Open(t, path, 400, 1000)
	require.Empty(t, o.Console)
	pagetest.Fits(t, path)
	require.Contains(t, o.DOM, "</footer>")
}

// A page of some mutants alone has nothing about properties, and draws nothing for a mutant that no
// property notices.
func TestMutantsPageOfSome(t *testing.T) {
	c := &Mutants{Mutants: []string{"no-quiesce"}, Seeds: 3, Most: 1000, Seed: 7, Blind: true}
	_, text, status := mutantsHTML(t, c, mutantRows()[:1])
	require.Equal(t, cli.OK, status)
	require.Contains(t, text, "<code>kpsim mutants no-quiesce --seeds=3 --most=1000 --seed=7 --blind --html m.html</code>")
	for _, id := range []string{"who", "absent", "equivalent"} {
		require.NotContains(t, text, `<section id="`+id+`"`)
	}
	require.NotContains(t, text, "Wrong:")
	_, again, _ := mutantsHTML(t, c, mutantRows()[:1])
	require.True(t, text == again)
	_, text, _ = mutantsHTML(t, c, mutantRows()[2:])
	require.Contains(t, text, "The median search kills 0 of 0 mutants")
}
