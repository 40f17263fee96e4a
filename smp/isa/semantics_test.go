package isa_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/isa"
)

//go:generate sh -c "gcc -O1 -fno-pie -no-pie -o /tmp/semantics testdata/semantics.c && /tmp/semantics 3 > testdata/semantics.txt"

var semantics = flag.String("semantics", "testdata/semantics.txt", "rows to check, as testdata/semantics.c writes them")

const arith = isa.CF | isa.PF | isa.AF | isa.ZF | isa.SF | isa.OF

// run executes the code at textAt until IP is behind it.
func run(code []byte, s *isa.Regs, m isa.Memory) (isa.Outcome, error) {
	end := textAt + isa.Addr(len(code))
	for steps := 0; s.IP != end; steps++ {
		if steps > 1000 || s.IP < textAt || s.IP > end {
			return 0, fmt.Errorf("astray at %#x", s.IP)
		}
		in, err := isa.Decode(code[s.IP-textAt:], s.IP)
		if err != nil {
			return 0, err
		}
		switch out := in.Exec(s, m); out {
		case isa.Next, isa.Interrupts:
		default:
			return out, nil
		}
	}
	return isa.Next, nil
}

// TestSemantics compares registers and defined flags with what a processor
// answered.
func TestSemantics(t *testing.T) {
	text, err := os.ReadFile(*semantics)
	require.NoError(t, err)
	mem := make(flat, 0x10000)
	var what string
	rows, divideErrors, wrong := 0, 0, 0
	for row := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(row, "# "); ok {
			what = strings.TrimSpace(name)
			continue
		}
		before, after, _ := strings.Cut(strings.TrimSpace(row), " = ")
		var code string
		var undefined, flags uint64
		s := isa.Regs{IP: textAt}
		_, err := fmt.Sscanf(before, "%s %x %x %x %x %x %x", &code, &undefined, &s.R[isa.RAX], &s.R[isa.RBX], &s.R[isa.RCX],
			&s.R[isa.RDX], &flags)
		require.NoError(t, err, row)
		b, err := hex.DecodeString(code)
		require.NoError(t, err, row)
		s.Flags = flags | isa.F1 | isa.IF
		s.R[isa.RSP] = uint64(stackAt)
		mem.Store(stackAt, 8, uint64(outside))
		rows++

		out, err := run(b, &s, mem)
		if after == "DE" {
			divideErrors++
			if err != nil || out != isa.DivideError {
				t.Errorf("%s: want a divide error\n%s", what, row)
			}
			continue
		}
		got := fmt.Sprintf("%x %x %x %x", s.R[isa.RAX], s.R[isa.RBX], s.R[isa.RCX], s.R[isa.RDX])
		i := strings.LastIndexByte(after, ' ')
		var wantFlags uint64
		fmt.Sscanf(after[i+1:], "%x", &wantFlags)
		defined := (arith | isa.DF) &^ undefined
		if err != nil || out != isa.Next || got != after[:i] || (s.Flags^wantFlags)&defined != 0 ||
			s.R[isa.RSP] != uint64(stackAt) || s.Flags&(isa.F1|isa.IF) != isa.F1|isa.IF {
			if wrong++; wrong < 20 {
				t.Errorf("%s: %v, outcome %d\n%sgot %s %x", what, err, out, row, got, s.Flags)
			}
		}
	}
	t.Logf("%d rows, %d divide errors, %d wrong", rows, divideErrors, wrong)
	require.Greater(t, rows, 1000)
	require.Greater(t, divideErrors, 5)
}

// TestUndefinedFlags: what the SDM leaves undefined is cleared.
func TestUndefinedFlags(t *testing.T) {
	for _, c := range []struct {
		code      string
		undefined uint64
	}{
		{"21c8", isa.AF},                     // and %ecx,%eax
		{"f7e1", arith &^ (isa.CF | isa.OF)}, // mul %ecx
		{"0fafc1", arith &^ (isa.CF | isa.OF)},
		{"f7f1", arith},                      // div %ecx
		{"f7f9", arith},                      // idiv %ecx
		{"c1e005", isa.AF | isa.OF},          // shl $5,%eax
		{"c0e009", isa.AF | isa.OF | isa.CF}, // shl $9,%al
		{"c0e809", isa.AF | isa.OF | isa.CF}, // shr $9,%al
		{"c1c005", isa.OF},                   // rol $5,%eax
		{"c1d805", isa.OF},                   // rcr $5,%eax
		{"0fa4c805", isa.AF | isa.OF},        // shld $5,%ecx,%eax
		{"660fa4c811", isa.AF | isa.OF | isa.CF},
		{"0fa3c8", arith &^ (isa.CF | isa.ZF)},   // bt %ecx,%eax
		{"0fbcc1", arith &^ isa.ZF},              // bsf %ecx,%eax
		{"f30fbcc1", arith &^ (isa.CF | isa.ZF)}, // tzcnt
	} {
		b, err := hex.DecodeString(c.code)
		require.NoError(t, err)
		s := isa.Regs{IP: textAt, Flags: isa.F1 | arith}
		s.R[isa.RAX], s.R[isa.RCX] = 0xffff_ffff, 3
		out, err := run(b, &s, nil)
		require.NoError(t, err, c.code)
		require.Equal(t, isa.Next, out, c.code)
		require.Zero(t, s.Flags&c.undefined, c.code)
	}
}
