package x86

import "kpsim/smp/arch"

func execJmp(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = arch.Addr(in.imm)
	return arch.Next
}

func execJcc(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	ip := in.next
	if holds(in.cond, s.Flags) {
		ip = arch.Addr(in.imm)
	}
	s.IP = ip
	return arch.Next
}

// execLoop: op 0 loopne, 1 loope, 2 loop. The counter is that of the address
// size; writing 32 bits of it clears the rest.
func execLoop(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	in.advance(&s.R[RCX], ^uint64(0))
	zero := s.Flags&ZF != 0
	s.IP = in.next
	if s.R[RCX]&in.addrMask != 0 && (in.op == 2 || zero == (in.op == 1)) {
		s.IP = arch.Addr(in.imm)
	}
	return arch.Next
}

func execJrcxz(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = in.next
	if s.R[RCX]&in.addrMask == 0 {
		s.IP = arch.Addr(in.imm)
	}
	return arch.Next
}

func execCall(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	sp := s.R[RSP] - 8
	if !m.Store(arch.Addr(sp), 8, uint64(in.next)) {
		return arch.PageFault
	}
	s.R[RSP] = sp
	s.IP = arch.Addr(in.imm)
	return arch.Next
}

// execRet pops the return address, and imm bytes after it.
func execRet(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := m.Load(arch.Addr(s.R[RSP]), 8)
	if !ok {
		return arch.PageFault
	}
	s.R[RSP] += 8 + in.imm
	s.IP = arch.Addr(v)
	return arch.Next
}

func execJmpIndirect(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	s.IP = arch.Addr(v)
	return arch.Next
}

func execCallIndirect(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.loadA(s, m)
	if !ok || !in.push(s, plain(m), uint64(in.next)) {
		return arch.PageFault
	}
	s.IP = arch.Addr(v)
	return arch.Next
}

// execCallNear is execCall for any operand size, which is that of the return
// address.
func execCallNear(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	if !in.push(s, m, uint64(in.next)) {
		return arch.PageFault
	}
	s.IP = arch.Addr(in.imm)
	return arch.Next
}

// execRetNear is execRet for any operand size.
func execRetNear(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.top(s, m, 0)
	if !ok {
		return arch.PageFault
	}
	in.drop(s, uint64(in.size)+in.imm)
	s.IP = arch.Addr(v)
	return arch.Next
}
