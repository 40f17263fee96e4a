package table

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
)

// A Grid is a table of texts, printed with each column as wide as its widest cell.
type Grid struct {
	Head []string
	Text int // the number of leading text columns; the rest are numbers, aligned to the right
	Rows [][]page.Cell
}

// Add adds a row.
func (g *Grid) Add(cells ...string) { g.Rows = append(g.Rows, page.Row(cells...)) }

// Print prints the table, in Markdown or folded to the terminal's width.
func (g *Grid) Print(p *cli.Program, markdown bool) {
	rows := append([][]page.Cell{page.Row(g.Head...)}, g.Rows...)
	width := make([]int, len(g.Head))
	for _, r := range rows {
		for i := range r {
			width[i] = max(width[i], utf8.RuneCountInString(r[i].Text))
		}
	}
	for n, r := range rows {
		cells := make([]string, len(r))
		for i := range r {
			cells[i] = strings.Repeat(" ", width[i]-utf8.RuneCountInString(r[i].Text)) + r[i].Text
			if i < g.Text {
				cells[i] = r[i].Text + strings.TrimSuffix(cells[i], r[i].Text)
			}
		}
		if !markdown {
			p.Indented("", strings.TrimRight(strings.Join(cells, "  "), " "))
			continue
		}
		fmt.Fprintln(p.Out, "| "+strings.Join(cells, " | ")+" |")
		if n == 0 {
			fmt.Fprintln(p.Out, strings.Repeat("|---", g.Text)+strings.Repeat("|---:", len(g.Head)-g.Text)+"|")
		}
	}
}

// Page returns the table for an HTML page.
func (g *Grid) Page(caption page.Text) *page.Table {
	return &page.Table{Caption: caption, Head: g.Head, Text: g.Text, Groups: []page.Group{{Rows: g.Rows}}}
}

// Grouped is Page with the first columns, which same names, as the headings of groups.
func (g *Grid) Grouped(caption page.Text, columns int, heading func(row int) string) *page.Table {
	t := &page.Table{Caption: caption, Head: g.Head[columns:], Text: max(g.Text-columns, 0)}
	for i, r := range g.Rows {
		if name := heading(i); len(t.Groups) == 0 || t.Groups[len(t.Groups)-1].Name != name {
			t.Groups = append(t.Groups, page.Group{Name: name})
		}
		last := &t.Groups[len(t.Groups)-1]
		last.Rows = append(last.Rows, r[columns:])
	}
	return t
}

// PerCent formats a ratio with one decimal.
func PerCent(v float64) string { return Signless(fmt.Sprintf("%.1f", 100*v)) }

// Signless drops the sign of a number that was rounded to zero.
func Signless(s string) string {
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}
