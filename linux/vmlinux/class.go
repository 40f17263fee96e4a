package vmlinux

import "kpsim/smp/image/elfclass"

// A class is what kernels of 64 and of 32 bits have different: their ELF, and where the
// kernel lies. It isn't changed.
type class struct {
	*elfclass.Class

	low  uint64 // the kernel's addresses begin here
	mask uint64 // of an address
}

// The classes. A kernel of 32 bits has the last gigabyte for itself, or with
// CONFIG_VMSPLIT_2G the last two.
var (
	class64 = &class{Class: elfclass.Bits64, low: 0xffffffff80000000, mask: ^uint64(0)}
	class32 = &class{Class: elfclass.Bits32, low: 0x80000000, mask: 1<<32 - 1}
)

// classOf returns the class of a file by its first bytes, nil: it is none of those.
func classOf(h []byte) *class {
	switch elfclass.Of(h) {
	case elfclass.Bits64:
		return class64
	case elfclass.Bits32:
		return class32
	}
	return nil
}

// moves says whether an address is the kernel's, and moves with it: per-CPU data that is
// linked at 0 doesn't.
func (c *class) moves(addr uint64) bool {
	if c.Word == 8 {
		return int64(addr) < 0
	}
	return addr >= c.low
}
