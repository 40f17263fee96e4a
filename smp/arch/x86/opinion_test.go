package x86_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"golang.org/x/arch/x86/x86asm"

	"kpsim/smp/arch/x86"
)

// ask returns what x86asm makes of code: a lone prefix of one byte without an
// error stands for an opcode that it doesn't know.
func ask(mode x86.Mode, code []byte) opinion {
	bits := 64
	if mode == x86.Mode32 {
		bits = 32
	}
	x, err := x86asm.Decode(code, bits)
	if err != nil || x.Op == 0 {
		return 0
	}
	return opinion(x.Len)
}

// TestSecondOpinion: testdata/disagreements.txt is what x86asm gets wrong, or
// doesn't know, of all forms in both modes; there is nothing else. Where it is
// "there" that claims an instruction, or a "length" differs, objdump has been
// asked too (TestObjdumpForms), and is with us.
func TestSecondOpinion(t *testing.T) {
	var all differences
	for _, mode := range []x86.Mode{x86.Mode64, x86.Mode32} {
		forms := allForms(mode)
		opinions := make([]opinion, len(forms))
		for i := range forms {
			opinions[i] = ask(mode, padded(forms[i].code))
		}
		all.compare(mode, forms, opinions)
	}
	frozen(t, "testdata/disagreements.txt", all.String())
}

// TestNames: every instruction but those of VEX and EVEX has a mnemonic, ours
// where x86asm has none.
func TestNames(t *testing.T) {
	for _, mode := range []x86.Mode{x86.Mode64, x86.Mode32} {
		if slow > 1 && mode == x86.Mode32 {
			continue
		}
		var forms []form
		for op := range 256 {
			for _, escape := range []string{"", "\x0f", "\x0f\x38", "\x0f\x3a"} {
				forms = append(forms, legacyForms(mode, []byte(escape), byte(op))...)
			}
			for space := range byte(3) {
				forms = append(forms, prefixedForms(x86.XOP, 8+space, byte(op))...)
			}
		}
		for _, f := range forms {
			if in, err := mode.Decode(padded(f.code), 0); err == nil {
				require.False(t, strings.HasPrefix(in.String(), ".byte"), "% x", in.Bytes())
			}
		}
	}
}
