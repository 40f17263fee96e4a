// Package edits makes objects of patches: it applies them to a copy of a kernel's source files and has compiled what
// changes.
//
// What it is: the files of one release that its engine is compiled from, as a folder has them, with patches applied.
//
// What it is not: it applies no patch itself (internal/patches) and compiles nothing itself (linux/compile).
//
// Its rule: what a patch changes and that isn't compiled is named, with the reason.
//
// # Limits
//
// A file is of the engine if the source that scripts/fetch-kernel-source keeps has it, or if it is a header in one of
// its folders.
package edits
