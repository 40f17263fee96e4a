package image_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/image"
)

func TestAssembled(t *testing.T) {
	m := image.Assembled("m", []image.Func{
		{Name: "g", Addr: 0x1004, Code: []byte{0xc3}},
		{Name: "f", Addr: 0x1000, Code: []byte{0x90, 0x90, 0xc3}, Extable: []int{1}},
		{Name: "far", Addr: 0x9000, Code: []byte{0xc3}},
	}, []image.Site{{Addr: 0x1002, Len: 1, Kind: image.SiteLock}, {Addr: 0x1000, Len: 1, Kind: image.SiteJumpLabel}})

	require.Len(t, m.Symbols, 3)
	f, ok := m.SymbolAt(0x1002)
	require.True(t, ok)
	require.Equal(t, "f", f.Name)
	require.Equal(t, 3, f.Size)
	_, ok = m.SymbolAt(0x1003) // between two functions
	require.False(t, ok)

	require.Equal(t, []byte{0x90, 0x90, 0xc3, 0, 0xc3, 0, 0}, m.Bytes(0x1000, 7)) // the next function, and zeros
	require.Equal(t, []byte{0xc3, 0}, m.Bytes(0x9000, 2))
	require.Len(t, m.Bytes(0x1000, 100), 3+14) // all that its last instruction may have

	kinds := []image.SiteKind{}
	for _, s := range m.SitesIn(0x1000, 0x1003) {
		kinds = append(kinds, s.Kind)
	}
	require.Equal(t, []image.SiteKind{image.SiteJumpLabel, image.SiteExtable, image.SiteLock}, kinds)
}
