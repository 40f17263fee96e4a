// Package toy is a processor of ten instructions, for a test: another one needs a folder and a row, and
// nothing else.
package toy

import (
	"fmt"

	"kpsim/smp/arch"
)

// The instructions have 16 bits: four of the operation, four of register a, four of register b. An
// immediate or a distance has the bits of what it takes the place of.
const (
	nop = iota
	li
	add
	load
	store
	jump // twelve bits of words, from itself
	call // likewise
	ret
	brk
	sync
	ops
)

var names = [ops]string{"nop", "li", "add", "ld", "st", "j", "call", "ret", "brk", "sync"}

var flows = [ops]arch.Flow{jump: arch.FlowJump, call: arch.FlowCall, ret: arch.FlowRet, brk: arch.FlowBreakpoint}

// An Inst is a decoded instruction.
type Inst struct {
	arch.Op
	op   uint8
	a, b arch.Reg
	imm  uint64
	word uint16
}

// decode implements arch.Arch.Decode.
func decode(b []byte, at arch.Addr) (arch.Inst, error) {
	if len(b) < 2 || b[1]>>4 >= ops {
		return nil, fmt.Errorf("toy: % x is no instruction", b[:min(2, len(b))])
	}
	w := uint16(b[0]) | uint16(b[1])<<8
	in := &Inst{op: uint8(w >> 12), a: arch.Reg(w >> 8 & 7), b: arch.Reg(w >> 4 & 7), imm: uint64(w & 0xff), word: w}
	if in.op == jump || in.op == call {
		in.imm = uint64(at) + uint64(int64(int16(w<<4)>>4)*2)
	}
	in.Op = arch.Op{Addr: at, Len: 2, Inst: in, Run: func(_ *arch.Op, r *arch.Regs, m arch.Memory) arch.Outcome {
		return in.Exec(r, m)
	}}
	return in, nil
}

// Exec implements arch.Inst.
func (in *Inst) Exec(r *arch.Regs, m arch.Memory) (out arch.Outcome) {
	next := in.Next()
	switch in.op {
	case li:
		r.R[in.a] = in.imm
	case add:
		r.R[in.a] += r.R[in.b]
	case load:
		v, ok := m.Load(arch.Addr(r.R[in.b]), 8)
		if !ok {
			return arch.PageFault
		}
		r.R[in.a] = v
	case store:
		if !m.Store(arch.Addr(r.R[in.b]), 8, r.R[in.a]) {
			return arch.PageFault
		}
	case jump:
		next = arch.Addr(in.imm)
	case call:
		r.R[link], next = uint64(next), arch.Addr(in.imm)
	case ret:
		next = arch.Addr(r.R[link])
	case brk:
		return arch.Breakpoint
	case sync:
		out = arch.Serialized
	}
	r.IP = next
	return out
}

// The rest implements arch.Inst.

func (in *Inst) Operation() *arch.Op { return &in.Op }
func (in *Inst) At() arch.Addr       { return in.Addr }
func (in *Inst) Size() int           { return 2 }
func (in *Inst) Next() arch.Addr     { return in.Addr + 2 }
func (in *Inst) Bytes() []byte       { return []byte{byte(in.word), byte(in.word >> 8)} }
func (in *Inst) Flow() arch.Flow     { return flows[in.op] }
func (in *Inst) IsNop() bool         { return in.op == nop }
func (in *Inst) PerCPU() bool        { return false }
func (in *Inst) PerTask() bool       { return false }

func (in *Inst) Target() (arch.Addr, bool) {
	return arch.Addr(in.imm), in.op == jump || in.op == call
}

func (in *Inst) IPRelative() (from, to int, ok bool) { return 0, 0, false }
func (in *Inst) IPOperand() (arch.Addr, bool)        { return 0, false }

func (in *Inst) AddressRegs() []arch.Reg {
	if in.op == load || in.op == store {
		return []arch.Reg{in.b}
	}
	return nil
}

func (in *Inst) String() string {
	switch in.op {
	case li:
		return fmt.Sprintf("li r%d,%#x", in.a, in.imm)
	case add, load, store:
		return fmt.Sprintf("%s r%d,r%d", names[in.op], in.a, in.b)
	case jump, call:
		return fmt.Sprintf("%s %#x", names[in.op], in.imm)
	}
	return names[in.op]
}
