// Package build names the program that runs: computers work together only if it is the same one,
// because only then are their runs.
//
// What it is not: a version. Two builds of one commit for two systems are one build.
//
// Its rule: a program that was built from a clean checkout is named by its commit and the modules
// it has; any other one by its bytes.
//
// Its limit: it says what who built it says; it is no signature.
package build
