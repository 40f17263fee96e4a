package x86_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/arch/x86"
)

func decodeHex(t require.TestingT, mode x86.Mode, code string) x86.Inst {
	b, err := hex.DecodeString(code)
	require.NoError(t, err, code)
	in, err := mode.Decode(b, textAt)
	require.NoError(t, err, code)
	return in
}

func TestFacts(t *testing.T) {
	const none = -1
	for _, c := range []struct {
		code     string
		encoding x86.Encoding
		opcode   int
		group    int // none: no ModRM
		prefixes x86.Prefixes
	}{
		{"90", x86.Legacy, 0x90, none, 0},
		{"e800000000", x86.Legacy, 0xe8, none, 0},
		{"0f8400000000", x86.Legacy, 0x0f84, none, 0},
		{"0f0b", x86.Legacy, 0x0f0b, none, 0},
		{"0f38f000", x86.Legacy, 0x0f38f0, 0, 0},
		{"0f3a0fc001", x86.Legacy, 0x0f3a0f, 0, 0},
		{"0fbae805", x86.Legacy, 0x0fba, 5, 0},
		{"ff30", x86.Legacy, 0xff, 6, 0},
		{"4889e5", x86.Legacy, 0x89, 4, x86.PrefixREX | x86.PrefixREXW},
		{"41ffe3", x86.Legacy, 0xff, 4, x86.PrefixREX},
		{"4866ffe3", x86.Legacy, 0xff, 4, x86.PrefixOpSize}, // the REX doesn't count
		{"f0480fb10f", x86.Legacy, 0x0fb1, 1, x86.PrefixLock | x86.PrefixREX | x86.PrefixREXW},
		{"f2f3a4", x86.Legacy, 0xa4, none, x86.PrefixRep},
		{"f3f2a4", x86.Legacy, 0xa4, none, x86.PrefixRepne},
		{"6467658b00", x86.Legacy, 0x8b, 0, x86.PrefixGS | x86.PrefixAddrSize},
		{"3e8b00", x86.Legacy, 0x8b, 0, 0},
		{"2e7500", x86.Legacy, 0x75, none, x86.PrefixCS},
		{"c5f877", x86.VEX, 0x0f77, none, 0},
		{"65c4e2f8f308", x86.VEX, 0x0f38f3, 1, x86.PrefixGS},
		{"62f57c4858c1", x86.EVEX, 0x050058, 0, 0},
		{"8fe97890c8", x86.XOP, 0x090090, 1, 0},
	} {
		in := decodeHex(t, x86.Mode64, c.code)
		require.Equal(t, c.encoding, in.Encoding(), c.code)
		require.Equal(t, c.opcode, in.Opcode(), c.code)
		require.Equal(t, c.prefixes, in.Prefixes(), c.code)
		group, ok := in.RegField()
		_, modrm := in.ModRM()
		require.Equal(t, modrm, ok, c.code)
		require.Equal(t, c.group != none, ok, c.code)
		if ok {
			require.Equal(t, c.group, group, c.code)
		}
		require.Equal(t, x86.Mode64, in.Mode())
	}
}

// TestMasksTraps: mov to ss in both modes, pop ss in the one that has it.
func TestMasksTraps(t *testing.T) {
	for _, c := range []struct {
		code string
		mode x86.Mode
		want bool
	}{
		{"8ed0", x86.Mode64, true}, {"8e10", x86.Mode32, true}, {"17", x86.Mode32, true},
		{"8ed8", x86.Mode64, false}, {"8cd0", x86.Mode64, false}, {"0fb200", x86.Mode64, false},
		{"07", x86.Mode32, false},
		{"fb", x86.Mode64, false}, {"0f1700", x86.Mode64, false},
	} {
		in := decodeHex(t, c.mode, c.code)
		require.Equal(t, c.want, in.MasksTraps(), c.code)
	}
}

// TestPrefixSoup: prefixes that don't take part in the opcode change neither
// what it is nor how long its rest is, in any order and number.
func TestPrefixSoup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]string{"8b4710", "c3", "e800000000", "0fb6c0", "f6c801", "0f1f440000", "83c001",
			"7510",
			"0f8400000000"}).Draw(t, "code")
		want := decodeHex(t, x86.Mode64, code)
		soup := rapid.SliceOfN(rapid.SampledFrom([]byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0xf2, 0xf3, 0x40, 0x48,
			0x4f}), 0,
			8).Draw(t, "soup")
		soup = append(soup, 0x3e) // whatever REX there is doesn't count
		in, err := x86.Decode(append(soup, want.Bytes()...), textAt)
		require.NoError(t, err)
		require.EqualValues(t, len(soup)+int(want.Len), in.Len)
		require.Equal(t, want.Opcode(), in.Opcode())
		require.Zero(t, in.Prefixes()&(x86.PrefixREX|x86.PrefixREXW))
		require.Equal(t, want.Flow(), in.Flow())
	})
}

func TestDecodeAllocatesNothing(t *testing.T) {
	for _, code := range []string{"90", "488b4710", "e800000000", "f30f1efa", "c4e2f8f3d9", "62f17c4858c1",
		"48c7050000000001000000"} {
		b, err := hex.DecodeString(code)
		require.NoError(t, err)
		for _, mode := range []x86.Mode{x86.Mode64, x86.Mode32} {
			require.Zero(t, testing.AllocsPerRun(100, func() {
				if _, err := mode.Decode(b, textAt); err != nil {
					panic(err)
				}
			}), code)
		}
	}
}
