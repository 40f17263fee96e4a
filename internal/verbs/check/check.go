package check

import (
	"bufio"
	"fmt"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/kprobes"
	"kpsim/kprobes/rules"
	"kpsim/kprobes/survey"
	"kpsim/smp/image"
)

// Check is kpsim check.
type Check struct {
	Object string `arg:"" help:"An object file: NAME.o of gcc -c, or NAME.ko of a kernel. Or a scenario, NAME.star, built in, or of a trace: then its functions as they are, by the rules of its machine()."`
	Func   string `placeholder:"NAME" help:"Only this function, instruction by instruction."`
	underKernel
	All       bool         `xor:"whole" help:"Every function, instruction by instruction."`
	EveryByte bool         `help:"A line for each byte, not just for those where an instruction begins."`
	JSON      bool         `name:"json" xor:"form" help:"Print one JSON object a line, one for each instruction."`
	HTML      cli.FileName `name:"html" xor:"form,whole" placeholder:"FILE" help:"Write a page: sums, a table of the functions, and their instructions, of large objects the first."`

	progress *cli.Progress
	judged   uint64 // number of functions judged
}

// Help implements kong.HelpProvider.
func (*Check) Help() string {
	return `Say of each instruction of an object file whether it can be probed, boosted, optimized, and why not.

What a kernel says when the instructions of an object are to be probed: whether register_kprobe takes the address, or the errno; whether the step is boosted; whether a jump may replace the breakpoint; and why not. The object is seen as the kernel has it after loading: linked, with its alternatives, fentry sites and returns patched.

Examples:

  kpsim check crc16.ko
  kpsim check --func crc16 crc16.ko
  kpsim check --profile k61 --json ext4.ko
  kpsim check --edition 4.15 --config RETPOLINE mine.o
  kpsim check --html crc16.html crc16.ko
  kpsim check --all hex.star

In the tables, probe is how a probe is done: int3; emul, an int3 whose step the kernel does itself; ftrace; at +0x4, behind an endbr64; or the errno. Offsets in reasons are of the function. f#2 is the second function called f.

With --json a line has:

` + RowHelp + `

Exit status: 0, or 2 for bad input.`
}

// rows judges a function and updates the progress line.
func (c *Check) rows(s *survey.Survey, sym *image.Symbol, every bool) []survey.Row {
	rows := s.Rows(sym, every)
	c.judged++
	c.progress.At(c.judged, "")
	return rows
}

func (c *Check) Run(p *cli.Program) (int, error) {
	if c.HTML != "" {
		if err := c.HTML.CheckPage(c.Object); err != nil {
			return 0, err
		}
	}
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
	c.progress = p.Watch("checking "+c.Object, uint64(len(symbols)), "function")
	defer c.progress.Complete()
	if c.HTML != "" {
		return cli.OK, c.html(p, s, symbols)
	}
	w := bufio.NewWriterSize(p.Out, 1<<16)
	if c.JSON {
		if c.Func != "" && len(namesakes(s, symbols[0].Name)) > 1 {
			fmt.Fprintf(p.Err, "kpsim: %s%s\n", symbols[0].Label(), among(s, &symbols[0]))
		}
		c.printRows(w, s, symbols, p.NamedJSON())
		return cli.OK, w.Flush()
	}
	fmt.Fprintf(w, "%s, %s\n\n", c.Object, c.by)
	var t survey.Totals
	if c.Func != "" || c.All || c.EveryByte {
		t = c.printInstructions(p, w, s, symbols)
	} else {
		t = c.printFunctions(w, s, symbols)
	}
	if c.Func == "" {
		if !c.All && !c.EveryByte {
			fmt.Fprintln(w)
		}
		printTotals(p, w, &t)
		printUnnamed(w, s)
	}
	return cli.OK, w.Flush()
}

// namesakes returns the functions with a given name.
func namesakes(s *survey.Survey, name string) []*image.Symbol {
	var all []*image.Symbol
	for i := range s.Module.Symbols {
		if sym := &s.Module.Symbols[i]; sym.Name == name {
			all = append(all, sym)
		}
	}
	return all
}

// among says which of several functions with the same name this one is; "" if the name is unique.
func among(s *survey.Survey, sym *image.Symbol) string {
	all := namesakes(s, sym.Name)
	if len(all) < 2 {
		return ""
	}
	if sym.Nth == 1 {
		return fmt.Sprintf(", the first of %d of that name; write %s for the next", len(all), all[1].Label())
	}
	return fmt.Sprintf(", number %d of %d of that name", sym.Nth, len(all))
}

// printFunctions prints a line for each function. A name too long for its column gets a line of
// its own.
func (c *Check) printFunctions(w *bufio.Writer, s *survey.Survey, symbols []image.Symbol) (all survey.Totals) {
	width := len("function")
	for i := range symbols {
		if n := len(symbols[i].Label()); n <= nameWidth {
			width = max(width, n)
		}
	}
	fmt.Fprintf(w, "%-*s  instr  probe  boost   jump  times  most often not, because of\n", width, "function")
	var line []byte
	for i := range symbols {
		sym := &symbols[i]
		rows := c.rows(s, sym, false)
		before := all
		all.Add(rows)
		if all.Instructions == before.Instructions {
			continue // only padding: a __pfx_ symbol
		}
		name := sym.Label()
		if len(name) > width {
			fmt.Fprintln(w, name)
			name = ""
		}
		line = append(append(line[:0], name...), strings.Repeat(" ", width-len(name))...)
		for _, n := range []int{all.Instructions - before.Instructions, all.Registrable - before.Registrable,
			all.Boostable - before.Boostable, all.Jumpable - before.Jumpable} {
			line = fmt.Appendf(line, "  %5d", n)
		}
		if r, n := mostly(rows); n > 0 {
			line = fmt.Appendf(line, "  %5d  %s", n, r.Why.In(""))
		}
		w.Write(append(line, '\n'))
	}
	return all
}

// mostly returns the first row with the most frequent reason, and the number of such rows.
func mostly(rows []survey.Row) (first *survey.Row, n int) {
	var counts [1 << 8]int // by kind
	for i := range rows {
		if r := &rows[i]; r.Why.Kind != rules.None && !r.Padding && !r.Inside {
			counts[r.Why.Kind]++
			n = max(n, counts[r.Why.Kind])
		}
	}
	for i := range rows {
		if r := &rows[i]; r.Why.Kind != rules.None && counts[r.Why.Kind] == n && !r.Padding && !r.Inside {
			return r, n
		}
	}
	return nil, 0
}

// nameWidth is the maximum width of a column of names.
const nameWidth = 30

// printInstructions prints a table for each function.
func (c *Check) printInstructions(p *cli.Program, w *bufio.Writer, s *survey.Survey,
	symbols []image.Symbol) (all survey.Totals) {
	t, d := columns{w: w}, newReader(s)
	for i := range symbols {
		sym := &symbols[i]
		rows := c.rows(s, sym, c.EveryByte)
		all.Add(rows)
		note := ""
		if c.Func != "" {
			note = among(s, sym)
		}
		fmt.Fprintf(w, "%s: %s%s\n", sym.Label(), cli.Number(sym.Size, "byte"), note)
		t.cell("offset", -offsetWidth).cell("bytes", bytesWidth).cell("instruction", textWidth).cell("probe",
			probeWidth).cell("boost", boostWidth).cell("jump, or why not", 0).end()
		for j := range rows {
			r := &rows[j]
			if r.Padding && !c.EveryByte {
				t.cell(offset(r.Offset), -offsetWidth).cell(cli.Number(sym.Size-r.Offset, "byte")+" of padding",
					0).end()
				break
			}
			t.cell(offset(r.Offset), -offsetWidth).cell(shortHex(r.Bytes, bytesShown), bytesWidth).cell(d.read(sym, r),
				textWidth)
			t.verdict(p, s, r)
		}
		if c.Func == "" {
			fmt.Fprintln(w)
		}
	}
	return all
}

// barWidth is the width of a full bar, in columns.
const barWidth = 40

// printTotals prints the sums, and the reasons by frequency.
func printTotals(p *cli.Program, w *bufio.Writer, t *survey.Totals) {
	fmt.Fprintf(w, "%s, %s without padding\n", cli.Number(t.Functions, "function"),
		cli.Number(t.Instructions, "instruction"))
	for _, l := range []struct {
		what string
		n    int
	}{{"registrable", t.Registrable}, {"  boostable", t.Boostable}, {"  emulated", t.Emulated},
		{"  by ftrace", t.Ftrace}, {"  optimizable", t.Jumpable}} {
		share := float64(l.n) / float64(max(t.Instructions, 1))
		line := fmt.Sprintf("%-13s %8d  %5.1f %%", l.what, l.n, 100*share)
		if p.Width > 0 {
			line += "  " + bar(share)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	for _, e := range byCount(t.Refused) {
		fmt.Fprintf(w, "%-13s %8d\n", kprobes.Errno(-e), t.Refused[e])
	}
	printReasons(w, "not registrable", t.WhyRefused)
	printReasons(w, "registrable, not optimizable", t.WhyNotJumped)
}

// printUnnamed reports code before the first symbol of its section.
func printUnnamed(w *bufio.Writer, s *survey.Survey) {
	if n := s.Module.Unnamed; n > 0 {
		fmt.Fprintf(w, "\n%s of code without a symbol: no probe finds it\n", cli.Number(n, "byte"))
	}
}

func printReasons(w *bufio.Writer, what string, counts map[rules.ReasonKind]int) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s, because of\n", what)
	for _, k := range byCount(counts) {
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
