package ppc64

import "kpsim/smp/arch"

// A System is the state of a CPU that a trap doesn't save: its special registers. Most of them are only
// stored.
type System struct {
	CPU    uint64 // PIR
	SPRG   [4]uint64
	SRR0   uint64
	SRR1   uint64
	DAR    uint64 // the address of a page fault
	DSISR  uint64
	TAR    uint64 // what bctar branches to
	DSCR   uint64 // how streams are prefetched
	PPR    uint64 // the priority that a thread wants
	CTRL   uint64 // whether it runs
	VRSAVE uint64
	zero   uint64 // when DEC passes zero, in cycles
	clock  uint64 // cycles since reset: the machine keeps it
	read   bool   // an instruction has read the clock
}

// SPRGPaca is the one of SPRG in which a kernel keeps the address of a CPU's own data for its
// trap handlers (SPRN_SPRG_PACA in arch/powerpc/include/asm/reg.h).
const SPRGPaca = 1

// NewSystem returns the state in which a kernel runs code on a CPU, whose own data lie at paca.
func NewSystem(cpu uint32, paca arch.Addr) *System {
	y := &System{CPU: uint64(cpu), CTRL: 1}
	y.SPRG[SPRGPaca] = uint64(paca)
	return y
}

// system returns the state of the CPU that executes with m.
func system(m arch.Memory) *System { return m.(arch.Systemic).System().(*System) }

var _ arch.System = (*System)(nil)

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
	z.clock, z.read = y.clock, y.read
	return *y == z
}

// Append implements arch.System.
func (y *System) Append(list []uint64) []uint64 {
	list = append(append(list, y.CPU), y.SPRG[:]...)
	return append(list, y.SRR0, y.SRR1, y.DAR, y.DSISR, y.TAR, y.DSCR, y.PPR, y.CTRL, y.VRSAVE, y.zero)
}

// SetClock implements arch.System.
func (y *System) SetClock(cycles uint64) { y.clock = cycles }

// ClockRead implements arch.System.
func (y *System) ClockRead() bool { return y.read }

// SetFault implements arch.System.
func (y *System) SetFault(a arch.Addr) { y.DAR = uint64(a) }

// Fault implements arch.System.
func (y *System) Fault() arch.Addr { return arch.Addr(y.DAR) }

// The words of a TaskState (save_sprs in arch/powerpc/kernel/process.c).
const (
	TaskTAR = iota
	TaskDSCR
)

// Switch implements arch.System.
func (y *System) Switch(prev, next *arch.TaskState) {
	prev[TaskTAR], prev[TaskDSCR] = y.TAR, y.DSCR
	y.TAR, y.DSCR = next[TaskTAR], next[TaskDSCR]
}

// now reads the clock: one cycle is one tick of the time base and of DEC.
func (y *System) now() uint64 {
	y.read = true
	return y.clock
}

// An spr is a special register that is executed. nil: it isn't read, or written.
type spr struct {
	number uint16
	name   string
	read   func(r *arch.Regs, m arch.Memory) uint64
	write  func(r *arch.Regs, m arch.Memory, v uint64)
}

// Numbers of special registers.
const (
	sprXER = 1
	sprLR  = 8
	sprCTR = 9
	sprTB  = 268
	sprTBU = 269
	sprG0  = 272
)

// PVR is the processor version: a POWER10, which has the prefixed instructions.
const PVR = 0x00800200

// sprs are those that kernels use (Book III, "SPR Encodings").
var sprs = [...]spr{
	{sprXER, "xer", func(r *arch.Regs, _ arch.Memory) uint64 { return r.Flags & flagsXER },
		func(r *arch.Regs, _ arch.Memory, v uint64) { r.Flags = r.Flags&^flagsXER | v&flagsXER }},
	{number: sprLR, name: "lr"}, // LR and CTR are general registers here
	{number: sprCTR, name: "ctr"},
	kept(3, "udscr", func(y *System) *uint64 { return &y.DSCR }, 1<<25-1),
	kept(17, "dscr", func(y *System) *uint64 { return &y.DSCR }, 1<<25-1),
	kept(18, "dsisr", func(y *System) *uint64 { return &y.DSISR }, 1<<32-1),
	kept(19, "dar", func(y *System) *uint64 { return &y.DAR }, ^uint64(0)),
	{22, "dec", func(_ *arch.Regs, m arch.Memory) uint64 { return countdown(system(m)) },
		func(_ *arch.Regs, m arch.Memory, v uint64) {
			y := system(m)
			y.zero = y.now() + uint64(int64(int32(v)))
		}},
	kept(26, "srr0", func(y *System) *uint64 { return &y.SRR0 }, ^uint64(3)),
	kept(27, "srr1", func(y *System) *uint64 { return &y.SRR1 }, ^uint64(0)),
	readOnly(136, "ctrl", func(y *System) uint64 { return y.CTRL }),
	{152, "ctrl", nil, func(_ *arch.Regs, m arch.Memory, v uint64) { system(m).CTRL = v & 1 }},
	kept(256, "vrsave", func(y *System) *uint64 { return &y.VRSAVE }, 1<<32-1),
	readOnly(259, "usprg3", func(y *System) uint64 { return y.SPRG[3] }),
	readOnly(sprTB, "tb", (*System).now),
	readOnly(sprTBU, "tbu", func(y *System) uint64 { return y.now() >> 32 }),
	kept(sprG0, "sprg0", func(y *System) *uint64 { return &y.SPRG[0] }, ^uint64(0)),
	kept(sprG0+1, "sprg1", func(y *System) *uint64 { return &y.SPRG[1] }, ^uint64(0)),
	kept(sprG0+2, "sprg2", func(y *System) *uint64 { return &y.SPRG[2] }, ^uint64(0)),
	kept(sprG0+3, "sprg3", func(y *System) *uint64 { return &y.SPRG[3] }, ^uint64(0)),
	readOnly(287, "pvr", func(*System) uint64 { return PVR }),
	kept(815, "tar", func(y *System) *uint64 { return &y.TAR }, ^uint64(0)),
	kept(896, "ppr", func(y *System) *uint64 { return &y.PPR }, 7<<50),
	readOnly(1023, "pir", func(y *System) uint64 { return y.CPU }),
}

// kept is a register of which some bits can be written, and no more happens.
func kept(number uint16, name string, at func(y *System) *uint64, writable uint64) spr {
	s := readOnly(number, name, func(y *System) uint64 { return *at(y) })
	s.write = func(_ *arch.Regs, m arch.Memory, v uint64) { *at(system(m)) = v & writable }
	return s
}

func readOnly(number uint16, name string, get func(y *System) uint64) spr {
	return spr{number: number, name: name,
		read: func(_ *arch.Regs, m arch.Memory) uint64 { return get(system(m)) }}
}

// countdown reads DEC, which has 32 bits and is sign-extended.
func countdown(y *System) uint64 { return uint64(int64(int32(y.zero - y.now()))) }
