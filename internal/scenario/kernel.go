package scenario

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kernel"
)

// The constants are default addresses. Traces contain the addresses, so these may change;
// KernelBase may not.
const (
	TextBase   arch.Addr = 0xffffffff81000000 // functions, upward
	KernelBase arch.Addr = 0xffffffff82000000 // the kernel's own functions: reserved up to DataBase
	DataBase   arch.Addr = 0xffffffff83000000 // data, upward
)

const Page arch.Addr = 4096

// exports are the kernel functions that a scenario's code may call, and no function of it is called. The kernel
// chooses their addresses; a trace has them in its bytes.
var exports = []string{
	"cond_resched", "cond_resched_tasks_rcu_qs", "do_exit", "jprobe_return",
}

// services are those that a patcher calls. A function of the scenario may be one of them instead.
var services = func() (names []string) {
	kernel.Services(func(name, _ string) { names = append(names, name) })
	return names
}()

// KernelExport returns the address of a kernel function that text may call.
func KernelExport(name string) (arch.Addr, bool) {
	if slices.Contains(exports, name) || slices.Contains(services, name) {
		return kernel.Export(name)
	}
	return 0, false
}

// KernelVariable returns the address of one of the kernel's per-CPU variables, on x86-64.
func KernelVariable(name string) (arch.Addr, bool) { return kernel.PerCPUVariable(name) }

// KernelExports lists the names that KernelExport knows, in order.
func KernelExports() []string { return slices.Concat(exports, services) }
