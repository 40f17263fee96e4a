package properties

import (
	"math/bits"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/traces"
)

// A processor answers what monitors ask about the bytes of instructions. A word is up to eight bytes
// of text as events have them, the lowest address in the lowest bits.
type processor struct {
	*arch.Arch
	// what the row says, at hand: monitors ask it of most events
	jump, call, brk arch.Pattern
	brkLen          uint64
	others          bool   // there are other breakpoints than brk
	fill, least     uint64 // what memory for code is full of; how long the breakpoint is that patchers write

	longest uint64 // of the breakpoints that probes are; 1 on x86

	stubs  bool   // a call of ftrace may stand out of line, and its site is a branch there
	second uint64 // where the second instruction of a branch begins; 0: a branch is one instruction
	nop    uint64 // the nop in a branch's place
	tells  uint64 // how many bytes tell whether they begin with a breakpoint or a jump

	reached map[[2]uint64]reach // by address and word; decoding allocates
}

// A reach is where a branch leads. ok false: it can't be decoded.
type reach struct {
	to uint64
	ok bool
}

// processorOf returns the processor of a row.
func processorOf(a *arch.Arch) (p processor) {
	if a == nil {
		sim.Bug("properties: which processor?")
	}
	p.Arch, p.nop, p.reached = a, arch.Word(a.BranchNop.Bytes()), make(map[[2]uint64]reach)
	p.jump, p.call, p.fill, p.least = a.IsJump, a.IsCall, a.Fill, uint64(len(a.Breakpoint))
	p.brk, p.brkLen, p.others = a.Breaks[0], uint64(a.Breaks[0].Len()), len(a.Breaks) > 1
	p.longest = p.least
	for _, q := range a.Breaks {
		if a.Align > 1 {
			p.longest = max(p.longest, uint64(q.Len()))
		}
	}
	for i := range a.Sites {
		p.stubs = p.stubs || a.Sites[i].Stub != nil
	}
	const at = 0x1000
	c, ok := a.Call(at, at)
	if in, err := a.Decode(c.Bytes(), at); !ok || err != nil {
		sim.Bug("properties: %s: no call", a.Name)
	} else if n := in.Size(); n < a.BranchLen {
		p.second = uint64(n)
	}
	for _, q := range append([]arch.Pattern{a.IsJump}, a.Breaks...) {
		p.tells = max(p.tells, uint64(q.Len()))
	}
	return p
}

// unit is how many bytes of an instruction are compared where one byte can't tell two of them
// apart.
func (p *processor) unit() uint64 { return uint64(p.Align) }

// first returns the first bytes of an instruction that tell it from another one.
func (p *processor) first(w uint64) uint64 { return w & mask(p.unit()) }

// standing prints these bytes: "e9".
func (p *processor) standing(w uint64) string { return hex(p.first(w), p.unit()<<56) }

// breaks reports whether a word begins with a breakpoint, jumps with a jump that a patcher writes, calls with
// a call.
func (p *processor) breaks(w uint64) bool { return p.brk.Match(w) || p.others && p.IsBreakpoint(w) }
func (p *processor) jumps(w uint64) bool  { return p.jump.Match(w) } // see breaks
func (p *processor) calls(w uint64) bool  { return p.call.Match(w) } // see breaks

// branches reports whether a word begins with such a jump or call.
func (p *processor) branches(w uint64) bool { return p.jumps(w) || p.calls(w) }

// breakLen returns the length of the breakpoint that a word begins with, 0 if it begins with none.
func (p *processor) breakLen(w uint64) uint64 { return uint64(p.BreakLen(w)) }

// isBreakpoint reports whether n > 0 bytes are a breakpoint and nothing else.
func (p *processor) isBreakpoint(w, n uint64) bool {
	return n == p.brkLen && p.brk.Match(w) || p.others && p.breakLen(w) == n
}

// jumpLen is the length of a jump and of a call.
func (p *processor) jumpLen() uint64 { return uint64(p.BranchLen) }

// below reports whether sp is the stack pointer of a function that one with stack pointer from calls, which has pushed
// nothing else.
func (p *processor) below(from, sp uint64) bool {
	return p.Pushed == 0 && from == sp || p.Pushed > 0 && (from-sp == 4 || from-sp == 8)
}

// brokeAt returns the address of a breakpoint whose trap has saved ip.
func (p *processor) brokeAt(ip uint64) uint64 { return ip - uint64(p.Past) }

// branched reports whether an Exec completes a jump or a call that a patcher writes, and where that
// begins.
func (p *processor) branched(e *traces.Event) (at uint64, ok bool) {
	w, known := e.B<<(8*p.second), ^uint64(0)<<(8*p.second)
	ok = (w^p.jump.Is)&p.jump.Mask&known == 0 || (w^p.call.Is)&p.call.Mask&known == 0
	return e.A - p.second, ok
}

// calling reports whether an Exec begins a call that a patcher writes, or the nop in its place. A site whose call
// stands out of line has a branch in the place of the call.
func (p *processor) calling(e *traces.Event) bool {
	n := e.C >> 56
	if (e.B^p.call.Is)&p.call.Mask&mask(n) == 0 || p.stubs && (e.B^p.jump.Is)&p.jump.Mask&mask(n) == 0 {
		return true
	}
	return e.B == p.nop&mask(n)
}

// isSecond reports whether an Exec is of the second instruction of an image of two, as long as a branch.
func (p *processor) isSecond(x *insn, e *traces.Event) bool {
	return p.second != 0 && e.A-x.addr == p.second && x.len() == p.jumpLen() &&
		e.C>>56 == x.len()-p.second && e.B == x.lo>>(8*p.second)
}

// isReturnTail reports whether a word begins with a return, and goes on with a breakpoint: a static
// call that calls nothing, and returns.
func (p *processor) isReturnTail(w uint64) bool {
	n := uint64(len(p.Ret))
	return w&mask(n) == arch.Word(p.Ret) && p.breaks(w>>(8*n))
}

// filled reports whether n bytes at an address are what code that is written at run time lies in, and more
// than one breakpoint.
func (p *processor) filled(addr, w, n uint64) bool {
	return n > p.least && w == bits.RotateLeft64(p.fill, -8*int(addr%8))&mask(n)
}

// jumpTo returns the jump from one address to another, as a word.
func (p *processor) jumpTo(addr, to uint64) uint64 {
	c, _ := p.Jump(arch.Addr(addr), arch.Addr(to))
	return arch.Word(c.Bytes())
}

// target returns where the jump or call leads that a word begins with, at an address. ok false: it doesn't
// begin with one.
func (p *processor) target(addr, w uint64) (to uint64, ok bool) {
	if !p.branches(w) {
		return 0, false
	}
	w &= mask(p.jumpLen())
	r, known := p.reached[[2]uint64{addr, w}]
	if !known {
		r.to, r.ok = p.reaches(addr, w)
		p.reached[[2]uint64{addr, w}] = r
	}
	return r.to, r.ok
}

// reaches is target of a branch.
func (p *processor) reaches(addr, w uint64) (to uint64, ok bool) {
	b, _ := traces.UnpackBytes(w, p.jumpLen()<<56)
	regs := arch.Regs{IP: arch.Addr(addr)}
	for k := 0; k < p.BranchLen; {
		in, err := p.Decode(b[k:p.BranchLen], regs.IP)
		if err != nil {
			return 0, false
		}
		if to, ok := in.Target(); ok {
			return uint64(to), true
		}
		if in.Exec(&regs, unmapped{}) != arch.Next {
			return 0, false
		}
		k += in.Size()
	}
	return uint64(regs.IP), true
}

// unmapped is the memory of a branch that is more than one instruction: these compute its target in a
// register, and access none.
type unmapped struct{}

func (unmapped) Load(arch.Addr, int) (v uint64, ok bool) { return 0, false } // implements arch.Memory
func (unmapped) Store(arch.Addr, int, uint64) (ok bool)  { return false }
