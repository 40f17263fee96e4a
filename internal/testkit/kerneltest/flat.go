package kerneltest

import (
	"encoding/binary"
	"fmt"
)

// What a flat fake has at some of its functions' addresses, which lie in its data: a pointer to function 1, and a
// row of the exception table.
const (
	FlatText    = 400 // functions before this one are text
	FlatPointer = 430
	flatTable   = 420
)

// A flatForm is what the header of a flat image says, and where it lies.
type flatForm struct {
	magic string
	base  uint64 // of its first byte
	text  uint64 // bytes before the text
}

var flatForms = map[string]flatForm{
	"riscv64": {"RSC\x05", 0xffffffff80000000, 0x2000},
	"arm64":   {"ARM\x64", 0xffff800080000000, 0x10000},
}

// FlatImage returns the fake as the flat image of the processor that f.Flat names.
func (f Fake) FlatImage() []byte {
	le, form := binary.LittleEndian, flatForms[f.Flat]
	b := make([]byte, form.text)
	copy(b, "MZ")
	copy(b[0x38:], form.magic)
	names := make([]string, functions)
	for i := range names {
		names[i] = fmt.Sprintf("fn_%d", i)
	}
	names[0], names[FlatText] = "_stext", "_etext"
	names[flatTable], names[flatTable+3] = "__start___ex_table", "__stop___ex_table"
	data := make([]byte, 16*functions)
	table := data[16*flatTable:]
	le.PutUint32(table, uint32(f.Addr(2)-f.Addr(flatTable)))
	le.PutUint32(table[4:], uint32(f.Addr(3)-f.Addr(flatTable)-4))
	le.PutUint32(table[8:], 1)
	le.PutUint64(data[16*FlatPointer:], f.Addr(1))
	b = append(b, data...)
	b = append(b, f.rodata(names, form.base+uint64(len(b)))...)
	le.PutUint64(b[16:], uint64(len(b)+4096))
	return b
}

// ZBoot packs a flat image as EFI's stub has it: "gzip" or "zstd".
func ZBoot(kernel []byte, how string) []byte {
	le, packed := binary.LittleEndian, Vmlinuz(kernel, how)[bootSize:]
	size := len(packed)
	if how != "gzip" {
		size -= 4 // the size that is appended isn't counted
	}
	b := make([]byte, 4096)
	copy(b, "MZ\x00\x00zimg")
	le.PutUint32(b[8:], uint32(len(b)))
	le.PutUint32(b[12:], uint32(size))
	copy(b[24:], how)
	return append(b, packed...)
}

// Gzipped is a flat image as boot loaders unpack it.
func Gzipped(kernel []byte) []byte { return Vmlinuz(kernel, "gzip")[bootSize:] }
