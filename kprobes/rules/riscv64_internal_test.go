package rules

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/arch"
	"kpsim/smp/arch/riscv64"
)

// rv are kernels of riscv64 by edition.
func rv(e Edition) Kernel { return Kernel{Edition: e, Decoder: DecodesRISCV64} }

// judgeWord returns the verdict on an instruction of riscv64.
func judgeWord(e Edition, w uint32) Verdict {
	k := rv(e)
	code := binary.LittleEndian.AppendUint32(nil, w)
	code = binary.LittleEndian.AppendUint32(code, riscv64.Nop)
	var j Judge
	j.Load(&k, &Function{Name: "f", Addr: 0x1000, Size: 4, Code: code})
	return j.At(0)
}

// riscvFlow is what a probe makes of an instruction by what the processor does: what is relative to pc, or changes
// it, is simulated, and what traps or is of the system is refused.
func riscvFlow(in *riscv64.Inst) (how handling) {
	name := in.Name()
	switch {
	case name == "ebreak", name == "ecall", strings.HasPrefix(name, "csr"), strings.HasPrefix(name, "fence"),
		in.Word()&0x7f == 0x73, in.Word()&0x7f == 0x0f:
		return rejected
	case in.Flow() != arch.FlowNext, in.Word()&0x7f == 0x17:
		return simulated
	}
	return stepped
}

// TestRISCVAnswers compares verdicts with what register_kprobe of Debian's 6.12.117 answers about instructions, which
// linux's tests record.
func TestRISCVAnswers(t *testing.T) {
	asked := 0
	eachAnswer(t, "riscv64-6.12", func(w uint32, half, _ bool, answer string) {
		if half && w&3 == 3 {
			return // the first half of a full instruction
		}
		agrees(t, judgeWord(Edition69, w), w, answer)
		asked++
	})
	require.Greater(t, asked, 58_000)
}

// eachAnswer calls f with each answer of a file of linux's: about an instruction, of two bytes or of four, or a nop
// behind it.
func eachAnswer(t *testing.T, file string, f func(w uint32, half, behind bool, answer string)) {
	packed, err := os.Open("../../linux/testdata/" + file + ".txt.gz")
	require.NoError(t, err)
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	require.NoError(t, err)
	for in := bufio.NewScanner(z); in.Scan(); {
		line, behind := strings.CutPrefix(in.Text(), "behind ")
		insns, answer, _ := strings.Cut(line, " ")
		from, to, several := strings.Cut(insns, "-")
		if !several {
			to = from
		}
		first, err := strconv.ParseUint(from, 16, 32)
		require.NoError(t, err)
		last, err := strconv.ParseUint(to, 16, 32)
		require.NoError(t, err)
		for w := first; w <= last; w++ {
			f(uint32(w), len(from) == 4, behind, answer)
		}
	}
}

// agrees compares a verdict with an answer.
func agrees(t *testing.T, v Verdict, w uint32, answer string) {
	require.Equal(t, answer == "EINVAL", v.Errno == inval, "%08x: %s, %+v", w, answer, v)
	require.Equal(t, strings.HasPrefix(answer, "simulate_"), v.Emulated, "%08x: %s, %+v", w, answer, v)
}

// TestRISCVHalves: of all 16-bit words, what the kernel does agrees with what the processor does. Until 6.5 no
// compressed jump was simulated.
func TestRISCVHalves(t *testing.T) {
	var count [rejected + 1]int
	for w := range uint32(1 << 16) {
		if w&3 == 3 {
			continue
		}
		b := binary.LittleEndian.AppendUint32(nil, w)
		d, err := riscv64.Decode(b, 0x1000)
		v, old := judgeWord(Edition69, w), judgeWord(Edition65, w)
		if err != nil || w == 0 { // the one that is defined to be illegal
			require.Zero(t, v.Errno, "%04x: the kernel doesn't ask whether it exists", w)
			continue
		}
		want := riscvFlow(d.(*riscv64.Inst))
		count[want]++
		switch want {
		case rejected:
			require.Equal(t, Reason{Kind: Breaks}, v.Why, "%04x", w)
		case simulated:
			require.True(t, v.Errno == 0 && v.Emulated && v.Len == 2, "%04x %v: %+v", w, d, v)
			require.Equal(t, Verdict{Errno: inval, Why: Reason{Kind: Unsimulated}}, old, "%04x", w)
		default:
			require.True(t, v.Errno == 0 && !v.Emulated && v.Len == 2, "%04x %v: %+v", w, d, v)
			require.Equal(t, v, old)
		}
	}
	require.Equal(t, 1, count[rejected])
	require.Equal(t, 2048+2*8*256+31+31, count[simulated]) // c.j, c.beqz and c.bnez, c.jr, c.jalr
}

// TestRISCVWords: of full instructions the opcode decides, and of 0x67 and ebreak more.
func TestRISCVWords(t *testing.T) {
	for op := uint32(3); op < 128; op += 4 {
		for f3 := range uint32(8) {
			w := op | f3<<12
			v := judgeWord(Edition69, w)
			switch {
			case op == 0x73:
				require.Equal(t, Reason{Kind: System}, v.Why)
			case op == 0x0f:
				require.Equal(t, Reason{Kind: Fence}, v.Why)
			default:
				require.Zero(t, v.Errno, "%08x", w)
				require.Equal(t, 4, v.Len)
				require.Equal(t, op == 0x6f || op == 0x17 || op == 0x63 || op == 0x67 && f3 == 0, v.Emulated, "%08x", w)
			}
		}
	}
	require.Equal(t, Reason{Kind: Breaks}, judgeWord(Edition69, riscv64.Ebreak).Why)
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.Uint32().Draw(t, "w") | 3
		d, err := riscv64.Decode(binary.LittleEndian.AppendUint32(nil, w), 0x1000)
		if err != nil {
			return
		}
		v := judgeWord(Edition514, w)
		want := riscvFlow(d.(*riscv64.Inst))
		if (v.Errno != 0) != (want == rejected) || v.Emulated != (want == simulated) {
			t.Fatalf("%08x %v: %+v", w, d, v)
		}
	})
}

// TestRISCVPlaces: the bytes of a function, one by one.
func TestRISCVPlaces(t *testing.T) {
	k := rv(Edition69)
	code := []byte{0x05, 0x05, 0x13, 0x05, 0x15, 0x00, 0x82, 0x80} // c.addi; addi; ret
	f := Function{Name: "f", Addr: 0x1000, Size: len(code), Code: code, Extable: []int{2}}
	var j Judge
	j.Load(&k, &f)
	want := []int{0, ilseq, 0, ilseq, ilseq, ilseq, 0, ilseq}
	for i, errno := range want {
		require.Equal(t, errno, j.At(i).Errno, "+%d", i)
		require.Equal(t, errno == 0, j.Boundary(i), "+%d", i)
	}
	require.Equal(t, Reason{Kind: Boundary, At: 2}, j.At(4).Why)
	require.Equal(t, Reason{Kind: Misaligned}, j.At(5).Why)
	require.Zero(t, j.AtAny(4).Errno, "boundaries aren't checked")
	require.Equal(t, ilseq, j.AtAny(5).Errno)
	require.Equal(t, noent, j.At(8).Errno)
	v := j.At(2)
	copied, ok := j.Copy(nil, &v, 0x9000)
	require.True(t, ok)
	require.Equal(t, code[2:6], copied)
	require.Equal(t, []int{2, 4, 0}, []int{j.Length(0), j.Length(2), j.Length(4)})

	f.Blacklisted = true
	j.Load(&k, &f)
	require.Equal(t, Verdict{Errno: inval, Why: Reason{Kind: Blacklisted}}, j.At(0))
	f.Blacklisted, f.Sites = false, []Site{{Offset: 2, Len: 4, Kind: SiteJumpLabel}}
	j.Load(&k, &f)
	require.Equal(t, InSite, j.At(2).Why.Kind)
	require.Equal(t, InSite, j.At(4).Why.Kind)
	require.Zero(t, j.At(6).Errno)
	f.Sites = []Site{{Offset: 2, Len: 4, Kind: SiteFentry}}
	j.Load(&k, &f)
	require.Equal(t, Verdict{Offset: 2, Errno: inval, Why: Reason{Kind: InSite, Site: SiteFentry, At: 2}}, j.At(2))
	require.Equal(t, Verdict{Offset: 4, Errno: inval, Why: Reason{Kind: InSite, Site: SiteFentry, At: 2}}, j.At(4))
	require.Zero(t, j.At(0).Errno)
}

// TestDecoderOf: each processor whose kernels' probes are known.
func TestDecoderOf(t *testing.T) {
	d, ok := DecoderOf(riscv64.RV64)
	require.True(t, ok)
	require.Equal(t, DecodesRISCV64, d)
	_, ok = DecoderOf(&arch.Arch{Name: "none", Align: 4})
	require.False(t, ok)
}
