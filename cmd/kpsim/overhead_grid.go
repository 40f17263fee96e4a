package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"kpsim/cmd/kpsim/page"
)

// A grid is a table whose columns are as wide as they must be.
type grid struct {
	head []string
	text int // so many of the first columns are text, the rest numbers, aligned to the right
	rows [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) print(p *program, markdown bool) {
	width := make([]int, len(g.head))
	for _, r := range append([][]string{g.head}, g.rows...) {
		for i, cell := range r {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for i, cell := range cells {
			blanks := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i < g.text {
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
		fmt.Fprintln(p.out, strings.TrimRight(b.String(), " "))
	}
	line(g.head)
	if markdown {
		var b strings.Builder
		for i := range g.head {
			if i < g.text {
				b.WriteString("|---")
			} else {
				b.WriteString("|---:")
			}
		}
		fmt.Fprintln(p.out, b.String()+"|")
	}
	for _, r := range g.rows {
		line(r)
	}
}

// table is the grid in a page.
func (g *grid) table(caption page.Text) *page.Table {
	group := page.Group{}
	for _, r := range g.rows {
		group.Rows = append(group.Rows, page.Row(r...))
	}
	return &page.Table{Caption: caption, Head: g.head, Text: g.text, Groups: []page.Group{group}}
}

// perCent writes a relative number.
func perCent(v float64) string { return signless(fmt.Sprintf("%.1f", 100*v)) }

// signless takes the sign off what is rounded to nothing.
func signless(s string) string {
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}
