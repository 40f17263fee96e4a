package vmlinux

import (
	"encoding/binary"
	"fmt"
)

// Relocations say what changes when the kernel doesn't run where it was linked:
// addresses of words, by what is added to each.
type relocs struct {
	add32   []uint64 // words of 32 bits: the distance is added
	minus32 []uint64 // it is subtracted: rip-relative, to what doesn't move
	add64   []uint64 // words of 64 bits
}

func (r *relocs) empty() bool { return len(r.add32)+len(r.minus32)+len(r.add64) == 0 }

// relocations reads what follows the ELF in a vmlinuz (arch/x86/tools/relocs.c):
// addresses of 32 bits, sign-extended, in lists that each begin with a 0. The
// last list are words of 32 bits, before it are inverse ones, which ended with
// 6.15, and then words of 64.
func (o *object) relocations() (relocs, error) {
	n := (o.size - o.end) &^ 3
	if n == 0 || n > loadedMax {
		return relocs{}, nil
	}
	b := make([]byte, n)
	if _, err := o.r.ReadAt(b, int64(o.size-n)); err != nil {
		return relocs{}, fmt.Errorf("relocations: %w", err)
	}
	if binary.LittleEndian.Uint32(b) != 0 { // something else
		return relocs{}, nil
	}
	var lists [][]uint64
	for ; len(b) > 0; b = b[4:] {
		if at := int32(binary.LittleEndian.Uint32(b)); at == 0 {
			lists = append(lists, nil)
		} else {
			last := len(lists) - 1
			lists[last] = append(lists[last], uint64(int64(at)))
		}
	}
	switch len(lists) {
	case 2:
		return relocs{add64: lists[0], add32: lists[1]}, nil
	case 3:
		return relocs{add64: lists[0], minus32: lists[1], add32: lists[2]}, nil
	}
	return relocs{}, fmt.Errorf("relocations: there are %d lists of them, not 2 or 3: the kernel is newer than this program, or damaged", len(lists))
}
