// Package vmlinux opens a kernel's image: a vmlinux (ELF) or a vmlinuz as
// distributions ship it.
//
// What it is: a reader. It says which bytes lie at which address, which symbols
// and types the kernel has, and what the kernel's own tables name: returns, calls
// of __fentry__, exceptions, BUG and WARN. Move shifts the kernel as KASLR does.
//
// What it is not: it runs nothing, rewrites no text but by Move, and keeps
// nothing on disk.
//
// Its rule: an image comes from strangers. A size is checked before memory is
// taken for it, an offset before it is followed. What can't be read is one error
// that names the file, the place and the remedy.
//
// # Where things come from
//
//	bzimage, unpack  a vmlinuz is a boot stub and a compressed ELF
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
//	class, arch      what ELF, kallsyms and addresses of 32 bits have different
//	recover          the same for a kernel that has lost them, by decoding it
//
// Addresses are the link's until Move is called. Per-CPU data was linked at 0 until
// 6.15 and isn't moved then; since it lies in the kernel and moves with it.
//
// # Limits
//
// x86-64 and i386, with CONFIG_KALLSYMS and SMP, from 5.0 on; kernels from 5.10 to 7.3 were opened,
// of i386 6.1. A kernel of i386 without relocations isn't moved. Payloads may be gzip, bzip2, xz,
// lzma, zstd or lz4, and 512 MiB unpacked; lzo is refused. Types need CONFIG_DEBUG_INFO_BTF, or a
// vmlinux with DWARF.
//
// A vmlinuz's symbols have no sizes: each ends where the next one begins.
package vmlinux
