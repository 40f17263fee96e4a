// Package kernels opens what flags say of kernels: the one whose own engine a scenario runs on (Kernel), the one of a
// trace (TracesKernel), and where its source is (Sources).
//
// What it is not: it runs nothing. Package inputs, which reads scenarios and traces, knows no kernel, so that a program
// that runs none, such as a test of kpsimtest, is without all that reads and boots them.
//
// Its rule: a kernel is opened once; scenarios and traces refer to it by its ID.
package kernels
