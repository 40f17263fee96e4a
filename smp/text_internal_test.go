package smp

import (
	"testing"

	"kpsim/traces"
)

// Bytes are packed, and cut to an instruction's length, as events have them.
func TestPackedBytes(t *testing.T) {
	b := []byte{0x48, 0x8b, 0x84, 0x24, 0xf0, 0xff, 0x81, 0x92, 0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8, 0x09, 0xff, 0xee}
	for n := range len(b) + 1 {
		lo, hi := pack(b[:n])
		wantLo, wantHi := traces.PackBytes(b[:min(n, 15)])
		if lo != wantLo || hi != wantHi {
			t.Errorf("%d bytes are packed as %#x %#x, want %#x %#x", n, lo, hi, wantLo, wantHi)
		}
		for k := range min(n, 15) + 1 {
			gotLo, gotHi := cut(lo, hi, k)
			if wantLo, wantHi := traces.PackBytes(b[:k]); gotLo != wantLo || gotHi != wantHi {
				t.Errorf("the first %d of %d bytes are %#x %#x, want %#x %#x", k, n, gotLo, gotHi, wantLo, wantHi)
			}
		}
	}
}
