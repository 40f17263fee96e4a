package x86

import (
	"kpsim/smp/arch"
)

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

// Far transfers, selectors, and what comes back from a trap. Descriptors aren't
// modelled: a transfer within the code segment and the loading of a selector
// that some segment register holds already do what the processor does; a null
// selector for code faults; any other is refused.

// null reports whether a selector names no descriptor.
func null(selector uint16) bool { return selector&^3 == 0 }

// sameCode says whether control may go to a code selector: Next, or why not.
func sameCode(y *System, selector uint16) arch.Outcome {
	switch {
	case selector == y.Seg[CS]:
		return arch.Next
	case null(selector):
		return arch.Protection
	}
	return arch.Unsupported
}

// loadSelector gives segment register n, which isn't CS, a selector. Next or
// Masked if it has. What fs and gs can be given has base 0; a null selector leaves
// the base on AMD's older processors.
func (in *Inst) loadSelector(y *System, n uint8, selector uint16) arch.Outcome {
	switch {
	case null(selector):
		// Only SS in 64-bit mode accepts a null selector, whose RPL must be the privilege level (SDM
		// vol. 2, MOV).
		if n == SS && (in.mode != Mode64 || selector != y.Seg[CS]&3) {
			return arch.Protection
		}
	case selector != y.Seg[n] && (n == SS || selector != y.Seg[SS] && selector != y.Seg[DS]):
		return arch.Unsupported
	}
	y.Seg[n] = selector
	switch n {
	case SS:
		return arch.Masked
	case FS:
		y.FSBase = 0
	case GS:
		y.GSBase = 0
	}
	return arch.Next
}

// execStoreSeg: mov from selector op. Memory gets 16 bits whatever the size.
func execStoreSeg(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	return in.storeWord(s, m, uint64(system(m).Seg[in.op]))
}

// storeWord stores v to a register of any size, or its low 16 bits to memory.
func (in *Inst) storeWord(s *arch.Regs, m arch.Memory, v uint64) arch.Outcome {
	if !in.mem {
		in.setA(s, v&in.mask)
	} else if !m.Store(in.address(s), 2, v&0xffff) {
		return arch.PageFault
	}
	s.IP = in.next
	return arch.Next
}

func execLoadSeg(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	out := in.loadSelector(system(m), in.op, uint16(v))
	if !out.Faulted() {
		s.IP = in.next
	}
	return out
}

// farPointer reads an offset and the selector after it.
func (in *Inst) farPointer(s *arch.Regs, m arch.Memory) (offset uint64, selector uint16, ok bool) {
	at := in.address(s)
	offset, ok = m.Load(at, int(in.size))
	if !ok {
		return 0, 0, false
	}
	v, ok := m.Load(at+arch.Addr(in.size), 2)
	return offset, uint16(v), ok
}

// execLoadFar: les, lds, lss, lfs, lgs; op is the segment register.
func execLoadFar(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	offset, selector, ok := in.farPointer(s, m)
	if !ok {
		return arch.PageFault
	}
	if out := in.loadSelector(system(m), in.op, selector); out.Faulted() {
		return out
	}
	in.setA(s, offset)
	s.IP = in.next
	return arch.Next
}

// execFar: jmp and call (op 1) to another segment, through memory or to imm.
func execFar(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	offset, selector := in.imm&in.mask, uint16(in.imm>>(8*in.size))
	if in.mem {
		var ok bool
		if offset, selector, ok = in.farPointer(s, m); !ok {
			return arch.PageFault
		}
	}
	y := system(m)
	if out := sameCode(y, selector); out != arch.Next {
		return out
	}
	if in.op == 1 {
		stack, size := plain(m), uint64(in.size)
		if !writable(stack, arch.Addr((s.R[RSP]-2*size)&in.linearMask), in.size) ||
			!in.push(s, stack, uint64(y.Seg[CS])) {
			return arch.PageFault
		}
		in.push(s, stack, uint64(in.next))
	}
	s.IP = arch.Addr(offset)
	return arch.Next
}

// execRetFar pops IP and CS, and imm bytes after them.
func execRetFar(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	ip, ok := in.top(s, m, 0)
	if !ok {
		return arch.PageFault
	}
	cs, ok := in.top(s, m, 1)
	if !ok {
		return arch.PageFault
	}
	if out := sameCode(system(m), uint16(cs)); out != arch.Next {
		return out
	}
	in.drop(s, 2*uint64(in.size)+in.imm)
	s.IP = arch.Addr(ip)
	return arch.Next
}

// returnable are the flags that iret loads at privilege level 0. VIF and VIP are
// bits 19 and 20; 16 bits leave the upper ones. RF isn't kept: it ends with the
// next instruction, and only instruction breakpoints, which aren't modelled, ask
// for it.
const returnable = poppable | 3<<19

// execIret pops IP, CS and flags, and in 64-bit mode RSP and SS too. In 64-bit
// mode there are no nested tasks (SDM vol. 2, IRET); elsewhere, as virtual-8086
// mode, they are refused.
func execIret(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	words := 5
	if in.mode == Mode32 {
		words = 3
	}
	if s.Flags&nt != 0 {
		if in.mode == Mode64 {
			return arch.Protection
		}
		return arch.Unsupported
	}
	var frame [5]uint64
	for i := range words {
		v, ok := in.top(s, m, uint64(i))
		if !ok {
			return arch.PageFault
		}
		frame[i] = v
	}
	y := system(m)
	if out := sameCode(y, uint16(frame[1])); out != arch.Next {
		return out
	}
	if in.mode == Mode32 {
		if frame[2]&vm != 0 {
			return arch.Unsupported
		}
		in.drop(s, 3*uint64(in.size))
	} else {
		if out := in.loadSelector(y, SS, uint16(frame[4])); out.Faulted() {
			return out
		}
		s.R[RSP] = frame[3]
	}
	s.IP = arch.Addr(frame[0])
	takes := returnable & in.mask
	s.Flags = s.Flags&^takes | frame[2]&takes | F1
	return arch.TrapReturn
}

// execInt: int n. The machine finds the handler.
func execInt(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = in.next
	return arch.SoftInt
}

// execInt1 is a #DB that no flag masks (SDM vol. 2, INT n/INTO/INT3/INT1).
func execInt1(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	s.IP = in.next
	return arch.DebugTrap
}
