// Package kerneltest finds kernels for tests, and makes small ones up.
//
// What it is: the way from the name of a series, "6.1", to a kernel that lies on
// this computer as scripts/fetch-kernel lays it; and Fake, a kernel of some
// kilobytes with the tables that package vmlinux reads.
//
// What it is not: it downloads nothing, and a fake has no code that would run.
//
// Its rule: a test that finds no kernel is skipped, and says what to run.
package kerneltest
