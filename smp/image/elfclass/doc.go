// Package elfclass is what ELF files of 64 and of 32 bits have different.
//
// What it is: sizes of ELF's structures, and how words, headers of sections, symbols and
// relocations are read, for x86-64 and i386. Object files and kernels are both read with it.
//
// What it is not: it reads no file, and checks no bounds.
//
// Its rule: rows are of the sizes that a Class says; who calls it has looked.
//
// # Limits
//
// Little-endian files of EM_X86_64 and EM_386 alone.
package elfclass
