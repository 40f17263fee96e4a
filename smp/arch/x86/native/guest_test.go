package native

import (
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// The guest's memory: code in the middle of the text, one page of data, one of
// stack, and one that an address of 16 bits reaches. What lies around them isn't
// mapped. All of it is above what Linux may take for the heap of a program at a
// low address (a gigabyte, arch/x86/kernel/process.c, arch_randomize_brk).
const (
	pageSize = 0x1000

	lowAt    arch.Addr = 0xc000
	textAt   arch.Addr = 0x5000_0000
	textSize           = 3 * pageSize
	dataAt   arch.Addr = 0x5200_0000
	stackAt  arch.Addr = 0x5210_0000

	codeAt                  = textAt + 0x1000
	farPads                 = textAt + 0x2800
	padSize                 = 32
	farPadCount             = 16
	filler             byte = 0xcc // an int3 wherever nothing is
	fsBase, gsBase          = 0x1_0000, 0x2_0000
	fsBase32, gsBase32      = 0x4000, 0x8000 // lowAt is reached from both with 16 bits
)

// basesOf returns the bases of fs and gs.
func basesOf(mode x86.Mode) (fs, gs uint64) {
	if mode == x86.Mode32 {
		return fsBase32, gsBase32
	}
	return fsBase, gsBase
}

// A guest is the memory that Exec sees. It remembers what was stored, so that
// it can be undone, and where it faulted.
type guest struct {
	text             *[textSize]byte   // the very bytes that the rival runs
	memory, pristine [3][pageSize]byte // the pages as they are, and as they were
	dirty            []span            // of the text: what isn't filler
	stores           []span
	fault            arch.Addr // the first byte of an access that isn't mapped
	astray           bool      // it asked for the text
	sys              x86.System
}

// A span is some bytes at an address.
type span struct {
	at arch.Addr
	n  int
}

func newGuest(text *[textSize]byte) *guest {
	g := &guest{text: text, sys: x86.NewSystem(0, 0x33, 0x2b)}
	for i := range text {
		text[i] = filler
	}
	r := random(1)
	for p := range g.pristine {
		for i := range g.pristine[p] {
			g.pristine[p][i] = byte(r.next())
		}
	}
	g.memory = g.pristine
	return g
}

// pageAt is where the pages lie.
var pageAt = [3]arch.Addr{dataAt, stackAt, lowAt}

// page returns the number of the page that an access lies in, and its offset;
// -1 if it faults.
func (g *guest) page(a arch.Addr, size int) (n int, off arch.Addr) {
	switch a &^ (pageSize - 1) {
	case dataAt:
		n = 0
	case stackAt:
		n = 1
	case lowAt:
		n = 2
	default:
		g.fault = a
		return -1, 0
	}
	if off = a & (pageSize - 1); int(off)+size > pageSize {
		g.fault = a - off + pageSize
		return -1, 0
	}
	return n, off
}

// Load implements x86.Memory.
func (g *guest) Load(a arch.Addr, size int) (uint64, bool) {
	n, off := g.page(a, size)
	if n < 0 {
		g.astray = g.astray || a-textAt+8 < textSize+8
		return 0, false
	}
	return little(g.memory[n][off:], size), true
}

// Store implements x86.Memory.
func (g *guest) Store(a arch.Addr, size int, v uint64) bool {
	n, off := g.page(a, size)
	if n < 0 {
		g.astray = g.astray || a-textAt+8 < textSize+8
		return false
	}
	g.stores = append(g.stores, span{a, size})
	putLittle(g.memory[n][off:], size, v)
	return true
}

// System implements x86.Memory.
func (g *guest) System() arch.System { return &g.sys }

// write puts bytes into the text.
func (g *guest) write(a arch.Addr, b []byte) {
	copy(g.text[a-textAt:], b)
	g.dirty = append(g.dirty, span{a, len(b)})
}

// free reports whether a pad at a covers nothing that was written.
func (g *guest) free(a arch.Addr) bool {
	for _, s := range g.dirty {
		if a < s.at+arch.Addr(s.n) && s.at < a+padSize {
			return false
		}
	}
	return true
}

// clearText takes out what was written; all of it, or all but what stays.
func (g *guest) clearText(all bool) {
	if all {
		g.dirty = append(g.dirty[:0], span{textAt, textSize})
	}
	for _, s := range g.dirty {
		for i := range s.n {
			g.text[int(s.at-textAt)+i] = filler
		}
	}
	g.dirty = g.dirty[:0]
}

func little(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func putLittle(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// random is splitmix64: the same numbers on every computer (Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators").
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1.
func (r *random) below(n int) int { return int(r.next() >> 33 % uint64(n)) }

// one reports true once in n times.
func (r *random) one(n int) bool { return r.below(n) == 0 }
