// Package compile compiles changed files of a kernel, so that they can be laid over it.
//
// What it is: a Tree of files goes through scripts/kernel-objects, which says how a kernel's file is compiled. The
// objects are kept with their sources under the digest of all that goes in, so the same files are compiled once.
//
// What it is not: a build of a kernel. It downloads nothing: the headers of the release must be there.
//
// Its rule: it works in a folder of its own, which is moved to its place when all is compiled. A kept object that isn't
// as it was compiled is thrown away, and made anew.
//
// # Limits
//
// Of the headers only the configuration counts for the digest: headers of the same release and configuration are
// taken to be the same.
package compile
