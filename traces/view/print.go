package view

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"kpsim/traces"
)

const (
	columnsMax = 4  // CPUs with a column of their own
	columnMin  = 28 // characters in a wrapped column
	gutter     = 8  // for the ordinals
	indent     = 2  // per open trap
	hang       = 4  // of a wrapped line
	bar        = " | "
	machineCPU = 255
)

var colours = [...]string{stores: "\x1b[33m", traps: "\x1b[36m", claims: "\x1b[32m", violates: "\x1b[1;31m"}

// A printer lays out rows.
type printer struct {
	in     *Input
	w      *bufio.Writer
	single bool // one column for all CPUs
	held   []heldStore
	past   *past // of held
	widths []int // of the columns
}

// print prints a heading and the rows.
func (p *printer) print(rows []row) {
	n := max(p.in.CPUs, 1)
	room := p.in.Width - gutter - len(bar)*(n-1)
	p.single = n > columnsMax || p.in.Width > 0 && room/n < columnMin
	if !p.single {
		p.past = newPast(p.in)
		p.held = p.past.heldStores(len(p.in.Events))
	}
	if p.single {
		if !p.in.All {
			rows = foldCPUs(rows)
		}
		n, room = 1, p.in.Width-gutter
	}
	p.widths = make([]int, n)
	for i := range p.widths {
		p.widths[i] = len(p.name(i))
	}
	for i := range rows {
		if c := p.column(&rows[i]); c >= 0 {
			p.widths[c] = max(p.widths[c], utf8.RuneCountInString(p.lead(&rows[i])+rows[i].text))
		}
	}
	if p.in.Width > 0 {
		share(p.widths, max(room, columnMin))
	}
	p.heading()
	for i := range rows {
		p.row(&rows[i])
	}
}

// share narrows the widest columns until all fit.
func share(widths []int, room int) {
	for most := slices.Max(widths); most > 0; most-- {
		sum := 0
		for _, w := range widths {
			sum += min(w, most)
		}
		if sum <= room {
			for i, w := range widths {
				widths[i] = min(w, most)
			}
			return
		}
	}
}

// column returns the column of a row, -1 if it spans all.
func (p *printer) column(r *row) int {
	switch {
	case r.gap > 0 || int(r.cpu) >= p.in.CPUs:
		return -1
	case p.single:
		return 0
	}
	return int(r.cpu)
}

// lead is the beginning of a cell.
func (p *printer) lead(r *row) string {
	s := strings.Repeat(" ", indent*r.depth)
	if !p.single {
		return s
	}
	cpus := p.name(int(r.cpu))
	if r.cpus != 0 {
		cpus = strings.ReplaceAll(cpuSet(r.cpus), ", cpu", ",")
	}
	return fmt.Sprintf("%-8s", cpus) + s
}

func (p *printer) name(cpu int) string { return fmt.Sprintf("cpu%d", cpu) }

// wrap breaks a cell into lines: after the bytes, if that wastes little, else at a
// space.
func wrap(lead, text string, width int) []string {
	var lines []string
	line := lead + text
	more := strings.Repeat(" ", min(len(lead)+hang, width/2))
	for least := len(lead); len(line) > width; least = len(more) {
		fits := line[:width]
		cut := max(strings.LastIndex(fits, " ->"), strings.LastIndex(fits, ": ")+1, strings.LastIndex(fits, "  "))
		if cut <= least+width/3 {
			cut = strings.LastIndex(line[:width+1], " ")
		}
		if cut <= least {
			break // one long word: it may exceed the width
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
		cells[i] = fmt.Sprintf("%-*s", w, p.name(i))
		rule[i] = strings.Repeat("-", w)
	}
	p.line("", "event", strings.Join(cells, bar))
	p.line("", "-----", strings.Join(rule, "-+-"))
}

func (p *printer) row(r *row) {
	mark := " "
	if r.class == violates {
		mark = ">"
	}
	seq := fmt.Sprintf("%s%5d", mark, r.seq)
	c := p.column(r)
	switch {
	case r.gap > 0:
		p.line("", "", fmt.Sprintf("... %s left out ...", traces.Counted(uint64(r.gap), "row")))
		return
	case c < 0:
		for _, l := range Fold("-- "+r.text+" --", p.room(gutter)) {
			p.line(colours[r.class], seq, l)
			seq = ""
		}
		return
	}
	for _, l := range wrap(p.lead(r), r.text, p.widths[c]) {
		cells := make([]string, len(p.widths))
		for i, w := range p.widths {
			cells[i] = strings.Repeat(" ", w)
			if i != c {
				cells[i] = p.holding(i, w, r.seq)
			}
		}
		cells[c] = p.paint(colours[r.class], l) + cells[c][min(utf8.RuneCountInString(l), p.widths[c]):]
		p.line("", seq, strings.Join(cells, bar))
		seq = ""
	}
}

// room returns the rest of a line after the used characters; 0: unlimited.
func (p *printer) room(used int) int {
	if p.in.Width == 0 {
		return 0
	}
	return max(p.in.Width-used, 1)
}

// text prints a sentence, or a similar text, on as many lines as it needs.
func (p *printer) text(colour, by, s string) {
	for _, l := range Fold(s, p.room(len(by))) {
		fmt.Fprintln(p.w, p.paint(colour, by+l))
	}
}

// line prints one line after the gutter.
func (p *printer) line(colour, left, s string) {
	s = fmt.Sprintf("%6s  %s", left, s)
	fmt.Fprintln(p.w, p.paint(colour, strings.TrimRight(s, " ")))
}

func (p *printer) paint(colour, s string) string {
	if p.in.Paint == nil || colour == "" {
		return s
	}
	return p.in.Paint(colour, s)
}

// Fold breaks a text at blanks, so that no line is longer than width where possible. A
// width of 0 or less is unlimited.
func Fold(s string, width int) (lines []string) {
	if width <= 0 || Visible(s) <= width {
		return []string{s}
	}
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && Visible(line)+1+Visible(word) > width {
			lines = append(lines, line)
			line = "  " + word // continuation lines are indented
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Visible returns how many columns a text takes, not counting the codes for colours.
func Visible(s string) (n int) {
	code := false
	for _, c := range s {
		switch {
		case c == '\x1b':
			code = true
		case !code:
			n++
		case c == 'm':
			code = false
		}
	}
	return n
}
