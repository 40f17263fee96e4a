// Package version knows which kpsim this program is: its version, its commit, and where
// to get it. Traces, pages, JSON and kpsim version name it.
//
// What it is not: part of a run. No run and no digest depends on it.
//
// Its rule: one answer for the whole program, from the first of these that knows the commit.
//
//  1. The linker: a build from a source archive without .git sets it with
//
//     go build -ldflags "-X kpsim/internal/version.version=1.2.3
//     -X kpsim/internal/version.commit=HASH -X kpsim/internal/version.source=URL"
//
//     HASH-dirty is a commit with local changes.
//
//  2. Go: go build records a clone's commit, and the version of a required module.
//
//  3. The clone itself, for go run, which records nothing: .git/HEAD of the folder that the
//     program was compiled in. Only a program started by go run looks there, since an older
//     binary would name the wrong commit. Whether files were edited isn't checked.
//
// Its limits: linker flags can claim anything. A test binary doesn't read the clone. With
// reftable references the commit is unknown.
package version
