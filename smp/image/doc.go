// Package image turns object files and hex into code that can be put in memory.
//
// What it is: a linker for one x86-64 object at a time. ParseELF reads what
// gcc -c wrote, Object.Place lays its sections out from an address of the
// caller's choice and applies the relocations; the result is an Image, plain
// bytes at plain addresses. ParseHex reads code typed by hand, Listing shows
// either as assembly.
//
// What it is not: it knows no machine, opens no file, and links no two objects
// with each other (the caller's extern function says where other code is).
//
// Its rule: code is taken as the compiler made it or refused. Whatever isn't
// understood (a relocation, a section that code refers to, functions that
// overlap) is an error that names the file, the place and the remedy.
//
// An object, and where Place puts it:
//
//	base ──► .text        offsets inside a section are kept, so a base that
//	         .text.x      isn't aligned shifts all code by the same distance
//	page ──► .rodata      each data section begins on a page of its own,
//	page ──► .data        behind the code and so within reach of a rip-
//	page ──► .bss         relative displacement
//
// Its limits: ET_REL only; the relocations R_X86_64_64, 32, 32S, PC64, PC32 and
// PLT32; no thread-local storage, no common symbols, no global offset table.
// The kernel's alternatives, static-call and jump-label tables aren't read: the
// code stands as it was assembled. Of __ex_table only the instruction's address
// is kept (Func.Extable); where the fixup leads isn't modelled.
package image
