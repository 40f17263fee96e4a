package x86_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// TestExecAllocates nothing, whatever the family, with an override too.
func TestExecAllocates(t *testing.T) {
	forms := map[x86.Mode][]string{
		x86.Mode64: {
			"4801c8", "480103", "6601c8", "00e1", "480fb6c1", "50", "58", "ff33", "8f03", "c8200003", "c9",
			"e800000000", "ff13",
			"c3",
			"f7e1", "f7f9", "480fafc1", "d3e0", "d31b", "0fa5c8", "0fab0b", "0fbcc1", "f30fb8c1", "0f44c1", "0f94c0",
			"480fc70b",
			"f00fb10b", "0fc10b", "8703", "0fc8", "0f38f003", "f20f38f1c1", "c4e2f8f2c1", "c4e2fbf6c1", "c4e3fbf0c105",
			"f3a4",
			"a6", "ae", "d7",
			"65488b03", "65ff33", "64a4", "65ff13", "9c", "9d", "48cf", "ff2b", "cb", "cd80", "cc", "0fa2", "0f31",
			"0f32",
			"0f20c0", "0f22d8",
			"0f01f8", "f30faec0", "8ed8", "8cd8", "0f0113", "0f010b", "0f05", "0f0b", "8b042500000100",
		},
		x86.Mode32: {
			"60", "61", "40", "27", "37", "d40a", "d50a", "6203", "63c8", "ce", "cf", "1e", "1f", "9a0010000010006690",
			"2e0103",
			"678b00", "66e80000",
			"c503", "f3a5", "ff2b",
		},
	}
	var mem arch.Memory = make(flat, 0x10000)
	for mode, codes := range forms {
		for _, code := range codes {
			b, err := hex.DecodeString(code)
			require.NoError(t, err)
			in, err := mode.Decode(append(b, make([]byte, 15)...), textAt)
			if err != nil {
				t.Errorf("%s: %v", code, err)
				continue
			}
			system = x86.NewSystem(0, 0x10, 0x18)
			var s arch.Regs
			n := testing.AllocsPerRun(20, func() {
				s = arch.Regs{IP: textAt, Flags: x86.F1}
				s.R[x86.RBX], s.R[x86.RSI], s.R[x86.RDI] = uint64(dataAt), uint64(dataAt), uint64(data2At)
				s.R[x86.RSP], s.R[x86.RBP], s.R[x86.RCX] = uint64(stackAt), uint64(stackAt), 3
				in.Exec(&s, mem)
			})
			require.Zero(t, n, "%s: %v", code, &in)
		}
	}
}
