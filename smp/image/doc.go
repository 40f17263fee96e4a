// Package image turns object files and hex into code that can be put in memory.
//
// What it is: a linker for one object or kernel module at a time, of x86-64 or i386, and the
// part of a module loader that rewrites text. ParseELF reads what gcc -c wrote.
// Object.Place lays its sections out from an address of the caller's choice and
// applies the relocations, for a scenario; the result is an Image, plain bytes
// at plain addresses. Object.Load does the same as a kernel would, to show what
// that kernel sees: the result is a Module with the symbols as
// kallsyms has them and the sites that the kernel's tables name. Assembled makes a
// Module of functions that are linked already. ParseHex reads code typed by hand, or
// pasted; Listing shows either as assembly.
//
// What it is not: it knows no machine, opens no file, and links no two objects
// with each other (the caller's extern function says where other code is).
//
// What the tables name both tell: sites. A call of __fentry__ is one without a table, as
// the build of a kernel makes it one.
//
// Its rule: code is taken as the compiler made it or refused. Whatever isn't
// understood (a relocation, a table that code refers to, functions that
// overlap) is an error that names the file, the place and the remedy.
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
// Load begins a page for a module's core text, one for its .init text, and goes
// on like that.
//
// What a kernel rewrites while it loads, both do (Boot says for which kernel
// and processor): calls of __fentry__, returns, retpolines, alternatives,
// paravirt calls, sealed endbr64, lock prefixes, static calls. Jump labels stand
// as they were assembled.
//
// A module's functions are what kallsyms takes them for, each from its symbol
// to the next one, so none can overlap another; those of other objects are what
// their symbols say, with a size.
//
// # The files
//
//	file, elf        the object as it is on disk; which sections are loaded
//	reloc, form, link
//	                 relocations; an object at its addresses
//	tables, extable  what the kernel's tables name
//	patch, alternative, nops, feature, boot
//	                 how text is rewritten
//	funcs, kallsyms  functions and symbols
//	place, module    Image and Module
//
// # Limits
//
// ET_REL only. Of i386 the relocations R_386_NONE, 32, PC32 and PLT32, and no table of
// objtool's, which isn't run on its objects (returns, retpolines, sealed endbr, sites of static
// calls). Of x86-64 the relocations R_X86_64_NONE, 64, 32, 32S, PC64, PC32
// and PLT32, and in Load those that form.go lists. Place has no thread-local
// storage, no common symbols, no global offset table; Load makes addresses up
// for them. 64 MiB and 65,279 sections. Per-CPU data is loaded as data, once.
//
// What depends on more than the module and the Boot isn't known: the call of a
// pv_ops entry leads to the entry, not to what it holds; static calls whose key
// is the kernel's or another module's call the trampoline; jump labels of keys that are on.
// Thunks that are made at run time (call depth tracking, ITS) aren't made.
package image
