package image_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/image"
)

// Whatever is pasted, it is bytes, or refused by one line.
func FuzzHex(f *testing.F) {
	for _, s := range []string{"55 4889e5", "0x55, 0x48", "   0:\t55  push %rbp", "00000000  55 48 89 e5  |UH..|",
		"00000000: 5548 89e5  UH..", ".byte 0x55, 72", "=> 0x0 <f+0>:\t55\tpush %rbp", "# c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := image.ParseHex(s)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
		}
		require.LessOrEqual(t, len(b), 8*len(s)+8)
	})
}
