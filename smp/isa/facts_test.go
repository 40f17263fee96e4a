package isa_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/isa"
)

func decodeHex(t require.TestingT, mode isa.Mode, code string) isa.Inst {
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
		encoding isa.Encoding
		opcode   int
		group    int // none: no ModRM
		prefixes isa.Prefixes
	}{
		{"90", isa.Legacy, 0x90, none, 0},
		{"e800000000", isa.Legacy, 0xe8, none, 0},
		{"0f8400000000", isa.Legacy, 0x0f84, none, 0},
		{"0f0b", isa.Legacy, 0x0f0b, none, 0},
		{"0f38f000", isa.Legacy, 0x0f38f0, 0, 0},
		{"0f3a0fc001", isa.Legacy, 0x0f3a0f, 0, 0},
		{"0fbae805", isa.Legacy, 0x0fba, 5, 0},
		{"ff30", isa.Legacy, 0xff, 6, 0},
		{"4889e5", isa.Legacy, 0x89, 4, isa.PrefixREX | isa.PrefixREXW},
		{"41ffe3", isa.Legacy, 0xff, 4, isa.PrefixREX},
		{"4866ffe3", isa.Legacy, 0xff, 4, isa.PrefixOpSize}, // the REX doesn't count
		{"f0480fb10f", isa.Legacy, 0x0fb1, 1, isa.PrefixLock | isa.PrefixREX | isa.PrefixREXW},
		{"f2f3a4", isa.Legacy, 0xa4, none, isa.PrefixRep},
		{"f3f2a4", isa.Legacy, 0xa4, none, isa.PrefixRepne},
		{"6467658b00", isa.Legacy, 0x8b, 0, isa.PrefixGS | isa.PrefixAddrSize},
		{"3e8b00", isa.Legacy, 0x8b, 0, 0},
		{"2e7500", isa.Legacy, 0x75, none, isa.PrefixCS},
		{"c5f877", isa.VEX, 0x0f77, none, 0},
		{"65c4e2f8f308", isa.VEX, 0x0f38f3, 1, isa.PrefixGS},
		{"62f57c4858c1", isa.EVEX, 0x050058, 0, 0},
		{"8fe97890c8", isa.XOP, 0x090090, 1, 0},
	} {
		in := decodeHex(t, isa.Mode64, c.code)
		require.Equal(t, c.encoding, in.Encoding(), c.code)
		require.Equal(t, c.opcode, in.Opcode(), c.code)
		require.Equal(t, c.prefixes, in.Prefixes(), c.code)
		group, ok := in.Group()
		_, modrm := in.ModRM()
		require.Equal(t, modrm, ok, c.code)
		require.Equal(t, c.group != none, ok, c.code)
		if ok {
			require.Equal(t, c.group, group, c.code)
		}
		require.Equal(t, isa.Mode64, in.Mode())
	}
}

// TestMasksTraps: mov to ss in both modes, pop ss in the one that has it.
func TestMasksTraps(t *testing.T) {
	for _, c := range []struct {
		code string
		mode isa.Mode
		want bool
	}{
		{"8ed0", isa.Mode64, true}, {"8e10", isa.Mode32, true}, {"17", isa.Mode32, true},
		{"8ed8", isa.Mode64, false}, {"8cd0", isa.Mode64, false}, {"0fb200", isa.Mode64, false}, {"07", isa.Mode32, false},
		{"fb", isa.Mode64, false}, {"0f1700", isa.Mode64, false},
	} {
		in := decodeHex(t, c.mode, c.code)
		require.Equal(t, c.want, in.MasksTraps(), c.code)
	}
}

// TestPrefixSoup: prefixes that don't take part in the opcode change neither
// what it is nor how long its rest is, in any order and number.
func TestPrefixSoup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.SampledFrom([]string{"8b4710", "c3", "e800000000", "0fb6c0", "f6c801", "0f1f440000", "83c001", "7510", "0f8400000000"}).Draw(t, "code")
		want := decodeHex(t, isa.Mode64, code)
		soup := rapid.SliceOfN(rapid.SampledFrom([]byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0xf2, 0xf3, 0x40, 0x48, 0x4f}), 0, 8).Draw(t, "soup")
		soup = append(soup, 0x3e) // whatever REX there is doesn't count
		in, err := isa.Decode(append(soup, want.Bytes()...), textAt)
		require.NoError(t, err)
		require.EqualValues(t, len(soup)+int(want.Len), in.Len)
		require.Equal(t, want.Opcode(), in.Opcode())
		require.Zero(t, in.Prefixes()&(isa.PrefixREX|isa.PrefixREXW))
		require.Equal(t, want.Flow(), in.Flow())
	})
}

func TestDecodeAllocatesNothing(t *testing.T) {
	for _, code := range []string{"90", "488b4710", "e800000000", "f30f1efa", "c4e2f8f3d9", "62f17c4858c1", "48c7050000000001000000"} {
		b, err := hex.DecodeString(code)
		require.NoError(t, err)
		for _, mode := range []isa.Mode{isa.Mode64, isa.Mode32} {
			require.Zero(t, testing.AllocsPerRun(100, func() {
				if _, err := mode.Decode(b, textAt); err != nil {
					panic(err)
				}
			}), code)
		}
	}
}
