package smp

import (
	"encoding/binary"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// An alias is text mapped a second time, to be written: a JIT's or a hook's own code stores there, and so to the text
// that other CPUs run. It is looked up only after an access has found no page, so nothing else pays for it.

// An alias says where text is mapped a second time.
type alias struct {
	at arch.Addr
	of kapi.Section
}

// Alias maps text a second time, at an address where nothing else is. It is called before Freeze. Text loads the
// newest bytes there. It stores there as a patcher does (Patcher.Write): to at most 8 aligned bytes in one step, and
// with a boundary between the two parts of a store to more. A locked instruction stores both in one step, and so does
// a kernel routine.
func (m *Memory) Alias(at arch.Addr, of kapi.Section) {
	if (at-of.At)%chunk != 0 {
		sim.Bug("the alias at %#x of text at %#x isn't aligned as the text is", uint64(at), uint64(of.At))
	}
	m.aliases = append(m.aliases, alias{at, of})
	m.m.text.patches = new(patches)
	m.m.text.patches.ahead.system = m.m.arch.BootSystem(0, 0)
}

// aliasOf returns the alias in which size bytes at a lie, nil if there is none.
func (m *Memory) aliasOf(a arch.Addr, size int) *alias {
	for i := range m.aliases {
		al := &m.aliases[i]
		if off := a - al.at; off < arch.Addr(al.of.Size) && off+arch.Addr(size) <= arch.Addr(al.of.Size) {
			return al
		}
	}
	return nil
}

// text returns the text that an address in the alias stands for.
func (al *alias) text(a arch.Addr) arch.Addr { return al.of.At + (a - al.at) }

// loadAlias is Load of text by its alias. false: there is none, or the text isn't mapped.
func (m *Memory) loadAlias(a arch.Addr, size int) (uint64, bool) {
	al := m.aliasOf(a, size)
	if al == nil {
		return 0, false
	}
	var b [8]byte
	if m.peek(al.text(a), b[:size], PermRead) < size {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// storeAlias is Store to text by its alias. false: there is none.
func (m *Memory) storeAlias(a arch.Addr, size int, v uint64) bool {
	al := m.aliasOf(a, size)
	if al == nil {
		return false
	}
	tx, c, to := &m.m.text, &m.m.cpus.list[m.cpu], al.text(a)
	in := tx.executing(c)
	if c.guest && !tx.foreseen(c) {
		tx.foresee(c, in)
	}
	m.m.emit(c, smpev.Aliased, uint64(a), uint64(c.regs.IP), uint64(size))
	v &= ^uint64(0) >> (64 - 8*size)
	n := min(size, int(chunk-to%chunk))
	tx.storeShared(c, to, v&(^uint64(0)>>(64-8*n)), n)
	if n < size {
		rest := splitStore{to + arch.Addr(n), v >> (8 * n), size - n}
		if !c.guest || in != nil && in.Drains {
			tx.storeShared(c, rest.at, rest.v, rest.n)
		} else {
			tx.patches.rests[c.id] = rest
			m.m.foot.splits()
			c.page, c.code = nil, m.noCode // the next fetch stores it first
		}
	}
	tx.patches.ahead.cpu, tx.patches.ahead.at = c, m.m.time.now[c.id]
	if m.m.log.Found != nil {
		m.m.turns.again()
	}
	return true
}

// A splitStore is the second part of a store across aligned chunks of text. It is the next step of its CPU, or takes
// effect when the CPU takes a trap or an interrupt.
type splitStore struct {
	at arch.Addr
	v  uint64
	n  int // 0: there is none
}

// patches is what is under way of stores by aliases.
type patches struct {
	ahead ahead                   // of who stores
	rests [sim.MaxCPUs]splitStore // by CPU
}

// rest returns the second part of a store that a CPU has still to make, nil if there is none.
func (tx *Text) rest(c *CPU) *splitStore {
	if tx.patches == nil || tx.patches.rests[c.id].n == 0 {
		return nil
	}
	return &tx.patches.rests[c.id]
}

// storeRest makes the second part of a store, and reports whether there is one.
func (tx *Text) storeRest(c *CPU) bool {
	r := tx.patches.rests[c.id]
	if r.n != 0 {
		tx.patches.rests[c.id] = splitStore{}
		tx.m.foot.splits()
		tx.storeShared(c, r.at, r.v, r.n)
	}
	return r.n != 0
}

// splits notes that the step makes a part of a store: an interrupt between the parts makes the second one. So the step
// doesn't commute with a delivery to its CPU.
func (f *Footprint) splits() {
	if f != nil {
		f.asked = true
	}
}

// storeShared stores text for a patcher that is text itself, and tells who follows what several patchers write.
func (tx *Text) storeShared(c *CPU, a arch.Addr, v uint64, n int) {
	m := tx.m
	if h := m.hooks.Stores; h != nil {
		h(a, v, n)
	}
	tx.store(c, a, v, n)
	if f := m.hooks.Shares; f != nil {
		f(c.id, uint8(c.task.ID), a, n, true)
	}
}

// loadsShared is called when memory was loaded by an alias.
func (tx *Text) loadsShared(a arch.Addr, n int) {
	m := tx.m
	if f, c := m.hooks.Shares, &m.cpus.list[m.mem.cpu]; f != nil {
		f(c.id, uint8(c.task.ID), m.mem.aliasOf(a, n).text(a), n, false)
	}
}

// executing returns the instruction that a CPU is executing, nil if it executes a routine.
func (tx *Text) executing(c *CPU) *inst {
	if !c.guest {
		return nil
	}
	if in := c.known(); in != nil {
		return in
	}
	if p, off := tx.m.mem.page(c.regs.IP), c.regs.IP%pageSize; p != nil && p.lately != nil && p.lately[off] != nil {
		return p.lately[off].inst
	}
	return nil
}
