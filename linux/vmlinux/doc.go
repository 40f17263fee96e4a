// Package vmlinux opens a kernel's image: a vmlinux (ELF), or a vmlinuz as distributions ship it.
//
// What it is: a reader. It returns the bytes at an address, the kernel's symbols and types, and
// the contents of the kernel's own tables: returns, calls of __fentry__, exceptions, BUG and
// WARN. Move shifts the kernel as KASLR does.
//
// What it is not: it runs nothing, and changes no text except in Move and Lay.
//
// Its rule: an image comes from strangers. A size is checked before memory is allocated for it,
// an offset before it is followed. If something can't be read, the error names the file, the
// place and the remedy.
//
// # Where things come from
//
//	bzimage, unpack  a vmlinuz is a boot stub and a compressed ELF, or a compressed flat image
//	flat             those of riscv64 and arm64: the bytes of memory, cut into sections between symbols
//	elf              its sections; it has no symbol table
//	kallsyms         symbols, from the tables by which the kernel prints addresses.
//	                 No symbol says where they are: they are found by their form
//	symbols, symtab  those, and the symbol table if the file has one
//	types, btf, dwarftypes
//	                 layouts of structs, from BTF, else from DWARF
//	lines, unit, linehead, debuginfo
//	                 places in the source, from DWARF, a compilation unit at a time
//	sites, bug, fentry
//	                 what the kernel's tables name
//	move, reloc      the relocations: a vmlinuz has them after its ELF, a vmlinux
//	                 in the sections that --emit-relocs keeps
//	class            what the kernels of a processor have in common, by rows
//	recover          the same for a kernel that has lost them, by decoding it
//
// Addresses are those of the link until Move is called. Before 6.15 per-CPU data is linked at 0
// and not moved; since then it lies in the kernel and moves with it.
//
// # Limits
//
// It opens kernels with CONFIG_KALLSYMS and SMP, from 5.0 on: those of x86-64, i386, riscv64, arm64
// and ppc64le. Kernels from 5.10 to 7.3 were tested, 6.1 for i386, and 6.12 and 7.2 of the last three.
// An i386 kernel without relocations can't be moved. One for riscv64 or arm64 is
// moved by the words of its data that are addresses of it: its code has none.
// Payloads may be compressed with gzip, bzip2, xz, lzma, zstd or lz4, and have at most 512 MiB
// unpacked; lzo is refused. Types need CONFIG_DEBUG_INFO_BTF, or a vmlinux with DWARF.
//
// The symbols of a vmlinuz have no sizes: each ends where the next one begins.
package vmlinux
