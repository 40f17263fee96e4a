package matrix

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"kpsim/properties"
	"kpsim/smp"
)

// Short formats a cell for a table: Never, with its basis if that is more than the quick effort;
// or for each broken property its ID, the number of deviations of the witness, and the offsets,
// as T2/3@4-7.
func (c *Cell) Short() string {
	switch {
	case c.Verdict == Sometimes:
		var list []string
		for _, b := range c.Broken {
			list = append(list, b.Short())
		}
		return strings.Join(list, ", ")
	case c.Blind:
		return "blind"
	case c.Complete:
		return Never + " all"
	case c.Deviations != Quick.Deviations:
		return fmt.Sprintf("%s %d", Never, c.Deviations)
	}
	return Never
}

// Short formats the result for one property.
func (b *Broken) Short() string {
	s := fmt.Sprintf("%s/%d@%s", b.ID(), b.Length, ranges(b.Offsets))
	if len(b.After) > 0 {
		s += " after " + strings.Join(b.After, " ")
	}
	return s
}

// ranges formats ascending numbers, as 0-3,7.
func ranges(list []int) string {
	var b strings.Builder
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, list[i])
		if k > i {
			fmt.Fprintf(&b, "-%d", list[k])
		}
		i = k + 1
	}
	return b.String()
}

// IDs returns the IDs of the properties in a printed cell.
func IDs(short string) (ids []string) {
	for _, s := range strings.Split(short, ", ") {
		if id, _, ok := strings.Cut(s, "/"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// isNever reports whether a printed cell says Never.
func isNever(short string) bool {
	word, _, _ := strings.Cut(short, " ")
	return word == Never
}

// Certificate describes what a Never of a subject is based on.
func (e Effort) Certificate(of *Subject) string {
	return fmt.Sprintf("all schedules of at most %d deviations at %s, and %d drawn ones", e.Deviations, of.Places,
		e.Drawn/chunk*chunk)
}

// Legend explains the cells above each table of a subject.
func (e Effort) Legend(of *Subject) string {
	quick := e
	quick.Deviations = Quick.Deviations
	deeper := ""
	if e.Deeper > 0 {
		deeper = fmt.Sprintf("Where a cell of the row is Sometimes, a Never that isn't proven had also all "+
			"schedules of at most %d deviations at the offset of that, or of %d where these are more than %d. ",
			e.Deeper, e.Deeper-1, deepestRuns)
	}
	machine := ""
	if e.Memory != smp.SC {
		machine = fmt.Sprintf("Memory model %v. ", e.Memory)
	}
	if e.FRED {
		machine += "FRED: a return from a trap or an interrupt doesn't serialise. "
	}
	if e.SyncCopies {
		machine += "The engine synchronizes every CPU after it has written a slot or a detour (sync_copies). "
	}
	return machine + Never + ": " + quick.Certificate(of) +
		", broke no property, and the same search broke the row that is known to be wrong (blind: it didn't). " +
		"Neither did the schedules that break a neighbour: another cell of the row, or of a row of the same " +
		"program in the same column. They are replayed at each offset by their labels, and looked around; what " +
		"that breaks is tried on its neighbours in turn. " +
		deeper +
		"Never all: every schedule there is was run, so none is drawn; of what is Never all under a model of " +
		"fetch nothing is broken under those that allow less, and those aren't run. Never 3: all of at most 3, " +
		"by `kpsim matrix --full`. " +
		"Of offsets that are alike the first one is searched so: " +
		fmt.Sprintf("in all schedules of at most one deviation, and in %d more, who can move, where they stand "+
			"and which bytes of the site are stored at once is the same at each step; ", alikeDrawn) +
		"schedules are drawn at each. " +
		fmt.Sprintf("What can't be Never, since the same by another name is Sometimes, or a fetch model that "+
			"allows less, had %d times as many drawn. ", manyMore) +
		"T2/4@0-3,7: Sometimes; property T2 was broken, 4 deviations from the default schedule are what is " +
		"left of the witness, and it was broken with the site at offsets 0 to 3 and 7 at least. " +
		"All properties that were found broken are named; a run ends at T1, T2, B1, S1, O1 and P1, for the CPU " +
		"may execute garbage from there on, and goes on after the others: T2/3@4 after T3 was broken in runs " +
		"that had broken T3 before."
}

// InBlocks calls f for each block that has rows.
func InBlocks(list []Row, f func(b *Block, rows []Row)) {
	for i := range Blocks {
		var rows []Row
		for _, r := range list {
			if r.Block == &Blocks[i] {
				rows = append(rows, r)
			}
		}
		if len(rows) > 0 {
			f(&Blocks[i], rows)
		}
	}
}

// Cell returns a cell, or nil.
func (m *Matrix) Cell(row string, c Column) *Cell {
	for _, x := range m.Cells {
		if x.Row == row && x.Preempt == c.Preempt && x.Fetch == c.Fetch {
			return x
		}
	}
	return nil
}

func (m *Matrix) short(row string, c Column) string {
	if x := m.Cell(row, c); x != nil {
		return x.Short()
	}
	return "?"
}

// Text prints the matrix for a terminal.
func (m *Matrix) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	of := m.Subject()
	fmt.Fprintf(b, "%s\n%s\n", of.Adversary, m.Effort.Legend(of))
	InBlocks(m.Rows, func(block *Block, rows []Row) {
		width := make([]int, len(Columns()))
		for i, c := range Columns() {
			width[i] = len("mixing")
			for _, r := range rows {
				width[i] = max(width[i], len(m.short(r.Name, c)))
			}
		}
		over, head := fmt.Sprintf("%-26s", "preemption"), fmt.Sprintf("%-26s", "fetch")
		for i, c := range Columns() {
			name := ""
			if i%len(Fetches) == 0 {
				name = c.Preempt
			}
			over += fmt.Sprintf("%s %-*s", gap(i), width[i], name)
			head += fmt.Sprintf("%s %-*s", gap(i), width[i], strings.TrimSuffix(c.Fetch, "nt"))
		}
		fmt.Fprintf(b, "\n%s\n%s\n%s\n", block.Says, strings.TrimRight(over, " "), strings.TrimRight(head, " "))
		for _, r := range rows {
			line := fmt.Sprintf("%-26s", r.Name)
			for i, c := range Columns() {
				line += fmt.Sprintf("%s %-*s", gap(i), width[i], m.short(r.Name, c))
			}
			fmt.Fprintln(b, strings.TrimRight(line, " "))
		}
	})
	broken := m.Table().Broken()
	if len(broken) > 0 {
		fmt.Fprintln(b)
	}
	for _, k := range broken {
		fmt.Fprintf(b, "%s %s, in %s\n", k.Property.ID, k.Property.Name, cells(k.Cells))
	}
	judged(b, m.Table(), "\n", "  ")
	return b.Flush()
}

// A Found is a property that cells name.
type Found struct {
	Property *properties.Property
	Cells    int // number of cells that name it
}

// Broken lists the properties that cells name, in the order of the catalogue.
func (t Table) Broken() (list []Found) {
	for _, q := range properties.All {
		n := 0
		for _, short := range t {
			if slices.Contains(IDs(short), q.ID) {
				n++
			}
		}
		if n > 0 {
			list = append(list, Found{q, n})
		}
	}
	return list
}

func cells(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}

// gap returns the space before a column, wider before a new preemption model.
func gap(i int) string {
	if i > 0 && i%len(Fetches) == 0 {
		return "  "
	}
	return ""
}

// Subject returns what the rows are about.
func (m *Matrix) Subject() *Subject { return m.Rows[0].Block.Subject }

// Subject returns what the rows of a table are about; X86 if it has none.
func (t Table) Subject() *Subject {
	if list := t.Whole(); len(list) > 0 {
		return list[0].Block.Subject
	}
	return &X86
}

// Whole returns the rows that are complete in a table, in order.
func (t Table) Whole() []Row {
	return slices.DeleteFunc(Rows(), func(r Row) bool {
		return slices.ContainsFunc(Columns(), func(c Column) bool { return t[key(r.Name, c)] == "" })
	})
}

// CheckPage returns an error if cells of this effort can't be put into a page. The page must have
// the same adversary and effort, except for the number of deviations of Nevers, which each cell
// states.
func (e Effort) CheckPage(page string, of *Subject) error {
	if !strings.Contains(page, of.Adversary+"\n\n"+e.Legend(of)) {
		return errors.New("the page is of another adversary, or of another effort; write it anew: kpsim " +
			"matrix --markdown")
	}
	_, err := ReadMarkdown(page)
	return err
}

// Into replaces the complete rows of m in a page that Markdown printed.
func (m *Matrix) Into(w io.Writer, page, date string) error {
	if err := m.Effort.CheckPage(page, m.Subject()); err != nil {
		return err
	}
	t, err := ReadMarkdown(page)
	if err != nil {
		return err
	}
	for k, v := range m.Table().OfWhole() {
		t[k] = v
	}
	return t.markdown(w, m.Effort, date)
}

// Markdown prints the matrix as the page docs/matrix.md; for an interrupted one, the complete
// rows.
func (m *Matrix) Markdown(w io.Writer, date string) error {
	return m.Table().markdown(w, m.Effort, date)
}

// OfWhole returns the cells of complete rows.
func (t Table) OfWhole() Table {
	of := make(Table)
	for _, r := range t.Whole() {
		for _, c := range Columns() {
			of[key(r.Name, c)] = t[key(r.Name, c)]
		}
	}
	return of
}

func (t Table) markdown(w io.Writer, e Effort, date string) error {
	t = t.OfWhole()
	of := t.Subject()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Which waits and syncs code patching "+
		"needs\n\nWritten by `kpsim matrix` on %s, %d of its %d rows. No cell is written by hand.\n\n", date,
		len(t.Whole()), len(of.Rows()))
	fmt.Fprintf(b, "%s\n\n%s A witness is written to `traces/` by `kpsim matrix ROW`, to be read with "+
		"`kpsim explain`.\n", of.Adversary, e.Legend(of))
	InBlocks(t.Whole(), func(block *Block, rows []Row) {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n| row |", block.Name, block.Says)
		for _, c := range Columns() {
			fmt.Fprintf(b, " %s %s |", c.Preempt, c.Fetch)
		}
		fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(Columns())))
		for _, r := range rows {
			fmt.Fprintf(b, "| %s |", r.Name)
			for _, c := range Columns() {
				fmt.Fprintf(b, " %s |", t[key(r.Name, c)])
			}
			fmt.Fprintln(b)
		}
	})
	if list := t.Broken(); len(list) > 0 {
		fmt.Fprintf(b, "\n## What was broken\n\n")
		for _, k := range list {
			fmt.Fprintf(b, "- %s %s, in %s: %s\n", k.Property.ID, k.Property.Name, cells(k.Cells), k.Property.Says)
		}
	}
	fmt.Fprintf(b, "\n## What the documents claim\n\n")
	judged(b, t, "", "- ")
	return b.Flush()
}

// judged prints how the claims compare with the cells.
func judged(b io.Writer, t Table, before, bullet string) {
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

// Brief prints some rows as a smaller table with a column for each preemption model, which
// combines the cells of the three fetch models. "Never": all of them; "?": one isn't known; "T1,
// T2": no Never, and the broken properties; "T1 (stale, mixing)": broken only in these.
func (t Table) Brief(rows []Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| row | %s |\n|---|%s\n", strings.Join(Preempts, " | "), strings.Repeat("---|", len(Preempts)))
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", r.Name)
		for _, p := range Preempts {
			var ids, fetches []string
			known := true
			for _, f := range Fetches {
				c := Column{p, f}
				known = known && t.At(r.Name, c) != ""
				if t.At(r.Name, c) == Sometimes {
					fetches = append(fetches, f)
					for _, id := range IDs(t[key(r.Name, c)]) {
						if !slices.Contains(ids, id) {
							ids = append(ids, id)
						}
					}
				}
			}
			switch {
			case !known:
				fmt.Fprint(&b, " ? |")
			case len(fetches) == 0:
				fmt.Fprintf(&b, " %s |", Never)
			case len(fetches) == len(Fetches):
				fmt.Fprintf(&b, " %s |", strings.Join(ids, ", "))
			default:
				fmt.Fprintf(&b, " %s (%s) |", strings.Join(ids, ", "), strings.Join(fetches, ", "))
			}
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// A Table holds printed cells by row and column.
type Table map[string]string

func key(row string, c Column) string { return row + " " + c.Preempt + " " + c.Fetch }

// At returns a verdict: Never, Sometimes, or "" if it isn't known.
func (t Table) At(row string, c Column) string {
	switch s := t[key(row, c)]; {
	case isNever(s):
		return Never
	case strings.Contains(s, "/"):
		return Sometimes
	}
	return ""
}

// Table returns the cells as printed.
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
