package x86test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A PropOp is what a proposition is made with.
type PropOp uint8

// The operators.
const (
	Equal PropOp = iota
	Differs
	And
	Or
	Not
	Implies
	True
	False
)

// A Prop is a proposition about a final state.
type Prop struct {
	Op    PropOp
	Args  []*Prop // of And, Or, Not, Implies
	Ref   Ref     // of Equal and Differs
	Value Value
}

// A Ref is a register at a thread's end, or a location at the test's.
type Ref struct {
	Proc     int // -1: a location
	Reg      int
	Location int
	Element  int
	Size     int // bytes
	Signed   bool
	Name     string // as outcomes have it: 0:rax, [x]
}

// A Value is what a Ref is compared with.
type Value struct {
	Number uint64
	Ref    *Ref   // if it isn't nil: what that holds
	Name   string // of a location whose address it is, or "" for a number
}

// Eval says whether the proposition holds where load gives what a Ref holds.
func (p *Prop) Eval(load func(*Ref) uint64) bool {
	switch p.Op {
	case True:
		return true
	case False:
		return false
	case Not:
		return !p.Args[0].Eval(load)
	case Implies:
		return !p.Args[0].Eval(load) || p.Args[1].Eval(load)
	case And:
		for _, a := range p.Args {
			if !a.Eval(load) {
				return false
			}
		}
		return true
	case Or:
		for _, a := range p.Args {
			if a.Eval(load) {
				return true
			}
		}
		return false
	}
	want := p.Value.Number
	if r := p.Value.Ref; r != nil {
		want = load(r)
	}
	mask := ^uint64(0) >> (64 - 8*p.Ref.Size)
	return (load(&p.Ref)^want)&mask == 0 == (p.Op == Equal)
}

// String writes it as herd7 does.
func (p *Prop) String() string {
	switch p.Op {
	case True:
		return "true"
	case False:
		return "false"
	case Not:
		return "not (" + p.Args[0].String() + ")"
	case Implies:
		return p.Args[0].inside(Implies) + " => " + p.Args[1].inside(Implies)
	case And, Or:
		s := make([]string, len(p.Args))
		for i, a := range p.Args {
			s[i] = a.inside(p.Op)
		}
		return strings.Join(s, map[PropOp]string{And: ` /\ `, Or: ` \/ `}[p.Op])
	}
	s := strconv.FormatInt(int64(p.Value.Number), 10)
	if p.Value.Ref != nil {
		s = p.Value.Ref.Name
	} else if p.Value.Name != "" {
		s = p.Value.Name
	}
	return p.Ref.Name + map[PropOp]string{Equal: "=", Differs: "<>"}[p.Op] + s
}

// inside writes it as part of another proposition.
func (p *Prop) inside(of PropOp) string {
	if p.Op == Or && of == And || p.Op == And && of == Or || p.Op == Implies {
		return "(" + p.String() + ")"
	}
	return p.String()
}

// Show writes what a Ref holds.
func (t *Test) Show(r *Ref, v uint64) string {
	if t.pointers {
		for i := range t.Locations {
			if v == t.Address(i, 0) {
				return t.Locations[i].Name
			}
		}
	}
	shift := 64 - 8*r.Size
	if r.Signed {
		return strconv.FormatInt(int64(v<<shift)>>shift, 10)
	}
	return strconv.FormatUint(v<<shift>>shift, 10)
}

// conditions reads what comes after the threads.
func (p *parser) conditions() {
	for p.peek().text == "locations" || p.peek().text == "filter" {
		if p.next().text == "filter" {
			p.t.Filter = p.prop(0)
			continue
		}
		p.expect("[")
		for !p.accept("]") {
			if p.accept(";") {
				continue
			}
			p.t.Seen = append(p.t.Seen, p.ref())
			if p.peek().text != "]" {
				p.expect(";")
			}
		}
	}
	final := p.accept("final")
	if !final {
		p.t.Quant = p.quantifier()
	}
	p.t.Cond = p.prop(0)
	p.accept(";")
	if final && p.accept("with") {
		p.claims()
	}
	if p.peek().text != end {
		p.fail("%s after the condition; a test ends there", p.shown())
	}
}

func (p *parser) quantifier() Quantifier {
	at := p.peek()
	switch {
	case p.accept("~"):
		p.expect("exists")
		return NotExists
	case p.accept("exists"):
		return Exists
	case p.accept("forall"):
		return Forall
	}
	p.failAt(at.from, "%s where the condition is expected: exists (...), ~exists (...) or forall (...)", p.shown())
	return 0
}

// claims reads what final (...) with claims of each model, as tso: ~exists. The claim that counts
// is tso's, else the default.
func (p *parser) claims() {
	for settled := false; p.peek().text != end; p.expect(";") {
		model := p.name("a memory model")
		p.expect(":")
		q := p.quantifier()
		if model == "tso" || model == "default" && !settled {
			p.t.Quant, settled = q, settled || model == "tso"
		}
	}
}

// prop reads a proposition: => binds less than \/, and that less than /\.
func (p *parser) prop(depth int) *Prop {
	if depth > maxDepth {
		p.fail("the condition is nested deeper than %d; write it flatter", maxDepth)
	}
	a := p.chain(depth, Or, `\/`, func(d int) *Prop { return p.chain(d, And, `/\`, p.atom) })
	if p.accept("=>") {
		return &Prop{Op: Implies, Args: []*Prop{a, p.prop(depth + 1)}}
	}
	return a
}

func (p *parser) chain(depth int, op PropOp, sign string, part func(depth int) *Prop) *Prop {
	args := []*Prop{part(depth)}
	for p.accept(sign) {
		args = append(args, part(depth))
	}
	if len(args) == 1 {
		return args[0]
	}
	return &Prop{Op: op, Args: args}
}

func (p *parser) atom(depth int) *Prop {
	if depth > maxDepth {
		p.fail("the condition is nested deeper than %d; write it flatter", maxDepth)
	}
	switch s := p.peek().text; {
	case s == "(":
		p.next()
		q := p.prop(depth + 1)
		p.expect(")")
		return q
	case s == "~" || s == "not":
		p.next()
		return &Prop{Op: Not, Args: []*Prop{p.atom(depth + 1)}}
	case s == "true" && p.ahead(1) != "=":
		p.next()
		return &Prop{Op: True}
	case s == "false" && p.ahead(1) != "=":
		p.next()
		return &Prop{Op: False}
	}
	q := &Prop{Ref: p.ref()}
	switch p.next().text {
	case "=", "==":
	case "<>", "!=":
		q.Op = Differs
	default:
		p.at--
		p.fail("%s where = is expected; write x=1", p.shown())
	}
	switch s := p.peek().text; {
	case p.atRegister() && p.ahead(1) == ":" || s == "[":
		r := p.ref()
		q.Value.Ref = &r
	case isName(s) || s == "&":
		p.accept("&")
		q.Value.Name = p.name("a value")
		q.Value.Number = DataBase + uint64(p.location(q.Value.Name))*locationBytes
		p.t.pointers = true
	default:
		q.Value.Number = p.value()
	}
	return q
}

// ref reads 0:rax, [x], x or t[1].
func (p *parser) ref() Ref {
	if p.atRegister() {
		at := p.peek()
		proc, reg := p.register()
		if proc >= len(p.t.Threads) {
			p.failAt(at.from, "there is no thread %d; the last one is P%d", proc, len(p.t.Threads)-1)
		}
		return p.t.Register(proc, reg)
	}
	bracket := p.accept("[")
	at := p.peek()
	name := p.name("a location or a register")
	if _, is := registerNamed(name); is {
		p.failAt(at.from, "%s is a register; write of which thread, as 0:%s", name, name)
	}
	location, element := p.location(name), 0
	if p.accept("[") {
		element = int(p.number(0, int64(p.t.Locations[location].Count-1)))
		p.expect("]")
	}
	r := p.t.Element(location, element)
	if bracket {
		p.expect("]")
	}
	return r
}

// Register is what a register of a thread holds.
func (t *Test) Register(thread, reg int) Ref {
	r := Ref{Proc: thread, Reg: reg, Location: -1, Name: fmt.Sprintf("%d:%s", thread, t.registerName(reg))}
	t.settleRef(&r)
	return r
}

// Writes are the registers and locations that an instruction of a thread writes, by the
// names of their Refs, as far as its text says.
func (t *Test) Writes(thread, instr int) (names []string) {
	in := &t.Threads[thread].Instrs[instr]
	operands := []*Operand{&in.Dst}
	switch in.Op {
	case opXchg, opXadd:
		operands = append(operands, &in.Src)
	case opCmpxchg:
		operands = append(operands, &Operand{Kind: Register})
	case opTest:
		return nil
	case opAlu:
		if in.sub == aluCmp {
			return nil
		}
	}
	for _, o := range operands {
		switch {
		case o.Kind == Register:
			names = append(names, t.Register(thread, o.Reg.Num).Name)
		case o.Kind == Memory && o.Location >= 0 && o.Index < 0 && o.Disp == 0:
			names = append(names, t.Element(o.Location, 0).Name)
		}
	}
	return names
}

// Element is what an element of a location holds.
func (t *Test) Element(location, element int) Ref {
	l := &t.Locations[location]
	r := Ref{Proc: -1, Location: location, Element: element, Name: "[" + l.Name + "]"}
	if l.array {
		r.Name = fmt.Sprintf("%s[%d]", l.Name, element)
	}
	t.settleRef(&r)
	return r
}

// collect makes outcomes of all that the condition and the filter name, and of what
// locations asks for.
func (p *parser) collect() {
	t := p.t
	var walk func(q *Prop)
	walk = func(q *Prop) {
		if q == nil {
			return
		}
		for _, a := range q.Args {
			walk(a)
		}
		if q.Op == Equal || q.Op == Differs {
			t.Seen = append(t.Seen, q.Ref)
			if q.Value.Ref != nil {
				t.Seen = append(t.Seen, *q.Value.Ref)
			}
		}
	}
	walk(t.Cond)
	walk(t.Filter)
	slices.SortStableFunc(t.Seen, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(uint(a.Proc), uint(b.Proc)), cmp.Compare(a.Name, b.Name)) // locations, -1, come last
	})
	t.Seen = slices.CompactFunc(t.Seen, func(a, b Ref) bool { return a.Name == b.Name })
	if len(t.Seen) > maxRefs {
		p.fail("an outcome of more than %d registers and locations; name fewer", maxRefs)
	}
}
