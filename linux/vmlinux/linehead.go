package vmlinux

import (
	"encoding/binary"
	"fmt"
)

// filesMax is the maximum number of folders and files in a compilation unit.
const filesMax = 1 << 16

// checkLineHeader reports whether the header of a unit's line table, at an offset of .debug_line,
// is safe for debug/dwarf. For version 5 that package allocates memory for as many folders and
// files as the header claims (DWARF 5, 6.2.4).
func checkLineHeader(line []byte, at int64) error {
	if at < 0 || at > int64(len(line)) || len(line)-int(at) < 20 {
		return fmt.Errorf(".debug_line: no table at %#x", at)
	}
	b := line[at:]
	if binary.LittleEndian.Uint32(b) == ^uint32(0) {
		return fmt.Errorf(".debug_line: the table at %#x is of 64 bits", at)
	}
	if binary.LittleEndian.Uint16(b[4:]) < 5 {
		return nil
	}
	const opcodeBase = 17 // after lengths, version, sizes and the shape of the program
	h := &cursor{b: b, at: opcodeBase}
	opcodes := int(h.byte())
	h.at += max(opcodes-1, 0) // operand counts
	for range 2 {             // folders, then files
		forms := make([]uint64, h.byte())
		for i := range forms {
			h.uleb() // content type
			forms[i] = h.uleb()
		}
		n := h.uleb()
		if n > filesMax || h.ended {
			return fmt.Errorf(".debug_line: the table at %#x tells of %d files", at, n)
		}
		for range n {
			for _, form := range forms {
				h.skip(form)
			}
		}
	}
	if h.ended {
		return fmt.Errorf(".debug_line: ends inside the header at %#x", at)
	}
	return nil
}

// A cursor reads bytes from the front; ended reports that there were too few.
type cursor struct {
	b     []byte
	at    int
	ended bool
}

func (c *cursor) byte() byte {
	if c.at >= len(c.b) {
		c.ended = true
		return 0
	}
	c.at++
	return c.b[c.at-1]
}

// uleb reads a number in groups of seven bits, lowest first.
func (c *cursor) uleb() (v uint64) {
	for shift := 0; ; shift += 7 {
		x := c.byte()
		if shift < 64 {
			v |= uint64(x&0x7f) << shift
		}
		if x&0x80 == 0 {
			return v
		}
	}
}

// skip skips a value of a form (DWARF 5, 7.5.6).
func (c *cursor) skip(form uint64) {
	n := uint64(0)
	switch form {
	case 0x08: // string
		for c.byte() != 0 {
		}
	case 0x0f, 0x1a: // udata, strx
		c.uleb()
	case 0x09: // block
		n = c.uleb()
	case 0x0b, 0x25: // data1, strx1
		n = 1
	case 0x05, 0x26: // data2, strx2
		n = 2
	case 0x27: // strx3
		n = 3
	case 0x06, 0x0e, 0x1f, 0x1d, 0x28: // data4, strp, line_strp, strp_sup, strx4
		n = 4
	case 0x07: // data8
		n = 8
	case 0x1e: // data16
		n = 16
	}
	if n > uint64(len(c.b)-c.at) {
		c.ended = true
		c.at = len(c.b)
		return
	}
	c.at += int(n)
}
