package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"kpsim/internal/page"
)

// A Table is printed with each column as wide as its widest cell.
type Table struct {
	Head []string
	Text int // the number of leading text columns; the rest are numbers, aligned to the right
	Rows [][]string
}

// Add adds a row.
func (g *Table) Add(cells ...string) { g.Rows = append(g.Rows, cells) }

// Print prints the table, in Markdown or folded to the terminal's width.
func (g *Table) Print(p *Program, markdown bool) {
	width := make([]int, len(g.Head))
	for _, r := range append([][]string{g.Head}, g.Rows...) {
		for i, cell := range r {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for i, cell := range cells {
			blanks := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i < g.Text {
				cell += blanks
			} else {
				cell = blanks + cell
			}
			switch {
			case markdown:
				b.WriteString("| " + cell + " ")
			case i > 0:
				b.WriteString("  " + cell)
			default:
				b.WriteString(cell)
			}
		}
		if markdown {
			b.WriteString("|")
		}
		if markdown {
			fmt.Fprintln(p.Out, b.String())
			return
		}
		p.Indented("", strings.TrimRight(b.String(), " "))
	}
	line(g.Head)
	if markdown {
		var b strings.Builder
		for i := range g.Head {
			if i < g.Text {
				b.WriteString("|---")
			} else {
				b.WriteString("|---:")
			}
		}
		fmt.Fprintln(p.Out, b.String()+"|")
	}
	for _, r := range g.Rows {
		line(r)
	}
}

// Page returns the table for an HTML page.
func (g *Table) Page(caption page.Text) *page.Table {
	group := page.Group{}
	for _, r := range g.Rows {
		group.Rows = append(group.Rows, page.Row(r...))
	}
	return &page.Table{Caption: caption, Head: g.Head, Text: g.Text, Groups: []page.Group{group}}
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
