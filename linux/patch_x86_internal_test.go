package linux

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/kapi"
)

// The check before a call through a pointer always passes; other code before a trap stays.
func TestSkipTrap(t *testing.T) {
	// add -4(%r11),%r10d; je; ud2; call; and jne; ud2
	check := []byte{0x45, 0x03, 0x53, 0xfc, 0x74, 0x02, 0x0f, 0x0b, 0x41, 0xff, 0xd3}
	bug := []byte{0x75, 0x02, 0x0f, 0x0b}
	text := &kapi.Image{At: 0x1000, Exec: true, Bytes: append(append([]byte(nil), check...), bug...)}
	text.Size = len(text.Bytes)
	k := &Kernel{images: []*kapi.Image{text}}
	skipTrap(k, 0x1006)
	skipTrap(k, 0x100d)
	check[4] = 0xeb
	require.Equal(t, append(check, bug...), text.Bytes)
}
