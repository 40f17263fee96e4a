// Package kernelinfo does kpsim kernel: what a kernel's file is, what of it kpsim runs, and
// how it differs from kernels that are known.
//
// What it is: types with the flags of the commands and a method Run. They open the file,
// ask linux/closure, and print tables or JSON.
//
// What it is not: it runs no scenario. The engine is started, to see whether it starts.
//
// Its rule: what isn't known isn't said. The configuration comes from the kernel's own
// symbols; a file of it is named when it is used.
//
// Its limits: options that leave no symbol are known from a file of the configuration only,
// embedded or beside the kernel.
package kernelinfo
