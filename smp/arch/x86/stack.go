package x86

import "kpsim/smp/arch"

// execPush64 pushes a register or an immediate of eight bytes.
func execPush64(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	sp := s.R[RSP] - 8
	if !m.Store(arch.Addr(sp), 8, s.R[in.bReg&15]&in.bMask+in.imm) {
		return arch.PageFault
	}
	s.R[RSP] = sp
	s.IP = in.next
	return arch.Next
}

func execPop64(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := m.Load(arch.Addr(s.R[RSP]), 8)
	if !ok {
		return arch.PageFault
	}
	s.R[RSP] += 8
	s.R[in.aReg&15] = v // pop %rsp: the value wins
	s.IP = in.next
	return arch.Next
}

// push writes v below the stack pointer and moves it there. A segment override
// never applies to the stack.
func (in *Inst) push(s *arch.Regs, m arch.Memory, v uint64) (ok bool) {
	sp := (s.R[RSP] - uint64(in.size)) & in.linearMask
	if !m.Store(arch.Addr(sp), int(in.size), v&in.mask) {
		return false
	}
	s.R[RSP] = sp
	return true
}

// top reads the nth word from the top of the stack.
func (in *Inst) top(s *arch.Regs, m arch.Memory, n uint64) (v uint64, ok bool) {
	return m.Load(arch.Addr((s.R[RSP]+n*uint64(in.size))&in.linearMask), int(in.size))
}

// drop takes n bytes off the stack.
func (in *Inst) drop(s *arch.Regs, n uint64) { s.R[RSP] = (s.R[RSP] + n) & in.linearMask }

// execPush pushes operand b, which may be memory, of any size.
func execPush(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.loadB(s, m)
	if !ok || !in.push(s, plain(m), v) {
		return arch.PageFault
	}
	s.IP = in.next
	return arch.Next
}

// execPop pops to operand a. An address made with %rsp sees it already moved
// (SDM vol. 2, POP).
func execPop(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.top(s, plain(m), 0)
	if !ok {
		return arch.PageFault
	}
	was := s.R[RSP]
	in.drop(s, uint64(in.size))
	if !in.storeA(s, m, v) {
		s.R[RSP] = was
		return arch.PageFault
	}
	s.IP = in.next
	return arch.Next
}

func execPushf(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	if !in.push(s, m, s.Flags&^(rf|vm)) {
		return arch.PageFault
	}
	s.IP = in.next
	return arch.Next
}

// execPopf pops the flags. A 16-bit popf keeps the upper flags, except RF, which every
// popf clears.
func execPopf(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.top(s, m, 0)
	if !ok {
		return arch.PageFault
	}
	in.drop(s, uint64(in.size))
	takes := poppable & in.mask
	s.Flags = s.Flags&^(takes|rf) | v&takes | F1
	s.IP = in.next
	return arch.Interrupts
}

// execPushSeg pushes selector op, extended by zeroes.
func execPushSeg(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	if !in.push(s, m, uint64(system(m).Seg[in.op])) {
		return arch.PageFault
	}
	s.IP = in.next
	return arch.Next
}

func execPopSeg(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.top(s, m, 0)
	if !ok {
		return arch.PageFault
	}
	out := in.loadSelector(system(m), in.op, uint16(v))
	if out.Faulted() {
		return out
	}
	in.drop(s, uint64(in.size))
	s.IP = in.next
	return out
}

// writable checks that a store to a will succeed, by storing the value that is there.
// It is for instructions that store twice.
func writable(m arch.Memory, a arch.Addr, size uint8) bool {
	v, ok := m.Load(a, int(size))
	return ok && m.Store(a, int(size), v)
}

// execEnter makes a stack frame of imm's low 16 bits, with copies of as many
// frame pointers as the next byte says (SDM vol. 2, ENTER). A first pass makes
// sure that nothing faults, in the order of the accesses.
func execEnter(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	size, level := uint64(in.size), in.imm>>16&31
	frame := (s.R[RSP] - size) & in.linearMask
	slot := func(n uint64) arch.Addr { return arch.Addr((frame - n*size) & in.linearMask) }
	outer := func(n uint64) arch.Addr { return arch.Addr((s.R[RBP] - n*size) & in.linearMask) }
	bottom := (frame - level*size - in.imm&0xffff) & in.linearMask

	ok := writable(m, slot(0), in.size)
	for n := uint64(1); ok && n <= level; n++ {
		if n < level {
			_, ok = m.Load(outer(n), int(size))
		}
		ok = ok && writable(m, slot(n), in.size)
	}
	if !ok || !writable(m, arch.Addr(bottom), 1) {
		return arch.PageFault
	}

	m.Store(slot(0), int(size), s.R[RBP]&in.mask)
	for n := uint64(1); n < level; n++ {
		v, _ := m.Load(outer(n), int(size))
		m.Store(slot(n), int(size), v)
	}
	if level > 0 {
		m.Store(slot(level), int(size), frame&in.mask)
	}
	merge(&s.R[RBP], in.size, frame)
	s.R[RSP] = bottom
	s.IP = in.next
	return arch.Next
}

// execLeave uses all of RBP as the frame pointer, whatever the operand size.
func execLeave(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := m.Load(arch.Addr(s.R[RBP]&in.linearMask), int(in.size))
	if !ok {
		return arch.PageFault
	}
	s.R[RSP] = (s.R[RBP] + uint64(in.size)) & in.linearMask
	merge(&s.R[RBP], in.size, v)
	s.IP = in.next
	return arch.Next
}

// execPusha pushes the eight registers, RSP as it was.
func execPusha(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	size := uint64(in.size)
	slot := func(n uint64) arch.Addr { return arch.Addr((s.R[RSP] - (n+1)*size) & in.linearMask) }
	for n := range uint64(8) {
		if !writable(m, slot(n), in.size) {
			return arch.PageFault
		}
	}
	for n := range uint64(8) {
		m.Store(slot(n), int(size), s.R[n]&in.mask)
	}
	s.R[RSP] = (s.R[RSP] - 8*size) & in.linearMask
	s.IP = in.next
	return arch.Next
}

// execPopa pops the eight registers, and drops the value for RSP.
func execPopa(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	var r [8]uint64
	for i := range uint64(8) {
		v, ok := in.top(s, m, i)
		if !ok {
			return arch.PageFault
		}
		r[7-i] = v
	}
	for i, v := range r {
		if arch.Reg(i) != RSP {
			merge(&s.R[i], in.size, v)
		}
	}
	in.drop(s, 8*uint64(in.size))
	s.IP = in.next
	return arch.Next
}
