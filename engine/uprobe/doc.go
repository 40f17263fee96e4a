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
// Where tasks register and unregister users, the first brings the uprobe and its breakpoint, and the last takes them
// away, with register_rwsem held, which a task reads while it runs handlers. A task that finds a breakpoint without a
// uprobe is killed if the breakpoint still stands, and otherwise runs the instruction.
//
// It is a client of the waist and imports nothing of the machine.
//
// Its limits: text of user mode isn't in memory and isn't executed. A task calls Hit when it reaches the breakpoint,
// and the instruction changes only the instruction pointer. There is one uprobe in one process, and one slot for
// copies; no filter, no uretprobe and no emulated instruction, and no signal arrives meanwhile. register_rwsem is that
// of kernels until 6.12, which have SRCU instead.
package uprobe
