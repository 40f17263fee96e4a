package x86

func execJmp(in *Inst, s *Regs, m Memory) Outcome {
	s.IP = Addr(in.imm)
	return Next
}

func execJcc(in *Inst, s *Regs, m Memory) Outcome {
	ip := in.next
	if holds(in.cond, s.Flags) {
		ip = Addr(in.imm)
	}
	s.IP = ip
	return Next
}

// execLoop: op 0 loopne, 1 loope, 2 loop. The counter is that of the address
// size; writing 32 bits of it clears the rest.
func execLoop(in *Inst, s *Regs, m Memory) Outcome {
	in.advance(&s.R[RCX], ^uint64(0))
	zero := s.Flags&ZF != 0
	s.IP = in.next
	if s.R[RCX]&in.addrMask != 0 && (in.op == 2 || zero == (in.op == 1)) {
		s.IP = Addr(in.imm)
	}
	return Next
}

func execJrcxz(in *Inst, s *Regs, m Memory) Outcome {
	s.IP = in.next
	if s.R[RCX]&in.addrMask == 0 {
		s.IP = Addr(in.imm)
	}
	return Next
}

func execCall(in *Inst, s *Regs, m Memory) Outcome {
	sp := s.R[RSP] - 8
	if !m.Store(Addr(sp), 8, uint64(in.next)) {
		return PageFault
	}
	s.R[RSP] = sp
	s.IP = Addr(in.imm)
	return Next
}

// execRet pops the return address, and imm bytes behind it.
func execRet(in *Inst, s *Regs, m Memory) Outcome {
	v, ok := m.Load(Addr(s.R[RSP]), 8)
	if !ok {
		return PageFault
	}
	s.R[RSP] += 8 + in.imm
	s.IP = Addr(v)
	return Next
}

func execJmpIndirect(in *Inst, s *Regs, m Memory) Outcome {
	v, ok := in.loadA(s, m)
	if !ok {
		return PageFault
	}
	s.IP = Addr(v)
	return Next
}

func execCallIndirect(in *Inst, s *Regs, m Memory) Outcome {
	v, ok := in.loadA(s, m)
	if !ok || !in.push(s, plain(m), uint64(in.next)) {
		return PageFault
	}
	s.IP = Addr(v)
	return Next
}

// execCallNear is execCall for any operand size, which is that of the return
// address.
func execCallNear(in *Inst, s *Regs, m Memory) Outcome {
	if !in.push(s, m, uint64(in.next)) {
		return PageFault
	}
	s.IP = Addr(in.imm)
	return Next
}

// execRetNear is execRet for any operand size.
func execRetNear(in *Inst, s *Regs, m Memory) Outcome {
	v, ok := in.top(s, m, 0)
	if !ok {
		return PageFault
	}
	in.drop(s, uint64(in.size)+in.imm)
	s.IP = Addr(v)
	return Next
}
