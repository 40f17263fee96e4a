// Package boot boots a kernel's engine, and keeps the result for all machines.
//
// What it is: Kernel, which runs the kernel's own initialisation on a machine of its own, and returns the pages that
// it has changed. Machines with as many CPUs begin there. Given finds the kernel that a scenario names.
//
// What it is not: it knows nothing of scenarios.
//
// Its rule: the result is never changed, and depends only on the kernel and the number of CPUs.
package boot
