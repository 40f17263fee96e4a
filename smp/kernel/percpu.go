package kernel

import (
	"encoding/binary"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Per-CPU memory, as Linux has it. On x86-64 a per-CPU variable has one address,
// and the copy of a CPU lies at that address plus the CPU's offset, which is
// what gs has for a base there and what the variable this_cpu_off holds
// (arch/x86/include/asm/percpu.h). At the address itself nothing is mapped.
//
// Addresses are those of linked text, within the reach of a 32-bit displacement;
// a kernel before 6.15 has them from 0 instead, which the bytes of a module
// don't show before they are linked.

// The copies of a CPU are 4 GiB from those of the next: variables lie in the
// uppermost 2 GiB of the address space, from perCPULow on, and those that gcc
// addresses by a number, as the canary, in the lowest page.
const (
	perCPUOffset arch.Addr = 0xffff_8881_0000_0000
	perCPUStride arch.Addr = 1 << 32
	perCPULow    arch.Addr = 0xffff_ffff_8000_0000
)

// On i386 it is fs, the copies are 8 MiB from each other, and variables lie within 4 MiB
// from where data begin; the kernel's own are 4 MiB further than on x86-64, since the
// copies of one CPU would be where another has those of the data.
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

// PerCPUPlaces returns where per-CPU variables may lie, and where their copies: nothing
// else is put there.
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

// The kernel's own variables. They begin at the end of a page that isn't mapped:
// the first is current, and there is no task_struct that it could point to, so
// that to read it is a fault, which names it. The order is that of struct
// pcpu_hot of 6.2 to 6.14 (arch/x86/include/asm/current.h), which other kernels
// have as variables of these names.
const (
	perCPUPage   = smp.GateBase + 0x80_0000
	pcpuHot      = perCPUPage - 8
	preemptCount = pcpuHot + 8
	cpuNumber    = pcpuHot + 12
	thisCPUOff   = perCPUPage + 64
	numaNode     = perCPUPage + 72
	stackGuard   = perCPUPage + 80
)

// perCPUVariables are those of the kernel that modules refer to. Append only,
// and move nothing: text linked against them is kept in traces.
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

// IsCurrent reports whether an address is that of a CPU's pointer to the current
// task, which isn't there.
func IsCurrent(a *arch.Arch, cpu int, addr arch.Addr) bool {
	at := perCPU(a, cpu, pcpuHot)
	return addr >= at && addr < at+8
}

// preemptEnabled is the count of a task that can be preempted: the highest bit
// says that no other task wants the CPU (PREEMPT_NEED_RESCHED, which is
// inverted: arch/x86/include/asm/preempt.h). A function that counts up and down
// again so never finds that it has to schedule.
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

// What the kernel counts in the preemption count (include/linux/preempt.h), as one built with
// CONFIG_PREEMPT_COUNT. Routines count by Context.PreemptDisable.
const (
	hardirqOffset = 1 << 16
	nmiOffset     = 1 << 20
)

// initCount sets up what the handlers of traps count.
func (k *Kernel) initCount() {
	h := k.M.Hooks()
	h.Counts = k.counts
	if k.cfg.Counting.Disables() {
		h.Stepping = k.Traps.stepping
	}
}

// counts returns what is added while a trap of a vector is handled that the kernel has taken,
// or for an interrupt, user mode.
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
	v, _ := x.Memory().Load(perCPU(k.M.Arch(), x.CPU(), preemptCount), 4)
	return (uint32(v)-x.KernelCount())&^preemptEnabled == 0
}
