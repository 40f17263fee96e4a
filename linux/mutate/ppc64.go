package mutate

import (
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/arch/ppc64"
)

// power is the row of ppc64le: it has mutants of calls, conditional branches, comparisons, stores, the interrupt mask
// and isync. Operations on caches have none: what the machine fetches doesn't depend on them.
var power = row{nop: ppc64.PPC64.Nop, ret: func(int) []byte { return ppc64.PPC64.Ret },
	condition: (*lister).conditionPPC, plain: (*lister).plainPPC}

// Power ISA, Book I, 1.6 and 3.3.
var (
	ppcCompare = []encoding{{63 << 26, 10 << 26}, {63 << 26, 11 << 26}} // cmpli, cmpi
	ppcISYNC   = encoding{0xfc0007fe, 0x4c00012c}
	ppcMTMSRD  = encoding{0xfc0007fe, 0x7c000164}

	ppcConditional = []encoding{{0xfc0007ff, 0x7c00012d}, {0xfc0007ff, 0x7c0001ad}} // stwcx., stdcx.

	ppcStores = []encoding{
		{63 << 26, 36 << 26}, {63 << 26, 38 << 26}, {63 << 26, 44 << 26}, // stw, stb, sth
		{63<<26 | 3, 62 << 26},                                                       // std
		{0xfc0007fe, 0x7c00012a}, {0xfc0007fe, 0x7c00012e}, {0xfc0007fe, 0x7c0001ae}, // stdx, stwx, stbx
		{0xfc0007fe, 0x7c00032e}, // sthx
	}
)

// ppcEqual is cmpw r1,r1: it leaves in CR0 what a store on condition does that has stored.
const ppcEqual = 0x7c010800

// conditionPPC is row.condition: it is inverted, always taken, or never taken.
func (l *lister) conditionPPC(in arch.Inst) {
	const negated = 8 << 21 // of BO: whether the bit is to be set
	old, what := in.Bytes(), mnemonic(in)
	at, place := uint64(in.At()), l.place(uint64(in.At()))
	w := binary.LittleEndian.Uint32(old)
	l.add("invert:"+place, "invert the condition "+what, at, old, binary.LittleEndian.AppendUint32(nil, w^negated))
	if t, ok := in.Target(); ok {
		if c, ok := ppc64.Jump(in.At(), t); ok {
			l.add("always:"+place, "always take the jump "+what, at, old, c.Bytes())
		}
	}
	l.add("never:"+place, "never take the jump "+what, at, old, ppc64.PPC64.Nop(len(old)))
}

// plainPPC is row.plain.
func (l *lister) plainPPC(in arch.Inst) {
	x, ok := in.(*ppc64.Inst)
	if !ok || in.Size() != ppc64.WordLen {
		return
	}
	at, place, with := uint64(in.At()), l.place(uint64(in.At())), ppc64.PPC64.Nop(in.Size())
	w := x.Word()
	base := arch.Reg(w >> 16 & 31)
	switch {
	case ppcISYNC.has(w):
		l.add("drop-fence:"+place, "drop the "+in.String(), at, in.Bytes(), with)
	case ppcMTMSRD.has(w), among(ppcStores, w) && base == ppc64.Paca && in.PerCPU():
		l.add("drop-flag:"+place, "drop the "+in.String(), at, in.Bytes(), with)
	case among(ppcConditional, w):
		l.add("drop-locked:"+place, "drop the locked store "+in.String()+", which succeeds", at, in.Bytes(),
			binary.LittleEndian.AppendUint32(nil, ppcEqual))
	case among(ppcCompare, w):
		l.add("off-by-one:"+place, "compare with a number off by one: "+in.String(), at, in.Bytes(),
			binary.LittleEndian.AppendUint32(nil, offByOnePPC(w)))
	case among(ppcStores, w) && base != ppc64.SP:
		l.add("drop-store:"+place, "drop the store "+in.String(), at, in.Bytes(), with)
	}
}

// among reports whether an instruction is one of a list.
func among(list []encoding, w uint32) bool {
	for _, e := range list {
		if e.has(w) {
			return true
		}
	}
	return false
}

// offByOnePPC returns a comparison with the next number, or the one before the highest.
func offByOnePPC(w uint32) uint32 {
	const most = 0x7fff
	if w&0xffff == most {
		return w - 1
	}
	return w&^0xffff | (w+1)&0xffff
}
