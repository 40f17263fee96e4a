package x86_test

import (
	"encoding/binary"
	"math/big"
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

var sizes = []int{1, 2, 4, 8}

// immediate is v as an instruction holds it: at most four bytes.
func immediate(v uint64, size int) []byte {
	return binary.LittleEndian.AppendUint64(nil, v)[:min(size, 4)]
}

// extend is v of so many bytes as a signed number.
func extend(v uint64, size int) int64 { return int64(v<<(64-8*size)) >> (64 - 8*size) }

// The operations of two operands: in all their forms.
func TestReferenceTwo(t *testing.T) {
	for op := range 9 {
		ref := func(to place, second func(x *trial) uint64) func(x *trial) {
			return func(x *trial) {
				r, flags, keep := two(op, x.get(to), second(x), x.carry(), x.width())
				if keep {
					x.put(to, r)
				}
				x.set(arith, flags)
			}
		}
		for _, size := range sizes {
			for _, x := range shapes(size) {
				e, g := func(x *trial) uint64 { return x.get(x.e) }, func(x *trial) uint64 { return x.get(x.g) }
				if op == 8 {
					x.pairs(t, x.encode(x.wide("\x84"), -1), nil, ref(x.e, g))
				} else {
					x.pairs(t, x.encode(x.wide(string([]byte{byte(op) << 3})), -1), nil, ref(x.e, g))
					x.pairs(t, x.encode(x.wide(string([]byte{byte(op)<<3 | 2})), -1), nil, ref(x.g, e))
				}
				for _, v := range values(x.width()) {
					imm := func(x *trial) uint64 { return uint64(extend(v, min(size, 4))) & x.mask() }
					code := x.encode(x.wide("\x80"), op, immediate(v, size)...)
					if op == 8 {
						code = x.encode(x.wide("\xf6"), 0, immediate(v, size)...)
					}
					x.each(t, code, nil, ref(x.e, imm))
				}
				if size > 1 && op < 8 {
					x.each(t, x.encode("\x83", op, 0x85), nil, ref(x.e, func(x *trial) uint64 {
						return uint64(0xffff_ffff_ffff_ff85) & x.mask()
					}))
				}
			}
			al := trial{size: size, e: place{reg: x86.RAX}, g: place{reg: x86.RDX}}
			opcode := byte(op<<3 | 4)
			if op == 8 {
				opcode = 0xa8
			}
			code := al.encode(al.wide(string([]byte{opcode})), 0)
			code = append(code[:len(code)-1], immediate(0x9abcdef0, size)...) // no ModRM
			al.each(t, code, nil, ref(al.e, func(x *trial) uint64 {
				return uint64(extend(0x9abcdef0, min(size, 4))) & x.mask()
			}))
		}
	}
}

// inc, dec, not, neg.
func TestReferenceOne(t *testing.T) {
	for _, c := range []struct {
		opcode string
		reg    int
		ref    func(x *trial, a uint64) (r, which, flags uint64)
	}{
		{"\xfe", 0, func(x *trial, a uint64) (uint64, uint64, uint64) {
			r, flags := adder(a, 1, 0, x.width())
			return r, arith &^ x86.CF, flags
		}},
		{"\xfe", 1, func(x *trial, a uint64) (uint64, uint64, uint64) {
			r, flags := subtractor(a, 1, 0, x.width())
			return r, arith &^ x86.CF, flags
		}},
		{"\xf6", 2, func(x *trial, a uint64) (uint64, uint64, uint64) { return ^a, 0, 0 }},
		{"\xf6", 3, func(x *trial, a uint64) (uint64, uint64, uint64) {
			r, flags := subtractor(0, a, 0, x.width())
			return r, arith, flags
		}},
	} {
		for _, size := range sizes {
			for _, x := range shapes(size) {
				x.each(t, x.encode(x.wide(c.opcode), c.reg), nil, func(x *trial) {
					r, which, flags := c.ref(x, x.get(x.e))
					x.put(x.e, r)
					x.set(which, flags)
				})
			}
		}
	}
}

// number is v of the trial's size.
func (x *trial) number(v uint64, signed bool) *big.Int {
	if signed {
		return big.NewInt(extend(v, x.size))
	}
	return new(big.Int).SetUint64(v & x.mask())
}

// low are the low 64 bits of n, which may be negative.
func low(n *big.Int) uint64 {
	return new(big.Int).And(n, new(big.Int).SetUint64(^uint64(0))).Uint64()
}

// high and low half of the accumulator: ah and al, or rdx and rax.
func (x *trial) halves() (high, low place) {
	if x.size == 1 {
		return place{reg: x86.RAX, shift: 8}, place{reg: x86.RAX}
	}
	return place{reg: x86.RDX}, place{reg: x86.RAX}
}

// product puts a product where it belongs; CF and OF say that it is longer than
// an operand.
func (x *trial) product(p *big.Int, signed bool, to ...place) {
	x.put(to[0], low(p))
	if len(to) > 1 {
		x.put(to[1], low(new(big.Int).Rsh(p, uint(x.width()))))
	}
	x.set(arith, when(x.number(low(p), signed).Cmp(p) != 0, x86.CF|x86.OF))
}

// mul, imul in its three forms, div, idiv.
func TestReferenceMultiply(t *testing.T) {
	for _, size := range sizes {
		for _, x := range shapes(size) {
			high, lower := x.halves()
			accumulator := func(x *trial) { x.fill(lower, x.get(x.g)) }
			for _, signed := range []bool{false, true} {
				x.pairs(t, x.encode(x.wide("\xf6"), 4+int(when(signed, 1))), accumulator, func(x *trial) {
					p := x.number(x.get(x.e), signed)
					x.product(p.Mul(p, x.number(x.get(lower), signed)), signed, lower, high)
				})
				// The upper half is as wide as the operand, or about the divisor.
				for _, sign := range []int64{0, -1, 1} {
					x.pairs(t, x.encode(x.wide("\xf6"), 6+int(when(signed, 1))), func(x *trial) {
						accumulator(x)
						switch sign {
						case 1:
							x.fill(high, x.get(x.e)>>1)
						default:
							x.fill(high, uint64(extend(x.get(lower), x.size)>>63)&uint64(sign))
						}
					}, func(x *trial) { x.divide(signed) })
				}
			}
			if size == 1 {
				continue
			}
			x.pairs(t, x.encode("\x0f\xaf", -1), nil, func(x *trial) {
				p := x.number(x.get(x.e), true)
				x.product(p.Mul(p, x.number(x.get(x.g), true)), true, x.g)
			})
			for _, v := range values(x.width()) {
				x.each(t, x.encode("\x69", -1, immediate(v, size)...), nil, func(x *trial) {
					p := x.number(x.get(x.e), true)
					x.product(p.Mul(p, big.NewInt(extend(v, min(size, 4)))), true, x.g)
				})
				x.each(t, x.encode("\x6b", -1, byte(v)), nil, func(x *trial) {
					p := x.number(x.get(x.e), true)
					x.product(p.Mul(p, big.NewInt(extend(v, 1))), true, x.g)
				})
			}
		}
	}
}

// divide leaves quotient and remainder, or nothing but #DE.
func (x *trial) divide(signed bool) {
	high, lower := x.halves()
	n := x.number(x.get(high), signed)
	n.Lsh(n, uint(x.width())).Add(n, x.number(x.get(lower), false))
	d := x.number(x.get(x.e), signed)
	if d.Sign() == 0 {
		x.out = arch.DivideError
		return
	}
	q, r := new(big.Int).QuoRem(n, d, new(big.Int))
	if x.number(low(q), signed).Cmp(q) != 0 {
		x.out = arch.DivideError
		return
	}
	x.put(lower, low(q))
	x.put(high, low(r))
	x.set(arith, 0) // undefined
}

// adcx, adox, mulx: of 32 and 64 bits.
func TestReferenceLong(t *testing.T) {
	for _, size := range []int{4, 8} {
		for _, x := range shapes(size) {
			for prefix, flag := range map[string]uint64{"\x66": x86.CF, "\xf3": x86.OF} {
				x.pairs(t, x.encode(prefix+"\x0f\x38\xf6", -1), nil, func(x *trial) {
					r, flags := adder(x.get(x.g), x.get(x.e), when(x.s.Flags&flag != 0, 1), x.width())
					x.put(x.g, r)
					x.set(flag, when(flags&x86.CF != 0, flag))
				})
			}
			for _, c := range []arch.Reg{x86.RSI, x86.RDX} { // where the low half goes; to rdx too the high one
				x.pairs(t, x.vex("\x02", 0xf6, 3, c, -1), nil, func(x *trial) {
					p := x.number(x.get(x.e), false)
					p.Mul(p, x.number(x.s.R[x86.RDX], false))
					x.put(place{reg: c}, low(p))
					x.put(x.g, low(p.Rsh(p, uint(x.width()))))
				})
			}
		}
	}
}

// vex encodes an instruction of general registers; c goes to vvvv.
func (x *trial) vex(space string, op, pp byte, c arch.Reg, reg int, imm ...byte) []byte {
	w := byte(when(x.size == 8, 0x80))
	return append([]byte{0xc4, 0xe0 | space[0], w | byte(^c&15)<<3 | pp, op, x.modrm(reg)}, imm...)
}
