package arm64

import "kpsim/smp/arch"

// A System is the state of a CPU that a trap doesn't save: its system registers. Most of them are only
// stored. All code runs at EL1 with the stack pointer of EL1, and translation is memory's business.
type System struct {
	kept  [keptRegisters]uint64
	cpu   uint64 // MPIDR_EL1
	clock uint64
	read  bool // an instruction has read the counter
}

// The registers that are kept, by their place in a System.
const (
	SPEL0 = iota // the task that runs, in kernels
	TPIDREL0
	TPIDRROEL0
	TPIDREL1 // the base of the CPU's own data, in kernels
	FAREL1   // the address of a page fault
	ESREL1
	ELREL1
	SPSREL1
	SCTLREL1
	MDSCREL1
	VBAREL1
	TTBR0EL1
	TTBR1EL1
	TCREL1
	MAIREL1
	CONTEXTIDREL1
	CPACREL1
	PAREL1
	keptRegisters
)

// NewSystem returns the state after a kernel has set up a CPU: translation and caches are on
// (SCTLR_EL1.M, C and I). The other registers are as at reset, or zero.
func NewSystem(cpu uint32) *System {
	y := &System{cpu: mpidrOf(cpu)}
	y.kept[SCTLREL1] = sctlrM | sctlrC | sctlrI | sctlrReset
	return y
}

// bootSystem is BootSystem of a kernel, which keeps the distance to a CPU's data in TPIDR_EL1
// (set_my_cpu_offset, arch/arm64/include/asm/percpu.h).
func bootSystem(cpu uint32, perCPU arch.Addr) *System {
	y := NewSystem(cpu)
	y.kept[TPIDREL1] = uint64(perCPU)
	return y
}

// Bits of SCTLR_EL1 (ARM ARM, "AArch64 System Register Descriptions").
const (
	sctlrM     uint64 = 1 << 0
	sctlrA     uint64 = 1 << 1
	sctlrC     uint64 = 1 << 2
	sctlrI     uint64 = 1 << 12
	sctlrEE    uint64 = 1 << 25
	sctlrReset uint64 = 1<<11 | 1<<20 | 1<<22 | 1<<23 | 1<<28 | 1<<29 // RES1, and SPAN
	// sctlrEn enable the keys of pointer authentication.
	sctlrEn uint64 = 1<<31 | 1<<30 | 1<<27 | 1<<13

	// sctlrRefused are those that change what instructions do.
	sctlrRefused = sctlrEn | sctlrA | sctlrEE

	mdscrSS uint64 = 1 << 0 // MDSCR_EL1: software step
)

// mpidrOf returns MPIDR_EL1 of a CPU: affinity levels 1 and 0, with sixteen CPUs to a cluster, and bit
// 31, which is one.
func mpidrOf(cpu uint32) uint64 { return 1<<31 | uint64(cpu>>4)<<8 | uint64(cpu&15) }

// system returns the state of the CPU that executes with m.
func system(m arch.Memory) *System { return m.(arch.Systemic).System().(*System) }

var _ arch.System = (*System)(nil)

// Register returns the register at a place of a System.
func (y *System) Register(place int) uint64 { return y.kept[place] }

// SetRegister writes it.
func (y *System) SetRegister(place int, v uint64) { y.kept[place] = v }

// New implements arch.System.
func (y *System) New() arch.System {
	z := *y
	return &z
}

// Copy implements arch.System.
func (y *System) Copy(from arch.System) { *y = *from.(*System) }

// Same implements arch.System.
func (y *System) Same(as arch.System) bool {
	z := as.(*System)
	return y.kept == z.kept && y.cpu == z.cpu
}

// Append implements arch.System.
func (y *System) Append(list []uint64) []uint64 { return append(append(list, y.kept[:]...), y.cpu) }

// SetClock implements arch.System.
func (y *System) SetClock(cycles uint64) { y.clock = cycles }

// ClockRead implements arch.System.
func (y *System) ClockRead() bool { return y.read }

// SetFault implements arch.System.
func (y *System) SetFault(a arch.Addr) { y.kept[FAREL1] = uint64(a) }

// Fault implements arch.System.
func (y *System) Fault() arch.Addr { return arch.Addr(y.kept[FAREL1]) }

// The words of a TaskState: a task's TPIDR_EL0 (tls_thread_switch of arch/arm64/kernel/process.c), and its
// SP_EL0, which is the task itself (cpu_switch_to of arch/arm64/kernel/entry.S).
const (
	TaskTLS = iota
	TaskCurrent
)

// Switch implements arch.System.
func (y *System) Switch(prev, next *arch.TaskState) {
	prev[TaskTLS], prev[TaskCurrent] = y.kept[TPIDREL0], y.kept[SPEL0]
	y.kept[TPIDREL0], y.kept[SPEL0] = next[TaskTLS], next[TaskCurrent]
}
