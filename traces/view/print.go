package view

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	columnsMax  = 4  // CPUs that have a column of their own
	columnMin   = 28 // characters, of a column that is wrapped
	gutter      = 8  // the ordinals
	indent      = 2  // for each open trap
	hang        = 4  // of a wrapped line
	bar         = " | "
	machineCPU  = 255
	endOfColour = "\x1b[0m"
)

var colours = [...]string{plain: "", stores: "\x1b[33m", traps: "\x1b[36m", claims: "\x1b[32m", violates: "\x1b[1;31m"}

// A printer lays rows out.
type printer struct {
	in     *Input
	w      *bufio.Writer
	single bool  // one column for all CPUs
	widths []int // of the columns
}

// print prints a heading and the rows.
func (p *printer) print(rows []row) {
	n := max(p.in.CPUs, 1)
	each := 0 // the width of a column, if it is bounded
	if p.in.Width > 0 {
		each = (p.in.Width - gutter - len(bar)*(n-1)) / n
	}
	p.single = n > columnsMax || p.in.Width > 0 && each < columnMin
	if p.single {
		if !p.in.All {
			rows = foldCPUs(rows)
		}
		n, each = 1, max(p.in.Width-gutter, columnMin)
	}
	p.widths = make([]int, n)
	if !p.single {
		for i := range p.widths {
			p.widths[i] = len(fmt.Sprintf("cpu%d", i))
		}
	}
	cells := make([][]string, len(rows))
	for i := range rows {
		cells[i] = p.wrap(&rows[i], each)
		if c := p.column(&rows[i]); c >= 0 {
			for _, l := range cells[i] {
				p.widths[c] = max(p.widths[c], utf8.RuneCountInString(l))
			}
		}
	}
	p.heading()
	for i := range rows {
		p.row(&rows[i], cells[i])
	}
}

// column returns the column of a row, -1 if it goes across all.
func (p *printer) column(r *row) int {
	switch {
	case r.gap > 0 || int(r.cpu) >= p.in.CPUs:
		return -1
	case p.single:
		return 0
	}
	return int(r.cpu)
}

// wrap returns the lines of a cell.
func (p *printer) wrap(r *row, width int) []string {
	if p.column(r) < 0 {
		return nil
	}
	lead := strings.Repeat(" ", indent*r.depth)
	if p.single {
		cpus := fmt.Sprintf("cpu%d", r.cpu)
		if r.cpus != 0 {
			cpus = strings.ReplaceAll(cpuSet(r.cpus), ", cpu", ",")
		}
		lead = fmt.Sprintf("%-8s", cpus) + lead
	}
	line := lead + r.text
	if p.in.Width == 0 {
		return []string{line}
	}
	var lines []string
	more := strings.Repeat(" ", min(utf8.RuneCountInString(lead)+hang, width/2))
	for least := len(lead); len(line) > width; least = len(more) {
		cut := strings.LastIndex(line[:width+1], " ")
		if cut <= least {
			break // one long word: it sticks out
		}
		lines = append(lines, strings.TrimRight(line[:cut], " "))
		line = more + strings.TrimLeft(line[cut:], " ")
	}
	return append(lines, line)
}

func (p *printer) heading() {
	if p.single {
		return
	}
	cells := make([]string, len(p.widths))
	rule := make([]string, len(p.widths))
	for i, w := range p.widths {
		cells[i] = fmt.Sprintf("%-*s", w, fmt.Sprintf("cpu%d", i))
		rule[i] = strings.Repeat("-", w)
	}
	p.line("", "event", strings.Join(cells, bar))
	p.line("", "-----", strings.Join(rule, "-+-"))
}

func (p *printer) row(r *row, lines []string) {
	mark := " "
	if r.class == violates {
		mark = ">"
	}
	seq := fmt.Sprintf("%s%5d", mark, r.seq)
	c := p.column(r)
	switch {
	case r.gap > 0:
		p.line("", "", fmt.Sprintf("... %s left out ...", count(r.gap, "row", "rows")))
		return
	case c < 0:
		p.line(colours[r.class], seq, "-- "+r.text+" --")
		return
	}
	for _, l := range lines {
		cells := make([]string, len(p.widths))
		for i, w := range p.widths {
			cells[i] = strings.Repeat(" ", w)
		}
		cells[c] = p.paint(colours[r.class], l) + cells[c][min(utf8.RuneCountInString(l), p.widths[c]):]
		p.line("", seq, strings.Join(cells, bar))
		seq = ""
	}
}

// line prints one line behind the gutter.
func (p *printer) line(colour, left, s string) {
	s = fmt.Sprintf("%6s  %s", left, s)
	fmt.Fprintln(p.w, p.paint(colour, strings.TrimRight(s, " ")))
}

func (p *printer) paint(colour, s string) string {
	if !p.in.Color || colour == "" {
		return s
	}
	return colour + s + endOfColour
}
