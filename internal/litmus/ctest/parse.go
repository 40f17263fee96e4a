package ctest

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/nearest"
)

// A parser reads a test.
type parser struct {
	lexer
	test    *Test
	locals  []*scope
	domains []int // locations of srcu_structs; their domains are 1 and up
	depth   int

	thread *scope // the one being read, and its code
	prog   *Program
}

// A scope has the names of a thread.
type scope struct {
	thread int
	names  []string // of locals
	inits  []int64
	params []string
}

// find returns the local of that name, new unless it has to be there.
func (s *scope) find(p *parser, name string, must bool) int {
	if i := slices.Index(s.names, name); i >= 0 && name != "" {
		return i
	}
	if must {
		p.fail("thread P%d has no variable %s; %s", s.thread, name, nearest.OrAll(name, s.names))
	}
	if len(s.names) >= MaxCode {
		p.fail("thread P%d has more than %d variables; take fewer", s.thread, MaxCode)
	}
	s.names, s.inits = append(s.names, name), append(s.inits, 0)
	return len(s.names) - 1
}

var result = lazyregexp.New(`Result:\s*([A-Za-z]+)(\s+DATARACE)?`)

// Parse reads a test from the text of a file, whose name errors have.
func Parse(file string, text []byte) (t *Test, err error) {
	p := &parser{lexer: lexer{file: file, text: string(text), line: 1}, test: &Test{File: file}}
	defer func() {
		if e, ok := recover().(*Error); ok {
			t, err = nil, e
		} else if r := recover(); r != nil {
			panic(r)
		}
	}()
	switch {
	case len(text) > MaxFile:
		p.fail("%d bytes; a test has at most %d", len(text), MaxFile)
	case !utf8.Valid(text) || strings.IndexByte(p.text, 0) >= 0:
		p.fail("is no text; name a litmus test")
	}
	if m := result().FindStringSubmatch(p.text); m != nil {
		p.test.Result, p.test.Races = m[1], m[2] != ""
	}
	p.header()
	p.inits()
	for isThread().MatchString(p.word) {
		p.readThread()
	}
	if len(p.test.Threads) == 0 {
		p.fail("%s stands where the first thread is expected; write P0(int *x) { ... }", p.shown())
	}
	for i, s := range p.locals {
		if i >= len(p.test.Threads) {
			p.fail("a variable of thread P%d is initialised; there are %d threads", i, len(p.test.Threads))
		}
		p.test.Threads[i].Locals, p.test.Threads[i].Inits = s.names, s.inits
	}
	p.conditions()
	for _, prog := range p.test.Threads {
		prog.finish(p.test)
	}
	return p.test, nil
}

func (p *parser) deep() {
	if p.depth++; p.depth > maxDepth {
		p.fail("is nested deeper than %d; write it flatter", maxDepth)
	}
}

func (p *parser) up() { p.depth-- }

// header reads the first line, and skips what stands between it and the initial state.
func (p *parser) header() {
	p.advance()
	if p.word != "C" {
		p.fail("the first word is %s; a litmus test in C begins with C and its name", p.shown())
	}
	rest, _, _ := strings.Cut(p.text[p.pos:], "\n")
	p.test.Name = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "{"))
	if i := strings.Index(p.test.Name, "(*"); i >= 0 {
		p.test.Name = strings.TrimSpace(p.test.Name[:i])
	}
	for p.word != "{" {
		if p.word == "" {
			p.fail("there is no initial state; {} is the empty one")
		}
		p.advance()
	}
}

// location returns the location of that name.
func (p *parser) location(name string) int {
	i := slices.IndexFunc(p.test.Locations, func(l Location) bool { return l.Name == name })
	if i < 0 {
		p.fail("there is no variable %s, neither in the initial state nor as a parameter; add it to one", name)
	}
	return i
}

func (p *parser) addLocation(name string) int {
	i := slices.IndexFunc(p.test.Locations, func(l Location) bool { return l.Name == name })
	if i >= 0 {
		return i
	}
	if i = len(p.test.Locations); i >= MaxLocations {
		p.fail("more than %d variables; take fewer", MaxLocations)
	}
	p.test.Locations = append(p.test.Locations, Location{Name: name})
	return i
}

// inits reads the initial state.
func (p *parser) inits() {
	p.expect("{")
	for !p.take("}") {
		if p.take(";") {
			continue
		}
		p.types()
		thread := -1
		if w := p.word; w != "" && digit(w[0]) {
			n, err := strconv.Atoi(w)
			if err != nil || n >= MaxThreads {
				p.fail("thread %s is too many; at most %d", w, MaxThreads)
			}
			thread = n
			p.advance()
			p.expect(":")
		}
		bracket := p.take("[")
		name := p.name()
		if bracket {
			p.expect("]")
		}
		if p.word == "[" {
			p.fail("%s is an array, which isn't covered; use several variables", name)
		}
		v := int64(0)
		if p.take("=") {
			v = p.initial()
		}
		if p.word != "}" {
			p.expect(";")
		}
		if thread >= 0 {
			s := p.scope(thread)
			s.inits[s.find(p, name, false)] = v
		} else {
			p.test.Locations[p.addLocation(name)].Value = v
		}
	}
}

// initial reads an initial value: a number, or a location, which it makes known.
func (p *parser) initial() int64 {
	bracket := p.take("ATOMIC_INIT")
	if bracket {
		p.expect("(")
	}
	p.take("&")
	var v int64
	if w := p.word; w == "-" || w != "" && digit(w[0]) {
		v = p.number()
	} else if !p.take("NULL") {
		v = Address(p.addLocation(p.name()))
	}
	if bracket {
		p.expect(")")
	}
	return v
}

func (p *parser) scope(thread int) *scope {
	for len(p.locals) <= thread {
		p.locals = append(p.locals, &scope{thread: len(p.locals)})
	}
	return p.locals[thread]
}

var isThread = lazyregexp.New(`^P[0-9]+$`)

// readThread reads P0(int *x) { … }.
func (p *parser) readThread() {
	n := len(p.test.Threads)
	if p.word != "P"+strconv.Itoa(n) {
		p.fail("thread %s comes where P%d is expected; threads are numbered in order", p.word, n)
	}
	if n >= MaxThreads {
		p.fail("more than %d threads; leave some out", MaxThreads)
	}
	p.inC = true
	p.advance()
	p.thread, p.prog = p.scope(n), &Program{}
	p.test.Threads = append(p.test.Threads, p.prog)
	p.expect("(")
	for !p.take(")") {
		p.types()
		name := p.name()
		p.addLocation(name)
		p.thread.params = append(p.thread.params, name)
		if p.word != ")" {
			p.expect(",")
		}
	}
	if p.word != "{" {
		p.expect("{")
	}
	p.advance()
	for p.word != "}" {
		p.statement()
	}
	p.inC = false
	p.advance()
}

var typeWords = []string{"int", "intptr_t", "uintptr_t", "long", "unsigned", "signed", "char", "short", "volatile",
	"const",
	"atomic_t", "atomic_long_t", "bool", "_Bool", "u8", "u16", "u32", "u64", "s32", "s64", "size_t", "spinlock_t",
	"raw_spinlock_t", "void", "uint32_t", "int32_t", "uint64_t", "int64_t", "srcu_struct"}

func (p *parser) atType() bool { return p.word == "struct" || slices.Contains(typeWords, p.word) }

// types skips a type, with its stars.
func (p *parser) types() (any bool) {
	for {
		switch {
		case p.take("struct"):
			p.name()
		case slices.Contains(typeWords, p.word):
			p.advance()
		default:
			for any && (p.word == "*" || p.word == "const" || p.word == "volatile") {
				p.advance()
			}
			return any
		}
		any = true
		for p.word == "*" {
			p.advance()
		}
	}
}

// emit appends an instruction.
func (p *parser) emit(in Instr) int {
	if len(p.prog.Code) >= MaxCode {
		p.fail("thread P%d has more than %d instructions; make it shorter", p.thread.thread, MaxCode)
	}
	in.Line = p.at.line
	p.prog.Code = append(p.prog.Code, in)
	return len(p.prog.Code) - 1
}

// temporary makes a local without a name.
func (p *parser) temporary() int { return p.thread.find(p, "", false) }

func (p *parser) statement() {
	p.deep()
	defer p.up()
	switch {
	case p.take(";"):
	case p.take("{"):
		for p.word != "}" {
			if p.word == "" {
				p.fail("a block isn't closed; put } where it ends")
			}
			p.statement()
		}
		p.advance()
	case p.take("if"):
		p.branch()
	case slices.Contains([]string{"while", "for", "do", "goto", "switch", "return"}, p.word):
		p.fail("%s isn't covered; write it out with if", p.word)
	case p.word == "":
		p.fail("thread P%d isn't closed; put } where it ends", p.thread.thread)
	case p.atType():
		p.declaration()
	default:
		p.expression()
		p.expect(";")
	}
}

func (p *parser) branch() {
	p.expect("(")
	cond := p.value(p.expression())
	p.expect(")")
	branch := p.emit(Instr{Op: Branch, Dst: -1, Val: cond})
	p.statement()
	if p.take("else") {
		jump := p.emit(Instr{Op: Jump, Dst: -1})
		p.prog.Code[branch].Target = len(p.prog.Code)
		p.statement()
		p.prog.Code[jump].Target = len(p.prog.Code)
	} else {
		p.prog.Code[branch].Target = len(p.prog.Code)
	}
	p.emit(Instr{Op: Join, Dst: -1})
}

func (p *parser) declaration() {
	p.types()
	for {
		for p.take("*") {
		}
		name := p.name()
		if slices.Contains(p.thread.params, name) {
			p.fail("%s is a parameter and a variable of P%d; rename one", name, p.thread.thread)
		}
		local := p.thread.find(p, name, false)
		if p.take("=") {
			p.assign(&Expr{Op: "local", Local: local}, p.expression())
		}
		if p.take(";") {
			return
		}
		p.expect(",")
	}
}

// assign emits left = right, where the last instruction may be what gives right.
func (p *parser) assign(left, right *Expr) {
	v := p.value(right)
	switch left.Op {
	case "local":
		if n := len(p.prog.Code); v.Op == "local" && n > 0 && p.thread.names[v.Local] == "" {
			if last := &p.prog.Code[n-1]; last.Dst == v.Local && last.Op != Set {
				last.Dst = left.Local // r1 = READ_ONCE(*x) is one instruction
				return
			}
		}
		p.emit(Instr{Op: Set, Dst: left.Local, Val: v})
	case "*":
		p.emit(Instr{Op: Store, Dst: -1, Addr: left.A, Val: v, Plain: true})
	default:
		p.fail("this can't be assigned to; write a name, or *x")
	}
}

// value is what an expression has as an operand: loaded if it is a place in memory.
func (p *parser) value(e *Expr) *Expr {
	if e.Op != "*" {
		return e
	}
	dst := p.temporary()
	p.emit(Instr{Op: Load, Dst: dst, Addr: e.A, Plain: true})
	return &Expr{Op: "local", Local: dst}
}
