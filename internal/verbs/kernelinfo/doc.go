// Package kernelinfo implements kpsim kernel: it describes a kernel's file, which parts of it
// kpsim runs, and how it differs from known kernels.
//
// What it is: types with the flags of the commands and a method Run. They open the file, ask
// linux/closure, and print tables or JSON.
//
// What it is not: it runs no scenario. It only starts the engine, to check that it starts.
//
// Its rule: unknown facts are omitted. The configuration is derived from the kernel's own
// symbols; a configuration file is named when it is used.
//
// Its limits: options that leave no symbol are known only from a configuration file, embedded or
// beside the kernel.
package kernelinfo
