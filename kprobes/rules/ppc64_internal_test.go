package rules

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/ppc64"
)

// judgePPC returns the verdict on some words of ppc64le, at the last one that begins an instruction.
func judgePPC(e Edition, at int, words ...uint32) Verdict {
	k := Kernel{Edition: e, Decoder: DecodesPPC64, Optprobes: true}
	var code []byte
	for _, w := range words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	var j Judge
	j.Load(&k, &Function{Name: "f", Addr: 0x1000, Size: len(code), Code: code})
	return j.At(at)
}

// TestPPCWords: one instruction of each kind, and what becomes of it.
func TestPPCWords(t *testing.T) {
	refuses := func(e Edition, w uint32) ReasonKind {
		v := judgePPC(e, 0, w, 0)
		if v.Errno != 0 {
			require.Equal(t, inval, v.Errno)
		}
		return v.Why.Kind
	}
	for w, why := range map[uint32]ReasonKind{
		0x7fe00008: Breaks, 0x7c842008: Breaks, 0x7c842088: Breaks, 0x0fe00000: Breaks, 0x08830000: Breaks, // tw to tdi
		0x44000002: Excepts, 0x44000001: Excepts, // sc, scv
		0x4c0000a4: System,                     // rfscv
		0x4c000224: System, 0x4c0002e4: System, // hrfid, stop
	} {
		require.Equal(t, why, refuses(Edition69, w), "%08x", w)
		require.NotEqual(t, why, refuses(Edition514, w), "%08x: since 5.19", w)
	}
	for _, w := range []uint32{0x4c000024, 0x4c000064, 0x7c000124, 0x7c010164} { // rfid, rfi, mtmsr, mtmsrd
		require.Equal(t, System, refuses(Edition69, w), "%08x", w)
		require.Equal(t, System, refuses(Edition514, w), "%08x", w)
	}
	for _, w := range []uint32{0x38630001, 0x60000000, 0x48000010, 0x48000011, 0x7c0802a6, 0x4c00012c, 0x7c0004ac} {
		v := judgePPC(Edition69, 0, w) // addi, nop, b, bl, mflr, isync, sync
		require.True(t, v.Errno == 0 && v.Emulated && v.Region == 4, "%08x: %+v", w, v)
	}
	for _, w := range []uint32{0x41820008, 0x4e800020, 0x4e800420, 0x42000000} { // beq, blr, bctr, bdnz
		v := judgePPC(Edition69, 0, w)
		require.True(t, v.Errno == 0 && v.Emulated && v.Region == 0 && v.Why.Kind == Conditional, "%08x: %+v", w, v)
	}
	for _, w := range []uint32{0x80630000, 0xf821ffe1, 0x7c6000a6, 0x7c001fec, 0x7c601828} {
		v := judgePPC(Edition69, 0, w) // lwz, stdu, mfmsr, dcbz, lwarx
		require.True(t, v.Errno == 0 && v.Emulated && v.Why.Kind == NotByRegisters, "%08x: %+v", w, v)
	}
	for _, w := range []uint32{0x7c631e14, 0x7c9242a6, 0x7c600300} { // addo, mfsprg, setbc
		v := judgePPC(Edition69, 0, w)
		require.True(t, v.Errno == 0 && !v.Emulated && v.Why.Kind == NotByRegisters, "%08x: %+v", w, v)
	}
}

// TestPPCAnswers compares what is emulated with what analyse_instr of Debian's 6.12.107 makes of instructions, which
// linux's tests record. It is asked about all, also about those of which arch_prepare_kprobe refuses probes.
func TestPPCAnswers(t *testing.T) {
	f, err := os.Open("../../linux/testdata/ppc64le-6.12.txt.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	asked := 0
	for in := bufio.NewScanner(z); in.Scan(); asked++ {
		insn, answer, _ := strings.Cut(in.Text(), " ")
		w, err := strconv.ParseUint(insn, 16, 64)
		require.NoError(t, err)
		word, suffix := uint32(w), uint32(0)
		if w>>32 != 0 {
			word, suffix = uint32(w>>32), uint32(w)
		}
		if !ppcSteps(&Kernel{Edition: Edition69}, word) {
			continue
		}
		want := map[string]handling{"registers": simulated, "accesses": accessed, "unknown": stepped}[answer]
		require.Equal(t, want, ppcEmulates(word, suffix), "%s: %s", insn, answer)
	}
	require.Greater(t, asked, 30_000)
}

// TestPPCPrefixed: an instruction of two words is one, and no probe is at its second word, whatever stands before it
// in the same page.
func TestPPCPrefixed(t *testing.T) {
	// paddi, pld, pnop, blr
	words := []uint32{0x06000000, 0x38630005, 0x04000000, 0xe4830000, 0x07000000, 0, 0x4e800020}
	paddi := judgePPC(Edition69, 0, words...)
	require.Equal(t, Verdict{Len: 8, Emulated: true, Region: 8, NoBoost: Reason{Kind: NoBooster}}, paddi)
	pld, pnop := judgePPC(Edition69, 8, words...), judgePPC(Edition69, 16, words...)
	require.True(t, pld.Len == 8 && pld.Emulated && pld.Region == 0, "%+v", pld)
	require.True(t, pnop.Len == 8 && !pnop.Emulated && pnop.Region == 0, "%+v", pnop)
	for _, at := range []int{4, 12, 20} {
		require.Equal(t, Verdict{Offset: at, Errno: inval, Why: Reason{Kind: Boundary, At: at - 4}},
			judgePPC(Edition69, at, words...))
	}
	require.Equal(t, inval, judgePPC(Edition69, 2, words...).Errno)
	require.Zero(t, judgePPC(Edition69, 24, words...).Errno)
	// what the kernel takes for a prefix need not be one
	require.Equal(t, Reason{Kind: Boundary, At: 4}, judgePPC(Edition69, 8, 0x07000000, 0x04000000, 0x60000000).Why)
	relative := judgePPC(Edition69, 0, 0x06100000, 0x38600005)
	require.True(t, relative.Emulated)
	require.False(t, judgePPC(Edition69, 0, 0x06100000, 0x38630005).Emulated, "relative, with a base")
}

// TestPPCFlow: what goes elsewhere than on, by what the processor does, is never stepped, but for bctar, which kernels
// don't know. What is emulated by registers alone accesses no memory.
func TestPPCFlow(t *testing.T) {
	var seen [rejected + 1]int
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		w := r.Uint32()
		if i%2 == 0 {
			w = w&0x03ffffff | 31<<26
		}
		in, err := ppc64.Decode(binary.LittleEndian.AppendUint32(nil, w), 0x1000)
		if err != nil {
			continue
		}
		k := Kernel{Edition: Edition69}
		how, _ := ofPPC64.sort(&k, uint64(w))
		seen[how]++
		bctar := w&0xfc0007fe == 0x4c000460
		if flow := in.Flow(); how == stepped && flow != arch.FlowNext && flow != arch.FlowHalt && !bctar {
			t.Fatalf("%08x %v is stepped", w, in)
		}
		if how == simulated && ppcOptimizes(uint64(w), how) == None {
			regs := arch.Regs{IP: 0x1000}
			to, known := in.Target()
			switch out := in.Exec(&regs, nil); {
			case out == arch.Unsupported: // darn, and fields that are reserved
			case known && regs.IP != to, !known && regs.IP != 0x1004:
				t.Fatalf("%08x %v goes to %#x", w, in, uint64(regs.IP))
			}
		}
	}
	for how, n := range seen {
		require.NotZero(t, n, "%d", how)
	}
}

// TestPPCEntry: where a function is entered from within the kernel.
func TestPPCEntry(t *testing.T) {
	k := Kernel{Decoder: DecodesPPC64}
	for _, test := range []struct {
		words []uint32
		at    int
	}{
		{[]uint32{0x3c4c0001, 0x38420100}, 8}, {[]uint32{0x3c400001, 0x38420100}, 8}, // from r12, from a constant
		{[]uint32{0x3c4c0001, 0x60000000}, 0}, {[]uint32{0x3c4b0001, 0x38420100}, 0}, {[]uint32{0x3c4c0001}, 0},
	} {
		var code []byte
		for _, w := range test.words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		at, near := LocalEntry(&k, code, -1)
		require.Equal(t, []int{test.at, 8}, []int{at, near}, "%08x", test.words)
	}
	at, near := LocalEntry(&Kernel{Decoder: DecodesARM64}, nil, -1)
	require.Zero(t, at+near)
}

// TestPPCProbes compares verdicts with what register_kprobe of Debian's 6.12.107 and 7.2.13 answers about instructions,
// and about a nop behind one, which linux's tests record.
func TestPPCProbes(t *testing.T) {
	const nop = 0x60000000
	for _, file := range []string{"ppc64le-6.12-probes", "ppc64le-7.2-probes"} {
		asked, far := 0, 0
		eachAnswer(t, file, func(w uint32, _, behind bool, answer string) {
			v := judgePPC(Edition69, 0, w, nop)
			if behind {
				v = judgePPC(Edition69, 4, w, nop)
			}
			asked++
			require.Equal(t, answer == "EINVAL", v.Errno == inval, "%s: %08x: %s, %+v", file, w, answer, v)
			optimizable := v.Optimizable()
			if optimizable && !behind && leavesReach(w) {
				optimizable = false
				far++
			}
			optimized := v.Errno == 0 && optimizable
			require.Equal(t, answer == "optimized", optimized, "%s: %08x: %s, %+v", file, w, answer, v)
		})
		require.Greater(t, asked, 20_000)
		require.NotZero(t, far)
	}
}

// leavesReach reports whether an instruction is a branch to where a detour's doesn't reach: the test lays detours
// 27 MiB above the instructions that are asked about.
func leavesReach(w uint32) bool {
	const asked, detours, reach = 0xffffffff81000000, 0xffffffff82b00000, 32 << 20
	if w>>26 != 18 {
		return false
	}
	to := uint64(int64(int32(w&0x03fffffc)<<6) >> 6)
	if w&2 == 0 {
		to += asked
	}
	d := int64(to - detours)
	return d < -reach || d >= reach
}
