// Package overlay links relocatable objects over an opened kernel: kprobes.o compiled
// from an edited source replaces the vmlinux's own kprobes.c.
//
// What it is: a linker for x86-64, i386, riscv64, arm64 and ppc64le. Link takes objects built by make
// (kernel/kprobes.o, arch/x86/kernel/kprobes/opt.o), lays them out from an address, and resolves their references to
// each other and to the vmlinux. The result says which bytes to put where, which old functions
// must jump to new ones, and which variables get new initial contents.
//
// What it is not: it changes no image, maps nothing, runs nothing and compiles nothing;
// scripts/kernel-objects compiles. It doesn't patch a running kernel, as livepatch does: the
// overlay is in place before the first instruction.
//
// Its rule: the result is coherent. Whatever code runs, each variable shared by several files
// exists once, and each function is the new one.
//
// # What a name stands for
//
//   - A global function that the objects define is theirs. The vmlinux's function of that
//     name gets a jump to it (Moved), so old code and old pointers reach it too.
//   - A weak function of the objects is dropped if the vmlinux uses another file's definition.
//   - A static function is the object's own. If the vmlinux's copy can be identified, by its
//     name between global functions of the same file, it gets a jump too, for pointers to it
//     in old data. No other code can call it.
//   - A global variable that both have stays the vmlinux's: old files and new ones share it.
//     It gets the initial contents from the object (Writes), edited or with pointers to new
//     functions. So a part of an engine stays coherent: kprobes.o alone and the vmlinux's
//     opt.c use one current_kprobe.
//   - If it has become larger, it is the overlay's own, provided that no remaining code or
//     data refers to the old one: the text of the vmlinux is searched. Otherwise Link returns
//     an error that names the functions that do, so that their objects can be given too.
//   - A label of assembly without a size, in read-only data, is the overlay's own
//     (opt.c's template of a detour).
//   - A static variable is the overlay's own, with its initial contents. So the objects'
//     initcalls (Initcalls) must run in place of the vmlinux's of the same name: a table
//     filled by the old init_kprobes isn't the one that the new code reads.
//   - Anything else is the vmlinux's, by its global name. A name that is only static there is
//     refused: the object that defines it must be given too.
//
// # What is put in memory
//
// All sections with SHF_ALLOC are put in memory, except tables for the build, the boot and
// unwinding (dropped, in layout.go). Tables that patchers walk keep their names: __jump_table,
// .static_call_sites, .altinstructions (on riscv64 .alternative), .parainstructions, __bug_table, __ex_table. Their
// code is as the compiler left it, which is right for keys with their first value.
// Returns, Fentries and Retpolines come from the relocations, with or without objtool.
// The table of functions that may not be probed holds the old rows and the new ones.
// Per-CPU data lies after the vmlinux's own. It must fit before the next section on i386 and,
// since 6.15, on x86-64, where per-CPU data is linked among the rest.
//
// # The TOC
//
// Code of ppc64le counts from the vmlinux's own base, which r2 has in all of the kernel: the objects' words for
// addresses (.toc) are data within 2 GiB of it. Branches within the kernel lead to local entries. So a replaced
// function keeps what makes r2 from r12, and behind that jumps to the local entry of the new one. A vmlinux without
// the symbol .TOC. is refused. Code for the boot lies apart, in reach of the vmlinux's.
//
// # Limits
//
// Structs must be those of the vmlinux. With debug information in the objects, each struct
// of a header is compared with the vmlinux's types, size and members; without, a changed
// layout isn't noticed. A struct of a .c file may change if all objects that use it are
// given. A header that was edited for only one object isn't noticed if no struct changes.
//
// Symbols of a vmlinuz have no sizes. So a shared variable that has become smaller, or has
// grown into its padding, isn't noticed; that is harmless.
//
// Objects of another source, configuration or compiler than the vmlinux are only noticed by
// missing symbols and differing structs.
//
// Code that is marked for relaxation (riscv64) isn't relaxed; what was left for alignment is deleted as a linker does.
// Objects whose code reaches several variables by one label (-fsection-anchors) are refused on riscv64; on arm64 and
// ppc64le that isn't noticed, unless the code names a shared variable so.
//
// On i386, relocations fill a word: R_386_32, PC32 and PLT32. Objects of CONFIG_LTO_CLANG
// are refused, as are modules and objects with thread-local or common variables. At most 64
// objects of 64 MiB each are linked, with 64 MiB in memory.
//
// Without kprobes.o among the objects, other objects' functions in .noinstr.text and
// .kprobes.text aren't recognised as such.
package overlay
