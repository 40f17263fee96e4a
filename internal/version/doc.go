// Package version knows which kpsim this program is: its version, its commit, and where
// to get it. Traces, pages, JSON and kpsim version name it.
//
// What it is not: part of a run. No run and no digest depends on it.
//
// Its rule: one answer for the whole program, from the first of these that knows the commit.
//
//  1. The linker: a package that is built from a source without .git sets it by
//
//     go build -ldflags "-X kpsim/internal/version.version=1.2.3
//     -X kpsim/internal/version.commit=HASH -X kpsim/internal/version.source=URL"
//
//     HASH-dirty is a commit with changes of one's own.
//
//  2. Go, which notes the commit in what go build makes in a clone, and the version of a
//     module that another one requires.
//
//  3. The clone itself, for go run, which notes nothing: .git/HEAD of the folder that the
//     program was compiled in. Only what go run has just compiled asks there: a program
//     that was built earlier would name a commit that it isn't of. Whether the files were
//     edited isn't looked at, so that is not known.
//
// Its limits: the linker may be told anything; it is no signature. A test
// program doesn't look into the clone. A repository whose references are no files
// (reftable) has no commit that is known.
package version
