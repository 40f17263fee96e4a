// Package kerneltest finds kernels for tests, and makes small fake ones.
//
// What it is: a lookup from the name of a series, "6.1", to a kernel on this computer, in the
// layout of scripts/fetch-kernel; and Fake, a kernel of a few kilobytes with the tables that
// package vmlinux reads.
//
// What it is not: it downloads nothing, and a fake has no code that would run.
//
// Its rule: a test that finds no kernel is skipped, and says what to run.
package kerneltest
