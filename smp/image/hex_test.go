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

		// What debuggers, dumps and JITs print, whole.
		{in: "Dump of assembler code for function f:\n   0x0000000000001129 <+0>:\t55\tpush   %rbp\n=> 0x000000000000112a <+1>:\t48 89 e5\tmov    %rsp,%rbp\n   0x112d <+4>:\t53 5b 5d c3\nEnd of assembler dump.\n", want: f},
		{in: "Dump of assembler code for function f:\nf.c:\n1\tint f(int a){ return a*3+1; }\n   0x1129 <+0>:\t55\tpush   %rbp\n2\t}\n   0x112a <+1>:\t48 89 e5 53 5b 5d c3\tmov\nEnd of assembler dump.", want: f},
		{in: "0000000000001129 <f>:\nint f(int a)\n{ return add(a, 1); }\n    1129:\t55                   \tpush\n    112a:\t48 89 e5 53 5b 5d c3 \tmov", want: f},
		{in: "0x1129 <f>:\t0x55\t0x48\t0x89\t0xe5\n0x112d <f+4>:\t0x53\t0x5b\t0x5d\t0xc3\n", want: f},
		{in: "0x7f00:  0x55  0x48  0x89  0xe5  0x53 0x5b 0x5d 0xc3", want: f},
		{in: "gdb1:     file format elf64-x86-64\n\nContents of section .text:\n 1040 554889e5 535b5dc3                    UH..S[]. ", want: f},
		{in: "00000000  55 48 89 e5 53 5b 5d c3  90 0a                    |UH..S[#;.|\n0000000a\n",
			want: append(append([]byte{}, f...), 0x90, 0x0a)},
		{in: "0x3bd8e2a00100     0  55             push rbp\n0x3bd8e2a00101     1  4889e5         REX.W movq rbp,rsp\n0x3bd8e2a00104     4  535b5dc3", want: f},
		{in: "  0x00007f01: 5548 89e5 | 535b 5dc3", want: f},
		{in: "\t.byte 0x55, 0x48, 137, 0xe5 # mov\n\t.byte\t83, 91, 93\n.byte 0xc3", want: f},
		{in: "db 55h, 48h, 089h, 0e5h\nDB 53h\ndb 91, 93, 0c3h ; ret", want: f},
		{in: "db 31 c0 c3", want: []byte{0xdb, 0x31, 0xc0, 0xc3}},
		{in: "unsigned char f[] = {\n  0x55, 0x48, 0x89, 0xe5, 0x53, /* pop 5b */ 0x5b, 0x5d, 0xc3\n};\nunsigned int f_len = 8;", want: f},
		{in: "static const u8 f[8] = \"\\x55\\x48\\x89\\xe5\"\n\"\\x53\\x5b\\x5d\\xc3\";", want: f},
		{in: "let f: [u8; 8] = [0x55, 0x48, 0x89, 0xe5, 0x53, 0x5b, 0x5d, 0xc3];", want: f},
		{in: "f := []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x5b, 0x5d, 0xc3}", want: f},
		{in: "55:48:89:e5:53:5b\n5d-c3", want: f},
		{in: "{0x0f, 0, 0xc3}", want: []byte{0x0f, 0, 0xc3}},
		{in: "{0x31, 10, 0xc3}",
			err: `line 1, column 8 of "{0x31, 10, 0xc3}": 10 stands beside numbers with 0x, and may be decimal; write 0x before it, or 0x and its hexadecimal digits`},
		{in: ".byte 0x31, 300",
			err: `line 1, column 13 of ".byte 0x31, 300": "300" is no number of one byte; write 0x48, 0x89`},
		{in: ".byte 0x31, 010",
			err: `column 13 of ".byte 0x31, 010": 010 is octal for some; write 0x10 or leave the 0 out`},
		{in: "0x1129 <f>:\t0x0007b8c3017f448d",
			err: "0x0007b8c3017f448d has several bytes, and nothing says which comes first; have them printed one by one, in gdb by x/16xb"},
		{in: "Dump of assembler code for function f:\n 0x10 <+0>:\t55\n a line of bytes that is damaged 48 8\n 0x14 <+4>:\t53", err: "the line is of 0x14, and the bytes before it end at 0x11; leave no line out"},

		{in: "55 4", err: `line 1, column 4 of "55 4": a single digit '4'; a byte is two digits side by side, 04`},
		{in: "5 5", err: "line 1, column 1 of \"5 5\": a single digit '5'"},
		{in: "5#5", err: "line 1, column 1 of \"5#5\": a single digit '5'"},
		{in: "90 # one\n 9g", err: `line 2, column 3 of " 9g": 'g' is no hexadecimal digit`},
		{in: "89 f8 mov %edi,%eax",
			err: `line 1, column 7 of "89 f8 mov %edi,%eax": 'm' is no hexadecimal digit; write pairs of digits, 55 4889e5, and # before what is no bytes`},
		{in: "55 0x4889e5", err: `line 1, column 4 of "55 0x4889e5": 0x4889e5 has several bytes, and nothing says which comes first; write them apart, as 48 89 e5`},
		{in: "0x123", err: "write them apart, as 0x48 0x89"},
		{in: `\x5\x48`, err: `"\\x5\\x48": an escape is \x and two digits`},
		{in: "0:\t55\n2:\t89 e5",
			err: `line 2, column 1 of "2:\t89 e5": the line is of 0x2, and the bytes before it end at 0x1; leave no line out`},
		{in: "0:\t55\n\t...\n9:\t55",
			err: `line 2, column 2 of "\t...": zeros, or other bytes, are left out here; write them all`},
		{in: "0:\te8 00 00 00 00  \tcall 5\n\t\t\t1: R_X86_64_PLT32\tg-0x4",
			err: "line 2, column 7 of \"\\t\\t\\t1: R_X86_64_PLT32\\tg-0x4\": the linker is to change bytes above; give the object file, elf(…)"},
		{in: "5: R_X86_64_PLT32 g-0x4", err: "the linker is to change bytes above; give the object file, elf(…)"},
		{in: "0:  push %rbp", err: "line 1, column 5 of \"0:  push %rbp\": no bytes stand behind the address; have them printed, too"},
		{in: "0:", err: "no bytes stand behind the address"},
		{in: "0: 48 01 c8 add %ecx,%eax",
			err: `line 1, column 13 of "0: 48 01 c8 add %ecx,%eax": "add" isn't bytes; put two blanks before what is no bytes any more, or #`},
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
		// db and dd at the start of a line are directives
		one := rapid.Byte().Filter(func(b byte) bool { return b != 0xdb && b != 0xdd })
		want := rapid.SliceOfN(one, 1, 40).Draw(t, "bytes")
		var s strings.Builder
		for _, b := range want {
			form := rapid.SampledFrom([]string{"%02x ", "\n%02X\n", "\n0x%02x,\n", "0x%x\n", `\x%02x `, "%02xh\t",
				"{%02x} # 00\n", "<%02x> "}).Draw(t, "form")
			fmt.Fprintf(&s, form, b)
		}
		got, err := image.ParseHex(s.String())
		require.NoError(t, err, "%q", s.String())
		require.Equal(t, want, got, "%q", s.String())
	})
}
