package x86test

import "strings"

// A Kind is what an operand is.
type Kind uint8

// The kinds of operand.
const (
	None Kind = iota
	Register
	Immediate
	Memory
)

// An Operand of an instruction.
type Operand struct {
	Kind     Kind
	Reg      Reg
	Imm      int64
	Location int // Memory: that the address is relative to; -1: none
	Base     int // register; -1: none
	Index    int // register; -1: none
	Scale    int
	Disp     int64
	short    bool // the address has 32 bits
}

// An Instr is one instruction.
type Instr struct {
	Text     string // as the test has it
	Line     int
	Col      int
	Labels   []string
	Lock     bool
	Op       Op
	sub      int
	Size     int // bytes, of the operands
	Dst, Src Operand
	Label    string // of a jump: where it goes
	Target   int    // the same, by its place in the thread
	Bare     bool   // there is a label and nothing else
}

// Stores reports whether it stores to memory without a lock.
func (in *Instr) Stores() bool {
	return in.Dst.Kind == Memory && !in.Lock && in.Op != opXchg && in.Op != opTest &&
		(in.Op != opAlu || in.sub != aluCmp)
}

// instruction reads one, without its labels.
func (p *parser) instruction() (in Instr) {
	at := p.peek()
	if at.text == "lock" || at.text == "LOCK" {
		p.next()
		in.Lock = true
	}
	at = p.peek()
	name := p.name("an instruction")
	o, size, ok := operation(name)
	if !ok {
		if lower := strings.ToLower(name); lower == "nopl" || lower == "nopw" {
			for s := p.peek().text; s != "|" && s != ";" && s != end; s = p.peek().text {
				p.next()
			}
			return Instr{Op: opNop}
		} else if why, is := refusals[lower]; is {
			p.failAt(at.from, "%s: %s", name, why)
		}
		p.failAt(at.from, "the instruction %q isn't known; kpsim litmus --help lists those that are", clip(name))
	}
	in.Op, in.sub, in.Size = o.op, o.sub, size
	switch o.op {
	case opJmp, opJcc:
		in.Label = p.name("a label")
	case opNop, opRet, opFence:
	default:
		p.operands(&in, o.n)
	}
	if in.Lock && (!o.locks || in.Dst.Kind != Memory) {
		p.failAt(at.from, "lock before what doesn't read and write memory; the processor has no such instruction")
	}
	p.shape(&in, at)
	return in
}

// operands reads them, and puts the one that is written into Dst.
func (p *parser) operands(in *Instr, n int) {
	in.Dst = p.operand()
	if n == 1 {
		return
	}
	p.expect(",")
	at := p.peek()
	in.Src = p.operand()
	if p.t.Dialect == ATT {
		in.Dst, in.Src = in.Src, in.Dst
	}
	switch in.Op {
	case opXchg, opTest:
		if in.Src.Kind == Memory {
			in.Dst, in.Src = in.Src, in.Dst
		}
	case opCmpxchg, opCmov: // herd7 reads them in Intel's order in both dialects, assemblers don't
		if in.Dst.Kind == Register && in.Src.Kind == Register {
			p.failAt(at.from, "which of two registers is written is ambiguous here; make one a location")
		}
		if (in.Op == opCmpxchg) == (in.Src.Kind == Memory) {
			in.Dst, in.Src = in.Src, in.Dst
		}
	}
}

// operand reads one.
func (p *parser) operand() (o Operand) {
	at := p.peek()
	o.Location, o.Base, o.Index, o.Scale = -1, -1, -1, 1
	switch s := at.text; {
	case s == "$":
		o.Kind, o.Imm = Immediate, int64(p.value())
	case s == "%" && p.ahead(2) == ":": // a segment, which is flat
		p.next()
		if seg := strings.ToLower(p.next().text); seg != "cs" && seg != "ds" && seg != "es" && seg != "ss" {
			p.failAt(at.from, "the segment %q isn't a test's; leave it out", clip(seg))
		}
		p.next()
		return p.operand()
	case s == "%" || isName(s):
		p.accept("%")
		r, ok := registerNamed(p.name("a register"))
		if !ok {
			p.failAt(at.from, "%q is no register; write a location as [%s] or (%s), an immediate as $1",
				clip(p.toks[p.at-1].text), clip(p.toks[p.at-1].text), clip(p.toks[p.at-1].text))
		}
		if r.Num == stackPointer {
			p.failAt(at.from, "the stack pointer isn't the test's; take another register")
		}
		o.Kind, o.Reg = Register, r
	case s == "(" || s == "[":
		p.address(&o)
	case isNumber(s) || s == "-":
		v := int64(p.value())
		if s := p.peek().text; s != "(" && s != "[" {
			o.Kind, o.Imm = Immediate, v
			return o
		}
		if v != int64(int32(v)) {
			p.failAt(at.from, "a displacement has 32 bits at most; take a smaller one")
		}
		p.address(&o)
		o.Disp += v
	default:
		p.fail("%s where an operand is expected; write one", p.shown())
	}
	return o
}

// address reads (x), [x], (%rax), [x+4], (%rax,%rbx,8) and the like.
func (p *parser) address(o *Operand) {
	o.Kind = Memory
	closing := ")"
	if p.next().text == "[" {
		closing = "]"
	}
	base := -1
	take := func() (r Reg, ok bool) {
		at := p.peek()
		p.accept("%")
		name := p.name("a register or a location")
		if r, ok = registerNamed(name); !ok {
			if o.Location >= 0 || base >= 0 {
				p.failAt(at.from, "%q: an address has one location, or registers", clip(name))
			}
			o.Location = p.location(name)
			return r, false
		}
		if r.Size < 4 || r.Num == stackPointer {
			p.failAt(at.from, "%s is no register for addresses; take a 64-bit one", name)
		}
		if base >= 0 && o.short != (r.Size == 4) {
			// herd7's own test has a long base and a short index in a nop only
			p.failAt(at.from, "registers of 32 and 64 bits in one address; take the same size")
		}
		o.short = r.Size == 4
		return r, true
	}
	if r, ok := take(); ok {
		base = r.Num
		o.Base = base
	}
	if p.accept(",") {
		if r, ok := take(); ok {
			o.Index = r.Num
		}
		if p.accept(",") {
			at := p.peek()
			if o.Scale = int(p.number(1, 8)); o.Scale&(o.Scale-1) != 0 {
				p.failAt(at.from, "this is no scale; give 1, 2, 4 or 8")
			}
		}
	} else if s := p.peek().text; s == "+" || s == "-" {
		p.accept("+")
		o.Disp = p.number(-1<<31, 1<<31-1)
	}
	p.expect(closing)
}

// shape checks what the operands are, and settles their size.
func (p *parser) shape(in *Instr, at *token) {
	for _, o := range [...]*Operand{&in.Dst, &in.Src} {
		if o.Kind != Register || in.Op == opShift && o == &in.Src {
			continue
		}
		if in.Size == 0 {
			in.Size = o.Reg.Size
		}
		if in.Size != o.Reg.Size {
			p.failAt(at.from, "%s has operands of %d and %d bits; make them alike", at.text, 8*in.Size, 8*o.Reg.Size)
		}
	}
	if in.Size == 0 {
		in.Size = 4
		if in.Op == opSet {
			in.Size = 1
		}
	}
	bad := func(why string) { p.failAt(at.from, "%s %s", at.text, why) }
	switch in.Op {
	case opNop, opRet, opFence, opJmp, opJcc:
		return
	case opSet:
		if in.Size != 1 {
			bad("writes one byte; take a byte register or a location")
		}
	case opShift:
		if in.Src.Kind != Immediate || in.Src.Imm < 0 || in.Src.Imm > 63 {
			bad("shifts by an immediate from 0 to 63 here")
		}
	case opXchg, opXadd, opCmpxchg:
		if in.Src.Kind != Register {
			bad("needs a register")
		}
	case opCmov:
		if in.Size == 1 || in.Dst.Kind != Register {
			bad("writes a register of at least 16 bits")
		}
	}
	if in.Dst.Kind == Immediate && in.Op != opTest {
		bad("can't write to an immediate; " + p.order())
	}
	if in.Dst.Kind == Memory && in.Src.Kind == Memory {
		bad("has two operands in memory; the processor has no such instruction")
	}
	if in.Src.Kind == Immediate && in.Op != opShift {
		v, bits := in.Src.Imm, 8*in.Size
		toRegister := in.Op == opMov && in.Dst.Kind == Register
		if bits == 64 && !toRegister && v != int64(int32(v)) {
			bad("takes an immediate of 32 bits at most; move it to a register first")
		}
		if bits < 64 && (v < -1<<(bits-1) || v >= 1<<bits) {
			bad("has an immediate that doesn't fit; make it smaller")
		}
	}
}

// order says which operand comes first.
func (p *parser) order() string {
	if p.t.Dialect == ATT {
		return "X86_64 has the source first"
	}
	return "X86 has the destination first"
}
