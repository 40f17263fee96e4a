package vmlinux

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image/elfclass"
)

// Word is how many bytes an address has: 8 of x86-64, 4 of i386.
func (im *Image) Word() int { return im.class.Word }

// Class is that of the kernel's file: of one that isn't a file's it is of 64 bits.
func (im *Image) Class() *elfclass.Class {
	if im.class == nil {
		return elfclass.Bits64
	}
	return im.class.Class
}

// Decode decodes the instruction that code begins with, as it stands at an address of the
// kernel.
func (im *Image) Decode(code []byte, at uint64) (x86.Inst, error) {
	if im.class == class32 {
		return x86.Mode32.Decode(code, arch.Addr(at))
	}
	return x86.Decode(code, arch.Addr(at))
}

// Number returns the address that a number within an instruction stands for: four bytes
// are extended with their sign to the size of an address.
func (im *Image) Number(v int32) uint64 { return uint64(int64(v)) & im.mask }
