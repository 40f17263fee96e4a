package riscv64

import "kpsim/smp/arch"

// System is the state of a CPU that a trap doesn't save: the registers of supervisor mode (vol. 2,
// "Supervisor CSRs"). Most of it is only kept: address translation, delegation and single
// interrupts aren't modelled.
type System struct {
	Hart      uint64 // its number, which firmware hands to a kernel in a0
	Previous  uint64 // SPIE and SPP of sstatus, as they stand there
	IE, IP    uint64 // kept and not consulted: which interrupts come is the machine's
	TVec      uint64
	CounterEn uint64
	Scratch   uint64
	EPC       uint64
	Cause     uint64
	TVal      uint64 // written by the machine at a page fault
	ATP       uint64
	Clock     uint64 // cycles since reset: the machine keeps it
	clockRead bool
}

// NewSystem returns the state in which a kernel runs code on a hart: all code has supervisor mode.
func NewSystem(hart uint32) *System {
	return &System{Hart: uint64(hart), Previous: statusSPIE}
}

// system returns the state of the CPU that executes with m.
func system(m arch.Memory) *System { return m.(arch.Systemic).System().(*System) }

// New implements arch.System.
func (y *System) New() arch.System {
	z := *y
	return &z
}

// Copy implements arch.System.
func (y *System) Copy(from arch.System) { *y = *from.(*System) }

// Same implements arch.System.
func (y *System) Same(as arch.System) bool {
	z := *as.(*System)
	z.Clock, z.clockRead = y.Clock, y.clockRead
	return *y == z
}

// Append implements arch.System.
func (y *System) Append(state []uint64) []uint64 {
	return append(state, y.Hart, y.Previous, y.IE, y.IP, y.TVec, y.CounterEn, y.Scratch, y.EPC, y.Cause, y.TVal, y.ATP)
}

// SetClock implements arch.System.
func (y *System) SetClock(cycles uint64) { y.Clock = cycles }

// ClockRead implements arch.System.
func (y *System) ClockRead() bool { return y.clockRead }

// SetFault implements arch.System.
func (y *System) SetFault(a arch.Addr) { y.TVal = uint64(a) }

// Fault implements arch.System.
func (y *System) Fault() arch.Addr { return arch.Addr(y.TVal) }

// Switch implements arch.System. A kernel saves nothing of these by task: tp and gp are general
// registers, and sscratch is zero while it runs.
func (y *System) Switch(_, _ *arch.TaskState) {}

var _ arch.System = (*System)(nil)

// Bits of sstatus (vol. 2, "Supervisor Status Register").
//
//	63  33 32   19  18   16 15 14 13 10 9  8    6    5    1
//	[SD][UXL ] [MXR][SUM][XS ][FS ] [VS ][SPP][UBE][SPIE][SIE]
const (
	statusSIE  uint64 = 1 << 1
	statusSPIE uint64 = 1 << 5
	statusSPP  uint64 = 1 << 8
	statusVS   uint64 = 3 << 9
	statusFS   uint64 = 3 << 13
	statusSUM  uint64 = 1 << 18
	statusMXR  uint64 = 1 << 19
	statusUXL  uint64 = 2 << 32 // user mode has 64 bits
	statusSD   uint64 = 1 << 63 // FS or VS says that its registers have changed
)

// A trap saves sstatus. SIE is arch.IRQ of Regs.Flags. What else a kernel keeps there by task is
// in the upper half of Flags, each bit flagShift higher than in sstatus. SPIE and SPP, which the
// trap itself overwrites, are in System.Previous.
const (
	statusTask     = statusVS | statusFS | statusSUM | statusMXR
	statusPrevious = statusSPIE | statusSPP
	flagShift      = 32
)

// taskStatus returns what Flags have of sstatus but for SIE, and what follows from it.
func taskStatus(flags uint64) uint64 {
	s := flags >> flagShift & statusTask
	if s&statusFS == statusFS || s&statusVS == statusVS {
		s |= statusSD
	}
	return s | statusUXL
}

// taskFlags returns the part of Flags that a value of sstatus stands for, but for SIE.
func taskFlags(status uint64) uint64 { return status & statusTask << flagShift }
