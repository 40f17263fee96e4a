package smp

import (
	"encoding/binary"
	"math/bits"

	"kpsim/smp/isa"
)

const (
	pageShift = 12
	pageSize  = 1 << pageShift
	blockSize = 64 // what is copied back at reset, one bit each in page.dirty
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
	data  [pageSize]byte
	boot  [pageSize]byte // what reset goes back to
	dirty uint64         // bit i: block i may differ from boot
	perm  Perm

	// Of text only:
	code    []*isa.Inst        // the instruction decoded at each offset, if none of its bytes is watched
	watched [pageSize / 8]bool // chunks that were or may be stored to
	gate    bool               // Go routines live here, one in each 16 bytes
}

// memory is the address space, shared by all CPUs.
type memory struct {
	pages map[uint64]*page
	tlb   [64]struct {
		pn uint64
		p  *page
	}
	dirty []*page // pages with a block to copy back

	fault isa.Addr // where the last access that failed did so
}

func (m *memory) init() { m.pages = make(map[uint64]*page) }

// mapPage returns the page that a lies in, mapped with perm if it wasn't.
func (m *memory) mapPage(a isa.Addr, perm Perm) *page {
	pn := uint64(a) >> pageShift
	p := m.pages[pn]
	if p == nil {
		p = &page{perm: perm}
		if perm&PermExec != 0 {
			p.code = make([]*isa.Inst, pageSize)
		}
		m.pages[pn] = p
	}
	return p
}

// page returns the page that a lies in, nil if none is mapped.
func (m *memory) page(a isa.Addr) *page {
	pn := uint64(a) >> pageShift
	e := &m.tlb[pn*0x9e3779b97f4a7c15>>58]
	if e.pn == pn && e.p != nil {
		return e.p
	}
	p := m.pages[pn]
	if p != nil {
		e.pn, e.p = pn, p
	}
	return p
}

// Load implements isa.Memory.
func (m *memory) Load(a isa.Addr, size int) (uint64, bool) {
	off := uint64(a) % pageSize
	p := m.page(a)
	if p == nil || p.perm&PermRead == 0 {
		m.fault = a
		return 0, false
	}
	if off+8 <= pageSize {
		v := binary.LittleEndian.Uint64(p.data[off:])
		return v & (^uint64(0) >> (64 - 8*uint(size))), true
	}
	return m.loadBytes(a, size)
}

// loadBytes is Load near a page's end.
func (m *memory) loadBytes(a isa.Addr, size int) (v uint64, ok bool) {
	if last := a + isa.Addr(size-1); uint64(last)>>pageShift != uint64(a)>>pageShift {
		if q := m.page(last); q == nil || q.perm&PermRead == 0 {
			m.fault = last &^ (pageSize - 1)
			return 0, false
		}
	}
	for i := size - 1; i >= 0; i-- {
		v = v<<8 | uint64(m.page(a + isa.Addr(i)).data[uint64(a+isa.Addr(i))%pageSize])
	}
	return v, true
}

// Store implements isa.Memory.
func (m *memory) Store(a isa.Addr, size int, v uint64) bool {
	off := uint64(a) % pageSize
	p := m.page(a)
	if p == nil || p.perm&PermWrite == 0 {
		m.fault = a
		return false
	}
	if off+uint64(size) > pageSize {
		return m.storeBytes(a, size, v)
	}
	m.touch(p, off, size)
	switch size {
	case 8:
		binary.LittleEndian.PutUint64(p.data[off:], v)
	case 4:
		binary.LittleEndian.PutUint32(p.data[off:], uint32(v))
	case 2:
		binary.LittleEndian.PutUint16(p.data[off:], uint16(v))
	default:
		p.data[off] = byte(v)
	}
	return true
}

// storeBytes is Store across a page's end: both pages are looked at first, so
// that a fault leaves nothing half done.
func (m *memory) storeBytes(a isa.Addr, size int, v uint64) bool {
	if q := m.page(a + isa.Addr(size-1)); q == nil || q.perm&PermWrite == 0 {
		m.fault = (a + isa.Addr(size-1)) &^ (pageSize - 1)
		return false
	}
	for i := 0; i < size; i++ {
		p, off := m.page(a+isa.Addr(i)), uint64(a+isa.Addr(i))%pageSize
		m.touch(p, off, 1)
		p.data[off] = byte(v >> (8 * i))
	}
	return true
}

// touch marks the blocks of [off, off+n) of p as differing from boot.
func (m *memory) touch(p *page, off uint64, n int) {
	first, last := off/blockSize, (off+uint64(n)-1)/blockSize
	set := uint64(1)<<first | uint64(1)<<last
	if p.dirty&set != set {
		if p.dirty == 0 {
			m.dirty = append(m.dirty, p)
		}
		p.dirty |= set
	}
}

// write puts b at a whatever the permissions; the pages are mapped. n <= 64.
func (m *memory) write(a isa.Addr, b []byte) {
	for i := range b {
		p, off := m.page(a+isa.Addr(i)), uint64(a+isa.Addr(i))%pageSize
		m.touch(p, off, 1)
		p.data[off] = b[i]
	}
}

// peek copies what is at a into b and returns how many bytes are mapped with perm.
func (m *memory) peek(a isa.Addr, b []byte, perm Perm) int {
	n := 0
	for n < len(b) {
		p, off := m.page(a+isa.Addr(n)), uint64(a+isa.Addr(n))%pageSize
		if p == nil || p.perm&perm != perm {
			break
		}
		n += copy(b[n:], p.data[off:])
	}
	return n
}

// freeze makes what is in memory now the state that reset goes back to.
func (m *memory) freeze() {
	for _, p := range m.dirty {
		p.boot, p.dirty = p.data, 0
	}
	m.dirty = m.dirty[:0]
}

// reset copies back the blocks that differ.
func (m *memory) reset() {
	for _, p := range m.dirty {
		for set := p.dirty; set != 0; set &= set - 1 {
			at := bits.TrailingZeros64(set) * blockSize
			copy(p.data[at:at+blockSize], p.boot[at:at+blockSize])
		}
		p.dirty = 0
	}
	m.dirty = m.dirty[:0]
}
