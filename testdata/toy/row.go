package toy

import "kpsim/smp/arch"

// The link register and the stack pointer.
const (
	link arch.Reg = 6
	sp   arch.Reg = 7
)

// Row is the processor.
var Row = &arch.Arch{
	Name: "toy", Word: 8, Herd: "TOY",
	Registers: arch.Registers{
		RegNames: []string{"r0", "r1", "r2", "r3", "r4", "r5", "link", "sp"}, IPName: "pc", Used: 8,
		SP: sp, Link: link, Args: []arch.Reg{0, 1, 2}, Saved: []arch.Reg{4, 5}, Cleared: arch.IRQ | arch.Step,
	},
	Branches: arch.Branches{
		BranchLen: 2, Reach: "4 KB", Jump: branch(jump), Call: branch(call), IsJump: is(jump), IsCall: is(call),
		BranchNop: arch.CodeOf(0, nop<<4), BranchRet: arch.CodeOf(0, ret<<4), Ret: []byte{0, ret << 4},
	},
	MaxLen: 2, Align: 2, Aligned: true, FetchUnit: [...]int{2, 2, 2},
	Decode: decode,
	Nop:    func(n int) []byte { return make([]byte, n) },
	Breakpoints: arch.Breakpoints{
		Breakpoint: []byte{0, brk << 4}, Breaks: []arch.Pattern{is(brk)}, Fill: brk << 12 * 0x1_0001_0001_0001,
	},
	Valid:      func(a arch.Addr) bool { return int64(a)>>47 == 0 || int64(a)>>47 == -1 },
	BootSystem: func(uint32, arch.Addr) arch.System { return new(system) },
	Frame:      frame, UserFrame: frame,
}

func is(op uint64) arch.Pattern { return arch.Pattern{Mask: 0xf000, Is: op << 12} }

func branch(op uint16) func(at, target arch.Addr) (arch.Code, bool) {
	return func(at, target arch.Addr) (arch.Code, bool) {
		d := int64(target-at) / 2
		w := op<<12 | uint16(d)&0xfff
		return arch.CodeOf(byte(w), byte(w>>8)), d >= -1<<11 && d < 1<<11
	}
}

// The frame has the registers, the instruction pointer and the flags.
var frame = arch.Frame{
	Size: words * 8,
	At:   func(sp uint64, _ bool) arch.Addr { return arch.Addr(sp) - words*8 },
	Load: func(m arch.Memory, at arch.Addr, r *arch.Regs) bool {
		return each(r, at, func(a arch.Addr, v *uint64) (ok bool) { *v, ok = m.Load(a, 8); return ok })
	},
	Store: func(m arch.Memory, at arch.Addr, r *arch.Regs) bool {
		return each(r, at, func(a arch.Addr, v *uint64) bool { return m.Store(a, 8, *v) })
	},
}

const words = 10

func each(r *arch.Regs, at arch.Addr, do func(arch.Addr, *uint64) bool) bool {
	ip := uint64(r.IP)
	list := []*uint64{&ip, &r.Flags}
	for i := range 8 {
		list = append(list, &r.R[i])
	}
	for i, v := range list {
		if !do(at+arch.Addr(8*i), v) {
			return false
		}
	}
	r.IP = arch.Addr(ip)
	return true
}

// A system is what a trap doesn't save: the address of a fault.
type system struct {
	clock uint64
	fault arch.Addr
}

func (y *system) New() arch.System              { z := *y; return &z }
func (y *system) Copy(from arch.System)         { *y = *from.(*system) }
func (y *system) Same(as arch.System) bool      { return y.fault == as.(*system).fault }
func (y *system) Append(list []uint64) []uint64 { return append(list, uint64(y.fault)) }
func (y *system) SetClock(cycles uint64)        { y.clock = cycles }
func (y *system) ClockRead() bool               { return false }
func (y *system) SetFault(a arch.Addr)          { y.fault = a }
func (y *system) Fault() arch.Addr              { return y.fault }
func (y *system) Switch(_, _ *arch.TaskState)   {}
