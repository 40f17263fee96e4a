package objfile

import "math/bits"

// Where a linker may shorten code, an assembler leaves as many bytes for alignment as may be needed, and marks the
// place. The linker deletes what isn't needed, even if it shortens nothing else: Fill says what.

// A Gap is bytes of a section that a linker deletes. The Kept bytes before it become nops.
type Gap struct{ Off, Bytes, Kept int }

// Fill returns the gaps of a section of size bytes, aligned to align bytes, whose relocations are given, by offset.
// least is the alignment that it needs with them. ok false: a fill isn't in the section.
func (c *Class) Fill(list []Reloc, size, align uint64) (gaps []Gap, least uint64, ok bool) {
	gone := 0
	for _, r := range list {
		f := c.Form(r.Kind)
		if f.Field == nil || !f.Field.Fill {
			continue
		}
		n := uint64(r.Addend)
		if r.Off < 0 || uint64(r.Off) > size || n > size-uint64(r.Off) {
			return nil, 0, false
		}
		to := uint64(1) << bits.Len64(n) // the least power of two above n
		align = max(align, to)
		need := -(uint64(r.Off - gone)) & (to - 1)
		if need < n {
			gaps = append(gaps, Gap{r.Off + int(need), int(n - need), int(need)})
			gone += int(n - need)
		}
	}
	return gaps, align, true
}

// Shift returns where what stands at an offset is without the gaps.
func Shift(gaps []Gap, off uint64) uint64 {
	to := off
	for _, g := range gaps {
		if off <= uint64(g.Off) {
			break
		}
		to -= min(off-uint64(g.Off), uint64(g.Bytes))
	}
	return to
}
