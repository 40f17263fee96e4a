package smpev_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/smpev"
)

// A number has one name; what has none is printed as its sort and number.
func TestWords(t *testing.T) {
	const unused = 63
	require.Equal(t, "own store", smpev.Whys.Name(smpev.SyncSelf))
	require.Equal(t, "owner 63", smpev.Owners.Name(unused))
	require.Equal(t, "memory 1000", smpev.Memory.Name(1000))
	require.Panics(t, func() { smpev.Owners.Define(smpev.OwnerPoke, "another") })
	require.Panics(t, func() { smpev.Owners.Define(unused+1, "too far") })
	require.Equal(t, "text-poke handler", smpev.Owners.Name(smpev.OwnerPoke))
}
