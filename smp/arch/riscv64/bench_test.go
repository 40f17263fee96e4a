package riscv64_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

// loop is eleven instructions of the commonest kinds, compressed and not, and a callee's two.
//
//	00: c.mv a3,a1; add a2,a2,a3; xor a4,a4,a4; c.addi a4,1
//	0c: sd a2,0(a0); c.ld a1,8(a0); jal ra,22; c.add a1,a4
//	18: sltu a5,a2,a1; c.mv a5,a2; beq a2,a2,00
//	22: c.nop; ret
func loop() (code []byte) {
	for _, w := range []uint32{0x86ae, 0x00d60633, 0x00e74733, 0x0705, 0x00c53023, 0x650c, 0x010000ef, 0x95ba,
		0x00b637b3, 0x87b2, 0xfec601e3, 0x0001, rv.Ret} {
		if w&3 == 3 {
			code = append(code, wordBytes(w)...)
		} else {
			code = append(code, halfBytes(uint16(w))...)
		}
	}
	return code
}

// decodeAll decodes code, by offset.
func decodeAll(tb testing.TB, code []byte) []*arch.Op {
	table := make([]*arch.Op, len(code))
	for off := 0; off < len(code); {
		in, err := rv.Decode(code[off:], textAt+arch.Addr(off))
		require.NoError(tb, err)
		table[off] = in.(*rv.Inst).Operation()
		off += in.Size()
	}
	return table
}

func BenchmarkExec(b *testing.B) {
	table := decodeAll(b, loop())
	var mem arch.Memory = newFlat()
	r := arch.Regs{IP: textAt}
	r.R[a0] = uint64(dataAt)
	b.ReportAllocs()
	for b.Loop() {
		for range 1200 {
			op := table[r.IP-textAt]
			if out := op.Run(op, &r, mem); out != arch.Next {
				b.Fatal(out)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1200, "ns/instr")
}

func BenchmarkDecode(b *testing.B) {
	code := wordBytes(0x00d60633)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rv.Decode(code, textAt); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLoop: the benchmark's loop comes around.
func TestLoop(t *testing.T) {
	table := decodeAll(t, loop())
	r := arch.Regs{IP: textAt}
	r.R[a0] = uint64(dataAt)
	rounds := 0
	m := newFlat()
	for range 1300 {
		op := table[r.IP-textAt]
		require.NotNil(t, op, "at %#x", r.IP)
		require.Equal(t, arch.Next, op.Run(op, &r, m), "%v", op.Inst)
		if r.IP == textAt {
			rounds++
		}
	}
	require.Equal(t, 100, rounds)
}

// Executing allocates nothing, whatever the form.
func TestExecAllocates(t *testing.T) {
	d := drawer{archtest.Draw(1)}
	m := newFlat()
	for _, form := range rv.Listing() {
		b := wordBytes(form.Value | uint32(d.Next())&^form.Mask)
		if form.Bytes == rv.HalfLen {
			b = halfBytes(uint16(form.Value | uint32(d.Next())&^form.Mask))
		}
		in, err := rv.Decode(b, textAt)
		if err != nil {
			continue // it has drawn a reserved encoding
		}
		op := in.(*rv.Inst).Operation()
		var r arch.Regs
		n := testing.AllocsPerRun(10, func() {
			r = arch.Regs{IP: textAt}
			for i := 1; i < 32; i++ {
				r.R[i] = uint64(dataAt) + 64
			}
			op.Run(op, &r, m)
		})
		require.Zero(t, n, "%v", in)
	}
}
