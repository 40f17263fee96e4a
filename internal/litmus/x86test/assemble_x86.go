package x86test

import (
	"encoding/binary"
	"fmt"
)

// Code is a thread's machine code: a function to be called.
type Code struct {
	Bytes  []byte
	Starts []int // of each instruction, and then of the return at the end
}

// Assemble makes the code of a thread. It ends with ret.
func (t *Test) Assemble(thread int) (*Code, error) {
	a := &assembler{t: t}
	th := &t.Threads[thread]
	c := &Code{}
	for i := range th.Instrs {
		c.Starts = append(c.Starts, len(a.code))
		if err := a.instr(&th.Instrs[i]); err != nil {
			return nil, fmt.Errorf("%d:%d: %w", th.Instrs[i].Line, th.Instrs[i].Col, err)
		}
	}
	c.Starts = append(c.Starts, len(a.code))
	a.code = append(a.code, 0xc3)
	for _, j := range a.jumps {
		binary.LittleEndian.PutUint32(a.code[j.at:], uint32(c.Starts[j.target]-(j.at+4)))
	}
	c.Bytes = a.code
	return c, nil
}

type assembler struct {
	t     *Test
	code  []byte
	jumps []jump
}

// A jump is 32 bits to be filled in: how far it is to an instruction.
type jump struct{ at, target int }

func (a *assembler) instr(in *Instr) error {
	if in.Bare {
		return nil
	}
	if in.Lock {
		a.code = append(a.code, 0xf0)
	}
	small := 1 // added to an opcode for operands larger than a byte
	if in.Size == 1 {
		small = 0
	}
	switch in.Op {
	case opNop:
		a.code = append(a.code, 0x90)
	case opRet:
		a.code = append(a.code, 0xc3)
	case opFence:
		a.code = append(a.code, 0x0f, 0xae, byte(in.sub))
	case opJmp:
		a.code = append(a.code, 0xe9)
		a.jump(in)
	case opJcc:
		a.code = append(a.code, 0x0f, byte(0x80+in.sub))
		a.jump(in)
	case opInc, opDec:
		return a.modrm(in, []byte{byte(0xfe + small)}, int(in.Op-opInc), &in.Dst)
	case opXchg:
		return a.modrm(in, []byte{byte(0x86 + small)}, in.Src.Reg.Num, &in.Dst)
	case opCmpxchg:
		return a.modrm(in, []byte{0x0f, byte(0xb0 + small)}, in.Src.Reg.Num, &in.Dst)
	case opXadd:
		return a.modrm(in, []byte{0x0f, byte(0xc0 + small)}, in.Src.Reg.Num, &in.Dst)
	case opCmov:
		return a.modrm(in, []byte{0x0f, byte(0x40 + in.sub)}, in.Dst.Reg.Num, &in.Src)
	case opSet:
		return a.modrm(in, []byte{0x0f, byte(0x90 + in.sub)}, 0, &in.Dst)
	case opShift:
		return a.withImmediate(in, byte(0xc0+small), in.sub, 1)
	case opMov:
		return a.mov(in, small)
	case opAlu:
		return a.alu(in, small)
	case opTest:
		if in.Src.Kind == Immediate {
			return a.withImmediate(in, byte(0xf6+small), 0, min(in.Size, 4))
		}
		return a.modrm(in, []byte{byte(0x84 + small)}, in.Src.Reg.Num, &in.Dst)
	}
	return nil
}

func (a *assembler) mov(in *Instr, small int) error {
	switch in.Src.Kind {
	case Immediate:
		if v := in.Src.Imm; in.Size == 8 && v != int64(int32(v)) {
			a.code = append(a.code, byte(0x48|in.Dst.Reg.Num>>3), byte(0xb8+in.Dst.Reg.Num&7))
			a.code = binary.LittleEndian.AppendUint64(a.code, uint64(v))
			return nil
		}
		return a.withImmediate(in, byte(0xc6+small), 0, min(in.Size, 4))
	case Memory:
		return a.modrm(in, []byte{byte(0x8a + small)}, in.Dst.Reg.Num, &in.Src)
	}
	return a.modrm(in, []byte{byte(0x88 + small)}, in.Src.Reg.Num, &in.Dst)
}

func (a *assembler) alu(in *Instr, small int) error {
	switch in.Src.Kind {
	case Immediate:
		if v := in.Src.Imm; in.Size > 1 && v == int64(int8(v)) {
			return a.withImmediate(in, 0x83, in.sub, 1)
		}
		return a.withImmediate(in, byte(0x80+small), in.sub, min(in.Size, 4))
	case Memory:
		return a.modrm(in, []byte{byte(8*in.sub + 2 + small)}, in.Dst.Reg.Num, &in.Src)
	}
	return a.modrm(in, []byte{byte(8*in.sub + small)}, in.Src.Reg.Num, &in.Dst)
}

func (a *assembler) jump(in *Instr) {
	a.jumps = append(a.jumps, jump{len(a.code), in.Target})
	a.code = append(a.code, 0, 0, 0, 0)
}

// withImmediate is modrm, and the source as n bytes after it.
func (a *assembler) withImmediate(in *Instr, opcode byte, reg, n int) error {
	if err := a.modrm(in, []byte{opcode}, reg, &in.Dst); err != nil {
		return err
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(in.Src.Imm))
	a.code = append(a.code, b[:n]...)
	return nil
}

// modrm appends prefixes, opcode, ModRM, SIB and displacement (SDM vol. 2, "Instruction
// Format"). lock stands before already.
func (a *assembler) modrm(in *Instr, opcode []byte, reg int, rm *Operand) error {
	disp := rm.Disp
	if rm.Location >= 0 && rm.Kind == Memory {
		disp += int64(a.t.Address(rm.Location, 0))
	}
	if disp != int64(int32(disp)) {
		return fmt.Errorf("%s: the address is out of reach; take a smaller displacement", in.Text)
	}
	if rm.Kind == Memory && rm.short {
		a.code = append(a.code, 0x67)
	}
	if in.Size == 2 {
		a.code = append(a.code, 0x66)
	}
	rex := byte(0)
	if in.Size == 8 {
		rex |= 0x48
	}
	rex |= high(reg, 0x44)
	if rm.Kind == Register {
		rex |= high(rm.Reg.Num, 0x41)
	} else {
		rex |= high(rm.Base, 0x41) | high(rm.Index, 0x42)
	}
	for _, o := range [...]*Operand{&in.Dst, &in.Src} {
		if in.Size == 1 && o.Kind == Register && o.Reg.Num >= 4 {
			rex |= 0x40 // else it would be ah and its like
		}
	}
	if rex != 0 {
		a.code = append(a.code, rex)
	}
	a.code = append(a.code, opcode...)
	r := byte(reg&7) << 3
	if rm.Kind == Register {
		a.code = append(a.code, 0xc0|r|byte(rm.Reg.Num&7))
		return nil
	}
	if rm.Base >= 0 && rm.Base&7 != stackPointer && rm.Index < 0 {
		a.code = append(a.code, 0x80|r|byte(rm.Base&7)) // 32 bits of displacement
		a.code = binary.LittleEndian.AppendUint32(a.code, uint32(disp))
		return nil
	}
	mod, sib := byte(0x80), byte(0x04)
	base, index := byte(5), byte(4) // none
	if rm.Base >= 0 {
		base = byte(rm.Base & 7)
	} else {
		mod = 0
	}
	if rm.Index >= 0 {
		index = byte(rm.Index & 7)
	}
	scale := map[int]byte{1: 0, 2: 1, 4: 2, 8: 3}[rm.Scale]
	a.code = append(a.code, mod|r|sib, scale<<6|index<<3|base)
	a.code = binary.LittleEndian.AppendUint32(a.code, uint32(disp))
	return nil
}

// high is the REX bit of a register with a high number.
func high(reg int, bit byte) byte {
	if reg >= 8 {
		return bit
	}
	return 0
}
