package x86_test

import (
	"testing"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// condition says in words what the sixteen mean, in the order of their encoding.
func condition(cc int, flags uint64) bool {
	is := func(flag uint64) bool { return flags&flag != 0 }
	holds := [8]bool{is(x86.OF), is(x86.CF), is(x86.ZF), is(x86.CF) || is(x86.ZF), is(x86.SF), is(x86.PF),
		is(x86.SF) != is(x86.OF), is(x86.ZF) || is(x86.SF) != is(x86.OF)}[cc/2]
	return holds == (cc%2 == 0)
}

// cmc, clc, stc, cld, std, clac, stac, and lahf and sahf, in all states of the flags.
func TestReferenceFlags(t *testing.T) {
	const ac, inAH = 1 << 18, x86.CF | x86.PF | x86.AF | x86.ZF | x86.SF
	mem := make(flat, 0x10000)
	for state := range uint64(1 << 8) {
		var flags uint64
		for i, flag := range []uint64{x86.CF, x86.PF, x86.AF, x86.ZF, x86.SF, x86.OF, x86.DF, ac} {
			flags |= state >> i & 1 * flag
		}
		for code, ref := range map[string]func(x *trial){
			"\xf5":         func(x *trial) { x.set(x86.CF, ^flags) },
			"\xf8":         func(x *trial) { x.set(x86.CF, 0) },
			"\xf9":         func(x *trial) { x.set(x86.CF, x86.CF) },
			"\xfc":         func(x *trial) { x.set(x86.DF, 0) },
			"\xfd":         func(x *trial) { x.set(x86.DF, x86.DF) },
			"\x0f\x01\xca": func(x *trial) { x.set(ac, 0) },
			"\x0f\x01\xcb": func(x *trial) { x.set(ac, ac) },
			"\x9f":         func(x *trial) { x.put(x.e, flags&inAH|x86.F1) },
			"\x9e":         func(x *trial) { x.set(inAH, x.get(x.e)) },
		} {
			x := trial{size: 1, e: place{reg: x86.RAX, shift: 8}, g: place{reg: x86.RDX}}
			x.begin(0x9d^state, 0, flags)
			before := x
			ref(&x)
			x.check(t, []byte(code), &before, mem)
		}
	}
}

// jcc, setcc and cmov in all states of the flags.
func TestReferenceConditions(t *testing.T) {
	mem := make(flat, 0x10000)
	for state := range uint64(64) {
		var flags uint64
		for i, flag := range []uint64{x86.CF, x86.PF, x86.AF, x86.ZF, x86.SF, x86.OF} {
			flags |= state >> i & 1 * flag
		}
		for cc := range 16 {
			holds := condition(cc, flags)
			run := func(x trial, code []byte, ref func(x *trial)) {
				x.begin(0x1122_3344_5566_7788, 0x99aa_bbcc_ddee_ff00, flags)
				before := x
				ref(&x)
				x.check(t, code, &before, mem)
			}
			jump := func(x *trial) {
				if holds {
					x.s.IP += 0x10
				}
			}
			run(trial{size: 8}, []byte{0x70 | byte(cc), 0x10}, jump)
			run(trial{size: 8}, []byte{0x0f, 0x80 | byte(cc), 0x10, 0, 0, 0}, jump)
			for _, size := range sizes {
				for _, x := range shapes(size) {
					if size == 1 {
						run(x, x.encode("\x0f"+string([]byte{0x90 | byte(cc)}), 0), func(x *trial) {
							x.put(x.e, when(holds, 1))
						})
						continue
					}
					run(x, x.encode("\x0f"+string([]byte{0x40 | byte(cc)}), -1), func(x *trial) {
						v := x.get(x.g)
						if holds {
							v = x.get(x.e)
						}
						x.put(x.g, v)
					})
				}
			}
		}
	}
}

// mov, xchg, xadd, cmpxchg.
func TestReferenceExchange(t *testing.T) {
	acc := place{reg: x86.RAX}
	for _, size := range sizes {
		for _, x := range shapes(size) {
			x.pairs(t, x.encode(x.wide("\x88"), -1), nil, func(x *trial) { x.put(x.e, x.get(x.g)) })
			x.pairs(t, x.encode(x.wide("\x8a"), -1), nil, func(x *trial) { x.put(x.g, x.get(x.e)) })
			x.each(t, x.encode(x.wide("\xc6"), 0, immediate(0x89abcdef, size)...), nil, func(x *trial) {
				x.put(x.e, uint64(extend(0x89abcdef, min(size, 4))))
			})
			x.pairs(t, x.encode(x.wide("\x86"), -1), nil, func(x *trial) {
				a, b := x.get(x.e), x.get(x.g)
				x.put(x.e, b)
				x.put(x.g, a)
			})
			x.pairs(t, x.encode(x.wide("\x0f\xc0"), -1), nil, func(x *trial) {
				a := x.get(x.e)
				r, flags := adder(a, x.get(x.g), 0, x.width())
				x.put(x.g, a)
				x.put(x.e, r)
				x.set(arith, flags)
			})
			for _, equal := range []bool{true, false} {
				x.pairs(t, x.encode(x.wide("\x0f\xb0"), -1), func(x *trial) {
					x.fill(acc, x.get(x.e)+when(!equal, x.get(x.g)|1))
				}, func(x *trial) {
					a := x.get(x.e)
					_, flags := subtractor(x.get(acc), a, 0, x.width())
					if x.get(acc) == a {
						x.put(x.e, x.get(x.g))
					} else {
						x.put(acc, a)
					}
					x.set(arith, flags)
				})
			}
		}
		if size == 1 {
			continue
		}
		for _, r := range []arch.Reg{x86.RAX, x86.RBX, x86.R12} { // one register twice: the sum wins
			x := trial{size: size, e: place{reg: r}, g: place{reg: r}}
			code := []byte{0x0f, 0xc1, 0xc0 | byte(r&7)*9}
			rex := byte(0x40) | byte(r>>3)*5
			if size == 8 {
				rex |= 8
			}
			code = append([]byte{rex}, code...)
			if size == 2 {
				code = append([]byte{0x66}, code...)
			}
			x.each(t, code, nil, func(x *trial) {
				sum, flags := adder(x.get(x.e), x.get(x.e), 0, x.width())
				x.put(x.e, sum)
				x.set(arith, flags)
			})
		}
	}
}

// movzx, movsx, movsxd, bswap, movbe, cbw and its like.
func TestReferenceExtend(t *testing.T) {
	reverse := func(v uint64, size int) (r uint64) {
		for i := range size {
			r |= v >> (8 * i) & 0xff << (8 * (size - 1 - i))
		}
		return r
	}
	for _, size := range sizes[1:] {
		acc, high := trial{size: size, e: place{reg: x86.RAX}}, place{reg: x86.RDX}
		for i, x := range shapes(size) {
			for from, opcode := range map[int]string{1: "\xb6", 2: "\xb7"} {
				x.each(t, x.encode("\x0f"+opcode, -1), nil, func(x *trial) { x.put(x.g, x.get(x.e)&(1<<(8*from)-1)) })
				x.each(t, x.encode("\x0f"+string([]byte{opcode[0] | 8}), -1), nil, func(x *trial) {
					x.put(x.g, uint64(extend(x.get(x.e), from)))
				})
			}
			if size == 8 {
				x.each(t, x.encode("\x63", -1), nil, func(x *trial) { x.put(x.g, uint64(extend(x.get(x.e), 4))) })
			}
			if i == 0 {
				continue
			}
			x.each(t, x.encode("\x0f\x38\xf0", -1), nil, func(x *trial) { x.put(x.g, reverse(x.get(x.e), x.size)) })
			x.pairs(t, x.encode("\x0f\x38\xf1", -1), nil, func(x *trial) { x.put(x.e, reverse(x.get(x.g), x.size)) })
		}
		one := func(opcode byte, n int) []byte {
			code := acc.encode(string([]byte{opcode}), 0)
			return code[:len(code)-n]
		}
		acc.each(t, one(0x98, 1), nil, func(x *trial) { x.put(x.e, uint64(extend(x.get(x.e), x.size/2))) })
		acc.each(t, one(0x99, 1), nil, func(x *trial) { x.put(high, uint64(extend(x.get(x.e), x.size)>>63)) })
		acc.each(t, append(one(0x0f, 1), 0xc8), nil, func(x *trial) {
			if size == 2 {
				x.put(x.e, 0) // undefined
			} else {
				x.put(x.e, reverse(x.get(x.e), x.size))
			}
		})
	}
}

// What adjusts decimal digits, for every AL and every carry: as the SDM's pages
// have it, and what they leave undefined cleared.
func TestReferenceDecimal(t *testing.T) {
	mem := make(flat, 0x10000)
	al := place{reg: x86.RAX}
	for ax := range uint64(0x300) {
		for _, flags := range []uint64{0, x86.CF, x86.AF, x86.CF | x86.AF, arith, arith &^ x86.CF, arith &^ x86.AF} {
			try := func(code []byte, size int, ref func(x *trial, al, ah uint64)) {
				x := trial{mode: x86.Mode32, size: 2, e: al, g: place{reg: x86.RDX}}
				x.begin(ax, 0, flags)
				for i := range x.s.R {
					x.s.R[i] &= 0xffff_ffff
				}
				before := x
				x.size = size
				ref(&x, ax&0xff, ax>>8)
				x.check(t, code, &before, mem)
			}
			for op, code := range []byte{0x27, 0x2f} { // daa, das
				try([]byte{code}, 1, func(x *trial, v, _ uint64) {
					sign := uint64(1)
					if op == 1 {
						sign = ^uint64(0)
					}
					r, carry, half := v, flags&x86.CF != 0, false
					if v&0xf > 9 || flags&x86.AF != 0 {
						r += sign * 6
						half = true
						carry = carry || op == 1 && v < 6
					}
					if v > 0x99 || flags&x86.CF != 0 {
						r += sign * 0x60
						carry = true
					} else if op == 0 {
						carry = false
					}
					x.put(al, r)
					x.set(arith, signs(x.get(al), 8)|when(half, x86.AF)|when(carry, x86.CF))
				})
			}
			for op, code := range []byte{0x37, 0x3f} { // aaa, aas
				try([]byte{code}, 2, func(x *trial, v, _ uint64) {
					r, adjust := ax, v&0xf > 9 || flags&x86.AF != 0
					switch {
					case adjust && op == 0:
						r += 0x106
					case adjust:
						r -= 0x106
					}
					x.put(al, r&0xff0f)
					x.set(arith, when(adjust, x86.AF|x86.CF))
				})
			}
			for _, base := range []uint64{1, 2, 10, 16, 0xff} {
				try([]byte{0xd4, byte(base)}, 2, func(x *trial, v, _ uint64) { // aam
					x.put(al, v/base<<8|v%base)
					x.set(arith, signs(v%base, 8))
				})
				try([]byte{0xd5, byte(base)}, 2, func(x *trial, v, ah uint64) { // aad
					v = (v + ah*base) & 0xff
					x.put(al, v)
					x.set(arith, signs(v, 8))
				})
			}
		}
	}
}

// cmps and scas of every size: flags, pointers, and when a repetition ends.
func TestReferenceStrings(t *testing.T) {
	for _, size := range sizes {
		for _, flags := range []uint64{0, x86.DF} {
			for _, equal := range []bool{true, false} {
				for _, scas := range []bool{true, false} {
					for prefix, on := range map[string]bool{"": false, "\xf3": equal, "\xf2": !equal} {
						x := trial{size: size}
						code := x.encode(x.wide(string([]byte{byte(0xa6 + 8*when(scas, 1))})), 0)
						code = append([]byte(prefix), code[:len(code)-1]...)
						mem := make(flat, 0x10000)
						x.begin(0, 0, flags|x86.CF)
						x.s.R[x86.RSI], x.s.R[x86.RCX] = uint64(data2At), 2
						mem.Store(data2At, 8, x.s.R[x86.RAX])
						x.data = x.s.R[x86.RAX] + when(!equal, 1)
						before := x
						_, result := subtractor(x.s.R[x86.RAX]&x.mask(), x.data&x.mask(), 0, x.width())
						x.set(arith, result)
						step := uint64(size)
						if flags != 0 {
							step = -step
						}
						x.s.R[x86.RDI] += step
						if !scas {
							x.s.R[x86.RSI] += step
						}
						if prefix != "" {
							x.s.R[x86.RCX] = 1
						}
						x.stays = on
						x.check(t, code, &before, mem)
					}
				}
			}
		}
	}
}

// movs, stos and lods of every size: once, as one of two elements, and as none,
// with a counter of 64 bits or of 32.
func TestReferenceMoves(t *testing.T) {
	acc, there := place{reg: x86.RAX}, place{mem: true}
	for _, size := range sizes {
		for opcode, ref := range map[string]func(x *trial, from uint64) (moved []arch.Reg){
			"\xa4": func(x *trial, from uint64) []arch.Reg { x.put(there, from); return []arch.Reg{x86.RSI, x86.RDI} },
			"\xaa": func(x *trial, _ uint64) []arch.Reg { x.put(there, x.get(acc)); return []arch.Reg{x86.RDI} },
			"\xac": func(x *trial, from uint64) []arch.Reg { x.put(acc, from); return []arch.Reg{x86.RSI} },
		} {
			for _, flags := range []uint64{0, x86.DF} {
				for prefix, counter := range map[string]uint64{"": 0, "\xf3": 2, "\xf2": 2, "\xf3\x67": 0x5_0000_0002} {
					for _, none := range []bool{false, true} {
						x := trial{size: size}
						code := x.encode(x.wide(opcode), 0)
						code = append([]byte(prefix), code[:len(code)-1]...)
						x.begin(0, 0, flags|arith)
						if none {
							counter &^= 0xffff_ffff
						}
						x.s.R[x86.RSI], x.s.R[x86.RCX] = uint64(data2At), counter
						mem, from := make(flat, 0x10000), uint64(0x8182_8384_8586_8788)
						mem.Store(data2At, 8, from)
						before := x
						if !none || prefix == "" {
							for _, r := range ref(&x, from) {
								x.s.R[r] += uint64(size) * (1 - 2*when(flags != 0, 1))
							}
							if x.stays = prefix != ""; x.stays {
								x.s.R[x86.RCX] = 1
							}
						}
						x.check(t, code, &before, mem)
					}
				}
			}
		}
	}
}

// loopne, loope, loop and jrcxz, with a counter of 64 bits or, after 67, of 32.
func TestReferenceLoops(t *testing.T) {
	mem := make(flat, 0x10000)
	for op := range 4 {
		for _, counter := range []uint64{0, 1, 2, 3, 1 << 32, 1<<32 + 1, 1<<32 + 2, ^uint64(0)} {
			for _, flags := range []uint64{0, x86.ZF, arith &^ x86.ZF} {
				for _, prefix := range []string{"", "\x67"} {
					x := trial{size: 8}
					x.begin(0, 0, flags)
					x.s.R[x86.RCX], x.s.R[x86.RDX] = counter, 7
					before := x
					mask := ^uint64(0)
					if prefix != "" {
						mask = 0xffff_ffff
					}
					if op < 3 {
						counter := (counter - 1) & mask
						x.s.R[x86.RCX] = counter
						if counter != 0 && (op == 2 || (flags&x86.ZF != 0) == (op == 1)) {
							x.s.IP += 0x20
						}
					} else if counter&mask == 0 {
						x.s.IP += 0x20
					}
					x.check(t, append([]byte(prefix), 0xe0|byte(op), 0x20), &before, mem)
				}
			}
		}
	}
}

// jmp, call and ret, whose target is the operand or on the stack.
func TestReferenceBranches(t *testing.T) {
	mem := make(flat, 0x10000)
	for _, c := range []struct {
		reg   int // of ff; 0: ret
		drops uint64
		code  []byte
	}{{reg: 2}, {reg: 4}, {drops: 8, code: []byte{0xc3}}, {drops: 8 + 0x8ff0, code: []byte{0xc2, 0xf0, 0x8f}}} {
		for _, x := range shapes(8) {
			code := c.code
			if c.reg != 0 {
				code = []byte{0xff, x.modrm(c.reg)}
			}
			const to = 0x1234_5678_9abc
			x.begin(to, 0, arith)
			before := x
			mem.Store(stackAt, 8, to)
			mem.Store(stackAt-8, 8, 0)
			x.s.IP = to - arch.Addr(len(code))
			x.s.R[x86.RSP] += c.drops
			if c.reg == 2 {
				x.s.R[x86.RSP] -= 8
			}
			x.check(t, code, &before, mem)
			if v, _ := mem.Load(stackAt-8, 8); c.reg == 2 && v != uint64(textAt)+2 {
				t.Errorf("call pushed %#x", v)
			}
		}
	}
}
