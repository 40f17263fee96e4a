// Package linux runs a kernel's own compiled probes engine on the simulated CPUs.
//
// What it is: an engine.Engine whose code is the kernel's. Open reads a kernel and
// prepares its text; Row is the engine in the list of engines. The engine's functions
// run instruction by instruction, as they were compiled. All other functions that they call
// are the boundary: a table of services (boundary.go). Each is implemented in Go with the
// kernel's contract, at a gate that replaces the function's entry.
//
// What it is not: it boots no kernel, and runs nothing of it but the engine. It stores
// no byte of a kernel: a trace names the kernel's file.
//
// Its rule: it stands on kapi alone, as any engine. A service returns what the real function
// would, and leaves the registers and the stack below the stack pointer as a real
// callee may. The engine's claims about itself are read from its memory, by its types.
//
// # Parts
//
//	kernel, prepare    an opened kernel; its images, and the patches in them
//	port               the differences between kernels of processors, by rows: addresses, the size of a word,
//	                   how code is changed; patch_x86, riscv64, arm64 and ppc64 have the rows
//	ppc64_fixup        what boot makes of the text of the last
//	gate               runs services; a call without one, by name or through a pointer, ends the run
//	boundary, services the functions implemented in Go; symbols: those about tables beside text
//	heap               kmalloc: objects with a hole after them, and leaks
//	balance            the state of a CPU that functions must restore, and leftovers in tables
//	probes             structs of users, and their handlers
//	keys               jump labels and static calls: tables of sites, and their keys
//	ftrace             its records of sites, and the clients of probes
//	fprobe             the structs of users of fprobes, and their handlers
//	clients            its own clients: direct calls, trampolines; find, made: their parts, their memory
//	code               memory for code
//	engine, own        the engine, whose parts are types; memory that a boot would make
//	faults, threads    breakpoints, faults and WARN; a thread of the kernel's, and its waiters
//	linuxev            its words for events
//	boot               boots it once for all machines
//	vmlinux            reads files
//
// # Limits
//
// It runs x86-64 kernels of 5.10 to 7.3, with SMP; those of 6.1 and 6.12 were examined most. A set of functions whose
// types or symbols a kernel lacks is refused alone. It also runs kernels for i386 with SMP, as Debian's 6.1: they
// have no sites of static calls, and their space begins at 2 GiB, whatever a kernel was built with.
//
// It runs kernels for riscv64, as Debian's 6.12 and 7.2: their kprobes and jump labels. Fences of other CPUs go
// by IPI, not by firmware: a call of sbi_remote_fence_i is refused, as are traps of user mode.
//
// It runs kernels for arm64, as Debian's 6.12.117 and 7.2, likewise: those whose breakpoints come to el1_brk64.
// CPUs have the atomics of Armv8.1, no keys of pointer authentication, and no hypervisor mode; arm64_features
// says which alternatives that are. Its kernels write sites of ftrace, but not the client beside a function, which only
// their own trampoline reads. On riscv64 a site calls kpsim's trampoline through one register more.
//
// It runs kernels for ppc64le, as Debian's 6.12.107 and 7.2: their kprobes, with optimization and their own
// emulate_step, and jump labels, from program_check_exception and single_step_exception on. The processor is what
// cpu_specs has for its version, with translation by the hash table. A kernel masks interrupts by a byte, and takes
// later what comes meanwhile: here it doesn't come. The area for detours lies near the text of scenarios, and not in
// the kernel's own, and so do the stubs of sites of ftrace where calls stand out of line (6.13). What needs vector or
// floating-point registers is refused.
//
// The kernel's own code writes the text of ftrace's sites. Where a scenario has a direct call, what BPF has, or
// trampolines that are text (Settings.Clients, x86-64), its own kernel/trace/ftrace.c also decides which clients
// want a site, and makes, frees and changes the trampolines, which tasks execute; handlers of clients beside
// kprobes are Go, and sites are those of the kernel itself, not of modules. Elsewhere kpsim decides that, and has
// one trampoline. Images of BPF are kpsim's, with the kernel's direct calls and text_poke_bp. The tables of jump
// labels, static calls and ftrace are made as the kernel's boot leaves them, those of a module as its file has
// them: the kernel's own code adds and removes them. A label in a module that is loaded from the start is refused;
// a static call there is taken to be the kernel's. Keys are switched on and off, never counted.
//
// Fprobes are run on x86-64, where the kernel has CONFIG_FPROBE and follows calls by rethook (until 6.13): Debian's 6.1
// hasn't that. From 6.14 on the function graph tracer follows calls (kernel/trace/fgraph.c). Its parts that this would
// need here are register_ftrace_graph, which lists all tasks to give each a stack of calls, and ftrace_startup_subops.
// A handler's arguments are the registers of the call, and the fifth one, the data.
//
// A debugger's breakpoints are ordinary bytes of the text, and the engine comes across them. It
// asks where they are (kgdb_has_hit_break) if it was built with CONFIG_KGDB. Debian's kernels
// aren't. Ubuntu's ask the debugger first, and are refused beside one.
//
// Data of the kernel that no service and no initcall of the engine has filled is as linked.
// Under weak memory the kernel's own code is text, whose stores are held like any; the services
// (memory, callbacks, locks that are words of the kernel) take effect at once.
package linux
