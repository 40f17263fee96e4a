package rules

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
)

// judgeARM returns the verdict on the last of some instructions of arm64.
func judgeARM(f Function, words ...uint32) Verdict {
	k := Kernel{Edition: Edition69, Decoder: DecodesARM64}
	for _, w := range words {
		f.Code = binary.LittleEndian.AppendUint32(f.Code, w)
	}
	f.Name, f.Addr, f.Size = "f", 0x1000, len(f.Code)
	var j Judge
	j.Load(&k, &f)
	return j.At(f.Size - 4)
}

// TestARM64Words: one instruction of each kind, and what becomes of it.
func TestARM64Words(t *testing.T) {
	for _, c := range []struct {
		why   ReasonKind
		simul bool
		words []uint32
	}{
		{None, true, []uint32{0x14000001, 0x94000001, 0x54000040, 0x34000040, 0xb5000040, 0x36000040, 0xb7000040,
			0xd61f0000, 0xd63f0020, 0xd65f03c0, 0x10000000, 0x90000000, 0x18000040, 0x58000040, 0x98000040}},
		{Unsimulated, false, []uint32{0xd61f0bff, 0xd71f0820, 0xd63f081f, 0xd73f0c22, 0xd65f0bff, 0xd65f0fff}},
		{Excepts, false, []uint32{0xd4000001, 0xd4000002, 0xd4000003, 0xd4200000, 0xd4400000}}, // svc hvc smc brk hlt
		{System, false, []uint32{0xd69f03e0, 0xd69f0bff, 0xd50342df, 0xd50041bf, 0xd5184100, 0xd53b4220}},
		{Hint, false, []uint32{0xd503203f, 0xd503205f, 0xd503207f, 0xd503209f, 0xd50323bf, 0xd503219f}}, // yield to autiasp
		{None, false, []uint32{0xd503201f, 0xd50320ff, 0xd503211f, 0xd503215f, 0xd503233f, 0xd503237f, 0xd503241f,
			0xd503245f, 0xd503249f, 0xd50324df}}, // nop, xpaclri, pac, bti
		{None, false, []uint32{0xd53bd040, 0xd5033fdf, 0xd5033bbf}}, // mrs of tpidr_el0, isb, dmb
		{Exclusive, false, []uint32{0x885f7c01, 0x88027c01, 0xc87f0402}},
		{None, false, []uint32{0x88dffc00, 0x889ffc00, 0xb8200001}}, // ldar, stlr, ldadd
		{Literal, false, []uint32{0xd8000040}},
		{None, false, []uint32{0x11000400, 0xb9400000, 0xa9bf7bfd, 0x9b017c00}},
	} {
		for _, w := range c.words {
			v := judgeARM(Function{}, w)
			require.Equal(t, c.why != None, v.Errno == inval, "%08x: %+v", w, v)
			require.Equal(t, c.simul, v.Emulated, "%08x", w)
			if v.Errno != 0 {
				require.Equal(t, c.why, v.Why.Kind, "%08x", w)
			}
		}
	}
}

// TestARM64Hinted: a copy of bc.cond was stepped until there was a simulation.
func TestARM64Hinted(t *testing.T) {
	for edition, simulated := range map[Edition]bool{Edition65: false, Edition69: true} {
		var j Judge
		j.Load(&Kernel{Edition: edition, Decoder: DecodesARM64},
			&Function{Name: "f", Addr: 0x1000, Size: 4, Code: []byte{0x10, 0, 0, 0x54}})
		v := j.At(0)
		require.Zero(t, v.Errno)
		require.Equal(t, simulated, v.Emulated)
	}
}

// TestARM64Flow: what goes elsewhere than on, by what the processor does, is never stepped.
func TestARM64Flow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.Uint32().Draw(t, "w")
		in, err := arm64.ARM64.Decode(binary.LittleEndian.AppendUint32(nil, w), 0x1000)
		if err != nil {
			return
		}
		v := judgeARM(Function{}, w)
		flow := in.Flow()
		if v.Errno == 0 && !v.Emulated && flow != arch.FlowNext && flow != arch.FlowUndefined {
			t.Fatalf("%08x %v goes elsewhere, and is stepped", w, in)
		}
	})
}

// TestARM64Exclusives: nothing is probed from an exclusive load to its store, as far as 32 instructions, or the
// function's start.
func TestARM64Exclusives(t *testing.T) {
	const load, store, add, ldar = 0x885f7c01, 0x88027c01, 0x11000421, 0x88dffc00
	require.Equal(t, Reason{Kind: BehindExclusive}, judgeARM(Function{}, load, add).Why)
	require.Equal(t, Reason{Kind: BehindExclusive, At: 4}, judgeARM(Function{}, store, load, add, add).Why)
	require.Zero(t, judgeARM(Function{}, load, add, store, add).Errno)
	require.Equal(t, Reason{Kind: BehindExclusive}, judgeARM(Function{}, ldar, add).Why, "taken for exclusive")
	far := []uint32{load}
	for range 31 {
		far = append(far, add)
	}
	require.NotZero(t, judgeARM(Function{}, append(far, add)...).Errno)
	require.Zero(t, judgeARM(Function{}, append(far, add, add)...).Errno)
}

// TestARM64Places: addresses, and the exception table.
func TestARM64Places(t *testing.T) {
	k := Kernel{Edition: Edition69, Decoder: DecodesARM64}
	var j Judge
	j.Load(&k, &Function{Name: "f", Addr: 0x1000, Size: 8, Code: []byte{0, 4, 0, 0x11, 0, 4, 0, 0x11}})
	for i, errno := range []int{0, inval, inval, inval, 0, inval} {
		require.Equal(t, errno, j.At(i).Errno, "+%d", i)
	}
	require.Equal(t, Reason{Kind: Fixup}, judgeARM(Function{Extable: []int{0}}, 0xb9400000).Why)
}

// TestARMAnswers compares verdicts with what register_kprobe of Debian's 6.12.117 answers about instructions, and about
// a nop behind one, which linux's tests record.
func TestARMAnswers(t *testing.T) {
	asked := 0
	eachAnswer(t, "arm64-6.12", func(w uint32, _, behind bool, answer string) {
		agrees(t, judgeAsked(w, behind), w, answer)
		asked++
	})
	require.Greater(t, asked, 20_000)
}

// TestARMAnswersLater compares them with 7.2.13's, which simulates nop, and takes no plain load or store with acquire
// or release for exclusive. No edition is as new.
func TestARMAnswersLater(t *testing.T) {
	const nop, ordered = 0xd503201f, 1 << 23
	plain := 0
	eachAnswer(t, "arm64-7.2", func(w uint32, _, behind bool, answer string) {
		v := judgeAsked(w, behind)
		if behind && v.Errno != 0 && answer != "EINVAL" {
			require.NotZero(t, w&ordered, "%08x", w)
			v = judgeARM(Function{}, nop)
			plain++
		}
		if answer == "simulate_nop" {
			require.True(t, behind || w == nop, "%08x", w)
			v.Emulated = true
		}
		agrees(t, v, w, answer)
	})
	require.Greater(t, plain, 200)
}

// judgeAsked returns the verdict on an instruction, or on a nop behind it.
func judgeAsked(w uint32, behind bool) Verdict {
	if behind {
		return judgeARM(Function{}, w, 0xd503201f)
	}
	return judgeARM(Function{}, w)
}
