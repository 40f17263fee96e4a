package image_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/smp/image"
)

func TestParseHex(t *testing.T) {
	f := []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x5b, 0x5d, 0xc3}
	for _, c := range []struct {
		in   string
		want []byte
		err  string
	}{
		{in: ""},
		{in: "# only a comment"},
		{in: "55 4889e5\t53\r\n5b # pop, e9 is not code here\n5DC3", want: f},
		{in: "55 // push\n48 89 e5 ; mov\n535b5dc3", want: f},
		{in: "{ 0x55, 0X48,0x89, 0xE5,\n 0x53, 0x5b, 0x5d, 0xc3 };", want: f},
		{in: "[]byte 55", err: `line 1, column 4 of "[]byte 55": 'y' is no hexadecimal digit; write pairs of digits, 55 4889e5, and # before what is no bytes`},
		{in: "0x9 0x0", want: []byte{9, 0}},
		{in: "55h 48h 89H 0e5h 53h 5bh 5dh 0c3h", want: f},
		{in: `"\x55\x48\x89" "\xe5\x53\x5b\x5d\xc3"`, want: f},
		{in: "Code: 55 48 89 <e5> 53 5b 5d c3", want: f},

		{in: "mine.o:     file format elf64-x86-64\n\nDisassembly of section .text:\n\n0000000000000000 <f>:\n" +
			"   0:\t55                   \tpush   %rbp\n   1:\t48 89 e5             \tmov    %rsp,%rbp\n   4:\t53 5b 5d \n   7:\tc3                   \tret", want: f},
		{in: "       0: 55                           \tpushq\t%rbp\n       1: 48 89 e5                     \tmovq\t%rsp, %rbp # e9\n       4: 53 5b 5d c3", want: f},
		{in: "=> 0x0000000000001129 <+0>:\t55\tpush   %rbp\n   0x000000000000112a <f+1>:\t48 89 e5\tmov    %rsp,%rbp\n   0x112d:  53 5b 5d c3", want: f},
		{in: "00000000: 5548 89e5 535b 5dc3                      UH..S[].", want: f},
		{in: "    +0x0  55                    push %rbp            int3     no     yes\n    +0x1  48 89 e5              mov\n +0x4  53 5b 5d c3", want: f},
		{in: "55\n1: 48 89 e5  mov\n53 5b\n6: 5d c3", want: f},

		{in: "55 4", err: `line 1, column 4 of "55 4": a single digit '4': a byte is two digits side by side, 04`},
		{in: "5 5", err: "line 1, column 1 of \"5 5\": a single digit '5'"},
		{in: "5#5", err: "line 1, column 1 of \"5#5\": a single digit '5'"},
		{in: "90 # one\n 9g", err: `line 2, column 3 of " 9g": 'g' is no hexadecimal digit`},
		{in: "89 f8 mov %edi,%eax", err: `line 1, column 7 of "89 f8 mov %edi,%eax": 'm' is no hexadecimal digit; write pairs of digits, 55 4889e5, and # before what is no bytes`},
		{in: "55 0x4889e5", err: `line 1, column 4 of "55 0x4889e5": 0x4889e5 has several bytes, and nothing says which comes first; write them apart, as 48 89 e5`},
		{in: "0x123", err: "write them apart, as 0x48 0x89"},
		{in: `\x5\x48`, err: `"\\x5\\x48": an escape is \x and two digits`},
		{in: "0:\t55\n2:\t89 e5", err: `line 2, column 1 of "2:\t89 e5": the line is of 0x2, and the bytes before it end at 0x1; leave no line out`},
		{in: "0:\t55\n\t...\n9:\t55", err: `line 2, column 2 of "\t...": zeros, or other bytes, are left out here; write them all`},
		{in: "0:\te8 00 00 00 00  \tcall 5\n\t\t\t1: R_X86_64_PLT32\tg-0x4", err: "line 2, column 7 of \"\\t\\t\\t1: R_X86_64_PLT32\\tg-0x4\": the linker is to change bytes above; give the object file, elf(…)"},
		{in: "5: R_X86_64_PLT32 g-0x4", err: "the linker is to change bytes above; give the object file, elf(…)"},
		{in: "0:  push %rbp", err: "line 1, column 5 of \"0:  push %rbp\": no bytes stand behind the address; have them printed, too"},
		{in: "0:", err: "no bytes stand behind the address"},
		{in: "0: 48 01 c8 add %ecx,%eax", err: `line 1, column 13 of "0: 48 01 c8 add %ecx,%eax": "add" isn't bytes; put two blanks before what is no bytes any more, or #`},
	} {
		got, err := image.ParseHex(c.in)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%q", c.in)
			assert.NotContains(t, err.Error(), "\n")
			continue
		}
		require.NoError(t, err, "%q", c.in)
		assert.Equal(t, c.want, got, "%q", c.in)
	}
}

// Bytes are read as they were written, whatever stands between them.
func TestParseHexWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes")
		var s strings.Builder
		for _, b := range want {
			form := rapid.SampledFrom([]string{"%02x ", "\n%02X\n", "0x%02x, ", "0x%x\n", `\x%02x `, "%02xh\t", "{%02x} # 00\n", "<%02x> "}).Draw(t, "form")
			fmt.Fprintf(&s, form, b)
		}
		got, err := image.ParseHex(s.String())
		require.NoError(t, err, "%q", s.String())
		require.Equal(t, want, got, "%q", s.String())
	})
}
