package x86_test

import (
	"debug/elf"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

//go:generate gcc -O2 -fno-pic -mno-sse -fcf-protection=none -fno-jump-tables -fno-asynchronous-unwind-tables -fno-ident -fno-stack-protector -c -o testdata/leaf.o testdata/leaf.c

// Where things lie in the flat memory of a test.
const (
	textAt  arch.Addr = 0x1000
	dataAt  arch.Addr = 0x8000
	data2At arch.Addr = 0x9000
	stackAt arch.Addr = 0xf000
	outside arch.Addr = 0xdead_0000 // a return to it ends a call
)

// flat is memory from address 0 on; beyond its end accesses fault.
type flat []byte

func (m flat) Load(a arch.Addr, size int) (uint64, bool) {
	if uint64(a) > uint64(len(m)-size) {
		return 0, false
	}
	switch b := m[a:]; size {
	case 8:
		return binary.LittleEndian.Uint64(b), true
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)), true
	case 2:
		return uint64(binary.LittleEndian.Uint16(b)), true
	default:
		return uint64(b[0]), true
	}
}

func (m flat) Store(a arch.Addr, size int, v uint64) bool {
	if uint64(a) > uint64(len(m)-size) {
		return false
	}
	switch b := m[a:]; size {
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

// system is the state of the one CPU there is in tests.
var system = x86.NewSystem(0, 0x10, 0x18)

func (m flat) System() arch.System { return &system }

// leaves is the object file, loaded and decoded.
type leaves struct {
	mem     flat
	at      map[string]arch.Addr
	decoded map[arch.Addr]*x86.Inst
}

func loadLeaves(t testing.TB) *leaves {
	f, err := elf.Open("testdata/leaf.o")
	require.NoError(t, err)
	defer f.Close()
	require.Nil(t, f.Section(".rela.text"), "the test object must need no relocation")
	l := &leaves{mem: make(flat, 0x10000), at: map[string]arch.Addr{}, decoded: map[arch.Addr]*x86.Inst{}}
	text := f.Section(".text")
	b, err := text.Data()
	require.NoError(t, err)
	require.Less(t, len(b), int(dataAt-textAt))
	copy(l.mem[textAt:], b)
	symbols, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			l.at[s.Name] = textAt + arch.Addr(s.Value)
		}
	}
	return l
}

// call runs a function to its return and returns %rax.
func (l *leaves) call(t testing.TB, name string, args ...uint64) uint64 {
	t.Helper()
	start, ok := l.at[name]
	require.True(t, ok, name)
	s := arch.Regs{IP: start, Flags: x86.F1 | x86.IF}
	for i := range s.R {
		s.R[i] = 0xabab_0000_0000_0000 | uint64(i) // nothing may count on zero
	}
	for i, v := range args {
		s.R[[...]arch.Reg{x86.RDI, x86.RSI, x86.RDX}[i]] = v
	}
	s.R[x86.RSP] = uint64(stackAt)
	l.mem.Store(stackAt, 8, uint64(outside))
	saved := s.R
	for step := 0; s.IP != outside; step++ {
		if step == 200_000 {
			t.Fatalf("%s(%#x): still running", name, args)
		}
		in := l.decoded[s.IP]
		if in == nil {
			d, err := x86.Decode(l.mem[s.IP:], s.IP)
			require.NoError(t, err)
			in = &d
			l.decoded[s.IP] = in
		}
		if out := in.Exec(&s, l.mem); out != arch.Next {
			t.Fatalf("%s(%#x): %v: outcome %d", name, args, in, out)
		}
	}
	for _, r := range []arch.Reg{x86.RBX, x86.RBP, x86.R12, x86.R13, x86.R14, x86.R15} {
		require.Equal(t, saved[r], s.R[r], "%s: callee-saved register %d", name, r)
	}
	require.EqualValues(t, stackAt+8, s.R[x86.RSP], name)
	return s.R[x86.RAX]
}

// numbers draws 64 bits, of which often few are set, or all but few.
func numbers(rng *rand.Rand) uint64 {
	x := rng.Uint64() >> rng.UintN(64)
	switch rng.UintN(4) {
	case 0:
		return ^x
	case 1:
		return 1<<rng.UintN(64) - uint64(rng.UintN(3))
	}
	return x
}

// TestLeafFunctions runs what a compiler makes of everyday code and compares
// with the same function in Go.
func TestLeafFunctions(t *testing.T) {
	l := loadLeaves(t)
	const narrow = 0xffff_ffff
	of := func(name string, mask uint64, want func(a, b, c uint64) uint64, limits ...uint64) {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 300 {
				var v [3]uint64
				for i := range v {
					v[i] = numbers(rng)
					if i < len(limits) && limits[i] != 0 {
						v[i] %= limits[i]
					}
				}
				got := l.call(t, name, v[:]...) & mask
				if w := want(v[0], v[1], v[2]) & mask; got != w {
					t.Fatalf("%s(%#x) = %#x, want %#x", name, v, got, w)
				}
			}
		})
	}
	const all = ^uint64(0)
	of("sum_squares", all, func(n, _, _ uint64) (s uint64) {
		for i := uint64(1); i <= n; i++ {
			s += i*i ^ s>>3
		}
		return s
	}, 200)
	of("mul_high", all, func(a, b, _ uint64) uint64 { hi, lo := bits.Mul64(a, b); return hi ^ lo })
	of("mul_high_signed", all, func(a, b, _ uint64) uint64 {
		hi, _ := bits.Mul64(a, b)
		if int64(a) < 0 {
			hi -= b
		}
		if int64(b) < 0 {
			hi -= a
		}
		return hi
	})
	of("gcd", all, func(a, b, _ uint64) uint64 {
		for b != 0 {
			a, b = b, a%b
		}
		return a
	})
	of("div_mix", narrow, func(x, y, _ uint64) uint64 {
		a, b := int32(x), int32(y)
		if b == 0 || a == -1<<31 && b == -1 {
			return 7
		}
		return uint64(a/b*3 + a%b + a/10 + a%7)
	})
	of("bit_reverse", all, func(x, _, _ uint64) uint64 { return bits.Reverse64(x) })
	of("pop", narrow, func(x, _, _ uint64) uint64 { return uint64(bits.OnesCount64(x)) })
	of("swar", all, func(x, _, _ uint64) uint64 { return uint64(bits.OnesCount64(x)) })
	of("fib", all, func(n, _, _ uint64) uint64 {
		a, b := uint64(0), uint64(1)
		for range n {
			a, b = b, a+b
		}
		return a
	}, 300)
	of("collatz", narrow, func(n, _, _ uint64) (k uint64) {
		for ; n > 1 && k < 500; k++ {
			if n&1 != 0 {
				n = 3*n + 1
			} else {
				n /= 2
			}
		}
		return k
	})
	of("classify", all, classify)
	of("classify", all, classify, 12)
	of("chain", all, func(a, b, c uint64) uint64 { return mix(mix(a)+b) ^ mix(c-mix(b^a)) })
	of("ackermann", all, func(m, n, _ uint64) uint64 { return ack(m&1, n&15) + ack(2, n&3) }, 4, 64)
	of("rotate_mix", all, func(x, n, _ uint64) uint64 {
		k := int(n & 31)
		y := bits.RotateLeft32(uint32(x), k)
		z := bits.RotateLeft8(uint8(x>>8), k&7)
		return bits.RotateLeft64(x, -(k+7)) + uint64(y) + uint64(z)
	})
	of("clamp_add", narrow, func(x, y, _ uint64) uint64 {
		return uint64(max(-1<<31, min(1<<31-1, int64(int32(x))+int64(int32(y)))))
	})
	of("narrow", all, func(x, _, _ uint64) uint64 {
		return uint64(int64(int8(x))*3+int64(int16(x>>8))*5+int64(int32(x>>16))*7) + x>>24&0xff*11 + x>>40&0xffff*13
	})
	of("bits", all, func(x, _, _ uint64) uint64 {
		if x == 0 {
			return 99
		}
		return uint64(bits.TrailingZeros64(x)*1000+bits.LeadingZeros64(x)) + bits.ReverseBytes64(x)%1000 +
			uint64(bits.ReverseBytes32(uint32(x)))
	})
	of("isqrt", all, func(x, _, _ uint64) (r uint64) {
		for b := 31; b >= 0; b-- {
			if n := r | 1<<b; n*n <= x {
				r = n
			}
		}
		return r
	}, 1<<40)
	of("wide_shift", all, wideShift)
}

func classify(v, _, _ uint64) uint64 {
	switch x := int64(v); x {
	case 0:
		return 11
	case 1:
		return ^uint64(2)
	case 2:
		return 18
	case 7:
		return 100
	case 8:
		return 8 << 40
	case 100:
		return -v
	case -5:
		return v ^ 0x55
	default:
		if x < 0 {
			return ^v
		}
		return v + 1
	}
}

func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>29
}

func ack(m, n uint64) uint64 {
	switch {
	case m == 0:
		return n + 1
	case n == 0:
		return ack(m-1, 1)
	}
	return ack(m-1, ack(m, n-1))
}

func wideShift(hi, lo, n uint64) uint64 {
	left, right := n&127, n&0xffff_ffff/2&127
	var lh, ll, rh, rl uint64
	if left >= 64 {
		lh = lo << (left - 64)
	} else {
		lh, ll = hi<<left|lo>>(64-left), lo<<left
	}
	if right >= 64 {
		rl = hi >> (right - 64)
	} else {
		rh, rl = hi>>right, lo>>right|hi<<(64-right)
	}
	ph, pl := bits.Mul64(lo, 3)
	l, c := bits.Add64(ll^rl, pl, 0)
	h, _ := bits.Add64(lh^rh, ph, c)
	l, c = bits.Sub64(l, hi, 0)
	h, _ = bits.Sub64(h, 0, c)
	return h ^ l
}

// TestLeafBuffers is for the functions that work on memory.
func TestLeafBuffers(t *testing.T) {
	l := loadLeaves(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := rng.IntN(60)
		b := l.mem[dataAt:][:n]
		for i := range b {
			b[i] = byte(1 + rng.UintN(255))
		}
		l.mem[int(dataAt)+n] = 0
		var crc uint32 = 1<<32 - 1
		var fnv uint64 = 0xcbf29ce484222325
		for _, x := range b {
			crc ^= uint32(x)
			for range 8 {
				crc = crc>>1 ^ 0xedb88320&-(crc&1)
			}
			fnv = (fnv ^ uint64(x)) * 0x100000001b3
		}
		require.EqualValues(t, ^crc, uint32(l.call(t, "crc32", uint64(dataAt), uint64(n))))
		require.Equal(t, fnv, l.call(t, "fnv1a", uint64(dataAt), uint64(n)))
		require.EqualValues(t, n, l.call(t, "length", uint64(dataAt)))
		l.call(t, "copy", uint64(data2At), uint64(dataAt), uint64(n))
		require.Equal(t, b, l.mem[data2At:][:n])

		words := make([]uint16, n/2)
		for i := range words {
			words[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
		l.call(t, "sort16", uint64(dataAt), uint64(len(words)))
		slices.Sort(words)
		for i, w := range words {
			require.Equal(t, w, binary.LittleEndian.Uint16(b[2*i:]))
		}

		sorted := make([]int32, n)
		for i := range sorted {
			sorted[i] = rng.Int32N(200) - 100
		}
		slices.Sort(sorted)
		sorted = slices.Compact(sorted)
		for i, v := range sorted {
			l.mem.Store(dataAt+arch.Addr(4*i), 4, uint64(uint32(v)))
		}
		for key := int32(-101); key <= 101; key += 3 {
			want, found := slices.BinarySearch(sorted, key)
			if !found {
				want = -want - 1
			}
			require.EqualValues(t, want,
				int64(l.call(t, "bsearch32", uint64(dataAt), uint64(len(sorted)), uint64(uint32(key)))))
		}
	}
}
