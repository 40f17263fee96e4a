package vmlinux

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image/objfile"
)

// Word returns the number of bytes of an address: 8 for x86-64, 4 for i386.
func (im *Image) Word() int { return im.class.Word }

// Class returns the class of the kernel's file. An image that isn't from a file has the 64-bit
// class.
func (im *Image) Class() *objfile.Class {
	if im.class == nil {
		return objfile.Bits64
	}
	return im.class.Class
}

// Decode decodes the first instruction of code, which lies at an address of the kernel.
func (im *Image) Decode(code []byte, at uint64) (x86.Inst, error) {
	if im.class == class32 {
		return x86.Mode32.Decode(code, arch.Addr(at))
	}
	return x86.Decode(code, arch.Addr(at))
}

// Number returns the address that a 32-bit number within an instruction stands for: the number is
// sign-extended to the size of an address.
func (im *Image) Number(v int32) uint64 { return uint64(int64(v)) & im.mask }
