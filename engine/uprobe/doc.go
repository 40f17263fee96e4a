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
// It is a client of the waist and imports nothing of the machine. It takes no lock.
//
// Its limits: text of user mode isn't in memory and isn't executed. A task calls Hit when it reaches the breakpoint,
// and the instruction changes only the instruction pointer. A uprobe exists from boot: none is registered or
// unregistered. There is one slot for copies, no uretprobe and no emulated instruction, and no signal arrives
// meanwhile.
package uprobe
