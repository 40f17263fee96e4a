package check

import (
	"bufio"
	"encoding/hex"
	"strconv"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/kprobes"
	"kpsim/kprobes/survey"
	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// Column widths of check --func and disasm. With most reasons a line stays below 100 columns.
const (
	bytesShown  = 7 // bytes of an instruction
	offsetWidth = 7
	bytesWidth  = 3*bytesShown - 1
	textWidth   = 28
	probeWidth  = 7
	boostWidth  = 5
)

// A columns prints lines of cells. It avoids formats, since a module has a hundred thousand
// lines.
type columns struct {
	w    *bufio.Writer
	line []byte
	pad  int // blanks owed before the next cell
}

// cell adds a cell of the given width. 0 means no padding, for the last cell; a negative width
// aligns to the right. A text that is too wide pushes the following cells to the right.
func (t *columns) cell(text string, width int) *columns {
	n := len(text)
	blanks := t.pad
	if width < 0 {
		width = -width
		blanks += max(width-n, 0)
		n = max(n, width)
	}
	for range blanks {
		t.line = append(t.line, ' ')
	}
	t.line = append(t.line, text...)
	t.pad = max(width-n, 0) + 2
	return t
}

// painted adds a cell in a colour.
func (t *columns) painted(p *cli.Program, colour, text string, width int) *columns {
	painted := p.Paint(colour, text)
	t.cell(painted, width+len(painted)-len(text))
	return t
}

// end ends a line.
func (t *columns) end() {
	t.w.Write(append(t.line, '\n'))
	t.line, t.pad = t.line[:0], 0
}

// answers says how an instruction is probed, whether its step is boosted, and whether the probe
// can be optimized to a jump; or why not. Places are offsets in the function.
func answers(s *survey.Survey, r *survey.Row) (probe, boost, jump string) {
	why := r.Why.In("")
	if r.Errno != 0 {
		return kprobes.Errno(-r.Errno).Error(), "-", why
	}
	probe, boost = "int3", "no"
	switch {
	case s.Numbers() && r.Emulated:
		probe = "simul"
	case s.Numbers():
		probe = "slot"
	case r.Ftrace:
		probe = "ftrace"
	case r.Delta != 0:
		probe = "at " + offset(r.Offset+r.Delta)
	case r.Emulated:
		probe = "emul"
	}
	if r.Boosted {
		boost = "yes"
	}
	if r.Optimizable() {
		return probe, boost, "yes, " + cli.Number(r.Region, "byte")
	}
	return probe, boost, why
}

// verdict adds the last three cells.
func (t *columns) verdict(p *cli.Program, s *survey.Survey, r *survey.Row) {
	probe, boost, jump := answers(s, r)
	switch {
	case r.Errno != 0:
		t.painted(p, cli.Red, probe, probeWidth).cell(boost, boostWidth).cell(jump, 0).end()
	case r.Optimizable():
		t.cell(probe, probeWidth).cell(boost, boostWidth).painted(p, cli.Green, jump, 0).end()
	default:
		t.cell(probe, probeWidth).cell(boost, boostWidth).cell(jump, 0).end()
	}
}

// offset formats an offset in a function.
func offset(n int) string { return "+0x" + strconv.FormatInt(int64(n), 16) }

// A reader disassembles instructions and caches the text by bytes: half of all instructions
// repeat earlier ones.
type reader struct {
	s     *survey.Survey
	known map[string]reading
}

// A reading is the disassembly of some bytes, independent of their address.
type reading struct {
	text string    // for a direct branch: the mnemonic only
	to   arch.Addr // for a direct branch: the target relative to its own address
	jump bool      // it is a direct branch
}

func newReader(s *survey.Survey) *reader {
	return &reader{s: s, known: make(map[string]reading)}
}

// read returns a row's disassembly. The target of a branch is printed as an offset inside the
// function, as a name where one is known, and otherwise as an address.
func (d *reader) read(sym *image.Symbol, r *survey.Row) string {
	if r.Inside {
		return ""
	}
	k, ok := d.known[string(r.Bytes)]
	if !ok {
		k = disassemble(d.s.Processor(), r.Bytes)
		d.known[string(r.Bytes)] = k
	}
	if !k.jump {
		return k.text
	}
	t := d.s.Addr(sym.Addr + arch.Addr(r.Offset) + k.to)
	if t >= sym.Addr && t < sym.End() {
		return k.text + offset(int(t-sym.Addr))
	}
	switch to, ok := d.s.Module.SymbolAt(t); {
	case ok && t == to.Addr:
		return k.text + to.Label()
	case ok:
		return k.text + to.Label() + offset(int(t-to.Addr))
	}
	return k.text + "0x" + strconv.FormatUint(uint64(t), 16)
}

func disassemble(a *arch.Arch, b []byte) reading {
	in, err := a.Decode(b, 0)
	if err != nil {
		return reading{text: "(bad)"}
	}
	text, _, _ := strings.Cut(in.String(), " # ") // drop the address in the comment
	if t, ok := in.Target(); ok {
		name, _, _ := strings.Cut(text, " ")
		return reading{text: name + " ", to: t, jump: true}
	}
	return reading{text: text}
}

// decodeRow decodes a row's bytes.
func decodeRow(s *survey.Survey, sym *image.Symbol, r *survey.Row) (arch.Inst, bool) {
	in, err := s.Processor().Decode(r.Bytes, sym.Addr+arch.Addr(r.Offset))
	return in, err == nil
}

// shortHex prints at most most bytes, followed by two dots if there are more.
func shortHex(b []byte, most int) string {
	more := len(b) > most
	if more {
		b = b[:most-1]
	}
	text := make([]byte, 0, 3*most)
	for i, c := range b {
		if i > 0 {
			text = append(text, ' ')
		}
		text = hex.AppendEncode(text, []byte{c})
	}
	if more {
		text = append(text, " .."...)
	}
	return string(text)
}
