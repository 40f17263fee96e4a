package riscv64_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/arch/riscv64/riscv64asm"

	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

const textAt arch.Addr = 0x10000

// halfBytes and wordBytes are instructions in memory.
func halfBytes(h uint16) []byte { return binary.LittleEndian.AppendUint16(nil, h) }
func wordBytes(w uint32) []byte { return binary.LittleEndian.AppendUint32(nil, w) }

func decode(t *testing.T, b []byte) *rv.Inst {
	t.Helper()
	in, err := rv.Decode(b, textAt)
	require.NoError(t, err, "% x", b)
	return in.(*rv.Inst)
}

// TestHalves: of all 16-bit words, ours and the disassembler of x/arch decode the same ones, to the
// same instruction once ours is expanded, but for two kinds. The disassembler doesn't know most hints,
// which change nothing, or ignores what they carry. It misreads c.j, of which bit 5 of the distance
// gets into bit 1, and writes a negative c.lui with more than 20 bits: GNU objdump agrees with ours
// (TestObjdump).
func TestHalves(t *testing.T) {
	var same, floats, hints, neither, wrong int
	for h := range 1 << 16 {
		if h&3 == 3 {
			continue
		}
		b := halfBytes(uint16(h))
		in, err := rv.Decode(b, textAt)
		theirs, err2 := riscv64asm.Decode(b)
		if err != nil {
			require.Error(t, err2, "%04x: theirs is %s", h, riscv64asm.GNUSyntax(theirs))
			neither++
			continue
		}
		ours := in.(*rv.Inst)
		full, err := riscv64asm.Decode(wordBytes(ours.Word()))
		require.NoError(t, err, "%04x", h)
		switch {
		case err2 == nil && riscv64asm.GNUSyntax(full) == riscv64asm.GNUSyntax(theirs):
			same++
			if ours.Unsupported() {
				floats++
			}
		case hint(ours):
			hints++
		case h&0xe003 == 0xa001 || ours.Name() == "lui":
			wrong++
		default:
			t.Errorf("%04x: %v, theirs is %s, %v", h, in, riscv64asm.GNUSyntax(theirs), err2)
		}
	}
	assert.Equal(t, [5]int{43534, 8192, 394, 2816, 2408}, [5]int{same, floats, hints, wrong, neither})
}

// hint reports whether an instruction changes nothing: it writes x0, adds nothing to a register or
// shifts it by nothing (vol. 1, "RVC HINTs").
func hint(in *rv.Inst) bool {
	w := in.Word()
	rd, rs1 := w>>7&31, w>>15&31
	switch in.Name() {
	case "addi", "slli", "srli", "srai":
		return rd == 0 || rd == rs1 && w>>20&0x3ff == 0
	case "add", "lui":
		return rd == 0
	}
	return false
}

// What isn't an instruction is an error that names the bytes.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		want error
		text string
	}{
		{nil, rv.ErrTruncated, ""},
		{[]byte{0x13}, rv.ErrTruncated, "13"},
		{[]byte{0x13, 0}, rv.ErrTruncated, "13 00"},
		{[]byte{0x13, 0, 0}, rv.ErrTruncated, "13 00 00"},
		{[]byte{0x1f, 0, 0, 0, 0, 0}, rv.ErrUnknown, "1f 00"},   // 48 bits
		{[]byte{0xff, 0xff, 0xff, 0xff}, rv.ErrUnknown, "ff"},   // defined to be illegal
		{wordBytes(0x00007063 - 0x5000), rv.ErrUnknown, "63"},   // a branch of funct3 2
		{wordBytes(0x00007003), rv.ErrUnknown, "03 70"},         // a load of funct3 7
		{wordBytes(0x1010202f | 1<<20), rv.ErrUnknown, "2f 20"}, // lr with rs2
		{halfBytes(0x8002), rv.ErrUnknown, "02 80"},             // c.jr x0
		{halfBytes(0x6101), rv.ErrUnknown, "01 61"},             // c.addi16sp 0
		{halfBytes(0x2001), rv.ErrUnknown, "01 20"},             // c.addiw x0
		{halfBytes(0x0004), rv.ErrUnknown, "04 00"},             // c.addi4spn 0
		{halfBytes(0x8000), rv.ErrUnknown, "00 80"},             // of Zcb
	} {
		in, err := rv.Decode(c.b, textAt)
		require.True(t, errors.Is(err, c.want), "% x: %v, %v", c.b, in, err)
		require.ErrorContains(t, err, c.text)
	}
}

// What exists and isn't executed is refused by its name, and nothing has changed.
func TestRefused(t *testing.T) {
	for text, b := range map[string][]byte{
		"fld fa0,0(a0)":       wordBytes(0x00053507),
		"c.fld fa0,0(s0)":     halfBytes(0x2008),
		"c.fsdsp fs0,8(sp)":   halfBytes(0xa422),
		"fadd.d ft1,ft2,ft3":  wordBytes(0x023170d3),
		"vadd.vv v0,v11,v10":  wordBytes(0x02b50057),
		"cbo.zero (a0)":       wordBytes(0x0045200f),
		"bset a0,a0,a1":       wordBytes(0x28b51533),
		"clmul a0,a0,a1":      wordBytes(0x0ab51533),
		"sret":                wordBytes(0x10200073),
		"mret":                wordBytes(0x30200073),
		"ecall":               wordBytes(0x00000073),
		"csrr a0,0x10a":       wordBytes(0x10a02573),
		"sinval.vma a0,a1":    wordBytes(0x16b50073),
		"hfence.vvma a0,zero": wordBytes(0x22050073),
		"csrr a0,hstatus":     wordBytes(0x60002573),
		"amocas.w a0,a1,(a2)": wordBytes(0x28b6252f),
	} {
		in := decode(t, b)
		assert.Equal(t, text, in.String())
		assert.True(t, in.Unsupported(), text)
		r := arch.Regs{IP: textAt, Flags: arch.IRQ}
		was := r
		assert.Equal(t, arch.Unsupported, in.Exec(&r, newFlat()), text)
		assert.Equal(t, was, r, text)
	}
}

// FuzzDecode: decoding doesn't panic, and what decodes has a length, its own bytes, a text, and the
// same outcome twice.
func FuzzDecode(f *testing.F) {
	for _, w := range []uint32{0, 1, rv.Ebreak, rv.Nop, rv.Ret, 0x9002, 0x8082, 0x100, 0xc0002573, 0x1005252f} {
		f.Add(wordBytes(w))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := rv.Decode(b, textAt)
		if err != nil {
			if !errors.Is(err, rv.ErrTruncated) && !errors.Is(err, rv.ErrUnknown) {
				t.Fatal(err)
			}
			return
		}
		n := in.Size()
		if n != 2 && n != 4 || string(in.Bytes()) != string(b[:n]) || in.Next() != in.At()+arch.Addr(n) {
			t.Fatalf("% x: %d bytes, % x", b, n, in.Bytes())
		}
		if s := in.String(); s == "" || strings.Contains(s, "%!") || strings.HasPrefix(s, ".word") {
			t.Fatalf("% x: %q", b, s)
		}
		_, direct := in.Target()
		switch in.Flow() {
		case arch.FlowJump, arch.FlowCond, arch.FlowCall:
			require.True(t, direct)
		default:
			require.False(t, direct)
		}
		in.AddressRegs()
		in.IPRelative()
		for range 2 {
			r := arch.Regs{IP: textAt}
			out := in.Exec(&r, newFlat())
			if out >= arch.Outcomes || r.R[0] != 0 || out.Faulted() && r != (arch.Regs{IP: textAt}) {
				t.Fatalf("%v: %v, %v", in, out, r)
			}
		}
	})
}
