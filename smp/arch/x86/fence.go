package x86

// drains reports whether the CPU's stores before the instruction take effect before it has
// executed: it is a fence, has or implies LOCK, serialises, or accesses a port (SDM vol. 3,
// "Store Buffer", "Serializing Instructions"; vol. 2, XCHG). LFENCE is none of these. A trap
// or interrupt drains, too, but isn't meant here.
func (l *layout) drains() bool {
	if l.encoding != legacy {
		return false
	}
	if l.lock {
		return true
	}
	switch l.space {
	case map1:
		switch l.op {
		case 0x86, 0x87: // xchg
			return l.isMem()
		case 0x6c, 0x6d, 0x6e, 0x6f, 0xe4, 0xe5, 0xe6, 0xe7, 0xec, 0xed, 0xee, 0xef: // in, out
			return true
		case 0xcf: // iret
			return true
		}
	case map0F:
		switch l.op {
		case 0xae: // mfence, sfence
			return !l.isMem() && l.rep == 0 && (l.reg() == 6 || l.reg() == 7)
		case 0x01: // lgdt, lidt, lmsw, invlpg; serialize
			return l.isMem() && (l.reg() == 2 || l.reg() == 3 || l.reg() == 6 || l.reg() == 7) || !l.isMem() &&
				l.modrm == 0xe8
		case 0x00: // lldt, ltr
			return l.reg() == 2 || l.reg() == 3
		case 0x08, 0x09, 0x22, 0x23, 0x30, 0xa2, 0xaa: // invd, wbinvd, mov to cr and dr, wrmsr, cpuid, rsm
			return true
		}
	}
	return false
}
