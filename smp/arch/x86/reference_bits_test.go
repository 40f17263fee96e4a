package x86_test

import (
	"hash/crc32"
	"testing"

	"kpsim/smp/arch/x86"
)

// turn moves a by n places, one at a time: as the operation of c0 /op. What the
// SDM leaves undefined is cleared.
func turn(op int, a, n, flags uint64, width int) (r, newFlags uint64) {
	carry, overflow := flags&x86.CF, uint64(0)
	r = a
	for range n {
		first, last, was := top(r, width), r&1, r
		switch op {
		case 0, 2, 4, 6:
			r = r << 1 & (1<<width - 1)
			r |= [...]uint64{0: first, 2: carry, 4: 0, 6: 0}[op]
			carry = first
			overflow = top(r, width) ^ carry
		default:
			r = r>>1 | [...]uint64{1: last, 3: carry, 5: 0, 7: first}[op]<<(width-1)
			carry = last
			overflow = top(r, width) ^ top(was, width)
		}
	}
	if n != 1 {
		overflow = 0
	}
	if op < 4 {
		return r, flags&^(x86.CF|x86.OF) | carry | overflow<<11
	}
	if op != 7 && n >= uint64(width) {
		carry = 0
	}
	return r, flags&^arith | carry | overflow<<11 | signs(r, width)
}

// counts are numbers of places.
var counts = []uint64{0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 18, 24, 31, 32, 33, 40, 63, 64, 65, 255}

// places is how many of a count are meant.
func (x *trial) places(n uint64) uint64 {
	if x.size == 8 {
		return n % 64
	}
	return n % 32
}

// rol, ror, rcl, rcr, shl, shr, sal, sar, and shld, shrd.
func TestReferenceShift(t *testing.T) {
	for _, size := range sizes {
		for _, x := range shapes(size) {
			if x.g.shift != 0 {
				continue
			}
			cl := func(n uint64) func(x *trial) {
				return func(x *trial) { x.s.R[x86.RCX] = x.s.R[x86.RCX]&^0xff | n }
			}
			for op := range 8 {
				ref := func(n uint64) func(x *trial) {
					return func(x *trial) {
						if n = x.places(n); n == 0 {
							x.put(x.e, x.get(x.e))
							return
						}
						r, flags := turn(op, x.get(x.e), n, x.s.Flags, x.width())
						x.put(x.e, r)
						x.s.Flags = flags
					}
				}
				x.each(t, x.encode(x.wide("\xd0"), op), nil, ref(1))
				for _, n := range counts {
					x.each(t, x.encode(x.wide("\xc0"), op, byte(n)), nil, ref(n))
					x.each(t, x.encode(x.wide("\xd2"), op), cl(n), ref(n))
				}
			}
			if size == 1 {
				continue
			}
			for op, opcode := range []string{"\x0f\xa4", "\x0f\xac"} {
				for _, n := range counts {
					ref := func(x *trial) { x.double(op, x.places(n)) }
					x.each(t, x.encode(opcode, -1, byte(n)), nil, ref)
					x.each(t, x.encode(x.wide(opcode), -1), cl(n), ref)
				}
			}
			if size == 2 {
				continue
			}
			for _, n := range counts {
				at := func(x *trial) { x.s.R[x86.RSI] = x.s.R[x86.RSI]&^0xff | n }
				for pp, op := range []int{1: 4, 2: 7, 3: 5} {
					if pp > 0 { // shlx, sarx, shrx
						x.each(t, x.vex("\x02", 0xf7, byte(pp), x86.RSI, -1), at, func(x *trial) {
							r, _ := turn(op, x.get(x.e), x.places(n), 0, x.width())
							x.put(x.g, r)
						})
					}
				}
				x.each(t, x.vex("\x03", 0xf0, 3, 0, -1, byte(n)), nil, func(x *trial) { // rorx
					r, _ := turn(1, x.get(x.e), x.places(n), 0, x.width())
					x.put(x.g, r)
				})
			}
		}
	}
}

// double is shld (op 0) or shrd: G's bits follow E's. Of 16 bits more than 16
// places are undefined: zero.
func (x *trial) double(op int, n uint64) {
	a, b := x.get(x.e), x.get(x.g)
	width, was, carry := x.width(), a, uint64(0)
	for range n {
		if op == 0 {
			carry = top(a, width)
			a, b = (a<<1|top(b, width))&x.mask(), b<<1&x.mask()
		} else {
			carry = a & 1
			a, b = a>>1|b&1<<(width-1), b>>1
		}
	}
	if n > uint64(width) {
		a, carry = 0, 0
	}
	x.put(x.e, a)
	if n != 0 {
		x.set(arith, carry|signs(a, width)|when(n == 1 && top(a, width) != top(was, width), x86.OF))
	}
}

// bt, bts, btr, btc.
func TestReferenceBitTest(t *testing.T) {
	for _, size := range sizes[1:] {
		for _, x := range shapes(size) {
			for op := range 4 {
				ref := func(n uint64) func(x *trial) {
					return func(x *trial) {
						a, one := x.get(x.e), uint64(1)<<(n%uint64(x.width()))
						x.set(arith&^x86.ZF, when(a&one != 0, x86.CF))
						switch op {
						case 1:
							x.put(x.e, a|one)
						case 2:
							x.put(x.e, a&^one)
						case 3:
							x.put(x.e, a^one)
						}
					}
				}
				for _, n := range counts {
					x.each(t, x.encode("\x0f\xba", 4+op, byte(n)), nil, ref(n))
					offset := n
					if x.e.mem { // a register reaches further: see TestBitOffset
						offset = n % uint64(x.width())
					}
					x.each(t, x.encode("\x0f"+string([]byte{0xa3 | byte(op)<<3}), -1), func(x *trial) {
						x.fill(x.g, offset)
					}, ref(offset))
				}
			}
		}
	}
}

// TestBitOffset: from memory a signed number of bits, in units of the operand.
func TestBitOffset(t *testing.T) {
	for _, c := range []struct {
		code   string
		offset uint64
		reach  int64 // bytes
		set    uint64
	}{
		{"480fab17", 64*3 + 5, 24, 1 << 5}, // bts %rdx,(%rdi)
		{"480fab17", ^uint64(0), -8, 1 << 63},
		{"0fab17", 0xffff_ffff_0000_0021, 4, 2},
		{"0fab17", 0x8000_0000, -1 << 28, 1},
		{"660fab17", 0xffff, -2, 0x8000},
		{"660fab17", 0x12, 2, 4},
	} {
		y := newSys()
		y.R[x86.RDI], y.R[x86.RDX] = uint64(int64(dataAt)-c.reach), c.offset
		y.next(t, c.code)
		if v, _ := y.mem.Load(dataAt, 8); v != c.set {
			t.Errorf("%s of %#x: %#x", c.code, c.offset, v)
		}
	}
}

// scan counts zeroes from the lowest bit up.
func scan(v uint64, width int) (n uint64) {
	for n < uint64(width) && v>>n&1 == 0 {
		n++
	}
	return n
}

func mirror(v uint64, width int) (r uint64) {
	for i := range width {
		r |= v >> i & 1 << (width - 1 - i)
	}
	return r
}

func ones(v uint64) (n uint64) {
	for i := range 64 {
		n += v >> i & 1
	}
	return n
}

// bsf, bsr, tzcnt, lzcnt, popcnt.
func TestReferenceScan(t *testing.T) {
	for _, size := range sizes[1:] {
		for _, x := range shapes(size) {
			for opcode, count := range map[string]func(v uint64, width int) uint64{
				"\x0f\xbc": scan,
				"\x0f\xbd": func(v uint64, width int) uint64 {
					return uint64(width) - 1 - scan(mirror(v, width), width)
				},
				"\xf3\x0f\xbc": scan,
				"\xf3\x0f\xbd": func(v uint64, width int) uint64 { return scan(mirror(v, width), width) },
				"\xf3\x0f\xb8": func(v uint64, width int) uint64 { return ones(v) },
			} {
				x.each(t, x.encode(opcode, -1), nil, func(x *trial) {
					v := x.get(x.e)
					r := count(v, x.width())
					switch opcode {
					case "\x0f\xbc", "\x0f\xbd":
						if v != 0 {
							x.put(x.g, r)
						}
						x.set(arith, when(v == 0, x86.ZF))
					case "\xf3\x0f\xb8":
						x.put(x.g, r)
						x.set(arith, when(v == 0, x86.ZF))
					default:
						x.put(x.g, r)
						x.set(arith, when(v == 0, x86.CF)|when(r == 0, x86.ZF))
					}
				})
			}
		}
	}
}

// andn, blsr, blsmsk, blsi, bzhi, bextr, pdep, pext. c is the register in vvvv.
func TestReferenceBMI(t *testing.T) {
	lowest := func(v uint64, width int) uint64 { // the bit, or none
		if n := scan(v, width); n < uint64(width) {
			return 1 << n
		}
		return 0
	}
	below := func(n, width uint64) uint64 { // ones in the n lowest places
		var r uint64
		for i := range min(n, width) {
			r |= 1 << i
		}
		return r
	}
	places := func(mask uint64, width int) (list []int) { // of its ones
		for i := range width {
			if mask>>i&1 != 0 {
				list = append(list, i)
			}
		}
		return list
	}
	for _, size := range sizes[2:] {
		for _, x := range shapes(size) {
			c := place{reg: x86.RSI}
			fromG := func(x *trial) { x.fill(c, x.get(x.g)) }
			for _, i := range []struct {
				op, pp byte
				reg    int
				to     place
				defined,
				cleared uint64 // flags
				ref func(b, c uint64, width int) (r, carry uint64)
			}{
				{0xf2, 0, -1, x.g, x86.ZF | x86.SF, arith, func(b, c uint64, _ int) (uint64, uint64) {
					return b &^ c, 0
				}},
				{0xf3, 0, 1, c, x86.ZF | x86.SF, arith, func(b, _ uint64, width int) (uint64, uint64) {
					return b &^ lowest(b, width), when(b == 0, 1)
				}},
				{0xf3, 0, 2, c, x86.SF, arith, func(b, _ uint64, width int) (uint64, uint64) {
					return below(scan(b, width)+1, uint64(width)), when(b == 0, 1)
				}},
				{0xf3, 0, 3, c, x86.ZF | x86.SF, arith, func(b, _ uint64, width int) (uint64, uint64) {
					return lowest(b, width), when(b != 0, 1)
				}},
				{0xf5, 0, -1, x.g, x86.ZF | x86.SF, arith, func(b, c uint64, width int) (uint64, uint64) {
					return b & below(c&0xff, 64), when(c&0xff >= uint64(width), 1)
				}},
				{0xf7, 0, -1, x.g, x86.ZF, arith, func(b, c uint64, _ int) (r, carry uint64) {
					for range c & 0xff {
						b >>= 1
					}
					return b & below(c>>8&0xff, 64), 0
				}},
				{0xf5, 3, -1, x.g, 0, 0, func(mask, v uint64, width int) (r, carry uint64) {
					for n, i := range places(mask, width) {
						r |= v >> n & 1 << i
					}
					return r, 0
				}},
				{0xf5, 2, -1, x.g, 0, 0, func(mask, v uint64, width int) (r, carry uint64) {
					for n, i := range places(mask, width) {
						r |= v >> i & 1 << n
					}
					return r, 0
				}},
			} {
				x.pairs(t, x.vex("\x02", i.op, i.pp, c.reg, i.reg), fromG, func(x *trial) {
					r, carry := i.ref(x.get(x.e), x.get(c), x.width())
					x.put(i.to, r)
					x.set(i.cleared, 0)
					x.set(i.defined|i.cleared&x86.CF, signs(r, x.width())&i.defined|carry)
				})
			}
		}
	}
}

// crc32 is what the library says, but for the inversions before and after.
func TestReferenceCRC32(t *testing.T) {
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, size := range sizes {
		for _, x := range shapes(size) {
			if x.g.shift != 0 || x.e.shift != 0 {
				continue // the destination has 32 bits
			}
			code := x.encode(x.wide("\xf2\x0f\x38\xf0"), -1)
			x.pairs(t, code, nil, func(x *trial) {
				var b []byte
				for i := range x.size {
					b = append(b, byte(x.get(x.e)>>(8*i)))
				}
				x.s.R[x86.RDX] = uint64(^crc32.Update(^uint32(x.s.R[x86.RDX]), table, b))
			})
		}
	}
}
