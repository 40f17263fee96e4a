package image

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/smp/arch/x86"
	"kpsim/smp/image/objfile"
)

func bytesOf(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

// of64 and of32 are objects at no address.
var (
	of64 = &linked{o: new(Object)}
	of32 = &linked{o: &Object{class: objfile.Bits32}}
)

// A replacement assembled at 0x1000 is moved to 0x2000; the padding to the
// length of what it replaces is there already. Want is worked out by hand.
func TestMove(t *testing.T) {
	for _, c := range []struct {
		what, code string
		n          int // without the padding
		old, want  string
	}{
		{"nothing relative", "0f01cb", 3, "0f01cb", "0f01cb"},
		{"call", "e8 fb0f0000", 5, "e8 fbffffff", "e8 fbffffff"},
		{"jump far", "e9 00000100", 5, "e9 00f00000", "e9 00f00000"},
		{"jump near, forwards", "e9 1b100000", 5, "eb 1e 0f1f00", "eb 1e cccccc"},
		{"jump near, backwards", "e9 eb0f0000", 5, "e9 ebffffff", "eb ee cccccc"},
		{"call behind something", "90 e8 fa0f0000", 6, "90 e8 fa0f0000", "90 e8 faffffff"},
		{"jcc far", "0f84 fa1f0000", 6, "0f84 fa1f0000", "0f84 fa0f0000"},
		{"rip-relative", "488b05 f90f0000", 7, "488b05 f90f0000", "488b05 f9ffffff"},
		{"within itself", "75 02 6690", 4, "75 02 6690", "75 02 6690"},
		{"to its end", "75 02 6690 90", 4, "75 02 6690 90", "75 02 6690 90"},
		{"undecodable behind", "e8 fb0f0000 06", 6, "e8 fb0f0000 06", "e8 fbffffff 06"},
	} {
		for _, old := range []bool{true, false} {
			b, want := bytesOf(t, c.code), c.want
			if old {
				want = c.old
				of64.relocateBefore63(b, c.n, 0x1000, 0x2000)
			} else {
				require.True(t, of64.relocateCode(b, c.n, 0x1000, 0x2000), c.what)
			}
			assert.Equal(t, bytesOf(t, want), b, "%s, before 6.3: %v", c.what, old)
		}
	}
	short := bytesOf(t, "7540")
	assert.False(t, of64.relocateCode(short, 2, 0x1000, 0x2000), "a short jump can't leave so far")
	assert.True(t, of64.relocateCode(short, 2, 0x1000, 0x1010))
	assert.Equal(t, bytesOf(t, "7530"), short)
}

func TestJoinNops(t *testing.T) {
	nop := func(n int) string { return strings.Repeat("90", n) }
	for _, c := range []struct{ code, old, want string }{
		{nop(1), "90", "90"},
		{nop(2), "6690", "6690"},
		{nop(8), "0f1f840000000000", "0f1f840000000000"},
		{nop(11), "0f1f840000000000 0f1f00", "66662e0f1f840000000000"},
		{nop(12), "0f1f840000000000 0f1f4000", "eb0a" + strings.Repeat("cc", 10)},
		{"c3" + nop(3) + "c3" + nop(1), "c3 0f1f00 c3 90", "c3 0f1f00 c3 90"},
		{"6690 90", "6690 90", "0f1f00"},           // only 6.3 knows longer nops for nops
		{"0f1f00 90", "0f1f00 90", "0f1f4000"},     //
		{"f390 9090", "f390 6690", "f390 6690"},    // pause is no nop
		{"06 9090", "06 9090", "06 9090"},          // undecodable: what follows is left alone
		{"0f1f440000", "0f1f440000", "0f1f440000"}, // one nop that fills all
	} {
		for v, want := range map[Version]string{{6, 1}: c.old, {6, 12}: c.want} {
			l := linked{o: new(Object), version: v}
			b := bytesOf(t, c.code)
			l.joinNops(b, 0x1000)
			assert.Equal(t, bytesOf(t, want), b, "%s, %v", c.code, v)
		}
	}
	long := make([]byte, 200)
	of64.fill(long)
	jmp, _ := x86.JumpRel32(0, 200)
	assert.Equal(t, append(jmp[:], bytes.Repeat([]byte{x86.Int3}, 195)...), long)
}

// The nops of i386 are lea; 40 and 48, which are prefixes elsewhere, are instructions there, and
// a call through a pointer has its address.
func TestPatch386(t *testing.T) {
	for n, b := range nops32[1:] {
		in, err := of32.o.mode().Decode(b, 0x1000)
		require.NoError(t, err)
		require.Equal(t, n+1, int(in.Len))
	}
	for _, c := range []struct{ code, old, want string }{
		{"9090", "89f6", "89f6"},
		{strings.Repeat("90", 8), "3e8db42600000000", "3e8db42600000000"},
		{strings.Repeat("90", 11), "3e8db42600000000 8d7600", "eb09" + strings.Repeat("cc", 9)},
		{"40 9090", "40 89f6", "40 89f6"},
		{"48 9090", "48 89f6", "48 89f6"},
	} {
		for v, want := range map[Version]string{{6, 1}: c.old, {6, 12}: c.want} {
			l := linked{o: of32.o, version: v}
			b := bytesOf(t, c.code)
			l.joinNops(b, 0xf8001000)
			assert.Equal(t, bytesOf(t, want), b, "%s, %v", c.code, v)
		}
	}
	b := bytesOf(t, "ff15 00200000 90")
	require.True(t, of32.pointerCall(b, slices.Clone(b), 0xf8001000))
	require.Equal(t, bytesOf(t, "e8 fb0f0008"), b[:5], "a call of 0x2000, around the end of the addresses")
}

// Names and numbers go both ways, in either kernel's numbering, and none is
// there twice.
func TestFeatures(t *testing.T) {
	for _, v := range []Version{{6, 1}, {6, 12}} {
		seen := make(map[int]string)
		for _, name := range featureNames() {
			n := featureNumber(name, v)
			if n < 0 {
				continue // not in this kernel
			}
			assert.Equal(t, name, featureName(n, v))
			assert.Empty(t, seen[n], name)
			seen[n] = name
		}
		assert.Equal(t, fmt.Sprintf("%d:%d", 31, 5), featureName(31*32+5, v))
		_, err := StockBoot.features(v)
		assert.NoError(t, err)
	}
	assert.Equal(t, 3*32+18, featureNumber("lfence_rdtsc", Version{6, 1}))
	assert.Equal(t, 20*32+2, featureNumber("lfence_rdtsc", Version{6, 12}))
	assert.Equal(t, 3*32+18, featureNumber("clear_cpu_buf", Version{6, 12}))
}
