package pages

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/eval/matrix"
	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/ui/cli"
)

// writtenMatrix fills the rows of a name with what of says of each cell, and writes its page.
func writtenMatrix(t *testing.T, c *Matrix, of func(cell *matrix.Cell)) (path, text string) {
	t.Helper()
	rows, err := matrix.Select(c.Rows)
	require.NoError(t, err)
	m := &matrix.Matrix{Rows: rows, Effort: matrix.Quick}
	for _, r := range rows {
		for _, col := range matrix.Columns() {
			cell := &matrix.Cell{Row: r.Name, Preempt: col.Preempt, Fetch: col.Fetch, Verdict: matrix.Never,
				Deviations: 2, All: 12_345, Offsets: []int{0, 4}, Drawn: 100_000, Canary: "raw/naive"}
			if of(cell); cell.Verdict != "" {
				m.Cells = append(m.Cells, cell)
			}
		}
	}
	path = filepath.Join(t.TempDir(), "m.html")
	c.HTML = cli.FileName(path)
	var out, errs bytes.Buffer
	require.NoError(t, c.html(&cli.Program{Out: &out, Err: &errs}, m))
	b, err := os.ReadFile(path)
	if err != nil {
		return errs.String(), ""
	}
	require.Contains(t, out.String(), path+": ")
	return path, string(b)
}

// sometimes makes a cell a Sometimes.
func sometimesIn(c *matrix.Cell, trace string) {
	*c = matrix.Cell{Row: c.Row, Preempt: c.Preempt, Fetch: c.Fetch, Verdict: matrix.Sometimes,
		Broken: []*matrix.Broken{{Property: "T1 whole-instructions", Length: 3, Offset: 7, Offsets: []int{7},
			Trace: trace}}}
}

// Each kind of cell says what it says, and by what; what was broken leads to a line.
func TestMatrixPage(t *testing.T) {
	c := &Matrix{Rows: []string{"raw/naive", "raw/stop_machine"}, Seed: 1, Traces: "traces",
		From: []string{"/a/folder/cells.json"}}
	path, text := writtenMatrix(t, c, func(cell *matrix.Cell) {
		switch key := cell.Row + " " + cell.Preempt + " " + cell.Fetch; {
		case cell.Row == "raw/naive":
			sometimesIn(cell, "traces/matrix-"+cell.Preempt+".kps")
		case key == "raw/stop_machine full stale":
			sometimesIn(cell, "")
		case key == "raw/stop_machine lazy stale":
			cell.Complete, cell.Deviations, cell.Drawn, cell.Offsets = true, 0, 0, []int{0, 1, 2, 3}
		case key == "raw/stop_machine lazy mixing":
			cell.Deviations = 3
		case key == "raw/stop_machine none mixing":
			cell.Blind = true
		}
	})
	pagetest.Check(t, text)
	require.Contains(t, text, "<code>kpsim matrix raw/naive raw/stop_machine --from cells.json --html m.html</code>")
	require.Contains(t, text, "written on "+cli.Today()+": 2 of its 55 rows.")
	require.NotContains(t, text, "/a/folder")
	raw := pagetest.Section(text, "raw")
	for _, want := range []string{
		`<th scope="colgroup" colspan="3">voluntary</th>`, `<th scope="col">mixing</th>`,
		"✓\u00a0</span>Never</span>", "✓\u00a0</span>Never all</span>", "✓\u00a0</span>Never 3</span>",
		"◦\u00a0</span>blind</span>",
		`✗` + "\u00a0" + `</span><a href="#witness-raw-naive-dynamic-stale">T1/<wbr>3@<wbr>7</a></span>`,
		`<a href="#witness-raw-stop-machine-full-stale">`,
		`<td>T1 whole-instructions</td><td>3</td><td>7</td><td><code>kpsim view traces/<wbr>matrix-<wbr>none.kps</code></td>`,
		`<code>kpsim matrix raw/<wbr>stop_machine</code>`,
		`<td>0, 4</td><td><code>raw/<wbr>naive</code></td><td class="n">2</td><td class="n">12,345</td><td class="n">100,000</td>`,
		`<td>0 to 3</td><td><code>raw/<wbr>naive</code></td><td class="n">any number</td><td class="n">12,345</td><td class="n">none</td>`, `nothing<span class="unseen">, blind</span>`,
		"14 certificates of Never", "16 of Sometimes", "writes by naive",
	} {
		require.Contains(t, raw, want)
	}
	require.Contains(t, pagetest.Section(text, "claims"), "Of 8 claims some cell isn&#39;t on this page, or is blind.")
	require.Contains(t, pagetest.Section(text, "claims"), "raw/stop_machine full stale is Sometimes",
		"what must be alike")
	require.Regexp(t, `T1 whole-instructions</th><td>[^<]+</td><td class="n">16</td>`,
		pagetest.Section(text, "properties"))

	o := pagetest.Open(t, path, 1280, 1000)
	require.Empty(t, o.Console)
	require.Contains(t, o.DOM, "</footer>")
}

// The claims are judged as they are on the other page.
func TestMatrixPageClaims(t *testing.T) {
	n := 5
	drawn := uint64(800)
	c := &Matrix{Seed: 3, Deviations: &n, Drawn: &drawn, Traces: "/t r"}
	path, text := writtenMatrix(t, c, func(cell *matrix.Cell) {
		if cell.Row == "sync/arm" || cell.Row == "jump/none/breakpoint" {
			sometimesIn(cell, "/t r/x.kps")
		}
	})
	pagetest.Check(t, text)
	require.Contains(t, text, "<code>kpsim matrix --deviations=5 --drawn=800 --seed=3 --traces &#39;/t r&#39; --html m.html</code>")
	claims := pagetest.Section(text, "claims")
	require.Equal(t, 6, strings.Count(claims, `<span class="good"><span aria-hidden="true">✓`+"\u00a0"+
		`</span>agrees</span>`))
	require.Contains(t, claims,
		"<span class=\"bad\"><span aria-hidden=\"true\">✗\u00a0</span>contradicts</span></th><td>With CONFIG_PREEMPTION it isn&#39;t (4.6).</td><td>Never in all 18 cells</td>")
	require.Contains(t, claims, "◦\u00a0</span>refines</span></th><td>An IPI sync")
	require.NotContains(t, claims, "isn&#39;t on this page")
	require.NotContains(t, claims, "must be alike")
	for _, b := range matrix.Blocks {
		require.Equal(t, b.Subject == &matrix.X86, strings.Contains(text, `<section id="`+b.Name+`"`))
	}
	_, again := writtenMatrix(t, c, func(cell *matrix.Cell) {
		if cell.Row == "sync/arm" || cell.Row == "jump/none/breakpoint" {
			sometimesIn(cell, "/t r/x.kps")
		}
	})
	require.True(t, text == again, path)
}

// The table of a whole matrix is in sight at 1280 pixels, with all its columns, even if each
// cell has the longest text there is; on a phone it scrolls.
func TestMatrixPageFits(t *testing.T) {
	c := &Matrix{Seed: 1, Traces: "traces"}
	path, _ := writtenMatrix(t, c, func(cell *matrix.Cell) {
		sometimesIn(cell, "traces/matrix-"+strings.ReplaceAll(cell.Row, "/", "-")+"-whole-instructions.kps")
		b := cell.Broken[0]
		b.Length, b.Offsets, b.After = 12, []int{0, 1, 2, 5, 7}, []string{"T3"}
		second := *b
		second.Property, second.After = "B1 breakpoints", nil
		cell.Broken = append(cell.Broken, &second)
	})
	scroll := pagetest.Fits(t, path)
	for i := range matrix.Blocks {
		if matrix.Blocks[i].Subject != &matrix.X86 {
			continue
		}
		name := "Rows " + matrix.Blocks[i].Name + "/…, by preemption and fetch."
		require.NotContains(t, strings.Join(scroll[0], "\n"), name, "at 1280 pixels")
		require.Contains(t, strings.Join(scroll[1], "\n"), name, "at 400 pixels")
	}
}

// An interrupted matrix shows the rows that are complete; without one there is no page.
func TestMatrixPageInterrupted(t *testing.T) {
	c := &Matrix{Rows: []string{"raw/naive", "raw/stop"}, Seed: 1, Traces: "traces"}
	_, text := writtenMatrix(t, c, func(cell *matrix.Cell) {
		if cell.Row == "raw/stop" && cell.Fetch == "mixing" {
			cell.Verdict = ""
		}
	})
	pagetest.Check(t, text)
	require.Contains(t, text, ": 1 of its 55 rows.")
	require.NotContains(t, pagetest.Section(text, "raw"), "raw/<wbr>stop")
	says, text := writtenMatrix(t, c, func(cell *matrix.Cell) {
		if cell.Fetch == "mixing" {
			cell.Verdict = ""
		}
	})
	require.Empty(t, text)
	require.Equal(t, "kpsim: no page was written: no row is whole\n", says)
}
