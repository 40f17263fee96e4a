package vmlinux

import (
	"debug/elf"
	"fmt"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/image/objfile"
)

// A class is what the kernels of a processor have in common: a row. It is immutable.
type class struct {
	*objfile.Class

	processor target.Processor
	low       uint64   // lowest address of the kernel
	mask      uint64   // of an address
	linked    elf.Type // of a linked kernel, beside ET_EXEC
	relative  uint32   // the kind of relocations in .rela.dyn that add the distance; 0: none are read
	boot      []string // names of sections that only the boot reads: what is laid over a kernel may take their place
	exRow     int      // the size of a row of __ex_table in bytes
	flat      *flat    // the form of images that aren't ELF files; nil: there is none

	// recover finds the relocations of a kernel without any; nil: such a kernel isn't moved.
	recover func(im *Image) relocs
}

// The classes. A 32-bit kernel occupies the last gigabyte, or with CONFIG_VMSPLIT_2G the last
// two. Flat images lie where the first byte of the file is linked: KERNEL_LINK_ADDR of
// arch/riscv/include/asm/pgtable.h, KIMAGE_VADDR of arch/arm64/include/asm/memory.h with 48 bits.
var (
	class64 = &class{Class: objfile.Bits64, processor: target.X8664, low: 0xffffffff80000000, mask: ^uint64(0),
		exRow: 12, recover: (*Image).recovered}
	class32    = &class{Class: objfile.Bits32, processor: target.I386, low: 0x80000000, mask: 1<<32 - 1, exRow: 12}
	classRISCV = &class{Class: objfile.RISCV64, processor: target.RISCV64, low: 0xffffffff80000000, mask: ^uint64(0),
		exRow: 12, flat: &flat{magic: "RSC\x05", base: 0xffffffff80000000}, recover: (*Image).recoveredData}
	classARM = &class{Class: objfile.ARM64, processor: target.ARM64, low: 0xffff800000000000, mask: ^uint64(0),
		exRow: 12, flat: &flat{magic: "ARM\x64", base: 0xffff800080000000}, recover: (*Image).recoveredData}
	classPPC = &class{Class: objfile.PPC64, processor: target.PPC64LE, low: 0xc000000000000000, mask: ^uint64(0),
		linked: elf.ET_DYN, relative: relativePPC, exRow: 8, boot: []string{".machine.desc", ".dynsym", ".dynstr",
			".dynamic", ".gnu.hash", ".interp", ".rela.dyn"}}

	classes = [...]*class{class64, class32, classRISCV, classARM, classPPC}
)

// classOf returns the class of a file from its first bytes; nil if there is none.
func classOf(h []byte) *class {
	for _, c := range classes {
		if elf.Class(h[4]) == c.Kind && elf.Data(h[5]) == c.Data && elf.Machine(c.Order.Uint16(h[18:])) == c.Machine {
			return c
		}
	}
	return nil
}

// processors lists the processors whose kernels are opened, in words.
func processors() string {
	var words []string
	for _, c := range classes {
		words = append(words, c.processor.String())
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// moves reports whether an address is in the kernel and moves with it. Per-CPU data that is
// linked at 0 doesn't move.
func (c *class) moves(addr uint64) bool {
	if c.Word == 8 {
		return int64(addr) < 0
	}
	return addr >= c.low
}

// Word returns the number of bytes of an address.
func (im *Image) Word() int { return im.class.Word }

// Processor returns the processor that the kernel is built for; that of an image that isn't from a file is x86-64.
func (im *Image) Processor() target.Processor {
	if im.class == nil {
		return class64.processor
	}
	return im.class.processor
}

// Class returns the class of the kernel's file. An image that isn't from a file has the 64-bit
// class.
func (im *Image) Class() *objfile.Class {
	if im.class == nil {
		return objfile.Bits64
	}
	return im.class.Class
}

// Decode decodes the first instruction of code, which lies at an address of the kernel.
func (im *Image) Decode(code []byte, at uint64) (arch.Inst, error) {
	if len(code) == 0 {
		return nil, fmt.Errorf("%#x: no code", at)
	}
	return im.class.processor.Linux().Decode(code, arch.Addr(at))
}

// Number returns the address that a 32-bit number within an instruction stands for: the number is
// sign-extended to the size of an address.
func (im *Image) Number(v int32) uint64 { return uint64(int64(v)) & im.mask }
