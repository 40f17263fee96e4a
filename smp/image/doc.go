// Package image turns object files and hex into code that can be put in memory.
//
// What it is: a linker for one object or kernel module at a time, of x86-64 or i386, and the part
// of a module loader that rewrites text. ParseELF reads the output of gcc -c. Object.Place lays
// out its sections from an address and applies the relocations, for a scenario; the result is an
// Image, plain bytes at plain addresses. Object.Load does the same as a kernel would, to show
// what that kernel sees: the result is a Module, with the symbols as in kallsyms and the sites
// that the kernel's tables name. Assembled makes a Module of functions that are already linked.
// ParseHex reads code typed by hand or pasted; Listing shows either as assembly.
//
// What it is not: it knows no machine, opens no file, and doesn't link objects with each other
// (the caller's extern function locates other code).
//
// Images and Modules both have the sites that the tables name. A call of __fentry__ is a site
// even without a table, as in a kernel's build.
//
// Its rule: code is accepted as the compiler generated it, or refused. Anything not understood (a
// relocation, a table that code refers to, overlapping functions) is an error that names the
// file, the place and the remedy.
//
// An object, and where Place puts it:
//
//	base ──► .text        offsets inside a section are kept, so a base that
//	         .text.x      isn't aligned shifts all code by the same distance
//	page ──► .rodata      each data section begins on a page of its own,
//	page ──► .data        after the code and so within reach of a rip-
//	page ──► .bss         relative displacement
//	page ──► imports      of a module: addresses without memory, a page each
//
// Load starts a new page for a module's core text and another for its .init text.
//
// Place and Load both make the changes that a kernel makes when loading (Boot gives the kernel
// and processor): calls of __fentry__, returns, retpolines, alternatives, paravirt calls, sealed
// endbr64, lock prefixes, static calls. Jump labels stay as assembled.
//
// A module's functions are those of kallsyms, each from its symbol to the next one, so none
// overlap. Other objects' functions are those of their symbols, with a size.
//
// # The files
//
//	elf              which sections of the object are loaded; objfile reads it
//	reloc, link      relocations; an object at its addresses
//	tables, extable  what the kernel's tables name
//	patch, alternative, nops, feature, boot
//	                 how text is rewritten
//	funcs, kallsyms  functions and symbols
//	place, module    Image and Module
//
// # Limits
//
// Only ET_REL is read. i386 supports the relocations R_386_NONE, 32, PC32 and PLT32, and none of
// objtool's tables (returns, retpolines, sealed endbr, static call sites), since objtool isn't
// run for i386. x86-64 supports R_X86_64_NONE, 64, 32, 32S, PC64, PC32 and PLT32, and in Load
// those that objfile's x86.go lists; other processors those that objfile calls plain. Objects of ppc64le share one
// TOC, and no linker's stubs are made. Place has no thread-local storage, no common symbols, and no global
// offset table; Load makes up addresses for them. An object has at most 64 MiB and 65,279
// sections. Per-CPU data is loaded once, as ordinary data.
//
// Nothing is known beyond the module and the Boot. A call of a pv_ops entry leads to the entry,
// not to its value. A static call whose key is the kernel's or another module's calls the
// trampoline. Jump labels whose keys are on aren't updated. Thunks generated at run time (call
// depth tracking, ITS) don't exist.
package image
