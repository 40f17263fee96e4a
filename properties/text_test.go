package properties

import (
	"testing"

	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// The model agrees with a naive one, a map of bytes, over runs with the same text, with
// more and with less.
func TestText(t *testing.T) {
	type cell struct {
		mem, orig            byte
		linked, known, start bool
	}
	const base, size = 0x1000, 400 // seven blocks
	var r sim.Rand
	r.Seed(1, 0)
	var tx text
	for range 300 {
		tx.reset()
		naive := map[uint64]*cell{}
		at := func(a uint64) *cell {
			if naive[a] == nil {
				naive[a] = new(cell)
			}
			return naive[a]
		}
		var shape sim.Rand // of one of four texts, two of which begin alike
		which := uint64(r.N(4))
		shape.Seed(which/2, 0)
		for a := uint64(base); a < base+size-uint64(100*(which%2)); {
			b := make([]byte, 1+shape.N(15))
			for i := range b {
				b[i] = byte(shape.Uint64())
				*at(a + uint64(i)) = cell{b[i], b[i], true, true, i == 0}
			}
			lo, hi := traces.PackBytes(b)
			tx.load(&traces.Event{Kind: smpev.Load, A: a, B: lo, C: hi})
			a += uint64(len(b) + shape.N(3)*shape.N(20))
		}
		for range 30 {
			a := uint64(base - 64 + r.N(size+128))
			n := uint64(1 + r.N(int(8-a%8)))
			v := r.Uint64()
			if r.N(4) == 0 {
				n = uint64(r.N(100))
				tx.forget(a, n)
				for i := range n {
					c := at(a + i)
					c.known = c.linked
				}
				continue
			}
			tx.store(&traces.Event{Kind: smpev.TextStore, A: a, B: v & mask(n), C: n})
			for i := range n {
				c := at(a + i)
				c.mem, c.known = byte(v>>(8*i)), true
			}
		}
		for a := uint64(base - 80); a < base+size+80; a++ {
			want := *at(a)
			if got := tx.has(a); got != want.linked {
				t.Fatalf("%#x: linked %v, want %v", a, got, want.linked)
			}
			if got := tx.starts(a); got != want.start {
				t.Fatalf("%#x: starts %v, want %v", a, got, want.start)
			}
			if mem, orig := tx.byteAt(a); want.known && mem != want.mem || want.linked && orig != want.orig {
				t.Fatalf("%#x: holds %02x, linked %02x; want %02x, %02x", a, mem, orig, want.mem, want.orig)
			}
			mem, known := tx.word(a)
			for i := range uint64(8) {
				c := *at(a + i)
				if k := byte(known >> (8 * i)); (k != 0) != c.known || k != 0 && k != 0xff {
					t.Fatalf("word %#x: byte %d known %#x, want %v", a, i, k, c.known)
				}
				if c.known && byte(mem>>(8*i)) != c.mem {
					t.Fatalf("word %#x: byte %d is %02x, want %02x", a, i, byte(mem>>(8*i)), c.mem)
				}
			}
			if !want.start {
				continue
			}
			x := tx.insn(tx.find(a), a)
			if x.addr != a {
				t.Fatalf("%#x: the instruction of %#x", a, x.addr)
			}
			whole := true
			for i := range x.len() {
				if x.at(i) != at(a+i).orig {
					t.Fatalf("%#x: byte %d is %02x, want %02x", a, i, x.at(i), at(a+i).orig)
				}
				whole = whole && x.at(i) == at(a+i).mem
			}
			if tx.holds(x) != whole {
				t.Fatalf("%#x: held whole %v, want %v", a, !whole, whole)
			}
		}
	}
}
