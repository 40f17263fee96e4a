package mutate

import (
	"encoding/binary"

	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
)

// arm is the row of arm64: it has mutants of calls, conditional branches, comparisons, stores, the interrupt mask and
// isb. Operations on caches have none: what the machine fetches doesn't depend on them.
var arm = row{nop: arm64.ARM64.Nop, ret: func(int) []byte { return arm64.ARM64.Ret },
	condition: (*lister).conditionARM, plain: (*lister).plainARM}

// An encoding is the instructions whose bits under a mask are these (ARM ARM C4.1).
type encoding struct{ mask, is uint32 }

func (e encoding) has(w uint32) bool { return w&e.mask == e.is }

var (
	armBCond   = encoding{0xff000010, 0x54000000}
	armISB     = encoding{0xfffff0ff, 0xd50330df}
	armDAIF    = encoding{0xffffffe0, 0xd51b4220} // msr daif, a register
	armDAIFSet = encoding{0xfffff0df, 0xd50340df} // msr daifset and daifclr
	armCompare = encoding{0x7f80001f, 0x7100001f} // cmp of a register with an immediate
	armCas     = encoding{0x3fa07c00, 0x08a07c00}
	armAtomic  = encoding{0x3f200c00, 0x38200000} // swp, ldadd and the like, ldapr
	armLDAPR   = encoding{0x3f20fc00, 0x3820c000}
	armSTLR    = encoding{0x3fe0fc00, 0x0880fc00 | 0x1f<<16}

	armStores = []encoding{
		{0x3fc00000, 0x39000000}, // str, strb, strh with an unsigned offset
		{0x3fe00000, 0x38000000}, // with an index, or an offset that isn't scaled
		{0x3fe00c00, 0x38200800}, // with a register
		{0x7c400000, 0x28000000}, // stp, stnp
	}
)

// conditionARM is row.condition: it is inverted, always taken, or never taken.
func (l *lister) conditionARM(in arch.Inst) {
	const negated, negatedZero = 1, 1 << 24 // of the condition; between cbz and cbnz, tbz and tbnz
	old, what := in.Bytes(), mnemonic(in)
	at, place := uint64(in.At()), l.place(uint64(in.At()))
	w := binary.LittleEndian.Uint32(old)
	if armBCond.has(w) {
		w ^= negated
	} else {
		w ^= negatedZero
	}
	l.add("invert:"+place, "invert the condition "+what, at, old, binary.LittleEndian.AppendUint32(nil, w))
	t, _ := in.Target()
	if c, ok := arm64.Jump(in.At(), t); ok {
		l.add("always:"+place, "always take the jump "+what, at, old, c.Bytes())
	}
	l.add("never:"+place, "never take the jump "+what, at, old, arm64.ARM64.Nop(len(old)))
}

// plainARM is row.plain.
func (l *lister) plainARM(in arch.Inst) {
	x, ok := in.(*arm64.Inst)
	if !ok {
		return
	}
	at, place, with := uint64(in.At()), l.place(uint64(in.At())), arm64.ARM64.Nop(in.Size())
	regs, w := in.AddressRegs(), x.Word()
	switch {
	case armISB.has(w):
		l.add("drop-fence:"+place, "drop the "+in.String(), at, in.Bytes(), with)
	case armDAIF.has(w), armDAIFSet.has(w):
		l.add("drop-flag:"+place, "drop the "+in.String(), at, in.Bytes(), with)
	case armCompare.has(w):
		l.add("off-by-one:"+place, "compare with a number off by one: "+in.String(), at, in.Bytes(),
			binary.LittleEndian.AppendUint32(nil, offByOne(w)))
	case armCas.has(w), armAtomic.has(w) && !armLDAPR.has(w):
		l.add("drop-locked:"+place, "drop the locked store "+in.String(), at, in.Bytes(), with)
	case storesARM(w) && len(regs) > 0 && regs[0] != arm64.SP:
		l.add("drop-store:"+place, "drop the store "+in.String(), at, in.Bytes(), with)
	}
}

// offByOne returns a comparison with the next number, or the one before the highest.
func offByOne(w uint32) uint32 {
	const one, most = 1 << 10, 0xfff << 10
	if w&most == most {
		return w - one
	}
	return w + one
}

// storesARM reports whether an instruction stores, and does nothing else but move its base.
func storesARM(w uint32) bool {
	for _, e := range armStores {
		if e.has(w) {
			return true
		}
	}
	return armSTLR.has(w)
}
