package arm64

import (
	"encoding/binary"

	"kpsim/smp/arch"
)

// What patching writes.
const (
	wordNop = 0xd503201f // ARM ARM C6.2, "NOP"
	wordISB = 0xd5033fdf // "ISB", with the whole system
	wordRet = 0xd65f03c0 // "RET" to x30
	wordBRK = 0xd4200000 // "BRK": the immediate is in bits 20 to 5
	wordB   = 0x14000000 // "B": words, from the instruction on, in bits 25 to 0
	wordBL  = 0x94000000 // "BL", likewise

	wordMOV  = 0xaa0003e0 // "MOV (register)" of 64 bits
	wordMOVZ = 0xd2800000 // "MOVZ" of 64 bits
	wordMOVK = 0xf2800000 // "MOVK", likewise
	wordADDI = 0x91000000 // "ADD (immediate)" of 64 bits
	wordSUBI = 0xd1000000 // "SUB (immediate)", likewise
	wordSTRU = 0xf9000000 // "STR (immediate)" of 64 bits, unsigned offset
	wordLDRU = 0xf9400000 // "LDR (immediate)", likewise
	wordSTR  = 0xf8000400 // "STR (immediate)" of 64 bits, post-index
	wordSTRB = 0x38000400 // "STRB (immediate)", post-index
)

// Immediates of brk, by which a kernel finds its owner (arch/arm64/include/asm/brk-imm.h).
const (
	BrkKprobe     = 4 // a probe
	BrkUprobe     = 5
	BrkKprobeStep = 6 // behind the copy of a probed instruction
	BrkKretprobe  = 7
	BrkFault      = 0x100 // in memory for code that isn't written yet (AARCH64_BREAK_FAULT)
)

// Nop returns nop.
func Nop() arch.Code { return code(wordNop) }

// ISB returns isb.
func ISB() arch.Code { return code(wordISB) }

// Ret returns ret.
func Ret() arch.Code { return code(wordRet) }

// Mov returns mov of one register to another (ARM ARM C6.2, "MOV (register)").
func Mov(to, from arch.Reg) arch.Code { return code(wordMOV | uint32(from)<<16 | uint32(to)) }

// Brk returns brk with an immediate.
func Brk(imm uint16) arch.Code { return code(wordBRK | uint32(imm)<<5) }

// Jump returns b to a target, as it stands at an address. ok false: the target is more than 128 MiB
// away, or one of the two isn't a multiple of four.
func Jump(at, target arch.Addr) (c arch.Code, ok bool) { return branch(wordB, at, target) }

// Call is Jump for bl.
func Call(at, target arch.Addr) (c arch.Code, ok bool) { return branch(wordBL, at, target) }

// AddImm and SubImm return add and sub of an immediate of twelve bits; 31 is the stack pointer.
func AddImm(rd, rn arch.Reg, imm uint32) arch.Code {
	return code(wordADDI | imm<<10 | uint32(rn)<<5 | uint32(rd))
}
func SubImm(rd, rn arch.Reg, imm uint32) arch.Code {
	return code(wordSUBI | imm<<10 | uint32(rn)<<5 | uint32(rd))
} // see AddImm

// StrAt and LdrAt return str and ldr of the n-th eight bytes from where a register points to.
func StrAt(rt, rn arch.Reg, n uint32) arch.Code {
	return code(wordSTRU | n<<10 | uint32(rn)<<5 | uint32(rt))
}
func LdrAt(rt, rn arch.Reg, n uint32) arch.Code {
	return code(wordLDRU | n<<10 | uint32(rn)<<5 | uint32(rt))
} // see StrAt

func branch(w uint32, at, target arch.Addr) (c arch.Code, ok bool) {
	const reach = 1 << 27
	d := int64(target - at)
	ok = d >= -reach && d < reach && at%Len == 0 && target%Len == 0
	return code(w | uint32(d)>>2&(1<<26-1)), ok
}

func code(w uint32) arch.Code {
	var b [Len]byte
	binary.LittleEndian.PutUint32(b[:], w)
	return arch.CodeOf(b[:]...)
}

// set returns code that sets a register: movz and movk (ARM ARM C6.2).
func set(r arch.Reg, v uint64) (code []byte) {
	w := uint32(wordMOVZ)
	for i := range uint32(4) {
		if part := uint32(v >> (16 * i) & 0xffff); part != 0 || i == 0 {
			code = binary.LittleEndian.AppendUint32(code, w|i<<21|part<<5|uint32(r))
			w = wordMOVK
		}
	}
	return code
}

// put returns code that stores bytes where a register points to, which it moves on: str and strb with
// post-index.
func put(at arch.Reg, b []byte) (code []byte) {
	const scratch = 9
	for len(b) > 0 {
		n, w := 8, uint32(wordSTR)
		if len(b) < 8 {
			n, w = 1, wordSTRB
		}
		code = append(code, set(scratch, arch.Word(b[:n]))...)
		code = binary.LittleEndian.AppendUint32(code, w|uint32(n)<<12|uint32(at)<<5|scratch)
		b = b[n:]
	}
	return code
}
