package riscv64

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/arch/riscv64/riscv64asm"

	"kpsim/smp/arch"
)

// What Decode refuses. The errors returned wrap these and name the bytes.
var (
	// ErrTruncated: the bytes at hand end before the instruction does.
	ErrTruncated = errors.New("truncated instruction")
	// ErrUnknown: no instruction, or none that is known here.
	ErrUnknown = errors.New("unknown instruction")
)

// MaxLen is the longest an instruction may be.
const MaxLen = 4

// Decode decodes the instruction that b begins with, as it stands at an address. b may hold
// more or less than one. Errors wrap ErrTruncated and ErrUnknown. Longer encodings than 32 bits
// (vol. 1, "Expanded Instruction-Length Encoding") are unknown.
//
// An instruction that exists, as far as the disassembler knows, and has no form here decodes to
// one that is refused when it is executed.
func Decode(b []byte, at arch.Addr) (arch.Inst, error) {
	if len(b) < 2 {
		return nil, refuse(b, ErrTruncated)
	}
	in := &Inst{raw: uint32(binary.LittleEndian.Uint16(b))}
	switch {
	case in.raw&3 != 3:
		in.Len, in.full = 2, expand(in.raw)
	case in.raw&0x1f == 0x1f:
		return nil, refuse(b[:2], ErrUnknown)
	case len(b) < 4:
		return nil, refuse(b, ErrTruncated)
	default:
		in.raw = binary.LittleEndian.Uint32(b)
		in.Len, in.full = 4, in.raw
	}
	in.Addr, in.next = at, at+arch.Addr(in.Len)
	in.Inst = in
	in.form = find(in.full)
	if in.form == nil {
		if !known(in.full) {
			return nil, refuse(b[:in.Len], ErrUnknown)
		}
		in.Run, in.refused = execRefused, true
		return in, nil
	}
	in.size, in.Run, in.refused = in.form.size, in.form.run, in.form.refused
	in.form.read(in)
	return in, nil
}

// known reports whether the disassembler knows an instruction.
func known(w uint32) bool {
	if w&3 != 3 {
		return false // a reserved compressed encoding
	}
	_, err := riscv64asm.Decode(binary.LittleEndian.AppendUint32(nil, w))
	return err == nil
}

// refuse makes Decode's error.
func refuse(b []byte, err error) error { return fmt.Errorf("riscv64: % x: %w", b, err) }

// find returns the form of a full instruction, nil if it has none.
func find(w uint32) *form {
	for _, f := range byOpcode[w>>2&31] {
		if w&f.mask == f.value {
			return f
		}
	}
	return nil
}

// byOpcode has the forms by bits 6 to 2 of the instruction.
var byOpcode = func() (by [32][]*form) {
	for i := range forms {
		f := &forms[i]
		by[f.value>>2&31] = append(by[f.value>>2&31], f)
	}
	return by
}()

// sext extends a number of n bits.
func sext(v uint32, n uint) uint64 { return uint64(int64(uint64(v)<<(64-n)) >> (64 - n)) }

// The immediates of the formats (vol. 1, "Immediate Encoding Variants").
//
//	31        25 24    20 19 15 14 12 11       7 6    0
//	[    11:0          ] [rs1] [f3 ] [   rd    ] [op  ]  I
//	[  11:5   ] [ rs2  ] [rs1] [f3 ] [  4:0    ] [op  ]  S
//	[12|10:5  ] [ rs2  ] [rs1] [f3 ] [ 4:1|11  ] [op  ]  B
//	[       31:12                  ] [   rd    ] [op  ]  U
//	[  20|10:1|11|19:12            ] [   rd    ] [op  ]  J
func immI(w uint32) uint64 { return sext(w>>20, 12) }
func immS(w uint32) uint64 { return sext(w>>25<<5|w>>7&31, 12) }
func immB(w uint32) uint64 { return sext(w>>31<<12|w>>7&1<<11|w>>25&0x3f<<5|w>>8&0xf<<1, 13) }
func immU(w uint32) uint64 { return sext(w&0xfffff000, 32) }
func immJ(w uint32) uint64 { return sext(w>>31<<20|w>>12&0xff<<12|w>>20&1<<11|w>>21&0x3ff<<1, 21) }

// A layout says how the operands of a form lie.
type layout struct {
	read   func(in *Inst)
	syntax string // of the text: see text.go
}

// The layouts.
var (
	layR      = layout{func(in *Inst) { in.setD(); in.setS(); in.setT() }, "d,s,t"}
	layUnary  = layout{func(in *Inst) { in.setD(); in.setS() }, "d,s"}
	layI      = layout{func(in *Inst) { in.setD(); in.setS(); in.imm = immI(in.full) }, "d,s,i"}
	layShift  = layout{func(in *Inst) { in.setD(); in.setS(); in.imm = uint64(in.full >> 20 & 63) }, "d,s,h"}
	layLoad   = layout{layI.read, "d,i(s)"}
	layStore  = layout{func(in *Inst) { in.setS(); in.setT(); in.imm = immS(in.full) }, "t,i(s)"}
	layBranch = layout{readBranch, "s,t,p"}
	layU      = layout{func(in *Inst) { in.setD(); in.imm = immU(in.full) }, "d,u"}
	layPC     = layout{func(in *Inst) { in.setD(); in.imm = immU(in.full) + uint64(in.Addr) }, "d,u"}
	layJ      = layout{readJump, "d,p"}
	layJalr   = layout{readJumpRegister, "d,i(s)"}
	layLR     = layout{func(in *Inst) { in.setD(); in.setS(); in.Drains = true }, "d,(s)"}
	layAMO    = layout{func(in *Inst) { layR.read(in); in.Drains = true }, "d,t,(s)"}
	layCSR    = layout{func(in *Inst) { in.setD(); in.setS(); in.setCSR() }, "d,c,s"}
	layCSRI   = layout{func(in *Inst) { in.setD(); in.imm = uint64(in.full >> 15 & 31); in.setCSR() }, "d,c,z"}
	layFence  = layout{readFence, "f"}
	layDrain  = layout{func(in *Inst) { in.Drains = true }, ""}
	layTLB    = layout{func(in *Inst) { in.setS(); in.setT(); in.Drains = true }, "s,t"}
	layNone   = layout{func(*Inst) {}, ""}
)

func (in *Inst) setD() { in.rd = uint8(in.full >> 7 & 31) }
func (in *Inst) setS() { in.rs1 = uint8(in.full >> 15 & 31) }
func (in *Inst) setT() { in.rs2 = uint8(in.full >> 20 & 31) }

// flows is a layout without operands, of an instruction after which control doesn't just go on.
func flows(f arch.Flow) layout { return layout{func(in *Inst) { in.flow = f }, ""} }

func readBranch(in *Inst) {
	in.setS()
	in.setT()
	in.imm, in.flow = immB(in.full)+uint64(in.Addr), arch.FlowCond
}

// readJump reads jal. It is a call if it saves where to return.
func readJump(in *Inst) {
	in.setD()
	in.imm, in.flow = immJ(in.full)+uint64(in.Addr), arch.FlowCall
	if in.rd == 0 {
		in.flow = arch.FlowJump
	}
}

// readJumpRegister reads jalr. A jump to what a link register holds is a return: ra, or t0
// for functions with the other convention (vol. 1, "Return-address stack prediction hints").
func readJumpRegister(in *Inst) {
	layI.read(in)
	switch {
	case in.rd != 0:
		in.flow = arch.FlowIndirectCall
	case (in.rs1 == uint8(RA) || in.rs1 == uint8(T0)) && in.imm == 0:
		in.flow = arch.FlowRet
	default:
		in.flow = arch.FlowIndirectJump
	}
}

// Bits of the predecessor set of a fence; the successor set lies four bits lower (vol. 1,
// "Memory Ordering Instructions").
const (
	predW = 1 << 24
	predO = 1 << 26
	succ  = 0xf << 20
)

// readFence reads fence. It drains if it orders earlier stores before anything at all. The
// fields that are reserved are ignored, as the manual asks.
func readFence(in *Inst) { in.Drains = in.full&(predW|predO) != 0 && in.full&succ != 0 }
