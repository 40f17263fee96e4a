// Package objfile reads ELF files of any origin: object files, kernel modules, kernels.
//
// What it is: Read checks a file's headers; a File has its sections, symbols and relocations. A Form
// says what a kind of relocation puts into its hole. Everything that differs by processor is a row:
// a Class, with a table of Forms. Object files, overlays and kernels are all read with it.
//
// What it is not: it doesn't decide what a file must contain, links nothing and knows no machine.
//
// Its rule: nothing in a file is trusted. Sizes and offsets are checked before anything is allocated
// or indexed, what is allocated is bounded by the file's size, and an error names the section, the place and
// the remedy in one line. debug/elf supplies the constants; its File isn't used because it copies
// every name, and a damaged file can make them arbitrarily long.
//
//	class       the sizes of ELF's structures; the rows of processors
//	file        headers, sections, their contents
//	names       string tables, symbols
//	relocs      relocations, with the addends that stand in the holes
//	form, x86   what relocations put there
//	fill        what a linker deletes of what is left for alignment
//
// # Limits
//
// It reads x86-64, i386, riscv64, arm64 and ppc64le. A file has at most 65,279 sections. Names
// are cut at 4,096 bytes.
// Compressed sections aren't read.
package objfile
