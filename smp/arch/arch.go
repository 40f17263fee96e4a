package arch

// Addr is a linear address.
type Addr uint64

// Regs is what a trap saves: the general registers, in the processor's own
// order, the instruction pointer and the flags. A probe's handler gets them.
type Regs struct {
	R     [16]uint64
	IP    Addr
	Flags uint64
}

// SP returns the stack pointer.
func (r *Regs) SP() Addr { return Addr(r.R[stackReg]) }

// stackReg is rsp, by its number in the encoding.
const stackReg = 4
