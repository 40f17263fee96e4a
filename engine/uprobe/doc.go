// Package uprobe models the part of the kernel's uprobes that shares the vectors of kprobes: a task in user mode
// takes #BP where an instruction has a uprobe, and #DB after a copy of the instruction, which it steps out of line.
//
// Uprobes claims both traps in the notifier chain, after kprobes, if they come from user mode and the task has a
// uprobe there. The work is done on the way back to user mode, as after a system call: interrupts are on, and the
// task may sleep.
//
//	#BP   claimed; on the way back the handler runs, and the task is sent to the copy with TF set
//	#DB   claimed; on the way back TF is cleared, and the task is sent to the next instruction
//
// Where tasks register and unregister users, the first brings the uprobe and its breakpoint, and the last takes
// them away, with register_rwsem held, which a task reads while it runs handlers. A task that finds a breakpoint
// without a uprobe is killed if the breakpoint still stands, and otherwise runs the instruction.
//
// Several processes may have the file with the uprobe in their memory, each at another address. A user's filter
// says which ones it wants; each of those has the breakpoint. Its handler asks the filter, too, as perf's do, and its
// return handler doesn't. A handler may answer that it needs its process no longer (UPROBE_HANDLER_REMOVE): if all
// users do, the task removes the process's breakpoint.
//
// A user may have a return handler. Then the uprobe is a function's first instruction, and a hit replaces the
// return address on the thread's stack by the trampoline's. What was there is kept in an instance, which refers to
// the uprobe:
//
//	#BP   at the trampoline, claimed; on the way back instances of calls that longjmp has left are dropped, the
//	      return handlers run, and the task is sent to its caller
//
// Where the instruction is a nop of five bytes (AddNop), it is text in memory that tasks run in user mode. As since
// 6.18, the first hit replaces the breakpoint by a call of a system call that runs the handlers, and unregistering
// the last user puts the nop back:
//
//	breakpoint; sync; the last four bytes; sync; the first byte; sync
//
// It is a client of the waist and imports nothing of the machine.
//
// Its limits: but for that nop, text of user mode isn't in memory and isn't executed. A task calls Hit when it
// reaches the breakpoint, and the instruction changes only the instruction pointer. The nop is in one process, has
// no return handler, and its call pushes nothing onto memory that user mode uses: for that the newest kernels take a
// nop of ten bytes instead, which isn't modelled. There is one uprobe, and one slot for copies; no other instruction
// is emulated, and no signal arrives meanwhile. No tail call reuses a hooked return address, no process forks or ends,
// and no filter changes but by a handler's answer. Return trampolines trap, as before 6.11. register_rwsem is that of
// kernels until 6.11, which have RCU Tasks Trace instead since; instances have SRCU since 6.13, and since 6.12 keep a
// uprobe from going altogether, so that users who come later get its calls. A user that comes while the last one goes
// waits, where a kernel's finds a uprobe that is being deleted, and tries again (EAGAIN). The errnos EBUSY and EINVAL
// are the simulator's: kernels don't notice.
package uprobe
