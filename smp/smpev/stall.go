package smpev

import (
	"fmt"
	"strings"
)

// StallTasks is how many of the tasks that a grace period waits for a GPStall event has.
const StallTasks = 8

// Stall returns what the kernel prints at a GPStall event [flavour, cpus, tasks] of a CPU:
// it begins as print_cpu_stall and print_other_cpu_stall of kernel/rcu/tree_stall.h have
// it, and check_holdout_task of kernel/rcu/tasks.h. What is waited for comes
// in the same line. task names a task.
func Stall(flavour, cpus, tasks uint64, cpu uint8, task func(uint64) string) string {
	var list []string
	for c := range 64 {
		if cpus>>c&1 != 0 {
			list = append(list, fmt.Sprintf("cpu%d", c))
		}
	}
	for ; tasks != 0; tasks >>= 8 {
		list = append(list, "task "+task(tasks&0xff-1))
	}
	name := "rcu_sched"
	if flavour == GPRcu {
		name = "rcu_preempt"
	}
	begins := "rcu: INFO: " + name + " detected stalls on CPUs/tasks"
	switch {
	case flavour == GPTasks:
		begins = "INFO: rcu_tasks detected stalls on tasks"
	case cpu < 64 && cpus>>cpu&1 != 0:
		begins = "rcu: INFO: " + name + " self-detected stall on CPU"
	}
	return begins + ": " + strings.Join(list, ", ")
}
