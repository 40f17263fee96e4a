// Package kerneltest finds kernels for tests.
//
// What it is: the way from the name of a series, "6.1", to a kernel that lies on
// this computer as scripts/fetch-kernel lays it. Its rule: a test that finds none
// is skipped, and says what to run. It downloads nothing.
package kerneltest
