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

// A CPUStep is a step of a CPU's going or coming that may fail, by its name in the kernel's
// table (cpuhp_hp_states, kernel/cpu.c).
type CPUStep uint8

// The steps, in the reverse of the order in which a CPU that comes up makes them.
const (
	CPUStepNone     CPUStep = iota
	CPUStepActive           // sched_cpu_activate, sched_cpu_deactivate
	CPUStepWorkers          // workqueue_online_cpu, workqueue_offline_cpu
	CPUStepTeardown         // takedown_cpu: only a CPU that goes
	CPUStepBringup          // bringup_cpu: only a CPU that comes
)

var cpuStepNames = [...]string{"none", "sched:active", "workqueue:online", "cpu:teardown", "cpu:bringup"}

func (s CPUStep) String() string {
	if int(s) >= len(cpuStepNames) {
		return fmt.Sprintf("step %d", uint8(s))
	}
	return cpuStepNames[s]
}

func cpuStepName(n uint64) string { return CPUStep(n).String() }

// Fails reports whether the step may fail on the way down (going), or else on the way up.
func (s CPUStep) Fails(going bool) bool {
	switch s {
	case CPUStepTeardown:
		return going
	case CPUStepBringup:
		return !going
	}
	return s == CPUStepActive || s == CPUStepWorkers
}

// CPUSteps lists the steps that may fail on the way down (going), or else on the way up.
func CPUSteps(going bool) (list []CPUStep) {
	for s := range CPUStep(len(cpuStepNames)) {
		if s.Fails(going) {
			list = append(list, s)
		}
	}
	return list
}
