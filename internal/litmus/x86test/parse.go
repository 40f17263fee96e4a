package x86test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a test. path is for messages.
func Parse(path, text string) (t *Test, err error) {
	p := &parser{path: path, src: text, t: new(Test)}
	defer func() {
		if v := recover(); v != nil {
			bad, ok := v.(*syntaxError)
			if !ok {
				panic(v)
			}
			t, err = nil, errors.New(bad.says)
		}
	}()
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s:1:1: %d bytes; a test has at most %d", path, len(text), maxFile)
	}
	if m := result().FindStringSubmatch(text); m != nil {
		p.t.Expected = strings.ToUpper(m[1][:1]) + strings.ToLower(m[1][1:])
	}
	p.blank()
	p.lex(p.header())
	p.init()
	p.table()
	p.conditions()
	p.t.settle()
	p.collect()
	for i := range p.t.Threads {
		if _, err := p.t.Assemble(i); err != nil {
			return nil, fmt.Errorf("%s:%w", path, err)
		}
	}
	return p.t, nil
}

// Language returns the first word of a test in whatever language, after comments, "" if
// there is none.
func Language(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\r\n\ufeff")
		comment, rest, _ := strings.Cut(text, "*)")
		if !strings.HasPrefix(comment, "(*") {
			break
		}
		for n := strings.Count(comment, "(*"); n > 1 && rest != ""; n-- { // they nest
			var more string
			more, rest, _ = strings.Cut(rest, "*)")
			n += strings.Count(more, "(*")
		}
		text = rest
	}
	if f := strings.Fields(text); len(f) > 0 {
		return clip(f[0])
	}
	return ""
}

// header reads what comes before the initial state, and returns where that begins.
func (p *parser) header() (body int) {
	quoted := false
	body = -1
	for i := 0; i < len(p.src) && body < 0; i++ {
		switch {
		case p.src[i] == '"':
			quoted = !quoted
		case p.src[i] == '\n':
			quoted = false
		case p.src[i] == '{' && !quoted:
			body = i
		}
	}
	if body < 0 {
		p.failAt(0, "there is no initial state; a test has { ... } before its threads")
	}
	words := strings.Fields(p.src[:body])
	if len(words) < 2 {
		p.failAt(0, "the first line has no language and name; begin with them, as X86_64 SB")
	}
	switch words[0] {
	case "X86_64":
		p.t.Dialect = ATT
	case "X86":
		p.t.Dialect = Intel
	default:
		p.failAt(0, "the language %q isn't known; X86_64 and X86 are", clip(words[0]))
	}
	p.t.Name = words[1]
	if len(p.t.Name) > 200 || strings.ContainsFunc(p.t.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		p.failAt(0, "the test's name is too long, or has control characters; give it a short one")
	}
	return body
}

// init reads the initial state.
func (p *parser) init() {
	p.expect("{")
	for !p.accept("}") {
		if !p.accept(";") {
			p.initial()
			if p.peek().text != "}" {
				p.expect(";")
			}
		}
	}
}

// initial reads one entry: x=1, [x]=1, 0:rax=x, int64_t x, int t[2]={1,2}.
func (p *parser) initial() {
	var y typ
	for isName(p.peek().text) && (isName(p.ahead(1)) || p.ahead(1) == "*" || isNumber(p.ahead(1)) &&
		p.ahead(2) == ":") {
		name := p.next().text
		switch is, ok := typeNames[name]; {
		case ok && y.size == 0:
			y = is
		case ok && (name == "int" || is == y): // long int, unsigned int, long long
		case name == "volatile" || name == "const" || name == "static":
		case ok && y == typeNames["unsigned"]:
			y = typ{is.size, false}
		default:
			p.fail("the type %q isn't known; int, int64_t, uint8_t and their like are", clip(name))
		}
	}
	for p.accept("*") {
		y = typ{8, false}
	}
	if p.atRegister() {
		proc, reg := p.register()
		th := p.thread(proc)
		if y.size != 0 {
			th.types[reg] = y
		}
		if p.acceptAssign() {
			v, isAddress := p.initValue()
			th.Init[reg] = v
			if isAddress && y.size == 0 {
				th.types[reg] = typ{8, false}
			}
		}
		return
	}
	bracket := p.accept("[")
	name := p.name("a location")
	if bracket {
		p.expect("]")
	}
	n := p.location(name)
	l := &p.t.Locations[n]
	if y.size != 0 {
		l.typ = y
	}
	if !bracket && p.accept("[") {
		l.array, l.Count = true, int(p.number(1, maxElements))
		l.Values = make([]uint64, l.Count)
		p.expect("]")
		if l.typ.size == 0 {
			l.typ = typeNames["int"]
		}
	}
	if !p.acceptAssign() {
		return
	}
	if !l.array {
		v, isAddress := p.initValue()
		l = &p.t.Locations[n] // it may be another one's that was new
		if l.Values[0] = v; isAddress && y.size == 0 {
			l.typ = typ{8, false}
		}
		return
	}
	p.expect("{")
	for i := 0; !p.accept("}"); i++ {
		if i == p.t.Locations[n].Count {
			p.fail("more values than the array has elements; leave some out")
		}
		v, _ := p.initValue()
		p.t.Locations[n].Values[i] = v
		if p.peek().text != "}" {
			p.expect(",")
		}
	}
}

// initValue reads a number, or the name of a location: its address.
func (p *parser) initValue() (v uint64, address bool) {
	amp := p.accept("&")
	if isName(p.peek().text) || amp {
		n := p.location(p.name("a location"))
		p.t.pointers = true
		return DataBase + uint64(n)*locationBytes, true
	}
	return p.value(), false
}

// acceptAssign takes =, or the older :=, if it is the next.
func (p *parser) acceptAssign() bool { return p.accept("=") || p.accept(":=") }

// atRegister reports whether a thread's register comes next: 0:EAX, or the older P0:EAX.
func (p *parser) atRegister() bool {
	s := p.peek().text
	return isNumber(s) || p.ahead(1) == ":" && len(s) > 1 && s[0] == 'P' && isNumber(s[1:])
}

// register reads THREAD:REG.
func (p *parser) register() (proc, reg int) {
	if t := p.peek(); t.text[0] == 'P' {
		t.text, t.from = t.text[1:], t.from+1
	}
	proc = int(p.number(0, maxThreads-1))
	p.expect(":")
	p.accept("%")
	at := p.peek()
	r, ok := registerNamed(p.name("a register"))
	if !ok {
		p.failAt(at.from, "%q is no register of a test; rax, ebx, r8d and their like are", clip(at.text))
	}
	if r.Num == stackPointer {
		p.failAt(at.from, "the stack pointer isn't the test's; take another register")
	}
	return proc, r.Num
}

// thread returns the thread of a number, and makes those before it.
func (p *parser) thread(n int) *Thread {
	for len(p.t.Threads) <= n {
		p.t.Threads = append(p.t.Threads, Thread{})
	}
	return &p.t.Threads[n]
}

func (p *parser) name(what string) string {
	t := p.next()
	if !isName(t.text) {
		p.at = max(p.at-1, 0)
		p.fail("%s where %s is expected; write one", p.shown(), what)
	}
	if len(t.text) > 64 {
		p.failAt(t.from, "the name %q is too long; take a shorter one", clip(t.text))
	}
	return t.text
}

// number reads a number within a range.
func (p *parser) number(least, most int64) int64 {
	at := p.peek()
	v := int64(p.value())
	if v < least || v > most {
		p.failAt(at.from, "%d is outside %d to %d; correct it", v, least, most)
	}
	return v
}

// value reads a number that 64 bits hold.
func (p *parser) value() uint64 {
	p.accept("$")
	neg := p.accept("-")
	t := p.next()
	if !isNumber(t.text) {
		p.failAt(t.from, "%q where a number is expected; write one", clip(t.text))
	}
	v, err := strconv.ParseUint(t.text, 0, 64)
	if err != nil {
		if v, err = strconv.ParseUint(t.text, 10, 64); err != nil { // 08 isn't octal here
			p.failAt(t.from, "%q is no number of 64 bits; write a smaller one", clip(t.text))
		}
	}
	if neg {
		return -v
	}
	return v
}

// table reads the threads' columns.
func (p *parser) table() {
	p.accept(";")
	n := 0
	for ; ; n++ {
		t := p.next()
		if t.text != fmt.Sprintf("P%d", n) {
			p.failAt(t.from, "%q where the thread P%d is expected; a test has P0 | P1 | ... ; after its initial state",
				clip(t.text), n)
		}
		if n == maxThreads {
			p.failAt(t.from, "more than %d threads; remove some", maxThreads)
		}
		if p.accept(";") {
			break
		}
		p.expect("|")
	}
	n++
	if len(p.t.Threads) > n {
		p.fail("the initial state names thread %d; there are %d threads", len(p.t.Threads)-1, n)
	}
	p.thread(n - 1)
	for !p.atConditions() {
		p.row(n)
	}
	for i := range p.t.Threads {
		p.jumps(&p.t.Threads[i])
	}
}

// atConditions reports whether the threads are over.
func (p *parser) atConditions() bool {
	switch p.peek().text {
	case "locations", "filter", "exists", "forall", "final", "~":
		return true
	case end:
		p.fail("there is no condition; a test ends with exists (...), ~exists (...) or forall (...)")
	}
	return false
}

// row reads one line of the table.
func (p *parser) row(threads int) {
	for i := 0; ; i++ {
		if i == threads {
			p.fail("more columns than threads; there are %d threads", threads)
		}
		p.cell(&p.t.Threads[i])
		if p.accept(";") {
			return
		}
		if p.peek().text != "|" {
			p.fail("%s after an instruction; columns end with | and lines with ;", p.shown())
		}
		p.next()
	}
}

// cell reads labels and an instruction, or nothing.
func (p *parser) cell(th *Thread) {
	var labels []string
	from := p.peek()
	for isName(p.peek().text) && p.ahead(1) == ":" {
		labels = append(labels, p.next().text)
		p.next()
	}
	if s := p.peek().text; s == "|" || s == ";" {
		if len(labels) > 0 {
			p.add(th, Instr{Labels: labels, Op: opNop, Bare: true, Text: strings.Join(labels, ": ") + ":"}, from)
		}
		return
	}
	begin := p.peek().from
	in := p.instruction()
	in.Labels = labels
	in.Text = strings.Join(strings.Fields(p.src[begin:p.toks[p.at-1].to]), " ")
	p.add(th, in, from)
}

func (p *parser) add(th *Thread, in Instr, from *token) {
	if len(th.Instrs) == maxInstrs {
		p.failAt(from.from, "more than %d instructions of a thread; remove some", maxInstrs)
	}
	in.Line, in.Col = p.place(from.from)
	th.Instrs = append(th.Instrs, in)
}

// jumps finds where a thread's jumps go.
func (p *parser) jumps(th *Thread) {
	at := make(map[string]int)
	for i := range th.Instrs {
		for _, l := range th.Instrs[i].Labels {
			if _, ok := at[l]; ok {
				panic(&syntaxError{fmt.Sprintf("%s:%d:%d: the label %s is there twice; rename one",
					p.path, th.Instrs[i].Line, th.Instrs[i].Col, clip(l))})
			}
			at[l] = i
		}
	}
	for i := range th.Instrs {
		in := &th.Instrs[i]
		if in.Label == "" {
			continue
		}
		to, ok := at[in.Label]
		if !ok {
			panic(&syntaxError{fmt.Sprintf("%s:%d:%d: there is no label %s in the thread; write it before an "+
				"instruction, as %s: nop", p.path, in.Line, in.Col, clip(in.Label), clip(in.Label))})
		}
		in.Target = to
	}
}
