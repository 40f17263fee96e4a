// Package kept keeps what was made from known inputs, in the user's cache folder, so that it isn't made twice.
//
// What it is: files whose names are digests of all that their contents depend on. Each begins with the digest of its
// contents.
//
// What it is not: a place for anything that can't be made anew. If the cache fails in any way, nothing is kept.
//
// Its rule: a file is replaced as a whole, so ^C leaves none half written. A file that is truncated, changed or
// foreign is removed when it is read. Of each kind the least recently used are removed.
//
// # Limits
//
// Two programs that keep the same thing at a time replace each other's file. Keys are never listed.
package kept
