package smp

import (
	"encoding/binary"

	"kpsim/smp/arch"
)

// The preemption count of a CPU, as text finds it in memory, has two parts: text's own
// count, and the kernel's count for the routines and traps under way
// (include/linux/preempt.h). Only text's part is stored. A load adds the kernel's part and a
// store subtracts it, so routines and traps store nothing to memory.

// countSize is the size of a count in bytes.
const countSize = 4

// A count says where a CPU's preemption count is.
type count struct {
	at   arch.Addr // where text reads it, at the beginning of a page; 0: the CPU has none
	word arch.Addr // where text's part is stored: at at, or at KeepCount's address
}

// SetCount makes the first four bytes of the mapped page at an address the count of a CPU.
// It is called before Freeze.
func (ps *Processors) SetCount(cpu int, at arch.Addr) {
	ps.m.mem.page(at).counts = uint8(cpu) + 1
	ps.m.mem.tlb[slot(uint64(at)>>pageShift)].p = nil
	ps.counts[cpu] = count{at: at, word: at}
}

// KeepCount stores text's part of a CPU's count at word, an address of a kernel's own
// engine, whose text counts there.
func (ps *Processors) KeepCount(cpu int, word arch.Addr) { ps.counts[cpu].word = word }

// KernelCount returns what routines and traps count on a context's CPU.
func (ps *Processors) KernelCount(x *Ctx) uint32 { return ps.kernelCount(x.cpu) }

func (ps *Processors) kernelCount(c *CPU) uint32 {
	m := ps.m
	n := uint32(c.task.preempt)
	if m.hooks.Counts != nil {
		for i := range c.task.frames {
			if f := &c.task.frames[i]; f.trap && !f.called() {
				n += m.hooks.Counts(f.vector)
			}
		}
	}
	if m.hooks.Stepping != nil {
		n += m.hooks.Stepping(int(c.id))
	}
	return n
}

// counted returns the page whose count an access overlaps, or nil. near never finds such a
// page, so accesses to other pages cost nothing extra.
func (m *Memory) counted(a arch.Addr, size int) *page {
	if m.near(a) != nil {
		return nil
	}
	if p := m.page(a); p != nil && p.counts != 0 && a < p.at+countSize && p.at < a+arch.Addr(size) {
		return p
	}
	return nil
}

// countOf returns the bytes of a page's count as text sees them, and the kernel's part that
// they include. under is memory as the CPU accesses it.
func (m *Memory) countOf(p *page, under arch.Memory) (b [countSize]byte, added uint32) {
	cpu := p.counts - 1
	added = m.m.cpus.kernelCount(&m.m.cpus.list[cpu])
	text := uint64(binary.LittleEndian.Uint32(p.data[:]))
	if word := m.m.cpus.counts[cpu].word; word != p.at {
		text, _ = under.Load(word, countSize)
	}
	binary.LittleEndian.PutUint32(b[:], uint32(text)+added)
	return b, added
}

// loadCount is Load for an access that overlaps a page's count.
func (m *Memory) loadCount(p *page, under arch.Memory, a arch.Addr, size int) (uint64, bool) {
	var b [8]byte
	if n := m.peek(a, b[:size], PermRead); n < size {
		m.fault = a + arch.Addr(n)
		return 0, false
	}
	now, _ := m.countOf(p, under)
	copy(b[:size], now[a-p.at:])
	return binary.LittleEndian.Uint64(b[:]), true
}

// storeCount is Store for an access that overlaps a page's count.
func (m *Memory) storeCount(p *page, under arch.Memory, a arch.Addr, size int, v uint64) bool {
	if fault, ok := m.permits(a, size, PermWrite); !ok {
		m.fault = fault
		return false
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	now, added := m.countOf(p, under)
	n := copy(now[a-p.at:], b[:size])
	text := binary.LittleEndian.Uint32(now[:]) - added
	if word := m.m.cpus.counts[p.counts-1].word; word != p.at {
		under.Store(word, countSize, uint64(text))
	} else {
		binary.LittleEndian.PutUint32(now[:], text)
		m.write(p.at, now[:])
	}
	m.write(a+arch.Addr(n), b[n:size])
	return true
}

// keptApart returns the page whose count an access overlaps, if the count is stored elsewhere.
func (m *Memory) keptApart(a arch.Addr, size int) *page {
	if p := m.counted(a, size); p != nil && m.m.cpus.counts[p.counts-1].word != p.at {
		return p
	}
	return nil
}

// ownCount reports whether a store overlaps the storing CPU's own count. No other CPU looks
// at that count, so the store isn't held.
func (m *Memory) ownCount(a arch.Addr, size int) bool {
	p := m.counted(a, size)
	return p != nil && p.counts == m.cpu+1
}

// countAccess records an access that may overlap a count, and returns the address that
// stands for the count in conflicts. A read in an interrupt, or of another CPU's count,
// depends on when the kernel's part changes. After the first such read, steps that change
// the kernel's part touch the count.
func (f *Footprint) countAccess(c *CPU, a arch.Addr, size int) arch.Addr {
	p := f.m.mem.counted(a, size)
	if p == nil {
		return a
	}
	level, _ := c.task.level(0)
	if c.guest && !f.readsCount && (level > 0 || p.counts != c.id+1) {
		f.readsCount, f.grew, f.words.learnt = true, true, true
	}
	if f.readsCount {
		f.add(object(objWord, bytesNumber(p.at)), false)
	}
	return f.m.cpus.counts[p.counts-1].word
}

// countChanges notes that the current step changes the kernel's part of a CPU's count.
func (f *Footprint) countChanges(c *CPU) {
	if f != nil && f.readsCount {
		f.add(object(objWord, bytesNumber(f.m.cpus.counts[c.id].at)), true)
	}
}
