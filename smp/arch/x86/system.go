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

// vendor is the vendor string of cpuid, in the order EBX, EDX, ECX.
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

// execReadCR: mov from control register op. Other numbers aren't chosen.
func execReadCR(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	in.setA(s, *system(m).control(in.op)&in.mask)
	s.IP = in.next
	return arch.Next
}

func (y *System) control(n uint8) *uint64 {
	switch n {
	case 0:
		return &y.CR0
	case 2:
		return &y.CR2
	case 3:
		return &y.CR3
	case 4:
		return &y.CR4
	}
	return &y.CR8
}

// Bits of CR0 and CR4 that there are on a processor without the features that
// cpuid doesn't announce here.
const (
	cr0Known = cr0PE | cr0MP | cr0EM | cr0TS | cr0ET | cr0NE | cr0WP | cr0AM | cr0NW | cr0CD | cr0PG
	cr4Known = 0x7ff | 1<<11 | cr4FSGSBASE | cr4PCIDE | cr4OSXSAVE | 1<<20 | 1<<21
)

// execWriteCR: mov to control register op. The faults are those of SDM vol. 2,
// MOV, "Move to/from Control Registers". All but CR8 serialise, and CR2, which
// isn't listed apart.
func execWriteCR(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y, v := system(m), in.getA(s)
	long := in.mode == Mode64
	switch in.op {
	case 0:
		switch {
		case v>>32 != 0, v&cr0PG != 0 && v&cr0PE == 0, v&cr0NW != 0 && v&cr0CD == 0, long && v&cr0PG == 0:
			return arch.Protection
		case v&cr0PE == 0:
			return arch.Unsupported // real mode
		}
		v = v&cr0Known | cr0ET
	case 3:
		if v>>52 != 0 && !(v>>52 == 1<<11 && y.CR4&cr4PCIDE != 0) {
			return arch.Protection
		}
		v &^= 1 << 63 // says only what isn't flushed
	case 4:
		switch {
		case v&^cr4Known != 0, long && v&cr4PAE == 0, v&^y.CR4&cr4PCIDE != 0 && (!long || y.CR3&0xfff != 0):
			return arch.Protection
		}
	case 8:
		if v&^15 != 0 {
			return arch.Protection
		}
		y.CR8 = v
		s.IP = in.next
		return arch.Next
	}
	*y.control(in.op) = v
	s.IP = in.next
	return arch.Serialized
}

// debug is the register that number n of a debug register means: 4 and 5 are 6
// and 7 unless CR4 says that they don't exist.
func (in *Inst) debug(y *System) (n uint8, ok bool) {
	if n = in.op; n == 4 || n == 5 {
		return n + 2, y.CR4&cr4DE == 0
	}
	return n, true
}

func execReadDR(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y := system(m)
	n, ok := in.debug(y)
	if !ok {
		return arch.Undefined
	}
	in.setA(s, y.DR[n]&in.mask)
	s.IP = in.next
	return arch.Next
}

// execWriteDR. Breakpoints of DR7 aren't modelled: to turn one on is refused.
func execWriteDR(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y, v := system(m), in.getA(s)
	n, ok := in.debug(y)
	switch {
	case !ok:
		return arch.Undefined
	case n >= 6 && v>>32 != 0:
		return arch.Protection
	case n == 6:
		v = v&0xe00f | dr6Fixed
	case n == 7:
		if v&(0xff|1<<13) != 0 {
			return arch.Unsupported
		}
		v = v&0xffff_0300 | dr7Fixed
	}
	y.DR[n] = v
	s.IP = in.next
	return arch.Serialized
}

func execClts(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	system(m).CR0 &^= cr0TS
	s.IP = in.next
	return arch.Next
}

func execSmsw(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	return in.storeWord(s, m, system(m).CR0)
}

// execLmsw loads PE, MP, EM and TS. PE can't be cleared.
func execLmsw(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	y := system(m)
	y.CR0 = y.CR0&^(cr0MP|cr0EM|cr0TS) | v&0xf
	s.IP = in.next
	return arch.Next
}

// table is GDTR (op 0) or IDTR.
func (in *Inst) table(y *System) *Table {
	if in.op == 0 {
		return &y.GDT
	}
	return &y.IDT
}

// execStoreTable: sgdt and sidt. size is that of the base: 8 bytes, or 4.
func execStoreTable(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	at, t := in.address(s), in.table(system(m))
	if !writable(m, at+2, in.size) || !m.Store(at, 2, uint64(t.Limit)) {
		return arch.PageFault
	}
	m.Store(at+2, int(in.size), t.Base&in.mask)
	s.IP = in.next
	return arch.Next
}

// execLoadTable: lgdt and lidt. imm says which bits of the base count.
func execLoadTable(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	at := in.address(s)
	limit, ok := m.Load(at, 2)
	if !ok {
		return arch.PageFault
	}
	base, ok := m.Load(at+2, int(in.size))
	switch {
	case !ok:
		return arch.PageFault
	case !canonical(arch.Addr(base)):
		return arch.Protection
	}
	*in.table(system(m)) = Table{Base: base & in.imm, Limit: uint16(limit)}
	s.IP = in.next
	return arch.Serialized
}

// execStoreTask: sldt (op 0) and str.
func execStoreTask(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v := system(m).LDT
	if in.op == 1 {
		v = system(m).TR
	}
	return in.storeWord(s, m, uint64(v))
}

// execLoadTask: lldt (op 2) takes the null selector, which takes away the table;
// ltr (op 3) faults with it. Descriptors aren't modelled.
func execLoadTask(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.loadA(s, m)
	switch {
	case !ok:
		return arch.PageFault
	case !null(uint16(v)):
		return arch.Unsupported
	case in.op == 3:
		return arch.Protection
	}
	system(m).LDT = uint16(v)
	s.IP = in.next
	return arch.Serialized
}

// execVerify: verr (op 4) and verw. Segments of data that are loaded can be read
// and written, that of the code be read; of no other is anything known.
func execVerify(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	v, ok := in.loadA(s, m)
	if !ok {
		return arch.PageFault
	}
	var can bool
	switch y, selector := system(m), uint16(v); {
	case null(selector):
	case selector == y.Seg[CS]:
		can = in.op == 4
	case selector == y.Seg[SS], selector == y.Seg[DS]:
		can = true
	default:
		return arch.Unsupported
	}
	s.Flags = s.Flags&^ZF | bit(can)*ZF
	s.IP = in.next
	return arch.Next
}

// Model-specific registers (SDM vol. 4, table 2-2).
const (
	msrTSC          = 0x10
	msrFSBase       = 0xc000_0100
	msrGSBase       = 0xc000_0101
	msrKernelGSBase = 0xc000_0102
	msrTSCAux       = 0xc000_0103
)

func execRdmsr(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y := system(m)
	var v uint64
	switch uint32(s.R[RCX]) {
	case msrTSC:
		v = y.TSC()
	case msrFSBase:
		v = y.FSBase
	case msrGSBase:
		v = y.GSBase
	case msrKernelGSBase:
		v = y.KernelGSBase
	case msrTSCAux:
		v = uint64(y.TSCAux)
	default:
		return arch.Protection
	}
	s.R[RAX], s.R[RDX] = v&0xffff_ffff, v>>32
	s.IP = in.next
	return arch.Next
}

// execWrmsr serialises (SDM vol. 3, "Serializing Instructions").
func execWrmsr(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y, v := system(m), s.R[RDX]<<32|s.R[RAX]&0xffff_ffff
	msr := uint32(s.R[RCX])
	if msr >= msrFSBase && msr <= msrKernelGSBase && !canonical(arch.Addr(v)) {
		return arch.Protection
	}
	switch msr {
	case msrTSC:
		y.TSCOffset = v - y.Clock
	case msrFSBase:
		y.FSBase = v
	case msrGSBase:
		y.GSBase = v
	case msrKernelGSBase:
		y.KernelGSBase = v
	case msrTSCAux:
		if v>>32 != 0 {
			return arch.Protection
		}
		y.TSCAux = uint32(v)
	default:
		return arch.Protection
	}
	s.IP = in.next
	return arch.Serialized
}

// execTSC: rdtsc, and rdtscp (op 1).
func execTSC(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y := system(m)
	v := y.TSC()
	s.R[RAX], s.R[RDX] = v&0xffff_ffff, v>>32
	if in.op == 1 {
		s.R[RCX] = uint64(y.TSCAux)
	}
	s.IP = in.next
	return arch.Next
}

func execRdpid(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	in.setA(s, uint64(system(m).TSCAux))
	s.IP = in.next
	return arch.Next
}

// execProtected faults always: rdpmc, of whose counters there is none.
func execProtected(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome { return arch.Protection }

// execBase: rdfsbase, rdgsbase, wrfsbase, wrgsbase, numbered as in ModRM's reg.
func execBase(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y := system(m)
	if y.CR4&cr4FSGSBASE == 0 {
		return arch.Undefined
	}
	base := &y.FSBase
	if in.op&1 != 0 {
		base = &y.GSBase
	}
	v := in.getA(s)
	switch {
	case in.op < 2:
		in.setA(s, *base&in.mask)
	case !canonical(arch.Addr(v)):
		return arch.Protection
	default:
		*base = v
	}
	s.IP = in.next
	return arch.Next
}

func execSwapgs(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y := system(m)
	y.GSBase, y.KernelGSBase = y.KernelGSBase, y.GSBase
	s.IP = in.next
	return arch.Next
}

// execXgetbv reads XCR0, the only extended control register.
func execXgetbv(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	y := system(m)
	switch {
	case y.CR4&cr4OSXSAVE == 0:
		return arch.Undefined
	case uint32(s.R[RCX]) != 0:
		return arch.Protection
	}
	s.R[RAX], s.R[RDX] = y.XCR0&0xffff_ffff, y.XCR0>>32
	s.IP = in.next
	return arch.Next
}

// execFlush: clflush, clflushopt, clwb. The line is read as by a load.
func execFlush(in *Inst, s *arch.Regs, m arch.Memory) arch.Outcome {
	if _, ok := m.Load(in.address(s), 1); !ok {
		return arch.PageFault
	}
	s.IP = in.next
	return arch.Next
}
