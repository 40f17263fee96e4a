// Package build names the running program. Computers work together only if their programs are the same, because only
// then do they make the same runs.
//
// What it is not: a version. Two builds of one commit for two systems are one build.
//
// Its rule: a program built from a clean checkout is named by its commit and its modules; any other by its bytes.
//
// Its limit: the name is what the build recorded; it is no signature.
package build
