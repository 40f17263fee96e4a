package x86_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// step32 is sys.step in 32-bit mode.
func (y *sys) step32(t *testing.T, code string) arch.Outcome {
	t.Helper()
	b, err := hex.DecodeString(code)
	require.NoError(t, err)
	y.IP = textAt
	in, err := x86.Mode32.Decode(b, textAt)
	require.NoError(t, err, code)
	system = y.System
	out := execute(t, &in, &y.Regs, y.mem)
	y.System = system
	return out
}

func (y *sys) next32(t *testing.T, code string) {
	t.Helper()
	require.Equal(t, arch.Next, y.step32(t, code), code)
}

// TestMode32Stack: words of four and two bytes, and a stack pointer of 32 bits.
func TestMode32Stack(t *testing.T) {
	y := newSys()
	word := func(at arch.Addr, size int) uint64 {
		v, ok := y.mem.Load(at, size)
		require.True(t, ok)
		return v
	}
	y.R[x86.RAX] = 0x11223344
	y.next32(t, "50") // push %eax
	require.EqualValues(t, stackAt-4, y.R[x86.RSP])
	require.EqualValues(t, 0x11223344, word(stackAt-4, 4))
	y.next32(t, "665b") // pop %bx
	require.EqualValues(t, 0x3344, y.R[x86.RBX])
	require.EqualValues(t, stackAt-2, y.R[x86.RSP])
	y.R[x86.RSP] = uint64(stackAt)
	y.next32(t, "e800010000") // call
	require.EqualValues(t, textAt+5+0x100, y.IP)
	require.EqualValues(t, textAt+5, word(stackAt-4, 4))
	y.next32(t, "c20400") // ret $4
	require.EqualValues(t, textAt+5, y.IP)
	require.EqualValues(t, stackAt+4, y.R[x86.RSP])
	y.next32(t, "ffd0") // call *%eax
	require.EqualValues(t, 0x11223344, y.IP)
	y.next32(t, "66e80001") // call with a displacement of 16 bits
	require.EqualValues(t, textAt+4+0x100, y.IP)
	require.EqualValues(t, stackAt-2, y.R[x86.RSP])
	y.next32(t, "66c3")
	require.EqualValues(t, textAt+4, y.IP)

	y.R[x86.RSP] = uint64(stackAt)
	for i := range uint64(8) {
		if arch.Reg(i) != x86.RSP {
			y.R[i] = 0x100 + i
		}
	}
	before := y.R
	y.next32(t, "60") // pusha
	require.EqualValues(t, stackAt-32, y.R[x86.RSP])
	require.EqualValues(t, stackAt, word(stackAt-20, 4))
	require.EqualValues(t, 0x107, word(stackAt-32, 4))
	clear(y.R[:4])
	y.next32(t, "61")
	require.Equal(t, before, y.R)

	y.R[x86.RSP] = 2 // the stack ends: nothing is pushed
	require.Equal(t, arch.PageFault, y.step32(t, "60"))
	require.Equal(t, arch.PageFault, y.step32(t, "e800000000"))
	require.EqualValues(t, 2, y.R[x86.RSP])
	y.R[x86.RSP] = uint64(stackAt)
	y.next32(t, "0e") // push %cs
	require.EqualValues(t, 0x10, word(stackAt-4, 4))
	require.Equal(t, arch.Unsupported, y.step32(t, "17")) // to ss
	y.next32(t, "9c")
	require.EqualValues(t, y.Flags, word(stackAt-8, 4))
}

// TestMode32Iret: three words within one privilege level.
func TestMode32Iret(t *testing.T) {
	y := newSys()
	at := arch.Addr(0x10000 - 3*4) // and no memory is mapped after them
	y.R[x86.RSP] = uint64(at)
	for i, v := range []uint64{0x1234, 0x10, x86.ZF | x86.IF} {
		y.mem.Store(at+arch.Addr(4*i), 4, v)
	}
	require.Equal(t, arch.TrapReturn, y.step32(t, "cf"))
	require.EqualValues(t, 0x1234, y.IP)
	require.Equal(t, x86.F1|x86.ZF|x86.IF, y.Flags)
	require.EqualValues(t, at+12, y.R[x86.RSP])
	y.Flags |= 1 << 14 // a nested task
	require.Equal(t, arch.Unsupported, y.step32(t, "cf"))
}

// TestMode32Decimal: examples of the SDM's pages, and their edges.
func TestMode32Decimal(t *testing.T) {
	for _, c := range []struct {
		code      string
		ax, flags uint64
		want      uint64
		wantFlags uint64
	}{
		{"27", 0xae, 0, 0x14, x86.CF | x86.PF | x86.AF}, // daa: 79h + 35h
		{"27", 0x99, 0, 0x99, x86.PF | x86.SF},
		{"27", 0x9a, 0, 0x00, x86.CF | x86.PF | x86.AF | x86.ZF},
		{"2f", 0xee, x86.CF | x86.AF | x86.SF, 0x88, x86.CF | x86.AF | x86.PF | x86.SF}, // das: 35h - 47h
		{"2f", 0x05, x86.AF, 0xff, x86.CF | x86.AF | x86.PF | x86.SF},
		{"37", 0x0b, 0, 0x101, x86.AF | x86.CF}, // aaa
		{"37", 0xff, 0, 0x205, x86.AF | x86.CF},
		{"37", 0x19, 0, 0x09, 0},
		{"3f", 0x20f, 0, 0x109, x86.AF | x86.CF}, // aas
		{"3f", 0x200, x86.AF, 0x0a, x86.AF | x86.CF},
		{"d40a", 0x2f, 0, 0x407, 0}, // aam
		{"d50a", 0x407, 0, 0x2f, 0}, // aad
		{"d6", 0x1234, x86.CF, 0x12ff, x86.CF},
		{"d6", 0x1234, 0, 0x1200, 0},
	} {
		y := newSys()
		y.R[x86.RAX], y.Flags = c.ax, x86.F1|c.flags
		y.next32(t, c.code)
		require.EqualValues(t, c.want, y.R[x86.RAX], "%s of %#x", c.code, c.ax)
		require.Equal(t, x86.F1|c.wantFlags, y.Flags, "%s of %#x", c.code, c.ax)
	}
	y := newSys()
	require.Equal(t, arch.DivideError, y.step32(t, "d400"))
}

// readOnly is memory that can't be stored to.
type readOnly struct{ flat }

func (readOnly) Store(arch.Addr, int, uint64) bool { return false }

func TestMode32Others(t *testing.T) {
	y := newSys()
	y.R[x86.RAX] = 0xffff_ffff
	y.next32(t, "40") // inc %eax
	require.Zero(t, y.R[x86.RAX])
	y.next32(t, "6648") // dec %ax
	require.EqualValues(t, 0xffff, y.R[x86.RAX])

	y.R[x86.RBX] = uint64(dataAt)
	y.mem.Store(dataAt, 8, 5<<32|0xffff_fffe) // -2 to 5
	for v, want := range map[uint64]arch.Outcome{0: arch.Next, 5: arch.Next, 0xffff_fffe: arch.Next, 6: arch.Bound,
		0xffff_fffd: arch.Bound} {
		y.R[x86.RAX] = v
		require.Equal(t, want, y.step32(t, "6203"), v) // bound %eax,(%ebx)
	}

	in, err := x86.Mode32.Decode([]byte{0x63, 0x08}, textAt) // arpl %cx,(%eax): what can't be stored
	require.NoError(t, err)
	s := arch.Regs{IP: textAt, Flags: x86.F1}
	s.R[x86.RAX], s.R[x86.RCX] = uint64(dataAt), 3
	before := s
	require.Equal(t, arch.PageFault, in.Exec(&s, readOnly{y.mem}))
	require.Equal(t, before, s)

	y.R[x86.RBX] = 0x10000 - 4 // the second bound isn't there
	require.Equal(t, arch.PageFault, y.step32(t, "6203"))

	y.R[x86.RAX], y.R[x86.RCX] = 0x10, 0x21
	y.next32(t, "63c8") // arpl %cx,%ax
	require.EqualValues(t, 0x11, y.R[x86.RAX])
	y.R[x86.RAX], y.R[x86.RCX] = 0x10, 3
	y.next32(t, "63c8")
	require.EqualValues(t, 0x13, y.R[x86.RAX])
	require.NotZero(t, y.Flags&x86.ZF)
	y.next32(t, "63c8")
	require.Zero(t, y.Flags&x86.ZF)

	y.next32(t, "ce") // into
	y.Flags |= x86.OF
	require.Equal(t, arch.Overflow, y.step32(t, "ce"))
	require.EqualValues(t, textAt+1, y.IP)

	// Addresses of 16 bits, which wrap.
	y.R[x86.RBX], y.R[x86.RSI] = 0xffff, uint64(dataAt)+1
	y.mem.Store(dataAt+0x10, 4, 0x55aa)
	y.next32(t, "678b4010") // mov 0x10(%bx,%si),%eax
	require.EqualValues(t, 0x55aa, y.R[x86.RAX])
	// and of 32
	y.R[x86.RBX], y.R[x86.RSI] = 0xffff_fff0, uint64(dataAt)
	y.next32(t, "8b443320")
	require.EqualValues(t, 0x55aa, y.R[x86.RAX])
	y.next32(t, "a110800000")
	require.EqualValues(t, 0x55aa, y.R[x86.RAX])

	y.R[x86.RSI], y.R[x86.RDI], y.R[x86.RCX] = uint64(dataAt)+0x10, uint64(data2At), 1
	y.next32(t, "f3a5") // rep movsl
	require.EqualValues(t, dataAt+0x14, y.R[x86.RSI])
	require.EqualValues(t, textAt+2, y.IP)
	y.R[x86.RCX] = 0x1_0000
	y.next32(t, "67e310") // jcxz
	require.EqualValues(t, textAt+3+0x10, y.IP)
	y.next32(t, "67e210") // loop with cx: 0 becomes ffff
	require.EqualValues(t, textAt+3+0x10, y.IP)
	require.EqualValues(t, 0x1_ffff, y.R[x86.RCX])

	// Code can be read, and not be written. Of two overrides the last counts.
	y.R[x86.RBX] = uint64(dataAt) + 0x10
	y.next32(t, "2e8b03")
	require.EqualValues(t, 0x55aa, y.R[x86.RAX])
	require.Equal(t, arch.Protection, y.step32(t, "2e8903"))
	require.Equal(t, arch.Protection, y.step32(t, "3e2e0103"))
	y.R[x86.RAX], y.GSBase = 0x1357, 0x100
	y.next32(t, "2e3e8903")
	v, _ := y.mem.Load(dataAt+0x10, 4)
	require.EqualValues(t, 0x1357, v)
	y.R[x86.RSP] = uint64(stackAt)
	y.next32(t, "2eff33") // the stack has no override

	// Branches wrap at 32 bits, or at 16.
	y.next32(t, "66e900e0")
	require.EqualValues(t, 0xf004, y.IP)
	y.next32(t, "e900f0ffff")
	require.EqualValues(t, textAt+5-0x1000, y.IP)
	y.next32(t, "e900e0ffff")
	require.EqualValues(t, 0xffff_f005, y.IP)
	y.R[x86.RBX] = uint64(dataAt)
	y.mem.Store(dataAt, 8, 0x10<<32|0x4321)
	y.next32(t, "ff2b")
	require.EqualValues(t, 0x4321, y.IP)
	y.next32(t, "ea785634121000") // ljmp $0x10,$0x12345678
	require.EqualValues(t, 0x12345678, y.IP)
	y.next32(t, "66ea34121000")
	require.EqualValues(t, 0x1234, y.IP)
	y.next32(t, "669a34121000") // lcall, of two words of 16 bits
	require.EqualValues(t, stackAt-4-4, y.R[x86.RSP])
	y.next32(t, "66ca0400")
	require.EqualValues(t, textAt+6, y.IP)
	require.EqualValues(t, stackAt, y.R[x86.RSP])
	y.mem.Store(dataAt, 8, 0x18<<32|0x4321)
	y.next32(t, "c503") // lds (%ebx),%eax
	require.EqualValues(t, 0x4321, y.R[x86.RAX])
	require.EqualValues(t, 0x18, y.Seg[x86.DS])
}

// TestUndefinedResults: what the SDM leaves undefined in a register.
func TestUndefinedResults(t *testing.T) {
	y := newSys()
	y.R[x86.RAX], y.R[x86.RCX] = 0x1122334455667788, 17
	y.next(t, "660fc8") // bswap %ax
	require.EqualValues(t, 0x1122334455660000, y.R[x86.RAX])
	y.R[x86.RAX] = 0x1122334455667788
	y.next(t, "660fa5d0") // shld %cl,%dx,%ax
	require.EqualValues(t, 0x1122334455660000, y.R[x86.RAX])
	y.next(t, "0fbcc2") // bsf of zero
	require.EqualValues(t, 0x1122334455660000, y.R[x86.RAX])
}
