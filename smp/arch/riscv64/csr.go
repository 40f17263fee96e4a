package riscv64

import "kpsim/smp/arch"

// A csr is a control and status register that is executed.
type csr struct {
	number uint16
	read   func(r *arch.Regs, y *System) uint64
	write  func(r *arch.Regs, y *System, v uint64) // nil: it is read-only
	irq    bool                                    // it has SIE
}

// csrs are those that kernels use (vol. 2, "CSR Listing").
var csrs = [...]csr{
	{0x100, readStatus, writeStatus, true},
	kept(0x104, func(y *System) *uint64 { return &y.IE }, 1<<1|1<<5|1<<9|1<<13),
	// Bits 0 and 1 are the mode, of which 2 and 3 are reserved.
	kept(0x105, func(y *System) *uint64 { return &y.TVec }, ^uint64(2)),
	kept(0x106, func(y *System) *uint64 { return &y.CounterEn }, 1<<32-1),
	kept(0x140, func(y *System) *uint64 { return &y.Scratch }, ^uint64(0)),
	kept(0x141, func(y *System) *uint64 { return &y.EPC }, ^uint64(1)),
	kept(0x142, func(y *System) *uint64 { return &y.Cause }, ^uint64(0)),
	kept(0x143, func(y *System) *uint64 { return &y.TVal }, ^uint64(0)),
	kept(0x144, func(y *System) *uint64 { return &y.IP }, 1<<1), // SSIP: the others are of other parties
	{0x180, func(_ *arch.Regs, y *System) uint64 { return y.ATP }, writeATP, false},
	{0xc00, readClock, nil, false}, // cycle
	{0xc01, readClock, nil, false}, // time
	{0xc02, readClock, nil, false}, // instret
}

// kept is a register of which some bits can be written, and no more happens.
func kept(number uint16, at func(y *System) *uint64, writable uint64) csr {
	return csr{
		number: number,
		read:   func(_ *arch.Regs, y *System) uint64 { return *at(y) },
		write:  func(_ *arch.Regs, y *System, v uint64) { *at(y) = *at(y)&^writable | v&writable },
	}
}

func readStatus(r *arch.Regs, y *System) uint64 {
	s := taskStatus(r.Flags) | y.Previous
	if r.Flags&arch.IRQ != 0 {
		s |= statusSIE
	}
	return s
}

func writeStatus(r *arch.Regs, y *System, v uint64) {
	y.Previous = v & statusPrevious
	r.Flags = r.Flags&^(arch.IRQ|statusTask<<flagShift) | taskFlags(v)
	if v&statusSIE != 0 {
		r.Flags |= arch.IRQ
	}
}

// writeATP ignores a mode that isn't there: only Bare, Sv39, Sv48 and Sv57 are (vol. 2, "Supervisor
// Address Translation and Protection Register").
func writeATP(_ *arch.Regs, y *System, v uint64) {
	switch v >> 60 {
	case 0, 8, 9, 10:
		y.ATP = v
	}
}

// readClock reads any of the counters: one cycle is one tick of time and one instruction.
func readClock(_ *arch.Regs, y *System) uint64 {
	y.clockRead = true
	return y.Clock
}

// setCSR finds the register of a form that accesses one. A register of machine mode, and a write to
// one that is read-only, is an illegal instruction (vol. 2, "CSR Address Mapping Conventions"). Any
// other one that isn't listed is refused.
func (in *Inst) setCSR() {
	number := uint16(in.full >> 20)
	if number>>8&3 == 3 || number>>10 == 3 && in.writesCSR() {
		in.Run, in.flow = execUndefined, arch.FlowUndefined
		return
	}
	for i := range csrs {
		if csrs[i].number == number {
			in.csr = &csrs[i]
			return
		}
	}
	in.Run, in.refused = execRefused, true
}

// writesCSR reports whether the register is written: csrrs and csrrc with x0 or 0 only read
// (vol. 1, "Zicsr" chapter).
func (in *Inst) writesCSR() bool {
	const write, source = 1, 31 << 15
	return in.full>>12&3 == write || in.full&source != 0
}

// accessCSR ends an instruction that gives a register a new value.
func (in *Inst) accessCSR(r *arch.Regs, y *System, was, v, changed uint64) arch.Outcome {
	if !in.writesCSR() {
		return in.put(r, was)
	}
	in.csr.write(r, y, v)
	in.put(r, was)
	if in.csr.irq && changed&statusSIE != 0 {
		return arch.Interrupts
	}
	return arch.Next
}

// execCSRRW doesn't read the register if rd is x0.
func execCSRRW(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in, y := of(op), system(m)
	v := r.R[in.rs1&31] + in.imm
	var was uint64
	if in.rd != 0 {
		was = in.csr.read(r, y)
	}
	return in.accessCSR(r, y, was, v, ^uint64(0))
}

func execCSRRS(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in, y := of(op), system(m)
	v, was := r.R[in.rs1&31]+in.imm, in.csr.read(r, y)
	return in.accessCSR(r, y, was, was|v, v)
}

func execCSRRC(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in, y := of(op), system(m)
	v, was := r.R[in.rs1&31]+in.imm, in.csr.read(r, y)
	return in.accessCSR(r, y, was, was&^v, v)
}
