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
	"kpsim/smp/arch/target"
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
	return &printer{arch: target.Arch, idents: make(map[string]bool), symbols: make(map[string]string),
		probes: make(map[string]string), labels: make(map[string]string)}
}

func (p *printer) scenario(s *scenario.Scenario) {
	p.call("scenario", Quote(s.Name), p.unless(s.Says == "", "says", Quote(s.Says)),
		p.unless(s.Needs == 0, "needs", Quote(s.Needs.String())))
	p.arch = s.Machine.Processor()
	p.machine(&s.Machine)
	p.text(s)
	p.missing(s)
	p.clients(s)
	p.programs(s)
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

type printer struct {
	b      strings.Builder
	most   int             // bytes after which printing ends; 0: there is no bound
	idents map[string]bool // identifiers in use
	arch   *arch.Arch      // of the machine

	// The identifier of each thing by its name.
	symbols, probes, labels map[string]string
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

func (p *printer) text(s *scenario.Scenario) {
	p.gap(len(s.Texts) + len(s.Datas) + len(s.Missing))
	for i := range s.Texts {
		t := &s.Texts[i]
		id := p.ident(t.Name)
		p.symbols[t.Name] = id
		var extable []string
		for _, off := range t.Extable {
			extable = append(extable, fmt.Sprint(off))
		}
		p.assign(id, "text", Quote(t.Name), "at = "+hexAddr(t.At), fmt.Sprintf("size = %d", len(t.Code)),
			p.unless(len(extable) == 0, "extable", "["+strings.Join(extable, ", ")+"]"), "hex = "+codeString(t))
	}
	for i := range s.Datas {
		d := &s.Datas[i]
		id := p.ident(d.Name)
		p.symbols[d.Name] = id
		verb := "data"
		if d.PerCPU {
			verb = "percpu"
		}
		zeros := len(d.Bytes) - len(bytes.TrimRight(d.Bytes, "\x00"))
		if zeros < manyZeros {
			zeros = 0
		}
		said := d.Bytes[:len(d.Bytes)-zeros]
		p.assign(id, verb, Quote(d.Name), "at = "+hexAddr(d.At),
			p.unless(zeros == 0, "size", fmt.Sprint(len(d.Bytes))), p.unless(len(said) == 0, "hex", dataString(said)),
			p.unless(!d.Away, "away", "True"))
	}
}

// missing prints the undefined symbols; no operation names them.
func (p *printer) missing(s *scenario.Scenario) {
	for i := range s.Missing {
		m := &s.Missing[i]
		p.call("missing", Quote(m.Name), "at = "+hexAddr(m.At),
			p.unless(m.Size == missingSize, "size", fmt.Sprint(m.Size)))
	}
}

// gap prints an empty line before a paragraph that has n lines.
func (p *printer) gap(n int) {
	if n > 0 {
		p.b.WriteByte('\n')
	}
}

func (p *printer) clients(s *scenario.Scenario) {
	p.gap(len(s.Probes) + len(s.Labels))
	for i := range s.Probes {
		k := &s.Probes[i]
		id := p.ident(k.Name)
		p.assign(id, k.Kind.String(), p.probe(k)...)
		p.probes[k.Name] = id // not before: its handlers may name it
	}
	for i := range s.Labels {
		l := &s.Labels[i]
		id := p.ident(l.Name)
		p.labels[l.Name] = id
		p.assign(id, "jump_label", Quote(l.Name), "at = "+p.place(l.Func, uint64(l.Offset)),
			"target = "+p.place(l.Target, uint64(l.TOff)))
	}
	p.around(s)
}

// probeName prints a probe; one that isn't made yet goes by its name.
func (p *printer) probeName(name string) string {
	if id, ok := p.probes[name]; ok {
		return id
	}
	return Quote(name)
}

// probe prints what makes a probe.
func (p *printer) probe(k *scenario.Probe) []string {
	args := []string{Quote(k.Name)}
	if k.Func != "" {
		args = append(args, "at = "+p.place(k.Func, uint64(k.Offset)))
	}
	counts := func(steps []scenario.Step) bool {
		return len(steps) == 1 && steps[0] == scenario.Step{Kind: scenario.StepCount}
	}
	switch k.Kind {
	case scenario.ProbeKretprobe:
		args = append(args, p.unless(counts(k.Post), "handler", p.handler(k.Post)),
			p.unless(k.Pre == nil, "entry", p.handler(k.Pre)),
			p.unless(k.Maxactive == 0, "maxactive", fmt.Sprint(k.Maxactive)),
			p.unless(k.DataSize == 0, "data_size", fmt.Sprint(k.DataSize)))
	case scenario.ProbeJprobe:
		if k.Pre != nil {
			args = append(args, "entry = "+p.handler(k.Pre))
		} else {
			args = append(args, "entry = "+p.symbols[k.Entry])
		}
	default:
		args = append(args, p.unless(counts(k.Pre), "pre", p.handler(k.Pre)),
			p.unless(k.Post == nil, "post", p.handler(k.Post)),
			p.unless(k.Fault == nil, "fault", p.handler(k.Fault)))
	}
	args = append(args, p.unless(k.Symbol == "", "symbol", Quote(k.Symbol)))
	if k.Func == "" {
		args = append(args, p.unless(k.Offset == 0, "offset", fmt.Sprint(k.Offset)))
	}
	return append(args, p.unless(!k.Disabled, "disabled", "True"))
}

func (p *printer) place(name string, off uint64) string {
	if off == 0 {
		return p.symbols[name]
	}
	return fmt.Sprintf("%s + %d", p.symbols[name], off)
}

func (p *printer) programs(s *scenario.Scenario) {
	p.gap(len(s.Tasks))
	for i := range s.Tasks {
		if p.full() {
			return
		}
		t := &s.Tasks[i]
		p.call("task", p.unless(t.Name == taskName(i), "name", Quote(t.Name)), fmt.Sprintf("cpu = %d", t.CPU),
			"ops = "+p.ops(t.Ops), p.unless(t.Repeat == 1, "repeat", fmt.Sprint(t.Repeat)),
			p.unless(!t.Background, "background", "True"), p.unless(t.Setup == 0, "setup", fmt.Sprint(t.Setup)))
	}
	p.gap(len(s.Sources))
	for i := range s.Sources {
		p.source(&s.Sources[i])
	}
	p.gap(1)
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

// literals prints numbers with commas between them.
func literals(list []uint64) string {
	said := make([]string, len(list))
	for i, v := range list {
		said[i] = literal(v)
	}
	return strings.Join(said, ", ")
}

// codeString prints code with a blank between instructions.
func codeString(t *scenario.Text) string {
	var groups []string
	for code, at := t.Code, t.At; len(code) > 0; {
		n := 1
		if in, err := target.Decode(code, at); err == nil {
			n = in.Size()
		}
		groups = append(groups, hex.EncodeToString(code[:n]))
		code, at = code[n:], at+arch.Addr(n)
	}
	return hexString(groups)
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
