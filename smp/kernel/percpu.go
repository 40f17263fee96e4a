package kernel

import (
	"encoding/binary"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Per-CPU memory, as in Linux. On x86-64 a per-CPU variable has one address, and a CPU's copy is at that address plus
// the CPU's offset, which is the base of gs there and the value of the variable this_cpu_off
// (arch/x86/include/asm/percpu.h). The address itself isn't mapped.
//
// Addresses are those of linked text, within the reach of a 32-bit displacement; a kernel before 6.15 has them from 0
// instead, which a module's bytes don't show before they are linked.

// The copies of a CPU are 4 GiB from those of the next: variables lie in the uppermost 2 GiB of the address space,
// from perCPULow on, and those that gcc addresses by a number, such as the canary, in the lowest page.
const (
	perCPUOffset arch.Addr = 0xffff_8881_0000_0000
	perCPUStride arch.Addr = 1 << 32
	perCPULow    arch.Addr = 0xffff_ffff_8000_0000
)

// On i386 the base is that of fs, copies are 8 MiB apart, and variables lie within 4 MiB of the beginning of data.
// The kernel's own are 4 MiB further than on x86-64, since otherwise one CPU's copies would overlap another CPU's
// copies of the data.
const (
	perCPUOffset32 arch.Addr = 0x5000_0000
	perCPUStride32 arch.Addr = 1 << 23
	perCPURoom32   arch.Addr = 1 << 22
)

// PerCPUOffset returns the distance from per-CPU variables to a CPU's copies.
func PerCPUOffset(a *arch.Arch, cpu int) arch.Addr {
	if is32(a) {
		return perCPUOffset32 + arch.Addr(cpu)*perCPUStride32
	}
	return perCPUOffset + arch.Addr(cpu)*perCPUStride
}

// PerCPUPlaces returns where per-CPU variables and their copies may lie: nothing else is put there.
func PerCPUPlaces(a *arch.Arch) (variables, copies kapi.Span) {
	if is32(a) {
		low := a.Addr(smp.DataBase)
		return kapi.Span{From: low, To: low + perCPURoom32}, kapi.Span{From: PerCPUOffset(a, 0) + a.Addr(pcpuHot),
			To: PerCPUOffset(a, sim.MaxCPUs) + low}
	}
	return kapi.Span{From: perCPULow, To: 0},
		kapi.Span{From: PerCPUOffset(a, 0) + perCPULow, To: PerCPUOffset(a, sim.MaxCPUs-1) + 1<<12}
}

func is32(a *arch.Arch) bool { return a.Word == 4 }

// perCPU returns where a CPU has its copy of one of the kernel's own variables.
func perCPU(a *arch.Arch, cpu int, variable arch.Addr) arch.Addr {
	at := PerCPUOffset(a, cpu) + a.Addr(variable)
	if is32(a) {
		at += perCPURoom32
	}
	return at
}

// canaryAt is where gcc finds the stack protector's canary, %gs:0x28
// (-mstack-protector-guard's default; struct fixed_percpu_data until 6.14).
const canaryAt = 0x28

// Canary is the canary's value on each CPU and in each run. It is arbitrary, except that its
// lowest byte is 0, so that no string runs over it (CANARY_MASK, include/linux/stackprotector.h).
const Canary uint64 = 0xc5a1_7e39_0bd2_6400

// The kernel's own variables. They begin at the end of an unmapped page: the first is current, and since there is no
// task_struct for it to point to, reading it is a fault, which names it. The order is that of struct pcpu_hot of 6.2
// to 6.14 (arch/x86/include/asm/current.h); other kernels have variables of these names.
const (
	perCPUPage   = smp.GateBase + 0x80_0000
	pcpuHot      = perCPUPage - 8
	preemptCount = pcpuHot + 8
	cpuNumber    = pcpuHot + 12
	thisCPUOff   = perCPUPage + 64
	numaNode     = perCPUPage + 72
	stackGuard   = perCPUPage + 80
)

// perCPUVariables are the kernel's variables that modules refer to. Append only, and move nothing: traces contain
// text linked against them.
var perCPUVariables = []struct {
	name string
	at   arch.Addr
}{
	{"pcpu_hot", pcpuHot},
	{"const_pcpu_hot", pcpuHot},
	{"current_task", pcpuHot},
	{"__preempt_count", preemptCount},
	{"cpu_number", cpuNumber},
	{"this_cpu_off", thisCPUOff},
	{"numa_node", numaNode},
	{"__stack_chk_guard", stackGuard},
}

// PerCPUVariable returns the address of one of the kernel's per-CPU variables.
func PerCPUVariable(name string) (arch.Addr, bool) {
	for i := range perCPUVariables {
		if v := &perCPUVariables[i]; v.name == name {
			return v.at, true
		}
	}
	return 0, false
}

// IsCurrent reports whether an address is that of a CPU's pointer to the current task, which isn't mapped.
func IsCurrent(a *arch.Arch, cpu int, addr arch.Addr) bool {
	at := perCPU(a, cpu, pcpuHot)
	return addr >= at && addr < at+8
}

// preemptEnabled is the count of a task that can be preempted: the highest bit means that no other task wants the CPU
// (PREEMPT_NEED_RESCHED, which is inverted: arch/x86/include/asm/preempt.h). So a function that counts up and down
// again never finds that it has to schedule.
const preemptEnabled = 1 << 31

// bootPerCPU gives each CPU its copies, and gs its base.
func (k *Kernel) bootPerCPU() {
	a := k.M.Arch()
	for c := range k.M.CPUs() {
		base := PerCPUOffset(a, c)
		k.M.Processors().SetBase(c, base)
		put := func(at arch.Addr, v uint64, size int) {
			b := binary.LittleEndian.AppendUint64(nil, v)
			k.M.Memory().Map(at, b[:size], smp.PermRead|smp.PermWrite)
		}
		variable := func(at arch.Addr, v uint64, size int) { put(perCPU(a, c, at), v, size) }
		if !is32(a) {
			put(base+canaryAt, Canary, 8)
		}
		variable(stackGuard, Canary, a.Word)
		variable(preemptCount, preemptEnabled, 4)
		k.M.Processors().SetCount(c, perCPU(a, c, preemptCount))
		variable(cpuNumber, uint64(c), 4)
		variable(thisCPUOff, uint64(base), a.Word)
		variable(numaNode, 0, 4)
	}
}

// The kernel's additions to the preemption count (include/linux/preempt.h), as with CONFIG_PREEMPT_COUNT. Routines
// count by Context.PreemptDisable.
const (
	hardirqOffset = 1 << 16
	nmiOffset     = 1 << 20
)

// initCount sets up the additions of trap handlers.
func (k *Kernel) initCount() {
	h := k.M.Hooks()
	h.Counts = k.counts
	if k.cfg.Counting.Disables() {
		h.Stepping = k.Traps.stepping
	}
}

// counts returns the addition while a trap of that vector is handled, if it came from kernel code; for an interrupt,
// also from user mode.
func (k *Kernel) counts(vector uint8) uint32 {
	switch {
	case vector == smpev.VecNMI: // nmi_enter
		return nmiOffset + hardirqOffset
	case vector >= smpev.VecTimer: // irq_enter
		return hardirqOffset
	}
	switch vector {
	case smpev.VecBP, smpev.VecDB:
		switch k.cfg.Counting {
		case kapi.CountsNMI: // irqentry_nmi_enter
			return nmiOffset + hardirqOffset
		case kapi.CountsTwice: // ist_enter, kprobe_int3_handler
			return 2
		case kapi.CountsOnce: // kprobe_handler
			return 1
		}
	case smpev.VecPF, smpev.VecGP:
		if k.cfg.Counting.Disables() { // kprobes_fault
			return 1
		}
	}
	return 0
}

// textPreemptible reports whether the text that runs on a CPU has left its count
// of preempt_disable as of a task that can be preempted.
func (k *Kernel) textPreemptible(x *smp.Ctx) bool {
	if at := k.Guest.taskAt; at != nil { // a kernel's own engine counts by task
		count, _ := at(x.Task())
		v, _ := x.Memory().Load(count, 4)
		return v == 0
	}
	v, _ := x.Memory().Load(perCPU(k.M.Arch(), x.CPU(), preemptCount), 4)
	return (uint32(v)-k.M.Processors().KernelCount(x))&^preemptEnabled == 0
}
