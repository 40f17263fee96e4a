package lang

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
)

// Print prints the Starlark program that Load reads back as an equal
// scenario. It needs no file: functions are given by their bytes. Settings
// that have their default are left out.
func Print(s *scenario.Scenario) string {
	p := newPrinter()
	p.scenario(s)
	return p.b.String()
}

func newPrinter() *printer {
	return &printer{idents: make(map[string]bool), symbols: make(map[string]string),
		parts: make(map[handle]string)}
}

func (p *printer) scenario(s *scenario.Scenario) {
	p.call("scenario", Quote(s.Name), p.unless(s.Says == "", "says", Quote(s.Says)),
		p.unless(s.Needs == 0, "needs", Quote(s.Needs.String())))
	p.arch = s.Machine.Processor()
	p.machine(&s.Machine)
	for i := range scenario.Paragraphs {
		p.paragraph(s, scenario.Paragraph(i))
	}
	p.gap(1)
	switch e := s.Expect; {
	case e.Sometimes:
		p.call("sometimes", Quote(e.Property))
	default:
		p.call("never", p.unless(e.Canary == "", "canary", Quote(e.Canary)))
	}
}

const maxLine = 100

// manyZeros is the number of zeros at the end of a block from which on they are left out: the
// block's size implies them.
const manyZeros = 256

// zeros returns how many zeros at the end of a block aren't printed.
func zeros(b []byte) int {
	if n := len(b) - len(bytes.TrimRight(b, "\x00")); n >= manyZeros {
		return n
	}
	return 0
}

type printer struct {
	b      strings.Builder
	most   int             // bytes after which printing ends; 0: there is no bound
	idents map[string]bool // identifiers in use
	arch   *arch.Arch      // of the machine

	symbols map[string]string // the identifiers of functions and data
	parts   map[handle]string // and of the other parts
}

// full reports whether the bound on the printed bytes is exceeded.
func (p *printer) full() bool { return p.most > 0 && p.b.Len() > p.most }

// call prints name(args…); an empty argument is one that was left out.
func (p *printer) call(name string, args ...string) {
	if p.full() {
		return
	}
	var said []string
	for _, a := range args {
		if a != "" {
			said = append(said, a)
		}
	}
	fmt.Fprintf(&p.b, "%s(%s)\n", name, strings.Join(said, ", "))
}

func (p *printer) assign(ident, name string, args ...string) {
	fmt.Fprintf(&p.b, "%s = ", ident)
	p.call(name, args...)
}

// unless prints a named argument unless it has its default.
func (p *printer) unless(isDefault bool, name, value string) string {
	if isDefault {
		return ""
	}
	return name + " = " + value
}

// gap prints an empty line before a paragraph that has n lines.
func (p *printer) gap(n int) {
	if n > 0 {
		p.b.WriteByte('\n')
	}
}

// probeName prints a probe; one that isn't made yet goes by its name.
func (p *printer) probeName(name string) string {
	if id, ok := p.parts[handle{list: scenario.TheProbes, name: name}]; ok {
		return id
	}
	return Quote(name)
}

func (p *printer) place(name string, off uint64) string {
	if off == 0 {
		return p.symbols[name]
	}
	return fmt.Sprintf("%s + %d", p.symbols[name], off)
}

func (p *printer) ops(ops []scenario.Op) string {
	said := make([]string, len(ops))
	for i := range ops {
		said[i] = p.op(&ops[i])
	}
	line := "[" + strings.Join(said, ", ") + "]"
	if len(line) <= maxLine {
		return line
	}
	return "[\n    " + strings.Join(said, ",\n    ") + ",\n]"
}

// errnoWords returns the expected answer of an operation, if its author knows it.
func errnoWords(op *scenario.Op) []string {
	switch name := kpev.ErrnoName(op.Returns); {
	case !op.Checked:
		return nil
	case name != "":
		return []string{"errno = " + Quote(name)}
	}
	return []string{"errno = 0"}
}

// ident makes an identifier of a name that no other thing has.
func (p *printer) ident(name string) string {
	id := []byte(name)
	for i, c := range id {
		if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9') {
			id[i] = '_'
		}
	}
	for n, try := 2, string(id); ; n++ {
		if !p.idents[try] && !reserved(try) {
			p.idents[try] = true
			return try
		}
		try = fmt.Sprintf("%s_%d", id, n)
	}
}

// reserved says whether an identifier means something already: a builtin of
// ours, one of Starlark's, or a keyword of it or of Python.
func reserved(id string) bool {
	if _, ok := starlark.Universe[id]; ok || slices.Contains(verbs(), id) {
		return true
	}
	_, err := dialect.ParseExpr("", id, 0)
	return err != nil
}

func Quote(s string) string { return syntax.Quote(s, false) }

func hexAddr(a arch.Addr) string { return fmt.Sprintf("%#x", uint64(a)) }

// literal prints a number as a person would: a small one in decimal, also
// below zero, and an address in hex.
func literal(v uint64) string {
	const small = 4096
	switch {
	case v < small:
		return fmt.Sprint(v)
	case -v < small:
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprintf("%#x", v)
}

// codeString prints code with a blank between instructions.
func (p *printer) codeString(t *scenario.Text) string {
	var groups []string
	for code, at := t.Code, t.At; len(code) > 0; {
		n := 1
		if in, err := p.arch.Decode(code, at); err == nil {
			n = in.Size()
		}
		groups = append(groups, p.arch.Hex(code[:n]))
		code, at = code[n:], at+arch.Addr(n)
	}
	return hexString(groups)
}

// partsOf prints bytes of code, whole instructions or not: in groups of eight, or apart where a group is a
// number.
func (p *printer) partsOf(code []byte) string {
	if p.arch.Align == 1 {
		return dataString(code)
	}
	return hexString(strings.Fields(fmt.Sprintf("% x", code)))
}

// dataString prints bytes in groups of eight.
func dataString(data []byte) string {
	const size = 8
	var groups []string
	for i := 0; i < len(data); i += size {
		groups = append(groups, hex.EncodeToString(data[i:min(i+size, len(data))]))
	}
	return hexString(groups)
}

func hexString(groups []string) string {
	if line := strings.Join(groups, " "); len(line) <= maxLine/2 {
		return `"` + line + `"`
	}
	var b strings.Builder
	b.WriteString(`"""`)
	for col, i := maxLine, 0; i < len(groups); i++ {
		if col+1+len(groups[i]) > maxLine*4/5 {
			b.WriteString("\n   ")
			col = 3
		}
		b.WriteString(" " + groups[i])
		col += 1 + len(groups[i])
	}
	b.WriteString(`"""`)
	return b.String()
}
