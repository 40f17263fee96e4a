package xz

import "encoding/binary"

// undoBCJ undoes the filter x86 of xz, which makes the distances of calls and jumps absolute
// addresses, since these repeat more often: the four bytes after e8 or e9 whose last one is 00
// or ff. Three bits, seen, say which of the three bytes before were such opcodes whose distance
// was left as it is.
func undoBCJ(b []byte) {
	last, seen := -4, 0
	for i := 0; i+4 < len(b); i++ {
		if b[i]&0xfe != 0xe8 {
			continue
		}
		if gap := i - last; gap > 3 {
			seen = 0
		} else {
			seen = seen << (gap - 1) & 7
		}
		last = i
		overlaps := seen != 0 && (!bcjAlone[seen] || isSign(b[i+4-bcjByte[seen]]))
		if overlaps || !isSign(b[i+4]) {
			seen = seen<<1 | 1
			continue
		}
		field := b[i+1 : i+5]
		binary.LittleEndian.PutUint32(field, distance(binary.LittleEndian.Uint32(field), uint32(i+5), seen))
		i += 4
	}
}

var (
	bcjAlone = [8]bool{1: true, 2: true, 4: true} // one opcode was seen
	bcjByte  = [8]int{0, 1, 2, 2, 3, 3, 3, 3}     // the byte of this distance, from its end, where the other one ends
)

// isSign reports whether a byte extends the sign of those below it.
func isSign(b byte) bool { return b == 0 || b == 0xff }

// distance returns the distance to an absolute address from the next instruction. If it then
// ended the distance of an opcode that was seen, the bits up to there were inverted. That was
// done once at most, because the same byte of the address doesn't extend a sign.
func distance(absolute, next uint32, seen int) uint32 {
	d := absolute - next
	if bits := 32 - 8*bcjByte[seen]; seen != 0 && isSign(byte(d>>(bits-8))) {
		d = d ^ (1<<bits - 1) - next
	}
	d &= 1<<25 - 1
	return d | -(d & (1 << 24))
}
