// Package linux runs a kernel's own compiled probes engine on the simulated CPUs.
//
// What it is: an engine.Engine whose code is the kernel's. Open reads a kernel and
// prepares its text; Row is the engine in the list of engines. The engine's functions
// run instruction by instruction, as they were compiled. What they call beside is the
// boundary: a table of services (boundary.go), each done in Go with the kernel's
// contract, at a gate in the place of the function's entry.
//
// What it is not: it boots no kernel, and runs nothing of it but the engine. It keeps
// no byte of a kernel: a trace says which file it is of.
//
// Its rule: it stands on kapi alone, as any engine. A service returns what a real one
// would, and leaves the registers and the stack below the stack pointer as a real
// callee may. What the engine says of itself is read from its memory, by its types.
//
// # Parts
//
//	kernel, prepare    an opened kernel; its images, and what is patched into them
//	word               what kernels of 64 and of 32 bits have different
//	gate               calls without a service, by name or through a pointer: they end the run
//	boundary, services the functions that are done in Go; symbols: of tables beside text
//	heap               kmalloc: objects with a hole after them, and what is never freed
//	balance            what functions leave a CPU as it was, and what remains in tables
//	probes             structs of users, and their handlers
//	labels, calls      jump labels and static calls: tables of sites, and their keys
//	records, ftrace    ftrace: its records of sites, and the clients of probes
//	engine, own        the engine; memory that a boot would make
//	checks, threads    WARN, UBSAN and the like; a thread of the kernel's, and who waits
//	linuxev            its words for events
//	boot               boots it once for all machines
//	vmlinux            reads files
//
// # Limits
//
// x86-64 kernels of 5.19 to 7.3, with SMP; those of 6.1 and 6.12 were examined most. Kernels
// for i386 with SMP, as Debian's 6.1: they have no sites of static calls, and their space
// begins at 2 GiB, whatever a kernel was built with. Of ftrace, the text of the sites is the kernel's
// own work; who wants a site, and the trampoline, is kpsim's. Of jump labels, static calls and
// ftrace the tables are made as their boot leaves them; a label or static call in the text of
// a module is taken to be the kernel's. A debugger's breakpoints are bytes of the text, as any:
// the engine comes across them. It asks where they are (kgdb_has_hit_break) if it was built with
// CONFIG_KGDB; Debian's aren't, and Ubuntu's, which ask the debugger first, are refused beside
// one. Data of the kernel that no
// service and no initcall of the engine has filled is as it is linked. Of weak memory
// the kernel's own code is text, whose stores are held like any; the services (memory,
// callbacks, locks that are words of the kernel) take effect at once.
package linux
