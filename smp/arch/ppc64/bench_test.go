package ppc64

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

// loop is twelve instructions of the commonest kinds, and a callee's two.
//
//	00: mr r5,r3; add r6,r6,r5; xor r7,r7,r6; addi r7,r7,1
//	10: std r6,0(r4); ld r3,8(r4); bl 30; cmpd r6,r3; rldicl r8,r6,0,32
//	24: mr r9,r6; cmpd r6,r6; beq 00
//	30: nop; blr
var loop = []uint32{0x7c651b78, 0x7cc62a14, 0x7ce73278, 0x38e70001, 0xf8c40000, 0xe8640008, 0x48000019, 0x7c261800,
	0x78c80020, 0x7cc93378, 0x7c263000, 0x4182ffd4, 0x60000000, 0x4e800020}

// decodeLoop decodes it, by word.
func decodeLoop(tb testing.TB) (table []*arch.Op) {
	for i := range loop {
		in, err := Decode(bytesOfWords(loop[i:i+1]), textAt+arch.Addr(4*i))
		require.NoError(tb, err)
		table = append(table, in.Operation())
	}
	return table
}

func BenchmarkExec(b *testing.B) {
	table := decodeLoop(b)
	var mem arch.Memory = newFlat()
	r := arch.Regs{IP: textAt}
	r.R[4] = uint64(dataAt)
	b.ReportAllocs()
	for b.Loop() {
		for range 1400 {
			op := table[(r.IP-textAt)/4]
			if out := op.Run(op, &r, mem); out != arch.Next {
				b.Fatal(out)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1400, "ns/instr")
}

func BenchmarkDecode(b *testing.B) {
	code := bytesOfWords(loop[1:2])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(code, textAt); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLoop: the benchmark's loop comes around.
func TestLoop(t *testing.T) {
	table := decodeLoop(t)
	r := arch.Regs{IP: textAt}
	r.R[4] = uint64(dataAt)
	rounds := 0
	m := newFlat()
	for range 1400 {
		op := table[(r.IP-textAt)/4]
		require.Equal(t, arch.Next, op.Run(op, &r, m), "%v", op.Inst)
		if r.IP == textAt {
			rounds++
		}
	}
	require.Equal(t, 100, rounds)
}

// Executing allocates nothing, whatever the form.
func TestExecAllocates(t *testing.T) {
	m := newFlat()
	for _, in := range drawListing(2).insts {
		var r arch.Regs
		n := testing.AllocsPerRun(10, func() {
			r = arch.Regs{IP: in.Addr}
			for i := range r.R {
				r.R[i] = uint64(dataAt) + 64
			}
			in.Run(&in.Op, &r, m)
		})
		require.Zero(t, n, "%v", in)
	}
}

// TestAllOrNothing: an instruction that faults, or is refused, has changed neither registers nor memory.
func TestAllOrNothing(t *testing.T) {
	outcomes := map[arch.Outcome]int{}
	d := draw{archtest.Draw(3)}
	m := newFlat()
	for _, in := range drawListing(200).insts {
		r := arch.Regs{IP: in.Addr, Flags: d.Next()&^arch.Step | arch.IRQ}
		for i := range r.R {
			r.R[i] = uint64(dataAt) + d.Below(1<<14) - 1<<12
		}
		m.n, m.readOnly = 0, d.Below(2) == 0
		if d.Below(2) == 0 && in.memory {
			m.Reserve(arch.Addr(in.sum(&r)), int(in.size))
		}
		was, before := r, m.bytes
		out := in.Exec(&r, m)
		outcomes[out]++
		if out.Faulted() && (r != was || m.bytes != before) {
			t.Fatalf("%v: %v, and something has changed", in, out)
		}
	}
	for _, out := range []arch.Outcome{arch.Next, arch.Relaxed, arch.Breakpoint, arch.PageFault, arch.Protection,
		arch.Unsupported} {
		require.Greater(t, outcomes[out], 50, "%v", out)
	}
}

// FuzzDecode: decoding doesn't panic, and what decodes has a length, its own bytes, a text, and the
// same outcome twice.
func FuzzDecode(f *testing.F) {
	for _, c := range handCases {
		f.Add(bytesOfWords(c.code))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := Decode(b, textAt)
		if err != nil {
			for _, e := range []error{ErrTruncated, ErrUnknown, ErrInvalid} {
				if errors.Is(err, e) {
					return
				}
			}
			t.Fatal(err)
		}
		n := in.Size()
		if n != WordLen && n != PrefixLen || string(in.Bytes()) != string(b[:n]) || in.Next() != in.At()+arch.Addr(n) {
			t.Fatalf("% x: %d bytes, % x", b, n, in.Bytes())
		}
		if s := in.String(); s == "" || strings.Contains(s, "%!") || strings.HasPrefix(s, ".long") ||
			strings.HasPrefix(s, "error") {
			t.Fatalf("% x: %q", b, s)
		}
		_, direct := in.Target()
		switch in.Flow() {
		case arch.FlowJump, arch.FlowCond, arch.FlowLoop, arch.FlowCall:
			require.True(t, direct)
		default:
			require.False(t, direct)
		}
		in.AddressRegs()
		in.IPRelative()
		var first arch.Regs
		for i := range 2 {
			r := arch.Regs{IP: textAt, Flags: arch.IRQ}
			out := in.Exec(&r, newFlat())
			if out >= arch.Outcomes || out.Faulted() && r != (arch.Regs{IP: textAt, Flags: arch.IRQ}) ||
				i == 1 && r != first {
				t.Fatalf("%v: %v, %v", in, out, r)
			}
			first = r
		}
	})
}
