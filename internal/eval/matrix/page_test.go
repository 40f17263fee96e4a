package matrix

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/properties"
	"kpsim/traces"
)

// all fills a table with what of says of each cell.
func all(of func(row string, c Column) string) Table {
	t := make(Table)
	for _, r := range Rows() {
		for _, c := range Columns() {
			t[key(r.Name, c)] = of(r.Name, c)
		}
	}
	return t
}

func TestClaims(t *testing.T) {
	for _, c := range Claims {
		other := Never
		if c.Verdict == Never {
			other = Sometimes
		}
		short := map[string]string{Never: Never, Sometimes: "T2/3"}
		as := all(func(string, Column) string { return short[c.Verdict] })
		require.Contains(t, c.Judge(as), "agrees: "+c.Verdict+" in all", c.Says)
		against := all(func(string, Column) string { return short[other] })
		require.Contains(t, c.Judge(against), "contradicts: "+other+" in all", c.Says)

		one := Column{c.Preempts[0], "stale"}
		as[key(c.Rows[0], one)] = short[other]
		require.Contains(t, c.Judge(as), "but "+other+" in "+c.Rows[0]+" "+one.Preempt+" stale", c.Says)
		as[key(c.Rows[0], one)] = "blind"
		require.Empty(t, c.Judge(as), "what a blind cell says")
	}
}

func TestIdentities(t *testing.T) {
	table := all(func(row string, c Column) string {
		if c.Preempt == "full" || c.Preempt == "lazy" {
			return "T2/4"
		}
		return Never
	})
	require.Empty(t, Identities(table))
	for _, x := range []struct {
		row  string
		c    Column
		want int
	}{
		{"raw/poke-1", Column{"voluntary", "stale"}, 2}, // a Sometimes: mixing must be one, too
		{"sync/arm", Column{"lazy", "mixing"}, 2},
		// and isn't as voluntary, nor as sched, and stale must be Sometimes, too
		{"life/rcu/naive", Column{"none", "coherent"}, 3},
		{"jump/tasks/breakpoint", Column{"voluntary", "mixing"}, 2},
		{"jump/tasks/breakpoint", Column{"dynamic", "mixing"}, 0},
		{"jump/tasks/breakpoint", Column{"dynamic", "stale"}, 1},
		{"jump/none/breakpoint", Column{"dynamic", "mixing"}, 0},
	} {
		k := key(x.row, x.c)
		was := table[k]
		table[k] = map[string]string{Never: "T1/1", "T2/4": Never}[was]
		require.Len(t, Identities(table), x.want, k)
		table[k] = was
	}
}

// Which Never can't be one, by the other cells of its row.
func TestTooFew(t *testing.T) {
	table := all(func(row string, c Column) string {
		if row == "sync/stop" && c == (Column{"full", "stale"}) {
			return "T1/4"
		}
		return Never
	})
	var list []Column
	for _, c := range Columns() {
		if table.tooFew("sync/stop", c) {
			list = append(list, c)
		}
		require.False(t, table.tooFew("sync/poke-1", c))
	}
	require.Equal(t, []Column{{"full", "stale"}, {"full", "mixing"}, {"lazy", "stale"}, {"lazy", "mixing"}}, list)
}

// The page holds what the matrix does; what is known of the cells stands under it.
func TestMarkdown(t *testing.T) {
	m := &Matrix{Rows: rowsOf(t, "raw/naive", "raw/poke-3"), Effort: Effort{Deviations: 1, Drawn: 8, Seed: 1}}
	for i, r := range m.Rows {
		for k, c := range Columns() {
			cell := &Cell{Row: r.Name, Preempt: c.Preempt, Fetch: c.Fetch, Verdict: Sometimes,
				Broken: []*Broken{{Property: "T1 whole-instructions", Length: i + k, Offsets: []int{k % chunk}}}}
			if k == 3 {
				cell.Verdict, cell.Deviations, cell.Broken = Never, 1, nil
			}
			m.Cells = append(m.Cells, cell)
		}
	}
	m.Cells = m.Cells[:len(m.Cells)-1] // as if it had been interrupted: the row isn't whole
	var b bytes.Buffer
	require.NoError(t, m.Markdown(&b, "2000-01-01"))
	got, err := ReadMarkdown(b.String())
	require.NoError(t, err)
	require.Len(t, got, len(Columns()))
	for k, v := range got {
		require.Equal(t, m.Table()[k], v)
	}
	require.Equal(t, "T1/2@2", got[key("raw/naive", Column{"none", "mixing"})])
	require.Equal(t, "Never 1", got[key("raw/naive", Column{"voluntary", "coherent"})])
	require.Contains(t, b.String(), ", 1 of its 55 rows. ")
	require.Contains(t, b.String(), X86.Adversary)
	require.Contains(t, b.String(), "| Never 1 |")
	require.Contains(t, b.String(), "- T1 whole-instructions, in 14 cells: "+properties.WholeInstructions.Says+"\n",
		"IDs aren't left to be looked up")
	var text bytes.Buffer
	require.NoError(t, m.Text(&text))
	require.Contains(t, text.String(), "\nT1 whole-instructions, in 27 cells\n")
	for _, block := range Blocks { // which probe it is about, or that it is about none
		require.Regexp(t, "optimized kprobe|jump label|static call|site of ftrace|^A probe of", block.Says)
		require.NotContains(t, block.Says, "A probe's")
	}

	// Rows go into the page, in place of those that are there.
	page := b.String()
	n := &Matrix{Rows: rowsOf(t, "raw/naive", "raw/stop"), Effort: m.Effort}
	for _, r := range n.Rows {
		for _, c := range Columns() {
			n.Cells = append(n.Cells, &Cell{Row: r.Name, Preempt: c.Preempt, Fetch: c.Fetch, Verdict: Never,
				Complete: true})
		}
	}
	b.Reset()
	require.NoError(t, n.Into(&b, page, "2000-01-02"))
	got, err = ReadMarkdown(b.String())
	require.NoError(t, err)
	require.Equal(t, n.Table(), got, "raw/naive is another one now, raw/stop is new")
	require.Equal(t, Never, got.At("raw/stop", Columns()[0]))
	require.Equal(t, "Never all", got[key("raw/stop", Columns()[0])])
	other := *n
	other.Effort.Drawn = 16
	require.ErrorContains(t, other.Into(&b, page, ""), "another effort")
	require.ErrorContains(t, n.Into(&b, strings.Replace(page, "Two CPUs", "Three CPUs", 1), ""), "another adversary")

	_, err = ReadMarkdown("| jump/nothing | Never |\n")
	require.ErrorContains(t, err, `"jump/nothing"`)

	b.Reset()
	require.NoError(t, m.Text(&b))
	require.Regexp(t, `\nraw/poke-3 .* \?\n`, b.String())
}

// docs/matrix.md and docs/matrix-processors.md hold together, its claims are what its cells say, and cells that are
// searched
// again come out as it has them: what is refuted early is under any effort.
func TestPage(t *testing.T) {
	table := readPages(t)
	require.Empty(t, Identities(table))
	require.Equal(t, len(Claims), len(X86.Claims())+len(Others.Claims()))
	for k, v := range table {
		require.NotEmpty(t, v, k)
		require.NotContains(t, []string{"?", "blind"}, v, k)
		require.True(t, isNever(v) || strings.Contains(v, "@"), "%s is %s: which offset?", k, v)
	}
	for name, of := range pages {
		page, table := readPage(t, name)
		require.Contains(t, page, of.Adversary+"\n\n"+Quick.Legend(of), "write it anew: kpsim matrix --markdown > "+
			""+name)
		for _, c := range Claims {
			if j := c.Judge(table); j != "" {
				require.Contains(t, page, "- "+c.Says+" The matrix "+j+".\n")
			} else {
				require.NotContains(t, page, "- "+c.Says)
			}
		}
	}
	for _, x := range []struct {
		row string
		c   Column
	}{
		{"jump/none/naive", Column{"none", "mixing"}},
		{"jump/none/stop_machine", Column{"full", "coherent"}},
		{"raw/poke-3", Column{"none", "stale"}},
		{"sync/arm", Column{"none", "stale"}},
		{"arm64/label/unsynced", Column{"full", "stale"}},
	}[:thorough.Of(2, 5)] {
		if table[key(x.row, x.c)] == "" {
			continue // the page has not all rows yet
		}
		m, err := Run(Job{Rows: rowsOf(t, x.row), Columns: []Column{x.c},
			Effort: Effort{Deviations: 1, Drawn: first * chunk, Seed: Quick.Seed}})
		require.NoError(t, err)
		require.Subset(t, IDs(table[key(x.row, x.c)]), IDs(m.Cells[0].Short()), "%s: write docs/matrix.md anew",
			key(x.row, x.c))
	}
}

// pages are the pages of docs that have a subject's matrix.
var pages = map[string]*Subject{"docs/matrix.md": &X86, "docs/matrix-processors.md": &Others}

// readPages returns the cells of all pages.
func readPages(t *testing.T) Table {
	t.Helper()
	all := make(Table)
	for name := range pages {
		_, table := readPage(t, name)
		maps.Copy(all, table)
	}
	return all
}

func readPage(t *testing.T, name string) (string, Table) {
	t.Helper()
	page, err := os.ReadFile("../../../" + name)
	require.NoError(t, err)
	table, err := ReadMarkdown(string(page))
	require.NoError(t, err)
	require.NotEmpty(t, table)
	return string(page), table
}

// What was wrong on the page of 8d5c936: Nevers that are T1, and properties
// broken after others.
func TestPageSaysAll(t *testing.T) {
	table := readPages(t)
	for _, row := range []string{"sync/unopt", "sync/unopt-2"} {
		for _, p := range []string{"dynamic", "full", "lazy"} {
			require.Contains(t, IDs(table[key(row, Column{p, "stale"})]), "T1", "%s %s stale", row, p)
		}
	}
	require.Subset(t, IDs(table[key("jump/none/naive", Column{"none", "stale"})]), []string{"T1", "T2"})
	require.Subset(t, IDs(table[key("sync/arm", Column{"none", "stale"})]), []string{"T3", "T2"})
}

// No Never of the page is broken by a witness that is committed for another cell of the same row
// or of the same program: what breaks those is played in each, at each offset.
func TestNeversStand(t *testing.T) {
	table := readPages(t)
	files, err := filepath.Glob(filepath.Join(kindsDir, "*.kps"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	byProgram := make(map[string][]*traces.File)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		f, err := traces.Parse(path, data)
		require.NoError(t, err)
		block := blockOf(filepath.Base(path))
		byProgram[block] = append(byProgram[block], f)
	}
	played := 0
	for i, r := range Rows() {
		for k, c := range Columns() {
			if table.At(r.Name, c) != Never || (i+k)%thorough.Of(3, 1) != 0 {
				continue
			}
			s, err := newSearcher(&r, c, Quick, new(atomic.Bool))
			require.NoError(t, err)
			places := r.offsets()
			for _, offset := range []int{places[k%len(places)], places[len(places)-1]}[:thorough.Of(1, 2)] {
				tr, err := NewTranslator(s.spec(offset))
				require.NoError(t, err)
				for _, f := range byProgram[blockOf(strings.ReplaceAll(r.Name, "/", "-"))] {
					q, ok := properties.ByName(f.Property)
					require.True(t, ok)
					require.Nil(t, tr.Try(q, f.Schedule, 0), "%s at offset %d: %s of %v", key(r.Name, c), offset,
						f.Property, f.Schedule)
					played++
				}
				tr.Close()
			}
		}
	}
	require.Greater(t, played, thorough.Of(300, 1000))
}

// blockOf returns what the names of rows, and of traces, of the same program begin with: a processor and what is
// patched, or for x86 the latter alone.
func blockOf(name string) string {
	block, rest, _ := strings.Cut(name, "-")
	if slices.ContainsFunc(Others.Rows(), func(r Row) bool { return r.program.arch == block }) {
		what, _, _ := strings.Cut(rest, "-")
		return block + "/" + what
	}
	return block
}

// The tables of docs/waits.md and docs/processors.md are what the pages of the matrix say, row by row.
func TestShortPages(t *testing.T) {
	table := readPages(t)
	for _, name := range []string{"docs/waits.md", "docs/processors.md"} {
		shows(t, table, name)
	}
}

// shows requires that a page has rows of the matrix as Brief prints them.
func shows(t *testing.T, table Table, name string) {
	short, err := os.ReadFile("../../../" + name)
	require.NoError(t, err)
	shown := 0
	for _, r := range Rows() {
		if !strings.Contains(string(short), "\n| "+r.Name+" |") {
			continue
		}
		shown++
		require.NotEmpty(t, table[key(r.Name, Columns()[0])], "%s has %s, the matrix hasn't", name, r.Name)
		brief := strings.SplitAfter(table.Brief([]Row{r}), "\n")
		require.Contains(t, string(short), brief[0]+brief[1], "its columns")
		require.Contains(t, string(short), "\n"+brief[2], "kpsim matrix --short %s prints another row", r.Name)
	}
	require.NotZero(t, shown, "%s shows no row of the matrix", name)
}

// TestBrief: what a cell of three fetch models is in the short table.
func TestBrief(t *testing.T) {
	table := all(func(_ string, c Column) string {
		switch {
		case c.Preempt == "full" && c.Fetch == "coherent":
			return "T2/3"
		case c.Preempt == "full" || c.Preempt == "lazy" && c.Fetch != "coherent":
			return "T1/1"
		}
		return Never + " all"
	})
	table[key("raw/naive", Column{"dynamic", "stale"})] = "blind"
	require.Contains(t, table.Brief(rowsOf(t, "raw/naive")),
		"\n| raw/naive | Never | Never | ? | T2, T1 | T1 (stale, mixing) |\n")
}
