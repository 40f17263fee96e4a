package ppc64

import (
	"math/bits"

	"kpsim/smp/arch"
)

// accessForms are loads and stores (Book I, "Fixed-Point Load Instructions" and what follows it). The
// plain ones may have any alignment, and are one access.
var accessForms = concat(
	access("lbz", "stb", 34, 38, 1),
	access("lhz", "sth", 40, 44, 2),
	access("lwz", "stw", 32, 36, 4),
	[]form{
		{name: "lha", pattern: d(42), layout: layD, run: execLoadSigned, size: 2, loads: true},
		{name: "lhau", pattern: d(43), layout: layD, run: execLoadSigned, size: 2, loads: true, update: true},
		{name: "ld", pattern: ds(opLoad, 0), layout: layDS, run: execLoad, size: 8, loads: true},
		{name: "ldu", pattern: ds(opLoad, 1), layout: layDS, run: execLoad, size: 8, loads: true, update: true},
		{name: "lwa", pattern: ds(opLoad, 2), layout: layDS, run: execLoadSigned, size: 4, loads: true},
		{name: "std", pattern: ds(opStore, 0), layout: layDS, run: execStore, size: 8},
		{name: "stdu", pattern: ds(opStore, 1), layout: layDS, run: execStore, size: 8, update: true},
	},
	indexed("lbz", 87, execLoad, 1, true),
	indexed("lhz", 279, execLoad, 2, true),
	indexed("lha", 343, execLoadSigned, 2, true),
	indexed("lwz", 23, execLoad, 4, true),
	indexed("lwa", 341, execLoadSigned, 4, true),
	indexed("ld", 21, execLoad, 8, true),
	indexed("stb", 215, execStore, 1, false),
	indexed("sth", 407, execStore, 2, false),
	indexed("stw", 151, execStore, 4, false),
	indexed("std", 149, execStore, 8, false),
	[]form{
		{name: "lhbrx", pattern: x(790), layout: layX, run: execLoadReversed, size: 2, loads: true},
		{name: "lwbrx", pattern: x(534), layout: layX, run: execLoadReversed, size: 4, loads: true},
		{name: "ldbrx", pattern: x(532), layout: layX, run: execLoadReversed, size: 8, loads: true},
		{name: "sthbrx", pattern: x(918), layout: layX, run: execStoreReversed, size: 2},
		{name: "stwbrx", pattern: x(662), layout: layX, run: execStoreReversed, size: 4},
		{name: "stdbrx", pattern: x(660), layout: layX, run: execStoreReversed, size: 8},
	},
)

func concat(tables ...[]form) (all []form) {
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}

// access makes the forms with a displacement of 16 bits. The opcode of one with update is one more.
func access(load, store string, loadOp, storeOp word, size uint8) []form {
	return []form{
		{name: load, pattern: d(loadOp), layout: layD, run: execLoad, size: size, loads: true},
		{name: load + "u", pattern: d(loadOp + 1), layout: layD, run: execLoad, size: size, loads: true, update: true},
		{name: store, pattern: d(storeOp), layout: layD, run: execStore, size: size},
		{name: store + "u", pattern: d(storeOp + 1), layout: layD, run: execStore, size: size, update: true},
	}
}

// indexed makes the forms with a register added. The opcode of one with update is 32 more.
func indexed(name string, xo word, run run, size uint8, loads bool) []form {
	return []form{
		{name: name + "x", pattern: x(xo), layout: layX, run: run, size: size, loads: loads},
		{name: name + "ux", pattern: x(xo + 32), layout: layX, run: run, size: size, loads: loads, update: true},
	}
}

// settle ends an access. A form with update writes the address to its base.
func (in *Inst) settle(r *arch.Regs, at uint64) arch.Outcome {
	if in.form.update {
		r.R[in.a] = at
	}
	r.IP = in.next
	return arch.Next
}

// cut returns the part of a value that the operand holds.
func (in *Inst) cut(v uint64) uint64 {
	n := 64 - 8*uint(in.size)
	return v << (n & 63) >> (n & 63)
}

// reversed returns a value of the operand's size with its bytes reversed.
func (in *Inst) reversed(v uint64) uint64 {
	return bits.ReverseBytes64(v) >> ((64 - 8*uint(in.size)) & 63)
}

func execLoad(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	at := in.sum(r)
	v, ok := m.Load(arch.Addr(at), int(in.size))
	if !ok {
		return arch.PageFault
	}
	r.R[in.d] = v
	return in.settle(r, at)
}

func execLoadSigned(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	at := in.sum(r)
	v, ok := m.Load(arch.Addr(at), int(in.size))
	if !ok {
		return arch.PageFault
	}
	n := 64 - 8*uint(in.size)
	r.R[in.d] = uint64(int64(v<<(n&63)) >> (n & 63))
	return in.settle(r, at)
}

func execStore(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	at := in.sum(r)
	if !m.Store(arch.Addr(at), int(in.size), in.cut(r.R[in.d])) {
		return arch.PageFault
	}
	return in.settle(r, at)
}

func execLoadReversed(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	v, ok := m.Load(arch.Addr(in.sum(r)), int(in.size))
	if !ok {
		return arch.PageFault
	}
	return in.put(r, in.reversed(v))
}

func execStoreReversed(op *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
	in := of(op)
	if !m.Store(arch.Addr(in.sum(r)), int(in.size), in.reversed(r.R[in.d])) {
		return arch.PageFault
	}
	r.IP = in.next
	return arch.Next
}
