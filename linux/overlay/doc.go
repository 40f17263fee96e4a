// Package overlay links relocatable objects over an opened kernel: kprobes.o compiled
// from an edited source replaces the vmlinux's own kprobes.c.
//
// What it is: a linker, for x86-64 and i386. Link takes the objects that make leaves (kernel/kprobes.o,
// arch/x86/kernel/kprobes/opt.o), lays them out from an address, resolves what they refer
// to by each other and the vmlinux, and says what is to be put where, which old functions
// are to jump to new ones, and which variables get new first contents.
//
// What it is not: it changes no image, maps nothing, runs nothing and compiles nothing;
// scripts/kernel-objects does the last. It doesn't patch a kernel that runs, as livepatch
// does: the overlay is there before the first instruction.
//
// Its rule: one coherent set. Whatever code runs, each variable that several files share
// exists once, and each function is the new one.
//
// # What a name stands for
//
//   - A global function that the objects define is theirs. The vmlinux's of that name gets
//     a jump to it (Moved), so old code and old pointers come to it too.
//   - A weak function of the objects gives way if the vmlinux took another file's definition:
//     then that is still the one.
//   - A static function is the object's own. Where the vmlinux's can be told, by its name
//     between global functions of the same file, it gets a jump as well, for pointers to it
//     in old data. No other code can call it.
//   - A global variable that both have stays the vmlinux's: old files and new ones share it.
//     It gets the first contents that the object gives it (Writes), edited or with
//     pointers to new functions. This makes a part of an engine coherent: kprobes.o alone
//     and the vmlinux's opt.c use one current_kprobe.
//   - If it has become larger, it is the overlay's own, provided that no code or data that
//     stays refers to the old one: the text of the vmlinux is searched. Else Link refuses,
//     and says which functions do, so that their objects can be given too.
//   - A label of assembly without a size, in read-only data, is the overlay's own
//     (opt.c's template of a detour).
//   - A static variable is the overlay's own, with its first contents. So initcalls of the
//     objects (Initcalls) are to run in place of the vmlinux's of the same name: a table
//     that the old init_kprobes filled isn't the one that the new code reads.
//   - Anything else is the vmlinux's, by its global name. A name that is only static there is
//     refused: the object that defines it must be given too.
//
// # What is put in memory
//
// All sections with SHF_ALLOC, but tables for the build, the boot and unwinding
// (dropped, in layout.go). Tables that patchers walk keep their names: __jump_table,
// .static_call_sites, .altinstructions, .parainstructions, __bug_table, __ex_table. Their
// code is as the compiler left it, which is right for keys with their first value.
// Returns, Fentries and Retpolines come from the relocations, with or without objtool.
// The table of functions that may not be probed holds the old rows and the new ones.
// Per-CPU data lies behind the vmlinux's own. Of i386, whose per-CPU data is linked among the
// rest, as that of x86-64 is since 6.15, it has to fit before the next section.
//
// # Limits
//
// Structs must be those of the vmlinux. With debug information in the objects, each struct
// of a header is compared with the vmlinux's types, size and members; without, a changed
// layout isn't noticed. A struct of a .c file may change if all objects that know it are
// given. A header that is edited for one object only isn't noticed if it changes no
// struct.
//
// Symbols of a vmlinuz have no sizes, so a shared variable that has become smaller isn't
// noticed, nor one that has grown into its padding; that is harmless.
//
// A vmlinux of other source, configuration or compiler than the objects is noticed by
// missing symbols and differing structs only.
//
// Of i386 relocations fill a word: R_386_32, PC32 and PLT32. Objects of CONFIG_LTO_CLANG
// are refused, as are modules and those with thread-local or common variables. At most 64
// objects of 64 MiB, and 64 MiB in memory.
//
// Without kprobes.o among the objects, functions of others in .noinstr.text and
// .kprobes.text aren't known as such.
package overlay
