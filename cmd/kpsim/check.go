package main

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/kprobes"
	"kpsim/kprobes/rules"
	"kpsim/kprobes/survey"
	"kpsim/smp/image"
	"kpsim/smp/isa"
)

type checkCmd struct {
	Object string `arg:"" help:"An object file: NAME.o of gcc -c, or NAME.ko of a kernel."`
	Func   string `placeholder:"NAME" help:"Only this function, instruction by instruction."`
	underKernel
	All       bool `help:"Every function, instruction by instruction."`
	EveryByte bool `help:"A line for each byte, not just for those where an instruction begins."`
	JSON      bool `name:"json" help:"Print one JSON object a line, one for each instruction."`
}

// Help implements kong.HelpProvider.
func (*checkCmd) Help() string {
	return `What a kernel says when the instructions of an object are to be probed: whether register_kprobe takes the address, or the errno; whether the step is boosted; whether a jump may replace the breakpoint; and why not. The object is seen as the kernel has it after loading: linked, with its alternatives, fentry sites and returns patched.

Examples:

  kpsim check crc16.ko
  kpsim check --func crc16 crc16.ko
  kpsim check --profile k61 --json ext4.ko
  kpsim check --edition 4.15 --config RETPOLINE mine.o

Exit status: 0, or 2 for bad input.`
}

func (c *checkCmd) run(p *program) (int, error) {
	s, err := c.survey(c.Object)
	if err != nil {
		return 0, err
	}
	symbols := s.Module.Symbols
	if c.Func != "" {
		sym, err := symbol(s, c.Object, c.Func)
		if err != nil {
			return 0, err
		}
		symbols = []image.Symbol{*sym}
	}
	w := bufio.NewWriterSize(p.out, 1<<16)
	if c.JSON {
		c.printRows(w, s, symbols)
		return exitOK, w.Flush()
	}
	fmt.Fprintf(w, "%s, as loaded by %s\n\n", c.Object, describe(s.Kernel))
	var t survey.Totals
	if c.Func != "" || c.All || c.EveryByte {
		t = c.printInstructions(p, w, s, symbols)
	} else {
		t = printFunctions(w, s, symbols)
	}
	if c.Func == "" {
		printTotals(p, w, &t)
	}
	return exitOK, w.Flush()
}

// printRows prints the JSON lines. They are put together by hand: a module has
// a hundred thousand.
func (c *checkCmd) printRows(w *bufio.Writer, s *survey.Survey, symbols []image.Symbol) {
	var b []byte
	for i := range symbols {
		sym := &symbols[i]
		for _, r := range s.Rows(sym, c.EveryByte) {
			length := len(r.Bytes)
			if r.Inside || r.Why.Kind == rules.Undecodable || r.Why.Kind == rules.BehindBad {
				length = 0
			}
			b = append(b[:0], `{"func":`...)
			b = strconv.AppendQuote(b, sym.Name)
			b = append(b, `,"offset":`...)
			b = strconv.AppendInt(b, int64(r.Offset), 10)
			b = append(b, `,"len":`...)
			b = strconv.AppendInt(b, int64(length), 10)
			b = append(b, `,"bytes":"`...)
			b = hex.AppendEncode(b, r.Bytes)
			b = append(b, `","errno":`...)
			b = strconv.AppendInt(b, int64(r.Errno), 10)
			b = append(b, `,"boostable":`...)
			b = strconv.AppendBool(b, r.Boosted)
			b = append(b, `,"optimizable":`...)
			b = strconv.AppendBool(b, r.Optimizable())
			b = append(b, `,"emulated":`...)
			b = strconv.AppendBool(b, r.Emulated)
			b = append(b, `,"ftrace":`...)
			b = strconv.AppendBool(b, r.Ftrace)
			b = append(b, `,"delta":`...)
			b = strconv.AppendInt(b, int64(r.Delta), 10)
			b = append(b, `,"region":`...)
			b = strconv.AppendInt(b, int64(r.Region), 10)
			b = append(b, `,"reason":`...)
			b = strconv.AppendQuote(b, r.Why.In(sym.Name))
			if why := r.NoBoost.In(sym.Name); why != "" && r.Errno == 0 {
				b = append(b, `,"boost_reason":`...)
				b = strconv.AppendQuote(b, why)
			}
			b = append(b, '}', '\n')
			w.Write(b)
		}
	}
}

// printFunctions prints a line for each function.
func printFunctions(w *bufio.Writer, s *survey.Survey, symbols []image.Symbol) (all survey.Totals) {
	width := len("function")
	for i := range symbols {
		width = min(max(width, len(symbols[i].Name)), nameWidth)
	}
	fmt.Fprintf(w, "%-*s  instructions  registrable  boostable  optimizable  most often not, because of\n", width, "function")
	for i := range symbols {
		sym := &symbols[i]
		rows := s.Rows(sym, false)
		before := all
		all.Add(rows)
		if all.Instructions == before.Instructions {
			continue // all padding: a __pfx_ symbol
		}
		r, n := mostly(rows)
		why := ""
		if n > 0 {
			why = r.Why.In(sym.Name)
			if n > 1 {
				why += fmt.Sprintf(", and %d like it", n-1)
			}
		}
		line := fmt.Sprintf("%-*s  %12d  %11d  %9d  %11d  %s", width, sym.Name, all.Instructions-before.Instructions,
			all.Registrable-before.Registrable, all.Boostable-before.Boostable, all.Jumpable-before.Jumpable, why)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	return all
}

// mostly returns the first row with the most frequent reason.
func mostly(rows []survey.Row) (first *survey.Row, n int) {
	for i := range rows {
		r := &rows[i]
		if r.Why.Kind == rules.None || r.Padding || r.Inside {
			continue
		}
		same := 0
		for j := range rows {
			if q := &rows[j]; q.Why.Kind == r.Why.Kind && !q.Padding && !q.Inside {
				same++
			}
		}
		if same > n {
			first, n = r, same
		}
	}
	return first, n
}

// nameWidth is what a column of names takes at most; a longer one pushes its line.
const nameWidth = 40

// bytesShown is how many bytes of an instruction a table shows.
const bytesShown = 11

// printInstructions prints a table for each function.
func (c *checkCmd) printInstructions(p *program, w *bufio.Writer, s *survey.Survey, symbols []image.Symbol) (all survey.Totals) {
	for i := range symbols {
		sym := &symbols[i]
		rows := s.Rows(sym, c.EveryByte)
		all.Add(rows)
		fmt.Fprintf(w, "%s: %s\n", sym.Name, number(sym.Size, "byte"))
		fmt.Fprintf(w, "%8s  %-*s  %-38s  %-12s %-6s %s\n", "offset", 3*bytesShown-1, "bytes", "instruction", "probe", "boost", "jump")
		for j := range rows {
			r := &rows[j]
			if r.Padding && !c.EveryByte {
				fmt.Fprintf(w, "%8s  %s of padding\n\n", fmt.Sprintf("%+#x", r.Offset), number(sym.Size-r.Offset, "byte"))
				break
			}
			line := fmt.Sprintf("%8s  %-*s  %-38s  %s", fmt.Sprintf("%+#x", r.Offset), 3*bytesShown-1, shortHex(r.Bytes, bytesShown),
				instruction(sym, r), verdict(p, sym, r))
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			if j == len(rows)-1 {
				fmt.Fprintln(w)
			}
		}
	}
	return all
}

// instruction is a row's disassembly.
func instruction(sym *image.Symbol, r *survey.Row) string {
	if r.Inside {
		return ""
	}
	in, ok := decodeRow(sym, r)
	if !ok {
		return "(bad)"
	}
	text := in.String()
	if t, ok := in.Target(); ok && t >= sym.Addr && t < sym.End() {
		name, _, _ := strings.Cut(text, " ")
		text = fmt.Sprintf("%s %s+%#x", name, sym.Name, t-sym.Addr)
	}
	return text
}

// decodeRow decodes a row's bytes as a processor does.
func decodeRow(sym *image.Symbol, r *survey.Row) (isa.Inst, bool) {
	in, err := isa.Decode(r.Bytes, sym.Addr+isa.Addr(r.Offset))
	return in, err == nil
}

func isCall(in *isa.Inst) bool { return in.Flow() == isa.FlowCall }

// verdict is the last three columns: how it is probed, whether the step is
// boosted, and whether a jump may come; or why not.
func verdict(p *program, sym *image.Symbol, r *survey.Row) string {
	why := r.Why.In(sym.Name)
	if r.Errno != 0 {
		return p.paint(red, fmt.Sprintf("%-12s", kprobes.Errno(-r.Errno))) + " " + fmt.Sprintf("%-6s ", "-") + why
	}
	how := "int3"
	switch {
	case r.Ftrace:
		how = "ftrace"
	case r.Delta != 0:
		how = fmt.Sprintf("int3 at %+#x", r.Offset+r.Delta)
	case r.Emulated:
		how = "int3, emul"
	}
	boost := "no"
	if r.Boosted {
		boost = "yes"
	}
	jump := "no: " + why
	if r.Optimizable() {
		jump = p.paint(green, "yes") + fmt.Sprintf(", %d bytes", r.Region)
	}
	return fmt.Sprintf("%-12s %-6s %s", how, boost, jump)
}

// shortHex shows bytes, and by two dots that there are more.
func shortHex(b []byte, most int) string {
	if len(b) <= most {
		return fmt.Sprintf("% x", b)
	}
	return fmt.Sprintf("% x ..", b[:most-1])
}

// barWidth is that of a full bar, in columns.
const barWidth = 40

// printTotals prints the sums, and the reasons by how often they were met.
func printTotals(p *program, w *bufio.Writer, t *survey.Totals) {
	fmt.Fprintf(w, "\n%s, %s without padding\n", number(t.Functions, "function"), number(t.Instructions, "instruction"))
	for _, l := range []struct {
		what string
		n    int
	}{{"registrable", t.Registrable}, {"  boostable", t.Boostable}, {"  emulated", t.Emulated}, {"  by ftrace", t.Ftrace}, {"  optimizable", t.Jumpable}} {
		share := float64(l.n) / float64(max(t.Instructions, 1))
		line := fmt.Sprintf("%-13s %8d  %5.1f %%", l.what, l.n, 100*share)
		if p.width > 0 {
			line += "  " + bar(share)
		}
		fmt.Fprintln(w, line)
	}
	var errnos []int
	for e := range t.Refused {
		errnos = append(errnos, e)
	}
	slices.SortFunc(errnos, func(a, b int) int { return cmp.Or(t.Refused[b]-t.Refused[a], a-b) })
	for _, e := range errnos {
		fmt.Fprintf(w, "%-13s %8d\n", kprobes.Errno(-e), t.Refused[e])
	}
	printReasons(w, "not registrable", t.WhyRefused)
	printReasons(w, "registrable, not optimizable", t.WhyNotJumped)
}

func printReasons(w *bufio.Writer, what string, counts map[rules.ReasonKind]int) {
	if len(counts) == 0 {
		return
	}
	var kinds []rules.ReasonKind
	for k := range counts {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b rules.ReasonKind) int { return cmp.Or(counts[b]-counts[a], int(a)-int(b)) })
	fmt.Fprintf(w, "\n%s, because of\n", what)
	for _, k := range kinds {
		fmt.Fprintf(w, "  %8d  %s\n", counts[k], k)
	}
}

// bar draws a share in eighths of a column.
func bar(share float64) string {
	eighths := int(share*barWidth*8 + 0.5)
	b := strings.Repeat("█", eighths/8)
	if r := eighths % 8; r > 0 {
		b += string([]rune("▏▎▍▌▋▊▉")[r-1])
	}
	return b
}
