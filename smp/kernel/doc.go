// Package kernel is the kernel services that text patching rests on: mutexes,
// RCU by what it waits for, stop_machine, the text-poke family, delayed work,
// the notifier chains of exceptions, executable memory, symbols. It implements
// kapi on the machine of smp.
//
// What it is not: it knows no probe.
//
// Its rule: routines are linear Go and read like kernel source; a numbered
// protocol has its steps in the doc comment and in the body.
//
// Lock order, outermost first:
//
//	kprobe_mutex            (kprobes)
//	  text_mutex            each store to live text
//	    stop_cpus_mutex     stop_machine
//
// Its limits: cond_resched gives the CPU up under the model full too, and counts
// as voluntary. CPUs don't come and go. Of per-CPU memory there is what percpu.go
// lists, and no task_struct; a count of preempt_disable that text makes keeps the
// CPU from being given away, but counting down again doesn't schedule.
package kernel
