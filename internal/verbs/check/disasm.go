package check

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/survey"
	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// Disasm is kpsim disasm.
type Disasm struct {
	Object string `arg:"" help:"An object file: NAME.o of gcc -c, or NAME.ko of a kernel. Or a scenario, NAME.star, built in, or of a trace: then its functions as they are, by the rules of its machine()."`
	Func   string `arg:"" help:"The function."`
	At     string `placeholder:"OFFSET" help:"Where the probe is to be: an offset in the function, as 0x1f or 31. Default: the first instruction that a breakpoint can be put on."`
	underKernel
}

// Help implements kong.HelpProvider.
func (*Disasm) Help() string {
	return `List a function, and draw what a probe's jump would replace.

A function's instructions, and what a probe at one of them would replace: DCR, the detoured code region, is the whole instructions that the jump of 5 bytes lies over; JTPR, the jump target prohibition region, is where no jump may lead. In the listing > marks the probe, | the region, and t a jump into it, or to the byte behind JTPR, which kernels prohibit too.

Examples:

  kpsim disasm crc16.ko crc16
  kpsim disasm --at 0x1f crc16.ko crc16
  kpsim disasm second-instruction victim

Exit status: 0, or 2 for bad input.`
}

func (c *Disasm) Run(p *cli.Program) (int, error) {
	c.draws = true
	s, err := c.survey(c.Object)
	if none := (*noRules)(nil); errors.As(err, &none) {
		return c.plain(p, none.sc)
	} else if err != nil {
		return 0, err
	}
	sym, err := symbol(s, c.Object, c.Func)
	if err != nil {
		return 0, err
	}
	rows := s.Rows(sym, false)
	at, err := c.probe(sym, rows)
	if err != nil {
		return 0, err
	}
	d := drawing{s: s, sym: sym, rows: rows, at: at}
	d.mark()
	w := bufio.NewWriter(p.Out)
	fmt.Fprintf(w, "%s in %s%s, %s\n\n", sym.Label(), c.Object, among(s, sym), c.by)
	d.list(w)
	d.figure(w)
	d.say(w, s.Row(sym, at))
	return cli.OK, w.Flush()
}

// plain lists a function's instructions where there are no rules of probes.
func (c *Disasm) plain(p *cli.Program, sc *scenario.Scenario) (int, error) {
	t := sc.Text(c.Func)
	switch {
	case t == nil:
		return 0, fmt.Errorf("%s: no function is called %q; %s", c.Object, c.Func,
			nearest.OrAll(c.Func, scenario.TheTexts.Names(sc)))
	case c.At != "":
		return 0, fmt.Errorf("--at %s: no probe becomes a jump on %s; leave it out", c.At, sc.Machine.Arch)
	}
	fmt.Fprintf(p.Out, "%s in %s, code of %s\n\n", t.Name, c.Object, sc.Machine.Arch)
	a := sc.Machine.Processor()
	for off := 0; off < len(t.Code); {
		n, says := a.Align, "(no instruction)"
		if in, err := a.Decode(t.Code[off:], t.At+arch.Addr(off)); err == nil {
			n, says = in.Size(), in.String()
		}
		n = min(n, len(t.Code)-off)
		fmt.Fprintf(p.Out, "%+#11x  %-*s  %s\n", off, 2*a.MaxLen+a.MaxLen/8, a.Hex(t.Code[off:off+n]), says)
		off += n
	}
	return cli.OK, nil
}

// probe returns the index of the probed instruction.
func (c *Disasm) probe(sym *image.Symbol, rows []survey.Row) (int, error) {
	if c.At != "" {
		at, err := strconv.ParseInt(strings.TrimPrefix(c.At, "+"), 0, 32)
		if err != nil || at < 0 || int(at) >= sym.Size {
			return 0, fmt.Errorf("--at %s: not an offset in %s, which has %s; write 0x1f, say", c.At, sym.Label(),
				cli.Number(sym.Size, "byte"))
		}
		return int(at), nil
	}
	for i := range rows {
		if r := &rows[i]; r.Errno == 0 && !r.Ftrace && r.Delta == 0 {
			return r.Offset, nil
		}
	}
	return 0, nil
}

// jumpBytes is the size of the jump that replaces the region's head.
const jumpBytes = 5

// A drawing is a function with a probe in it.
type drawing struct {
	s    *survey.Survey
	sym  *image.Symbol
	rows []survey.Row
	at   int
	end  int   // end of the region: the first instruction boundary after the jump
	from []int // offsets of the jumps into the region
}

// mark finds the region and the jumps into it. A jump to the byte after the replaced ones counts
// too, as in the kernels (oracle, "Optimized or not").
func (d *drawing) mark() {
	d.end = d.at
	for i := range d.rows {
		r := &d.rows[i]
		if r.Offset >= d.at && r.Offset < d.at+jumpBytes {
			d.end = r.Offset + len(r.Bytes)
		}
		if to, ok := jumpTarget(d.s, d.sym, r); ok && to > d.at && to <= d.at+jumpBytes {
			d.from = append(d.from, r.Offset)
		}
	}
	d.end = max(d.end, d.at+jumpBytes)
}

// jumpTarget returns the target of a row's jump as an offset in the function. Calls don't count.
func jumpTarget(s *survey.Survey, sym *image.Symbol, r *survey.Row) (int, bool) {
	in, ok := decodeRow(s, sym, r)
	if !ok {
		return 0, false
	}
	t, ok := in.Target()
	return int(t - sym.Addr), ok && in.Flow() != arch.FlowCall
}

// list prints the instructions.
func (d *drawing) list(w *bufio.Writer) {
	t, text, longest := columns{w: w}, newReader(d.s), 0
	for i := range d.rows {
		longest = max(longest, len(d.rows[i].Bytes))
	}
	for i := range d.rows {
		r := &d.rows[i]
		if r.Padding && r.Offset >= d.end {
			t.cell("", 2).cell(offset(r.Offset), -offsetWidth).cell(cli.Number(d.sym.Size-r.Offset, "byte")+
				" of padding", 0).end()
			break
		}
		mark := " "
		switch {
		case r.Offset == d.at:
			mark = ">"
		case r.Offset+len(r.Bytes) > d.at && r.Offset < d.end:
			mark = "|"
		}
		if slices.Contains(d.from, r.Offset) {
			mark += "t"
		}
		t.cell(mark, 2).cell(offset(r.Offset), -offsetWidth).cell(shortHex(r.Bytes, longest),
			3*longest-1).cell(text.read(d.sym, r), 0).end()
	}
}

// figure draws the region under the bytes, in the manner of the kernel's documentation. A byte is
// four columns wide.
func (d *drawing) figure(w *bufio.Writer) {
	first, last := max(d.at-2, 0), min(d.end+2, d.sym.Size)
	indent := func(off int) string { return strings.Repeat(" ", 4*(off-first)) }
	line := func(format string, args ...any) {
		if text := strings.TrimRight(fmt.Sprintf(format, args...), " "); text != "" {
			fmt.Fprintf(w, "  %s\n", text)
		}
	}
	fmt.Fprintln(w)
	line("%sIA", indent(d.at)+" ")
	line("%s|", indent(d.at)+" ")
	var numbers, code strings.Builder
	for off := first; off < last; off++ {
		fmt.Fprintf(&numbers, "[%2d]", off-d.at)
		fmt.Fprintf(&code, " %s ", d.byteAt(off))
	}
	line("%s", numbers.String())
	line("%s", code.String())
	var names strings.Builder
	n := 0
	for i := range d.rows {
		if r := &d.rows[i]; r.Offset >= d.at && r.Offset < d.end {
			n++
			if names.Len() == 0 {
				names.WriteString(indent(r.Offset))
			}
			names.WriteString(box(n, 4*len(r.Bytes)))
		}
	}
	line("%s", names.String())
	line("%s%s", indent(d.at), arrow("DCR", 4*(d.end-d.at)))
	line("%s%s", indent(d.at+1), arrow("JTPR", 4*(jumpBytes-1)))
	fmt.Fprintln(w)
}

// byteAt returns a byte of the function in hex, as found in its rows.
func (d *drawing) byteAt(off int) string {
	for i := range d.rows {
		if r := &d.rows[i]; off >= r.Offset && off < r.Offset+len(r.Bytes) {
			return fmt.Sprintf("%02x", r.Bytes[off-r.Offset])
		}
	}
	return "  "
}

// box returns an instruction's name in brackets. width must be 4 or more.
func box(n, width int) string {
	name := fmt.Sprintf("ins%d", n)
	if width == 4 {
		name = fmt.Sprintf("i%d", n)
	}
	left := (width - 2 - len(name)) / 2
	return "[" + strings.Repeat(" ", left) + name + strings.Repeat(" ", width-2-left-len(name)) + "]"
}

// arrow returns a name between arrowheads. width must be 16 or more.
func arrow(name string, width int) string {
	dashes := width - len("[<  >]") - len(name)
	left := strings.Repeat("-", dashes/2)
	return "[<" + left + " " + name + " " + left + strings.Repeat("-", dashes%2) + ">]"
}

// say prints the verdict.
func (d *drawing) say(w *bufio.Writer, r survey.Row) {
	where := fmt.Sprintf("%s+%#x", d.sym.Label(), d.at)
	why := r.Why.In(d.sym.Name)
	switch {
	case r.Errno != 0:
		fmt.Fprintf(w, "A probe at %s is refused: %s, %s.\n", where, kpev.Errno(uint64(-r.Errno)), why)
	case r.Ftrace:
		fmt.Fprintf(w, "A probe at %s goes through ftrace: no breakpoint, and never a jump.\n", where)
	case r.Optimizable():
		fmt.Fprintf(w, "A probe at %s can be optimized: the jump replaces %s, and %d are copied.\n", where,
			cli.Number(jumpBytes, "byte"), r.Region)
	default:
		fmt.Fprintf(w, "A probe at %s stays a breakpoint: %s.\n", where, why)
	}
}
