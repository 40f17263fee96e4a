package ppc64

import (
	"encoding/binary"
	"testing"

	"kpsim/internal/testkit/archtest"

	"github.com/stretchr/testify/require"
	"golang.org/x/arch/ppc64/ppc64asm"
)

// TestWords: the disassembler of x/arch knows drawn instructions of all forms, by the same names. It
// simplifies comparisons, li and lis.
func TestWords(t *testing.T) {
	simplified := 0
	list := drawListing(60).insts
	for _, in := range list {
		theirs, err := ppc64asm.Decode(in.Bytes(), binary.LittleEndian)
		require.NoError(t, err)
		switch op := theirs.Op.String(); op {
		case in.mnemonic():
		case "cmpw", "cmpd", "cmpwi", "cmpdi", "cmplw", "cmpld", "cmplwi", "cmpldi", "li", "lis":
			name, _ := in.simplified()
			require.Equal(t, op, name)
			simplified++
		default:
			t.Errorf("%08x %08x: %s, theirs is %s", in.prefix, in.word, in.mnemonic(), op)
		}
	}
	require.Greater(t, len(list)-simplified, 10_000)
}

// TestDrawnWords: of any words, ours decodes those that the disassembler of x/arch knows, and refuses those
// that have no form here. Errors are of invalid forms.
func TestDrawnWords(t *testing.T) {
	d := draw{archtest.Draw(99)}
	executed, refused := 0, 0
	for range 100_000 {
		b := binary.LittleEndian.AppendUint64(nil, d.Next())
		theirs, err2 := ppc64asm.Decode(b, binary.LittleEndian)
		in, err := Decode(b, textAt)
		if err != nil {
			if err2 == nil && theirs.Op != 0 {
				require.ErrorIs(t, err, ErrInvalid, "%v", theirs)
			}
			continue
		}
		require.NoError(t, err2, "%v", in)
		require.Equal(t, theirs.Len, in.Size())
		if in.(*Inst).Unsupported() {
			refused++
		} else {
			executed++
		}
	}
	require.Greater(t, executed, 50_000)
	require.Greater(t, refused, 5_000)
}
