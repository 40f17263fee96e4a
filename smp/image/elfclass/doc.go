// Package elfclass describes the differences between 64-bit and 32-bit ELF files.
//
// What it is: the sizes of ELF's structures, and functions that read words, section headers,
// symbols and relocations, for x86-64 and i386. Object files and kernels are both read with it.
//
// What it is not: it reads no file, and checks no bounds.
//
// Its rule: rows must have the sizes that a Class states; the caller checks that.
//
// # Limits
//
// It supports only little-endian files of EM_X86_64 and EM_386.
package elfclass
