// Package uprobe is the kernel's uprobes as far as they share the vectors of kprobes: a task in
// user mode takes #BP where an instruction has a uprobe, and #DB behind a copy of the
// instruction, which it steps out of line.
//
// Both traps are claimed in the notifier chain, which is asked after kprobes, if they come from
// user mode and the task has to do with a uprobe. What there is to do is done on the way back
// to user mode, as a system call would: interrupts are on, and the task may sleep.
//
//	#BP   claimed; on the way back the handler runs, and the task is sent to the copy with TF set
//	#DB   claimed; on the way back TF is cleared, and the task is sent behind the instruction
//
// It is a client of the waist and imports nothing of the machine. It takes no lock.
//
// Its limits: text of user mode isn't in memory and isn't executed; a task says when it comes to
// the breakpoint, and the instruction changes nothing but the instruction pointer. A uprobe is
// there all the time: none is registered or unregistered. There is one slot for copies, no
// uretprobe, no emulated instruction, and no signal comes meanwhile.
package uprobe
