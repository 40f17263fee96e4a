package vmlinux

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
)

// Processor is what the kernel is built for.
func (im *Image) Processor() target.Processor {
	if im.class == class32 {
		return target.I386
	}
	return target.X8664
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
