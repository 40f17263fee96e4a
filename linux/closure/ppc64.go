package closure

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/ppc64"
)

// Primary opcodes of Power, the highest six bits of an instruction (Power ISA, Book I, 3.3.9).
const (
	ppcADDI  = 14
	ppcADDIS = 15
)

// Registers of the calling convention (Power ELFv2 ABI, 2.2.1): where the TOC is, and where a function
// finds its own global entry.
const (
	ppcTOC   = 2
	ppcEntry = 12
)

// followPPC knows what addis has put into registers, from the TOC, which a function finds from its
// global entry. addi takes an address.
func followPPC(c *Closure, f *Function) func(in arch.Inst) (arch.Inst, uint64) {
	var known [32]uint64 // 0: not known
	known[ppcTOC] = c.TOC()
	return func(in arch.Inst) (arch.Inst, uint64) {
		p, ok := in.(*ppc64.Inst)
		if !ok {
			return in, 0
		}
		w := p.Word()
		rt, ra, imm := w>>21&31, w>>16&31, uint64(int64(int16(w)))
		switch base := known[ra]; w >> 26 {
		case ppcADDIS:
			if ra == ppcEntry && rt == ppcTOC {
				return in, 0 // the prologue makes the TOC, which is known
			}
			if known[rt] = 0; base != 0 && ra == ppcTOC {
				known[rt] = base + imm<<16
			}
		case ppcADDI:
			if rt == ppcTOC {
				return in, 0
			}
			if known[rt] = 0; base != 0 && ra != 0 {
				return in, base + imm
			}
		}
		return in, 0
	}
}

// TOC returns what r2 has in the kernel's functions, which their prologues make: addis r2,r12,hi and
// addi r2,r2,lo.
func (c *Closure) TOC() uint64 {
	for _, name := range [...]string{"register_kprobe", "memcpy_flushcache", "printk", "_printk"} {
		s, ok := c.Image.Symbol(name)
		if !ok {
			continue
		}
		b := c.Image.Bytes(s.Addr, 8)
		if len(b) < 8 {
			continue
		}
		hi, lo := uint32(arch.Word(b[:4])), uint32(arch.Word(b[4:]))
		if hi>>16 == ppcADDIS<<10|ppcTOC<<5|ppcEntry && lo>>16 == ppcADDI<<10|ppcTOC<<5|ppcTOC {
			return s.Addr + uint64(int64(int16(hi)))<<16 + uint64(int64(int16(lo)))
		}
	}
	return 0
}

// specialPPC reports whether an instruction concerns the machine: a special register, a cache, a
// barrier of instructions or a trap.
func specialPPC(in arch.Inst) bool {
	switch mnemonic(in) {
	case "mtmsr", "mtmsrd", "mfmsr", "isync", "icbi", "tlbie", "slbie", "rfid", "sc":
		return true
	}
	return trapping(in)
}

// tablePPC is code.table. A jump table has distances from its own first byte, each of four bytes. It ends where the
// first of what it leads to begins, behind it, or before a word that is no such distance.
func tablePPC(code []byte) (n int) {
	end := len(code)
	for n+4 <= end {
		to := int(int32(uint32(arch.Word(code[n : n+4]))))
		if to == 0 || to%4 != 0 || to >= len(code) || to < -mostFunction {
			break
		}
		if n += 4; to > 0 {
			end = min(end, to)
		}
	}
	return n
}
