package matrix

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Short returns a cell as the tables have it: Never, or the ID of the property that
// is broken and of how many deviations the shrunk witness is.
func (c *Cell) Short() string {
	switch {
	case c.Verdict == Sometimes:
		return fmt.Sprintf("%s/%d", c.ID(), c.Length)
	case c.Blind:
		return "blind"
	}
	return Never
}

// Certificate says what a Never stands on.
func (e Effort) Certificate() string {
	return fmt.Sprintf("all schedules of at most %d deviations at each of the %d offsets, and %d drawn ones", e.Deviations, chunk, e.Drawn/chunk*chunk)
}

// legend is what is said of the cells above each table.
func (m *Matrix) legend() string {
	return "Never: " + m.Effort.Certificate() + ", broke no property, and the same search broke the row that is known to be wrong (blind: it didn't). " +
		"T2/4: Sometimes; property T2 was broken, and 4 deviations from the default schedule are what is left of the witness that was found first."
}

// blocks calls f for each block that has rows.
func (m *Matrix) blocks(f func(b *Block, rows []Row)) {
	for i := range Blocks {
		var rows []Row
		for _, r := range m.Rows {
			if r.Block == &Blocks[i] {
				rows = append(rows, r)
			}
		}
		if len(rows) > 0 {
			f(&Blocks[i], rows)
		}
	}
}

// cell returns a cell, nil if there is none.
func (m *Matrix) cell(row string, c Column) *Cell {
	for _, x := range m.Cells {
		if x.Row == row && x.Preempt == c.Preempt && x.Fetch == c.Fetch {
			return x
		}
	}
	return nil
}

func (m *Matrix) short(row string, c Column) string {
	if x := m.cell(row, c); x != nil {
		return x.Short()
	}
	return "?"
}

// Text prints the matrix for a terminal.
func (m *Matrix) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n%s\n", Adversary, m.legend())
	m.blocks(func(block *Block, rows []Row) {
		fmt.Fprintf(b, "\n%s\n%-26s", block.Says, "preemption")
		for i, p := range Preempts {
			width := 22
			if i == len(Preempts)-1 {
				width = 0
			}
			fmt.Fprintf(b, " %-*s", width, p)
		}
		fmt.Fprintf(b, "\n%-26s", "fetch")
		fmt.Fprintf(b, "%s\n", strings.Repeat(" cohere stale  mixing  ", len(Preempts)))
		for _, r := range rows {
			line := fmt.Sprintf("%-26s", r.Name)
			for i, c := range Columns() {
				if i > 0 && i%len(Fetches) == 0 {
					line += "  "
				}
				line += fmt.Sprintf(" %-6s", m.short(r.Name, c))
			}
			fmt.Fprintln(b, strings.TrimRight(line, " "))
		}
	})
	m.judged(b, "\n", "  ")
	return b.Flush()
}

// whole returns m with those of its rows that were searched in all columns.
func (m *Matrix) whole() *Matrix {
	w := *m
	w.Rows = slices.DeleteFunc(slices.Clone(m.Rows), func(r Row) bool {
		return slices.ContainsFunc(Columns(), func(c Column) bool { return m.cell(r.Name, c) == nil })
	})
	return &w
}

// Markdown prints the matrix as the page docs/matrix.md: of an interrupted one the
// rows that are whole.
func (m *Matrix) Markdown(w io.Writer, date string) error {
	m = m.whole()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Which waits and syncs code patching needs\n\nWritten by `kpsim matrix --markdown` on %s, %d of its %d rows; its effort: %s. No cell is written by hand.\n\n",
		date, len(m.Rows), len(Rows()), m.Effort.Certificate())
	fmt.Fprintf(b, "%s\n\n%s A witness is written to `traces/` by `kpsim matrix ROW`, to be read with `kpsim explain`.\n", Adversary, m.legend())
	m.blocks(func(block *Block, rows []Row) {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n| row |", block.Name, block.Says)
		for _, c := range Columns() {
			fmt.Fprintf(b, " %s %s |", c.Preempt, c.Fetch)
		}
		fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(Columns())))
		for _, r := range rows {
			fmt.Fprintf(b, "| %s |", r.Name)
			for _, c := range Columns() {
				fmt.Fprintf(b, " %s |", m.short(r.Name, c))
			}
			fmt.Fprintln(b)
		}
	})
	fmt.Fprintf(b, "\n## What the documents claim\n\n")
	m.judged(b, "", "- ")
	return b.Flush()
}

func (m *Matrix) judged(b io.Writer, before, bullet string) {
	t := m.Table()
	said := false
	for _, c := range Claims {
		if j := c.Judge(t); j != "" {
			if !said {
				fmt.Fprint(b, before)
				said = true
			}
			fmt.Fprintf(b, "%s%s The matrix %s.\n", bullet, c.Says, j)
		}
	}
	for _, s := range Identities(t) {
		fmt.Fprintf(b, "%sAgainst what must be alike: %s.\n", bullet, s)
	}
}

// A Table is cells as they are printed, by row and column.
type Table map[string]string

func key(row string, c Column) string { return row + " " + c.Preempt + " " + c.Fetch }

// At returns a verdict: Never, Sometimes, or "" of what isn't known.
func (t Table) At(row string, c Column) string {
	switch s := t[key(row, c)]; {
	case s == Never:
		return Never
	case strings.Contains(s, "/"):
		return Sometimes
	}
	return ""
}

// Table returns the cells as they are printed.
func (m *Matrix) Table() Table {
	t := make(Table)
	for _, c := range m.Cells {
		t[key(c.Row, Column{c.Preempt, c.Fetch})] = c.Short()
	}
	return t
}

// ReadMarkdown reads the cells of a page.
func ReadMarkdown(page string) (Table, error) {
	t := make(Table)
	for _, line := range strings.Split(page, "\n") {
		f := strings.Split(line, "|")
		if len(f) < 3 || strings.HasPrefix(f[1], "-") {
			continue
		}
		name := strings.TrimSpace(f[1])
		if _, ok := RowByName(name); !ok {
			if name != "row" {
				return nil, fmt.Errorf("the page has a row %q, which there isn't; write it anew", name)
			}
			continue
		}
		for i, c := range Columns() {
			if i+2 >= len(f) {
				return nil, fmt.Errorf("row %s of the page has %d cells; write it anew", name, i)
			}
			t[key(name, c)] = strings.TrimSpace(f[i+2])
		}
	}
	return t, nil
}
