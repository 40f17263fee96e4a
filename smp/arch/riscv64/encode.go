package riscv64

import (
	"encoding/binary"

	"kpsim/smp/arch"
)

// What patching writes (vol. 1, "RV32I" and "C" chapters).
const (
	Ebreak  uint32 = 0x00100073 // "Environment Call and Breakpoints"
	Nop     uint32 = 0x00000013 // addi x0,x0,0: "NOP Instruction"
	Ret     uint32 = 0x00008067 // jalr x0,0(ra)
	Pause   uint32 = 0x0100000f // a fence that orders nothing: "Zihintpause" chapter
	CEbreak uint16 = 0x9002     // "C.EBREAK"
	CNop    uint16 = 0x0001     // "C.NOP"
	CRet    uint16 = 0x8082     // c.jr ra: "C.JR"
)

// The lengths of what they are.
const (
	WordLen = 4 // of a full instruction
	HalfLen = 2 // of a compressed one
	PairLen = 2 * WordLen
)

// Code returns full instructions as bytes: one or two.
func Code(words ...uint32) arch.Code {
	var b [PairLen]byte
	for i, w := range words {
		b[4*i], b[4*i+1], b[4*i+2], b[4*i+3] = byte(w), byte(w>>8), byte(w>>16), byte(w>>24)
	}
	return arch.CodeOf(b[:WordLen*len(words)]...)
}

// Half returns a compressed instruction as bytes.
func Half(h uint16) arch.Code { return arch.CodeOf(byte(h), byte(h>>8)) }

// Jal encodes jal, to stand at an address, with any link register: x0 makes it a jump. ok false: the
// target is out of reach, which is 1 MiB ("Unconditional Jumps").
func Jal(link arch.Reg, at, target arch.Addr) (w uint32, ok bool) {
	d := int64(target - at)
	return jType(opJAL, uint32(link), uint32(d)), d >= -1<<20 && d < 1<<20 && d&1 == 0
}

// Pair encodes auipc and jalr, to stand at an address: a jump of 32 bits of distance through a
// register, with any link register. The lower 12 bits of the distance are signed, so auipc's part is
// rounded ("Integer Register-Immediate Instructions", "Unconditional Jumps").
func Pair(via, link arch.Reg, at, target arch.Addr) (pair [2]uint32, ok bool) {
	const round = 1 << 11
	d := int64(target - at)
	hi, ok := d+round, d+round == int64(int32(d+round)) && d&1 == 0
	return [2]uint32{
		uType(opAUIPC, uint32(via), uint32(hi)),
		iType(opJALR, 0, uint32(link), uint32(via), uint32(d)),
	}, ok
}

// Addi, Ld and Sd encode addi, ld and sd ("Integer Computational Instructions", "Load and Store Instructions"). The
// immediate has twelve bits, with its sign.
func Addi(rd, rs arch.Reg, imm int) uint32 {
	return iType(opImm, 0, uint32(rd), uint32(rs), uint32(imm))
}
func Ld(rd, base arch.Reg, off int) uint32 {
	return iType(opLoad, 3, uint32(rd), uint32(base), uint32(off))
} // see Addi
func Sd(src, base arch.Reg, off int) uint32 {
	return sType(opStore, 3, uint32(base), uint32(src), uint32(off))
} // see Addi

// The formats of full instructions: the inverse of immI and the others in decode.go.

func rType(op, f3, f7, rd, rs1, rs2 uint32) uint32 {
	return op | rd<<7 | f3<<12 | rs1<<15 | rs2<<20 | f7<<25
}

func iType(op, f3, rd, rs1, imm uint32) uint32 { return op | rd<<7 | f3<<12 | rs1<<15 | imm<<20 }

func sType(op, f3, rs1, rs2, imm uint32) uint32 {
	return op | imm&31<<7 | f3<<12 | rs1<<15 | rs2<<20 | imm>>5<<25
}

func bType(op, f3, rs1, rs2, imm uint32) uint32 {
	return op | imm>>11&1<<7 | imm>>1&0xf<<8 | f3<<12 | rs1<<15 | rs2<<20 | imm>>5&0x3f<<25 | imm>>12<<31
}

func uType(op, rd, imm uint32) uint32 { return op | rd<<7 | imm&0xfffff000 }

func jType(op, rd, imm uint32) uint32 {
	return op | rd<<7 | imm&0xff000 | imm>>11&1<<20 | imm>>1&0x3ff<<21 | imm>>20<<31
}

// load returns code that sets a register: eleven bits at a time, for those of an immediate are signed.
func load(r arch.Reg, v uint64) (code []byte) {
	const bits, parts = 11, 6
	rd := uint32(r)
	for i := parts - 1; i >= 0; i-- {
		part := uint32(v >> (bits * i) & (1<<bits - 1))
		if code != nil {
			code = appendWord(code, iType(opImm, 1, rd, rd, bits)) // slli
			if part != 0 {
				code = appendWord(code, iType(opImm, 6, rd, rd, part)) // ori
			}
		} else if part != 0 || i == 0 {
			code = appendWord(code, iType(opImm, 0, rd, 0, part)) // addi rd,x0
		}
	}
	return code
}

// put returns code that stores bytes where a register points to, which it moves on.
func put(at arch.Reg, b []byte) (code []byte) {
	for len(b) > 0 {
		n, size := 8, uint32(3)
		if len(b) < 8 {
			n, size = 1, 0
		}
		code = append(code, load(T0, arch.Word(b[:n]))...)
		code = appendWord(code, sType(opStore, size, uint32(at), uint32(T0), 0))
		code = appendWord(code, iType(opImm, 0, uint32(at), uint32(at), uint32(n)))
		b = b[n:]
	}
	return code
}

func appendWord(code []byte, w uint32) []byte { return binary.LittleEndian.AppendUint32(code, w) }
