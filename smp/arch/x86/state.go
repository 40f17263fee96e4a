package x86

import (
	"kpsim/smp/arch"
)

// System is the state of a processor that a trap doesn't save: what system
// instructions read and write. Each CPU has its own. Most of it is only stored:
// all code runs at privilege level 0, and paging and segment limits aren't modelled.
// NewSystem returns the initial state.
type System struct {
	FSBase, GSBase uint64         // added to an address with a segment override
	KernelGSBase   uint64         // swapgs exchanges it with GSBase
	CR0            uint64         // checked and kept
	CR2, CR3, CR8  uint64         // CR2 is written by the machine at a page fault
	CR4            uint64         // FSGSBASE and OSXSAVE decide what is #UD
	XCR0           uint64         // read by xgetbv
	DR             [8]uint64      // 4 and 5 aren't used
	Seg            [6]uint16      // the selectors, by the number of the encoding
	GDT, IDT       Table          // lgdt, lidt
	LDT, TR        uint16         // selectors
	Clock          uint64         // cycles since reset: the machine keeps it, rdtsc adds TSCOffset
	TSCOffset      uint64         // the difference that the last write to the TSC made
	TSCRead        bool           // the TSC has been read
	TSCAux         uint32         // IA32_TSC_AUX: rdtscp and rdpid read it
	over           overrideMemory // the memory that execOverride passes to the instruction
}

// A Table is what GDTR or IDTR holds.
type Table struct {
	Base  uint64
	Limit uint16
}

// The segment registers by their number in the encoding.
const (
	ES = iota
	CS
	SS
	DS
	FS
	GS
)

// Bits of control registers (SDM vol. 3, "Control Registers").
const (
	cr0PE uint64 = 1 << 0
	cr0MP uint64 = 1 << 1
	cr0EM uint64 = 1 << 2
	cr0TS uint64 = 1 << 3
	cr0ET uint64 = 1 << 4
	cr0NE uint64 = 1 << 5
	cr0WP uint64 = 1 << 16
	cr0AM uint64 = 1 << 18
	cr0NW uint64 = 1 << 29
	cr0CD uint64 = 1 << 30
	cr0PG uint64 = 1 << 31

	cr4DE       uint64 = 1 << 3
	cr4PAE      uint64 = 1 << 5
	cr4FSGSBASE uint64 = 1 << 16
	cr4PCIDE    uint64 = 1 << 17
	cr4OSXSAVE  uint64 = 1 << 18
)

// NewSystem returns the state that a 64-bit kernel has made for itself, with its
// selectors of code and stack: protection, paging, PAE and the instructions for
// the bases of fs and gs on; extended states off; DR6 and DR7 as at reset
// (SDM vol. 3, "Processor State After Reset").
func NewSystem(cpu uint32, cs, ss uint16) System {
	return System{
		CR0: cr0PE | cr0MP | cr0ET | cr0NE | cr0WP | cr0PG,
		CR4: cr4PAE | cr4FSGSBASE, XCR0: 1,
		DR: [8]uint64{6: dr6Fixed, 7: dr7Fixed}, Seg: [6]uint16{CS: cs, SS: ss}, TSCAux: cpu,
	}
}

// bootSystem64 is BootSystem of a 64-bit kernel, which keeps the data of a CPU at gs.
func bootSystem64(cpu uint32, perCPU arch.Addr) arch.System {
	y := NewSystem(cpu, KernelCS, KernelDS)
	y.GSBase = uint64(perCPU)
	return &y
}

// bootSystem32 is BootSystem of a 32-bit kernel, which keeps it at fs.
func bootSystem32(cpu uint32, perCPU arch.Addr) arch.System {
	y := NewSystem(cpu, KernelCS32, KernelDS32)
	y.Seg[DS], y.Seg[ES] = userDS32, userDS32
	y.FSBase = uint64(perCPU)
	return &y
}

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
	z.Clock, z.TSCRead = y.Clock, y.TSCRead
	return *y == z
}

// Append implements arch.System.
func (y *System) Append(list []uint64) []uint64 {
	list = append(list, y.FSBase, y.GSBase, y.KernelGSBase, y.CR0, y.CR2, y.CR3, y.CR8, y.CR4, y.XCR0, y.GDT.Base,
		y.IDT.Base, y.TSCOffset, uint64(y.GDT.Limit)|uint64(y.IDT.Limit)<<16|uint64(y.LDT)<<32|uint64(y.TR)<<48,
		uint64(y.TSCAux))
	list = append(list, y.DR[:]...)
	for _, v := range y.Seg {
		list = append(list, uint64(v))
	}
	return list
}

// SetClock implements arch.System.
func (y *System) SetClock(cycles uint64) { y.Clock = cycles }

// ClockRead implements arch.System.
func (y *System) ClockRead() bool { return y.TSCRead }

// SetFault implements arch.System.
func (y *System) SetFault(a arch.Addr) { y.CR2 = uint64(a) }

// Fault implements arch.System.
func (y *System) Fault() arch.Addr { return arch.Addr(y.CR2) }

// Switch implements arch.System. A 64-bit kernel keeps by task the bases that user mode uses: fs, and
// gs after swapgs. The kernel's own gs base belongs to the CPU, as does the fs base of a 32-bit kernel
// (arch/x86/kernel/process_64.c, __switch_to), which keeps none by task.
func (y *System) Switch(prev, next *arch.TaskState) {
	if y.Seg[CS] == KernelCS32 {
		return
	}
	*prev = arch.TaskState{y.FSBase, y.KernelGSBase}
	y.FSBase, y.KernelGSBase = next[0], next[1]
}

const (
	dr6Fixed uint64 = 0xffff0ff0 // bits that read as 1
	dr7Fixed uint64 = 0x400
)

// TSC returns the time-stamp counter.
func (y *System) TSC() uint64 {
	y.TSCRead = true
	return y.Clock + y.TSCOffset
}

// Segments are flat, except that fs and gs have bases, and that cs can't be written in
// 32-bit mode. An instruction with such an override runs on memory that adds the base or
// denies the store. Accesses that ignore the override (the stack, the destination of a
// string instruction) use plain.

// overrideMemory is memory seen through a segment override.
type overrideMemory struct {
	memory arch.Memory
	base   uint64
	mask   uint64 // of linear addresses
	code   bool   // cs
	denied bool   // a store through cs was attempted
}

// linear returns where in memory an access to a goes.
func (o *overrideMemory) linear(a arch.Addr) arch.Addr {
	return arch.Addr((uint64(a) + o.base) & o.mask)
}

// Load implements arch.Memory.
func (o *overrideMemory) Load(a arch.Addr, size int) (uint64, bool) {
	return o.memory.Load(o.linear(a), size)
}

// Store implements arch.Memory.
func (o *overrideMemory) Store(a arch.Addr, size int, v uint64) bool {
	if o.code {
		o.denied = true
		return false
	}
	return o.memory.Store(o.linear(a), size, v)
}

// System implements arch.Systemic.
func (o *overrideMemory) System() arch.System { return o.memory.(arch.Systemic).System() }

// linear returns where in m an access to a goes.
func linear(m arch.Memory, a arch.Addr) arch.Addr {
	if o, ok := m.(*overrideMemory); ok {
		return o.linear(a)
	}
	return a
}

// plain returns memory without an override.
func plain(m arch.Memory) arch.Memory {
	if o, ok := m.(*overrideMemory); ok {
		return o.memory
	}
	return m
}

// execOverride executes in.inner with the override of in.segment. A store to
// code is #GP (SDM vol. 3, "Type Checking").
func execOverride(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y := system(m)
	y.over = overrideMemory{memory: m, mask: in.linearMask}
	switch in.segment {
	case segmentCS:
		y.over.code = true
	case segmentFS:
		y.over.base = y.FSBase
	default:
		y.over.base = y.GSBase
	}
	out := in.inner(in, s, &y.over)
	if y.over.denied {
		return arch.Protection
	}
	return out
}

// The prefixes of overrides that matter.
const (
	segmentCS = 0x2e
	segmentFS = 0x64
)

// override returns the segment override that counts: the last of several, and in 64-bit mode only
// fs and gs. A VEX byte that equals an
// override has VEX.L set; no such instruction is executed.
func (c *chooser) override() (prefix uint8) {
	if c.l.mode == Mode64 {
		return c.l.segment
	}
	for _, b := range c.raw[:c.l.opPos] {
		switch b {
		case segmentCS, segmentFS, 0x65:
			prefix = b
		case 0x26, 0x36, 0x3e:
			prefix = 0
		}
	}
	return prefix
}

// usesSegment reports whether an override matters: the operand is memory, or it
// is implicit (SDM vol. 1, 3.4.4 and vol. 2, chapter 2.1.1). For lea and prefetches,
// which access no memory, the result makes no difference.
func (c *chooser) usesSegment() bool {
	switch op := c.l.op; {
	case c.l.encoding != legacy, c.l.space != map1:
	case op >= 0xa0 && op <= 0xa7, op == 0xac, op == 0xad, op == 0xd7, op == 0x6e, op == 0x6f:
		return true
	}
	return c.mem
}
