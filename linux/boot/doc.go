// Package boot boots a kernel's engine, and keeps what it finds then for all machines.
//
// What it is: Kernel, which runs the kernel's own initialisation on a machine of its
// own, and returns the pages that it has changed. Machines of as many CPUs begin there.
// Given finds the kernel that a scenario names.
//
// What it is not: it knows nothing of scenarios.
//
// Its rule: what is kept isn't changed any more, and depends on the kernel and the
// number of CPUs alone.
package boot
