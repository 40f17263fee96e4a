package view

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// Limits for a mail.
const (
	mailWidth   = 78
	mailRows    = 48
	mailColumns = 3 // at most; more CPUs share one column
)

// Columns prints the run for a mail, in the form of a litmus test for herd7: the initial state, a
// column for each CPU, whose rows begin with the number of their event, and the forbidden outcome. It is
// meant for people: unlike herd7's, its rows are in the order in which they happened. Errors are those of w.
func Columns(w io.Writer, name string, in Input) error {
	out := bufio.NewWriter(w)
	in.All = false
	t := newTeller(&in)
	rows := focus(foldCalls(t.rows()), mailRows)
	l := columns{w: out, in: &in, cpus: columnCPUs(rows, in.CPUs)}
	fmt.Fprintf(out, "%s %s\n", in.Arch.Herd, name)
	l.sentences(&in)
	l.initially()
	l.columns(rows)
	l.forbidden(t)
	return out.Flush()
}

type columns struct {
	w    *bufio.Writer
	in   *Input
	cpus []int // CPUs that have a column
}

// columnCPUs returns the CPUs with events, except those that only idle.
func columnCPUs(rows []row, n int) (cpus []int) {
	for cpu := range n {
		if slices.ContainsFunc(rows, func(r row) bool { return r.gap == 0 && int(r.cpu) == cpu }) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// sentences prints the story, as the test's description.
func (l *columns) sentences(in *Input) {
	var text []string
	if in.Kernel != "" {
		text = append(text, "Linux "+in.Kernel+".")
	}
	for _, s := range Story(*in) {
		text = append(text, fmt.Sprintf("%d: %s", s.Seq, s.Text))
	}
	if in.Property == "" {
		text = append(text, "Nothing is broken.")
	}
	lines := Fold(strings.ReplaceAll(strings.Join(text, " "), `"`, `'`), mailWidth-2)
	fmt.Fprintf(l.w, "\"%s\"\n", strings.Join(lines, "\n"))
}

// initially prints the initial bytes of the sites, and the places of the probes.
func (l *columns) initially() {
	fmt.Fprintln(l.w, "{")
	x := newText(l.in)
	for _, s := range Sites(*l.in) {
		p := span{s.At, s.At + uint64(s.Len)}
		l.lines(" ", fmt.Sprintf("%s: %s  (%s)", x.place(s.At), bytes(x.linked, p), x.listing(x.linked, p)))
	}
	for i := range l.in.Events {
		if e := &l.in.Events[i]; e.Kind == kpev.ApiEnter && e.A == kpev.Register {
			l.lines(" ", fmt.Sprintf("%s: a probe at %s", l.in.probe(e.B), x.place(e.C)))
		}
	}
	fmt.Fprintln(l.w, "}")
}

func (l *columns) lines(by, s string) {
	for _, line := range Fold(s, mailWidth-len(by)) {
		fmt.Fprintln(l.w, by+line)
	}
}

// columns prints the rows.
func (l *columns) columns(rows []row) {
	n := len(l.cpus)
	if n > mailColumns || n == 0 {
		n = 1
	}
	width := (mailWidth - 2 - 3*(n-1)) / n
	heads := make([]string, n)
	for i := range heads {
		heads[i] = "all CPUs"
		if n == len(l.cpus) {
			heads[i] = l.head(l.cpus[i])
		}
	}
	l.row(width, heads)
	l.row(width, slices.Repeat([]string{strings.Repeat("-", width)}, n))
	for i := range rows {
		r := &rows[i]
		cells := make([]string, n)
		c := slices.Index(l.cpus, int(r.cpu))
		switch {
		case r.gap > 0:
			cells[0] = fmt.Sprintf("(%s left out)", traces.Counted(uint64(r.gap), "row"))
		case c < 0:
			cells[0] = "(" + r.text + ")"
		case n < len(l.cpus):
			cells[0] = fmt.Sprintf("P%d: %d %s", r.cpu, r.seq, r.text)
		default:
			cells[c] = fmt.Sprintf("%s%d %s", strings.Repeat(" ", r.depth), r.seq, r.text)
		}
		l.row(width, cells)
	}
}

// head names a CPU and the tasks that ran on it.
func (l *columns) head(cpu int) string {
	var tasks []string
	for i := range l.in.Events {
		e := &l.in.Events[i]
		if e.Kind != smpev.Switch || int(e.CPU) != cpu {
			continue
		}
		if name := l.in.task(e.B); name != "idle" && !slices.Contains(tasks, name) {
			tasks = append(tasks, name)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("P%d %s", cpu, strings.Join(tasks, ", ")))
}

// row prints cells, on as many lines as they need.
func (l *columns) row(width int, cells []string) {
	var lines [][]string
	for c, s := range cells {
		lead := s[:len(s)-len(strings.TrimLeft(s, " "))]
		for i, line := range wrap(lead, s[len(lead):], width) {
			if i == len(lines) {
				lines = append(lines, make([]string, len(cells)))
			}
			lines[i][c] = line
		}
	}
	for _, line := range lines {
		for c, s := range line {
			line[c] = s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
		}
		fmt.Fprintf(l.w, " %s ;\n", strings.Join(line, " | "))
	}
}

// forbidden prints the forbidden outcome.
func (l *columns) forbidden(t *teller) {
	if t.in.Property == "" {
		fmt.Fprintln(l.w, "exists (true)")
		return
	}
	at := "at the end"
	if t.at < len(t.in.Events) {
		switch e := &t.in.Events[t.at]; {
		case e.Kind == smpev.Exec:
			at = fmt.Sprintf("%d:%s=%s /\\ %d:insn=%s", e.CPU, t.in.Arch.IPName, t.text.place(e.A), e.CPU,
				hexOf(unpack(e)))
		case int(e.CPU) < t.in.CPUs:
			at = fmt.Sprintf("%d:event=%s", e.CPU, e.Kind)
		}
	}
	fmt.Fprintf(l.w, "forbidden (%s)\n", at)
	l.lines("", t.headline())
}

func hexOf(b []byte) string { return strings.ReplaceAll(fmt.Sprintf("% x", b), " ", ".") }
