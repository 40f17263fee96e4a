package smp

import (
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// A patcher that is text says nothing of what it is about to write, and a monitor must know which instructions are
// right. So before a store to an alias takes effect, the patcher is executed ahead, without effect, as far as its
// stores are one change of the text: until it calls a kernel routine or returns to one, does what serialises, waits
// in a loop or is interrupted by itself, or stores to a byte again. The instructions that the text then has are
// right (smpev.Image): those with a byte that the stores change. A CPU that runs what the text is between two stores of
// a change runs a blend.
//
// What is foreseen depends on the state alone, not on earlier stores, and what it depends on counts as read by the
// step. If another CPU changes that before the patcher comes to it, the next store of the patcher foresees anew. So a
// change that begins in the middle of another is taken for one, too.

// The most that is executed ahead for one store. A change that goes on is taken for one that ends there.
const (
	mostAhead  = 2000 // instructions
	mostStores = 256  // stores
)

// ahead is what a patcher would do next. It implements arch.Memory for its instructions.
type ahead struct {
	m      *Machine
	cpu    *CPU     // who has stored by an alias last, and
	at     sim.Time // its clock then: an instruction that stores twice is foreseen once
	regs   arch.Regs
	system system
	stores buffer // all stores, by the address of the text where they are by an alias
	text   []int  // which of them are by an alias
	begun  int    // how many of these are by instructions that have been executed
	ended  bool   // a store isn't part of the change
}

// foreseen reports whether a CPU has stored by an alias in the same instruction before.
func (tx *Text) foreseen(c *CPU) bool {
	return tx.patches.ahead.cpu == c && tx.patches.ahead.at == tx.m.time.now[c.id]
}

// foresee reports which instructions text will have with a byte that the instruction under way stores.
func (tx *Text) foresee(c *CPU, in *inst) {
	f := &tx.patches.ahead
	f.m, f.cpu, f.regs = tx.m, c, c.regs
	f.system.Copy(c.sys)
	f.stores.q, f.text, f.begun, f.ended = f.stores.q[:0], f.text[:0], 0, false
	first, n := 0, 0
	for ; in != nil && n < mostAhead; n++ {
		out := in.Run(in, &f.regs, f)
		if n == 0 {
			first = len(f.text)
		}
		if f.begun = len(f.text); out != arch.Next || f.ended {
			break
		}
		in = f.fetch(f.regs.IP)
	}
	if n < mostAhead && len(f.stores.q) < mostStores {
		first = len(f.text) // else an instruction may be stored in part
	}
	for i := range f.m.mem.aliases {
		if al := &f.m.mem.aliases[i]; !f.told(i) && f.meets(al, first) {
			f.announce(al, first)
		}
	}
}

// told reports whether an alias before number i is of the same text.
func (f *ahead) told(i int) bool {
	for k := range i {
		if f.m.mem.aliases[k].of == f.m.mem.aliases[i].of {
			return true
		}
	}
	return false
}

// meets reports whether one of the first n stores by an alias is to the text of al.
func (f *ahead) meets(al *alias, n int) bool {
	for _, i := range f.text[:n] {
		if f.stores.q[i].meets(al.of.At, al.of.Size) {
			return true
		}
	}
	return false
}

// fetch returns the instruction at an address, nil where a patcher's change ends: a kernel routine, or patched text.
func (f *ahead) fetch(ip arch.Addr) *inst {
	m := f.m
	p := m.mem.page(ip)
	if p == nil || p.perm&PermExec == 0 || p.gate {
		return nil
	}
	for i := range m.mem.aliases {
		if s := &m.mem.aliases[i].of; ip-s.At < arch.Addr(s.Size) {
			return nil
		}
	}
	if in := p.code[ip%pageSize]; in != nil {
		return in
	}
	lo, hi := m.text.peek(p, ip)
	e := m.text.decode(ip, lo, hi)
	m.foot.touchFetch(ip, int(e.hi>>56))
	return e.inst
}

// textOf returns the text that an address is an alias of, or the address itself.
func (f *ahead) textOf(a arch.Addr, size int) (to arch.Addr, aliased bool) {
	if al := f.m.mem.aliasOf(a, size); al != nil {
		return al.text(a), true
	}
	return a, false
}

// Load implements arch.Memory.
func (f *ahead) Load(a arch.Addr, size int) (uint64, bool) {
	mem := &f.m.mem
	fault, load := mem.fault, mem.Load
	to, aliased := f.textOf(a, size)
	if aliased {
		load = mem.loadAlias
	}
	v, ok := load(a, size)
	if mem.fault = fault; !ok {
		return 0, false
	}
	if foot := f.m.foot; foot != nil {
		foot.looksAhead(f.cpu, to, size, aliased)
	}
	return f.stores.over(v, to, size), true
}

// Store implements arch.Memory.
func (f *ahead) Store(a arch.Addr, size int, v uint64) bool {
	mem := &f.m.mem
	to, aliased := f.textOf(a, size)
	if !aliased {
		if _, ok := mem.permits(a, size, PermWrite); !ok {
			f.ended = true
			return false
		}
	}
	f.ended = f.ended || len(f.stores.q) == mostStores
	for _, i := range f.text[:f.begun] {
		f.ended = f.ended || aliased && f.stores.q[i].meets(to, size)
	}
	if f.ended {
		return false
	}
	if aliased {
		f.text = append(f.text, len(f.stores.q))
	}
	f.stores.q = append(f.stores.q, heldStore{at: to, size: uint8(size), value: v & (^uint64(0) >> (64 - 8*size))})
	return true
}

// System returns the copy of the CPU's system state.
func (f *ahead) System() system { return f.system }

// looksAhead records that the step under way depends on memory that its CPU will read.
func (f *Footprint) looksAhead(c *CPU, a arch.Addr, size int, text bool) {
	if text {
		f.touchFetch(a, size)
		return
	}
	if t := c.task; a < t.stack && a >= t.stack-StackSize {
		return // its own
	}
	f.accessWord(c, a, false)
	if last := a + arch.Addr(size-1); bytesNumber(last) != bytesNumber(a) {
		f.accessWord(c, last, false)
	}
}

// announce reports the instructions that the text of an alias has after a change, those with a byte that its first n
// stores change. In linked text, changed bytes that follow a breakpoint are none, nor is what is left of the
// instruction that it stands on: they aren't run before it is replaced.
func (f *ahead) announce(al *alias, n int) {
	m, of := f.m, al.of
	m.foot.touchFetch(of.At, of.Size)
	text := make([]byte, of.Size)
	if m.mem.peek(of.At, text, PermExec) != of.Size {
		return // the store will fault
	}
	if m.hooks.Linked != nil {
		m.hooks.Linked(of.At, text)
	}
	boot := make([]byte, of.Size)
	m.mem.BootText(of.At, boot)
	const stored, now = 1, 2
	marks := make([]byte, of.Size)
	for k, i := range f.text {
		s := &f.stores.q[i]
		if !s.meets(of.At, of.Size) {
			continue
		}
		for b := range arch.Addr(s.size) {
			at, v := s.at+b-of.At, byte(s.value>>(8*b))
			if marks[at] |= stored; k < n && text[at] != v {
				marks[at] |= now
			}
			text[at] = v
		}
	}
	for at := 0; at < of.Size; {
		ip, size := of.At+arch.Addr(at), m.arch.Align
		lo, hi := pack(text[at:])
		e := m.text.decode(ip, lo, hi)
		if e.inst != nil {
			size = min(int(e.inst.Len), of.Size-at)
			for _, mark := range marks[at : at+size] {
				if mark&now != 0 {
					m.emit(f.cpu, smpev.Image, uint64(ip), e.lo, e.hi)
					break
				}
			}
		}
		if at += size; !m.arch.IsBreakpoint(arch.Word(text[at-size:])) || m.mem.lent(ip) {
			continue
		}
		lo, hi = pack(boot[at-size:])
		if e := m.text.decode(ip, lo, hi); e.inst != nil {
			at += int(e.inst.Len) - size
		}
		for at < of.Size && (marks[at]&stored != 0 || text[at] != boot[at]) {
			at++
		}
	}
}
