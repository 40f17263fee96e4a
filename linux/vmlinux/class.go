package vmlinux

import "kpsim/smp/image/objfile"

// A class describes the differences between 64-bit and 32-bit kernels: their ELF class, and where
// the kernel lies. It is immutable.
type class struct {
	*objfile.Class

	low  uint64 // lowest address of the kernel
	mask uint64 // of an address
}

// The classes. A 32-bit kernel occupies the last gigabyte, or with CONFIG_VMSPLIT_2G the last
// two.
var (
	class64 = &class{Class: objfile.Bits64, low: 0xffffffff80000000, mask: ^uint64(0)}
	class32 = &class{Class: objfile.Bits32, low: 0x80000000, mask: 1<<32 - 1}
)

// classOf returns the class of a file from its first bytes; nil if it has neither.
func classOf(h []byte) *class {
	switch objfile.Of(h) {
	case objfile.Bits64:
		return class64
	case objfile.Bits32:
		return class32
	}
	return nil
}

// moves reports whether an address is in the kernel and moves with it. Per-CPU data that is
// linked at 0 doesn't move.
func (c *class) moves(addr uint64) bool {
	if c.Word == 8 {
		return int64(addr) < 0
	}
	return addr >= c.low
}
