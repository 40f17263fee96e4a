package x86

import (
	"encoding/binary"

	"kpsim/smp/arch"
)

func execUnsupported(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return arch.Unsupported }

func execUndefined(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return arch.Undefined }

func execInt3(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = in.next
	return arch.Breakpoint
}

func execHlt(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = in.next
	return arch.Halt
}

func execCli(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.Flags &^= IF
	s.IP = in.next
	return arch.Interrupts
}

// execSti turns interrupts on. If they are on already nothing changes: the
// instruction after it is then not shielded either (SDM vol. 2, "STI").
func execSti(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	if s.Flags&IF != 0 {
		s.IP = in.next
		return arch.Next
	}
	s.Flags |= IF
	s.IP = in.next
	return arch.Shadowed
}

// execFlagBits clears bMask's flags, sets imm's and, op 1, turns CF: clc, stc,
// cmc, cld, std, clac, stac.
func execFlagBits(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.Flags = (s.Flags&^in.bMask | in.imm) ^ uint64(in.op)*CF
	s.IP = in.next
	return arch.Next
}

// lahfFlags are what lahf and sahf move.
const lahfFlags = CF | PF | AF | ZF | SF

func execLahf(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.R[RAX] = s.R[RAX]&^0xff00 | (s.Flags&lahfFlags|F1)<<8
	s.IP = in.next
	return arch.Next
}

func execSahf(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.Flags = s.Flags&^lahfFlags | s.R[RAX]>>8&lahfFlags
	s.IP = in.next
	return arch.Next
}

// vendor is what cpuid says of who made the processor, in the order EBX, EDX, ECX.
const vendor = "kpsim x86-64"

// execCpuid: leaf 0 names the vendor and no further leaf; all else is zero.
func execCpuid(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	leaf := uint32(s.R[RAX])
	s.R[RAX], s.R[RBX], s.R[RCX], s.R[RDX] = 0, 0, 0, 0
	if leaf == 0 {
		s.R[RBX] = uint64(binary.LittleEndian.Uint32([]byte(vendor[0:4])))
		s.R[RDX] = uint64(binary.LittleEndian.Uint32([]byte(vendor[4:8])))
		s.R[RCX] = uint64(binary.LittleEndian.Uint32([]byte(vendor[8:12])))
	}
	s.IP = in.next
	return arch.Serialized
}

func execSerialize(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = in.next
	return arch.Serialized
}
