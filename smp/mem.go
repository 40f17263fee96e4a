package smp

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
)

// PageSize is how many bytes a page has.
const PageSize = 1 << pageShift

const (
	pageShift = 12
	pageSize  = PageSize
	blockSize = 64 // the unit copied back at reset: one bit of page.dirty
)

// Perm is what may be done with a page.
type Perm uint8

// The permissions. A page of text may be read and executed; it is stored to
// only through the text-patching routines, which have their own mapping.
const (
	PermRead Perm = 1 << iota
	PermWrite
	PermExec
)

// A page is 4 KiB of memory and, if it is text, what has been decoded from it.
type page struct {
	data   [pageSize]byte
	boot   *[pageSize]byte // the contents that reset restores; identical pages share it, so it is never written
	dirty  uint64          // bit i: block i may differ from boot
	perm   Perm
	at     arch.Addr
	later  bool  // the page comes and goes; see pages.go
	absent bool  // the page is unmapped when a run begins
	moved  bool  // the page is in memory.moved
	grown  bool  // mapped by Pages.MapExec, in this run or an earlier one
	counts uint8 // the page begins with the preemption count of CPU counts-1; 0: with none

	// Fields of text only:
	code    *decodedPage        // the instruction decoded at each offset, if none of its bytes is watched
	lately  *[pageSize]*decoded // what was fetched last at each offset, if decoded; nil: nothing was
	watched [pageSize / 8]bool  // chunks that were or may be stored to
	gate    bool                // Go routines live here, one in each 16 bytes
	// addresses whose instruction is never in code, and whose executions are events (Memory.Landmark)
	landmarks []arch.Addr
}

// zeros is a page as it is mapped.
var zeros [pageSize]byte

// A decodedPage holds the instruction that begins at each offset of a page.
type decodedPage [pageSize]*inst

// Memory is the address space, shared by all CPUs: pages of data and text. Before
// Freeze pages are mapped; in a run some come and go.
type Memory struct {
	pages map[uint64]*page
	lazy  []region // by address; see regions.go
	tlb   [64]struct {
		pn uint64
		p  *page
	}
	dirty []*page // pages with a block to copy back
	moved []*page // pages that came or went in this run

	watched     []arch.Addr  // chunks of text that are marked, in the order of Watch
	bootWatched int          // how many of watched were marked at boot
	decoded     []*page      // pages that have a decodedPage of their own
	fetched     []*page      // pages with an allocated lately
	noCode      *decodedPage // the empty decodedPage, shared by pages that are watched throughout
	frozen      bool         // Freeze was called

	fault arch.Addr // the faulting address of the last failed access

	m   *Machine
	cpu uint8 // the number of the CPU that executes

	data   arch.Memory   // memory as CPUs access it: itself, or this run's wrapper
	own    arch.Memory   // memory as instructions access it: the same, or another wrapper
	guard  guardedMemory // the wrapper with guards
	guards bool          // see GuardStacks

	aliases []alias // where text is mapped to be written; see alias.go
}

// Memory returns the machine's memory.
func (m *Machine) Memory() *Memory { return &m.mem }

func (m *Memory) init(of *Machine) {
	m.m, m.pages, m.noCode = of, make(map[uint64]*page), new(decodedPage)
	m.data, m.own, m.guard.Memory = m, m, m
}

// Map puts b at a in pages of the permission, before Freeze.
func (m *Memory) Map(a arch.Addr, b []byte, perm Perm) {
	for at := a &^ (pageSize - 1); at < a+arch.Addr(len(b)); at += pageSize {
		m.mapCode(at, perm)
	}
	m.write(a, b)
}

// mapPage returns the page that a lies in, mapped with perm.
func (m *Memory) mapPage(a arch.Addr, perm Perm) *page {
	pn := uint64(a) >> pageShift
	p := m.pages[pn]
	if perm&(PermWrite|PermExec) == PermWrite|PermExec {
		sim.Bug("the page of %#x is to be both written and executed: guest stores wouldn't reach what is "+
			"decoded from it", uint64(a))
	}
	if p == nil {
		p = &page{at: a &^ (pageSize - 1), perm: perm, boot: &zeros}
		m.pages[pn] = p
	}
	if p.perm != perm {
		sim.Bug("the page of %#x is mapped already, with other permissions", uint64(a))
	}
	return p
}

// mapCode is mapPage of one that has decoded instructions, if it is text.
func (m *Memory) mapCode(a arch.Addr, perm Perm) *page {
	p := m.mapPage(a, perm)
	if perm&PermExec != 0 && p.code == nil {
		p.code = decodedPages.Get().(*decodedPage)
		m.decoded = append(m.decoded, p)
	}
	return p
}

// The pools hold the arrays of closed machines, cleared. They are over a quarter of the bytes that a program of fuzz
// allocates, and nearly all of its pointers.
var (
	decodedPages = sync.Pool{New: func() any { return new(decodedPage) }}
	latelyPages  = sync.Pool{New: func() any { return new([pageSize]*decoded) }}
)

// release hands the arrays of decoded instructions on. What is in memory stays.
func (m *Memory) release() {
	for _, p := range m.decoded {
		if p.code != m.noCode {
			clear(p.code[:])
			decodedPages.Put(p.code)
			p.code = m.noCode
		}
	}
	for _, p := range m.fetched {
		clear(p.lately[:])
		latelyPages.Put(p.lately)
		p.lately = nil
	}
	m.decoded, m.fetched = nil, nil
}

// page returns the page that a lies in, nil if none is mapped.
func (m *Memory) page(a arch.Addr) *page {
	if p := m.near(a); p != nil {
		return p
	}
	pn := uint64(a) >> pageShift
	p := m.pages[pn]
	if p == nil && m.lazy != nil {
		p = m.firstTouch(a)
	}
	if p != nil && p.counts == 0 {
		e := &m.tlb[slot(pn)]
		e.pn, e.p = pn, p
	}
	return p
}

// near is page for pages looked up recently; for others it returns nil.
func (m *Memory) near(a arch.Addr) *page {
	pn := uint64(a) >> pageShift
	if e := &m.tlb[slot(pn)]; e.pn == pn {
		return e.p
	}
	return nil
}

// slot is the entry of the buffer for a page: Fibonacci hashing.
func slot(pn uint64) uint64 { return pn * 0x9e3779b97f4a7c15 >> 58 }

// Load implements arch.Memory.
func (m *Memory) Load(a arch.Addr, size int) (uint64, bool) {
	off := uint64(a) % pageSize
	if p := m.near(a); p != nil && p.perm&PermRead != 0 && off <= pageSize-8 {
		v := binary.LittleEndian.Uint64(p.data[off : off+8])
		return v & (^uint64(0) >> ((64 - 8*uint(size)) & 63)), true
	}
	return m.loadBytes(a, size)
}

// System implements arch.Systemic.
func (m *Memory) System() system {
	y := m.m.cpus.list[m.cpu].sys
	y.SetClock(uint64(m.m.time.now[m.cpu]) / cycles.Unit)
	return y
}

// loadBytes is Load of any page, or of two.
func (m *Memory) loadBytes(a arch.Addr, size int) (v uint64, ok bool) {
	if p := m.counted(a, size); p != nil {
		return m.loadCount(p, m, a, size)
	}
	if fault, ok := m.permits(a, size, PermRead); !ok {
		if v, ok := m.loadAlias(a, size); ok {
			m.m.text.loadsShared(a, size)
			return v, true
		}
		m.fault = fault
		return 0, false
	}
	var b [8]byte
	m.peek(a, b[:size], PermRead)
	return binary.LittleEndian.Uint64(b[:]), true
}

// Store implements arch.Memory.
func (m *Memory) Store(a arch.Addr, size int, v uint64) bool {
	p, off := m.near(a), uint64(a)%pageSize
	if p == nil || p.perm&PermWrite == 0 || off > pageSize-8 || !p.touched(off, uint64(size)) {
		return m.storeBytes(a, size, v)
	}
	switch b := p.data[off : off+8]; size {
	case 8:
		binary.LittleEndian.PutUint64(b, v)
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	default:
		b[0] = byte(v)
	}
	return true
}

// Image implements arch.Imager.
func (m *Memory) Image(a arch.Addr, n int, store bool) []byte {
	p, off, perm := m.page(a), uint64(a)%pageSize, PermRead
	if store {
		perm = PermWrite
	}
	if p == nil || p.perm&perm == 0 || off+uint64(n) > pageSize {
		return nil
	}
	if store {
		m.touchSpan(p, off, uint64(n))
	}
	return p.data[off:][:n]
}

// storeBytes is Store to any page, or to two. It checks both pages first, so that a fault
// leaves nothing half done.
func (m *Memory) storeBytes(a arch.Addr, size int, v uint64) bool {
	if p := m.counted(a, size); p != nil {
		return m.storeCount(p, m, a, size, v)
	}
	if fault, ok := m.permits(a, size, PermWrite); !ok {
		if m.storeAlias(a, size, v) {
			return true
		}
		m.fault = fault
		return false
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	m.write(a, b[:size])
	return true
}

// permits reports whether all of the size <= 8 bytes at a are mapped with perm,
// and where an access to them faults if not.
func (m *Memory) permits(a arch.Addr, size int, perm Perm) (fault arch.Addr, ok bool) {
	if p := m.page(a); p == nil || p.perm&perm == 0 {
		return a, false
	}
	last := a + arch.Addr(size-1)
	if p := m.page(last); p == nil || p.perm&perm == 0 {
		return last &^ (pageSize - 1), false
	}
	return 0, true
}

// touched reports whether the blocks of [off, off+n) are marked as differing
// from boot; n is not more than a block.
func (p *page) touched(off, n uint64) bool {
	return p.dirty>>(off/blockSize%64)&(p.dirty>>((off+n-1)/blockSize%64))&1 != 0
}

// touchSpan marks the blocks of [off, off+n) of p, n > 0, as differing from boot.
func (m *Memory) touchSpan(p *page, off, n uint64) {
	first, last := off/blockSize, (off+n-1)/blockSize
	set := (^uint64(0) >> (63 - (last-first)%64)) << (first % 64)
	if p.dirty&set != set {
		if p.dirty == 0 {
			m.dirty = append(m.dirty, p)
		}
		p.dirty |= set
	}
}

// touch marks the blocks of [off, off+n) of p as differing from boot.
func (m *Memory) touch(p *page, off uint64, n int) {
	first, last := off/blockSize, (off+uint64(n)-1)/blockSize
	set := uint64(1)<<first | uint64(1)<<last
	if p.dirty&set != set {
		if p.dirty == 0 {
			m.dirty = append(m.dirty, p)
		}
		p.dirty |= set
	}
}

// write puts b at a regardless of permissions. The pages must be mapped.
func (m *Memory) write(a arch.Addr, b []byte) {
	for len(b) > 0 {
		p, off := m.page(a), uint64(a)%pageSize
		n := min(len(b), int(blockSize-off%blockSize))
		m.touch(p, off, n)
		copy(p.data[off:], b[:n])
		a, b = a+arch.Addr(n), b[n:]
	}
}

// peek copies the bytes at a into b and returns how many of them are mapped with perm.
func (m *Memory) peek(a arch.Addr, b []byte, perm Perm) int {
	n := 0
	for n < len(b) {
		p, off := m.page(a+arch.Addr(n)), uint64(a+arch.Addr(n))%pageSize
		if p == nil || p.perm&perm != perm {
			break
		}
		n += copy(b[n:], p.data[off:])
	}
	return n
}

// freeze makes the current contents of memory the state that reset restores.
func (m *Memory) freeze() {
	for _, p := range m.dirty {
		image := p.data
		p.boot, p.dirty = &image, 0
	}
	m.dirty = m.dirty[:0]
}

// reset copies back the blocks that differ.
func (m *Memory) reset() {
	for _, p := range m.dirty {
		p.restore()
		p.dirty = 0
	}
	m.dirty = m.dirty[:0]
	m.fault = 0
}

// restore copies back the blocks of a page that differ from boot.
func (p *page) restore() {
	for set := p.dirty; set != 0; set &= set - 1 {
		at := bits.TrailingZeros64(set) * blockSize
		copy(p.data[at:at+blockSize], p.boot[at:at+blockSize])
	}
}
