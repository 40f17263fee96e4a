package x86_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// TestUndefinedTable: a flag more or less that comparisons leave out is noticed
// here. Of each form the flags that it leaves undefined; shifts depend on CL.
func TestUndefinedTable(t *testing.T) {
	require.Equal(t, 28, x86.UndefinedRows)
	const (
		logic = x86.AF
		mul   = arith &^ (x86.CF | x86.OF)
		bits  = arith &^ (x86.CF | x86.ZF)
	)
	for _, c := range []struct {
		code string
		cl   uint64
		want uint64
	}{
		{"01c8", 0, 0}, {"11c8", 0, 0}, {"39c8", 0, 0}, {"83c001", 0, 0}, {"ffc0", 0, 0}, {"f7d8", 0, 0},
		{"f7d0", 0, 0},
		{"09c8", 0, logic}, {"21c8", 0, logic}, {"3401", 0, logic}, {"83c801", 0, logic}, {"83e001", 0, logic},
		{"83f001", 0, logic},
		{"85c8", 0, logic}, {"a801", 0, logic}, {"f6c001", 0, logic}, {"f6c801", 0, logic},
		{"f7e1", 0, mul}, {"f7e9", 0, mul}, {"6bc103", 0, mul}, {"0fafc1", 0, mul}, {"f7f1", 0, arith},
		{"f6f9", 0, arith},
		{"d3e0", 0, 0}, {"d3e0", 32, 0}, {"d3e0", 1, x86.AF}, {"d1f8", 9, x86.AF}, {"d3e0", 31, x86.AF | x86.OF},
		{"d2e0", 8, x86.AF | x86.OF | x86.CF}, {"66c1e810", 0, x86.AF | x86.OF | x86.CF},
		{"66c1f810", 0, x86.AF | x86.OF},
		{"48d3e0", 32, x86.AF | x86.OF},
		{"d3c0", 0, 0}, {"d3c0", 1, 0}, {"d3d8", 2, x86.OF}, {"c1c005", 0, x86.OF},
		{"0fa5c8", 0, 0}, {"0fa5c8", 1, x86.AF}, {"0facc805", 0, x86.AF | x86.OF}, {"660fa5c8", 17, arith},
		{"660fa5c8", 16, x86.AF | x86.OF},
		{"0fa3c8", 0, bits}, {"0fb3c8", 0, bits}, {"0fbae001", 0, bits},
		{"0fbcc1", 0, arith &^ x86.ZF}, {"0fbdc1", 0, arith &^ x86.ZF}, {"f30fbcc1", 0, bits}, {"f30fbdc1", 0, bits},
		{"f30fb8c1", 0, 0},
		{"c4e278f2c1", 0, x86.AF | x86.PF}, {"c4e270f3c9", 0, x86.AF | x86.PF}, {"c4e270f5c1", 0, x86.AF | x86.PF},
		{"c4e270f7c1", 0, x86.AF | x86.PF | x86.SF}, {"c4e272f5c1", 0, 0}, {"c4e271f7c1", 0, 0}, {"c4e273f6c1", 0, 0},
		{"0fc7f0", 0, 0}, {"0fc1c8", 0, 0}, {"0fb1c8", 0, 0}, {"660f38f6c1", 0, 0}, {"9e", 0, 0},
	} {
		b, err := hex.DecodeString(c.code)
		require.NoError(t, err)
		in, err := x86.Decode(b, textAt)
		require.NoError(t, err, c.code)
		var s arch.Regs
		s.R[x86.RCX] = c.cl
		require.Equal(t, c.want, in.UndefinedFlags(&s), "%v with cl %d", &in, c.cl)
	}
	for code, want := range map[string]uint64{"27": x86.OF, "2f": x86.OF, "37": arith &^ (x86.AF | x86.CF),
		"3f":   arith &^ (x86.AF | x86.CF),
		"d40a": x86.CF | x86.AF | x86.OF, "d50a": x86.CF | x86.AF | x86.OF, "40": 0, "63c8": 0} {
		b, err := hex.DecodeString(code)
		require.NoError(t, err)
		in, err := x86.Mode32.Decode(b, textAt)
		require.NoError(t, err, code)
		require.Equal(t, want, in.UndefinedFlags(new(arch.Regs)), "%v", &in)
	}
}
