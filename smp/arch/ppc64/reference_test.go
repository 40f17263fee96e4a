package ppc64

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"strings"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

var qemu = flag.String("qemu", "", "runs testdata/reference.c: compare with it, and record")

// A refCase is what testdata/reference.c reads.
type refCase struct {
	Code             [archtest.Words]uint32
	GPR              [32]uint64
	LR, CTR, XER, CR uint64
	Memory           [archtest.Window]byte
}

// A refResult is what it writes. Signal 5 is a trap, 4 an illegal instruction, 11 a page fault.
type refResult struct {
	Signal                uint64
	GPR                   [32]uint64
	LR, CTR, XER, CR, NIP uint64
	Memory                [archtest.Window]byte
}

// refMemory is a case's memory, and the rest of a machine.
type refMemory struct {
	archtest.Memory
	sys *System
}

func (c *refCase) memory(slot arch.Addr) *refMemory {
	return &refMemory{sys: NewSystem(0, 0), Memory: archtest.Memory{Code: c.Code, Fill: uint32(wordTrap), Slot: slot,
		Window: c.Memory}}
}

func (m *refMemory) System() arch.System { return m.sys }

// registers returns the case's registers at its start.
func (c *refCase) registers(slot arch.Addr) (r arch.Regs) {
	copy(r.R[:], c.GPR[:])
	r.R[LR], r.R[CTR] = c.LR, c.CTR
	r.IP, r.Flags = slot+archtest.Start, c.CR<<32|c.XER|arch.IRQ
	return r
}

// refTells are the forms that ask something of a machine, and go on.
var refTells = map[string]bool{"or": true, "isync": true, "stbcx.": true, "sthcx.": true, "stwcx.": true,
	"stdcx.": true}

// run executes a case here.
func (c *refCase) run(slot arch.Addr) (o refResult, err error) {
	m := c.memory(slot)
	r := c.registers(slot)
	for range 2 * archtest.Words {
		var b [PrefixLen]byte
		for i := range b {
			b[i], _ = m.Byte(r.IP + arch.Addr(i))
		}
		in, err := Decode(b[:], r.IP)
		if err != nil {
			return o, err
		}
		switch out := in.Exec(&r, m); out {
		case arch.Next, arch.Relaxed, arch.Serialized:
			if name := in.(*Inst).Name(); out != arch.Next && !refTells[name] {
				return o, fmt.Errorf("%v: %v", in, out)
			}
			continue
		case arch.Breakpoint:
			o.Signal = 5
		default:
			return o, fmt.Errorf("%v: %v", in, out)
		}
		break
	}
	copy(o.GPR[:], r.R[:])
	o.LR, o.CTR, o.XER, o.CR = r.R[LR], r.R[CTR], r.Flags&flagsXER, r.Flags>>32
	o.NIP, o.Memory = uint64(r.IP), m.Window
	if m.Strayed || r.Flags&^(flagsXER|flagsCR) != arch.IRQ {
		err = fmt.Errorf("a stray store, or flags %#x", r.Flags)
	}
	return o, err
}

// A draw draws cases.
type draw struct{ archtest.Draw }

// refUnlike are forms that a program in user mode doesn't execute as a kernel does, and those whose
// results differ from run to run. Other tests have them.
var refUnlike = map[string]bool{"mfmsr": true, "mtmsr": true, "mtmsrd": true, "mftb": true, "wait": true}

// refTables are the tables whose forms are compared.
var refTables = [][]form{arithForms, logicForms, rotateForms, compareForms, accessForms, exclusiveForms,
	branchForms, systemForms, prefixForms}

// like reports whether an instruction is compared.
func like(in *Inst) bool {
	switch in.form.name {
	case "mfspr", "mtspr":
		switch n := in.word.numberSPR(); n {
		case sprXER, sprLR, sprCTR, 815:
			return !in.refused
		}
		return false
	case "sync":
		return in.word>>21&7 < 3 // not of persistent storage
	case "dcbf":
		return in.word>>21&7 == 0
	}
	return !in.refused && !refUnlike[in.form.name]
}

// word draws an instruction of a form, at an address. ok false: not this time.
func (d *draw) word(f *form, at arch.Addr) (in *Inst, ok bool) {
	w := word(d.Next())&^f.mask | f.value
	prefix := word(0)
	switch f.name {
	case "mfspr", "mtspr":
		n := [4]word{sprXER, sprLR, sprCTR, 815}[d.Below(4)]
		w = w&^(0x3ff<<11) | n&31<<16 | n>>5<<11
	case "mfocrf", "mtocrf":
		w = w&^(0xff<<12) | 1<<(12+d.Below(8))
	case "b":
		w = w&^(0xffffff<<2|bitAA) | d.words(24)<<2
	case "bc":
		w = w&^(0x3fff<<2|bitAA) | d.words(14)<<2
	}
	if f.prefix != 0 {
		prefix = word(d.Next())&^(f.prefixMask()|prefixR) | f.prefix
		if f.prefix != prefixNop && d.Below(2) == 0 {
			w, prefix = w&^fieldA, prefix|prefixR
			if f.size != 0 {
				to := uint64(archtest.First) + d.Below(archtest.Window-8) - uint64(at)
				w, prefix = w&^0xffff|word(to)&0xffff, prefix&^prefixImmediate|word(to>>16)&prefixImmediate
			}
		}
	}
	in = decodeWords(prefix, w, at)
	return in, in != nil && like(in)
}

// words draws a distance within the slot, of a field of n bits: not to itself, nor to what comes before.
func (d *draw) words(n int) word {
	v := word(d.Below(24)) - 12
	if v+1 <= 1 {
		v += 2
	}
	return v & (1<<n - 1)
}

func decodeWords(prefix, w word, at arch.Addr) *Inst {
	var b []byte
	if prefix != 0 {
		b = binary.LittleEndian.AppendUint32(b, uint32(prefix))
	}
	in, err := Decode(binary.LittleEndian.AppendUint32(b, uint32(w)), at)
	if err != nil {
		return nil
	}
	return in.(*Inst)
}

// drawCase draws the case of a number of a form. The instruction that it is of is returned, too.
func drawCase(f *form, number int) (c refCase, in *Inst) {
	h := fnv.New64a()
	fmt.Fprint(h, f.name, f.pattern, number)
	d := draw{archtest.Draw(h.Sum64())}
	slot := arch.Addr(archtest.Code + number*archtest.Slot)
	for range 1000 {
		in, ok := d.word(f, slot+archtest.Start)
		if !ok {
			continue
		}
		if c, ok = d.around(in, slot); ok {
			return c, in
		}
	}
	return c, nil
}

// around draws what is there when an instruction is executed.
func (d *draw) around(in *Inst, slot arch.Addr) (c refCase, ok bool) {
	for i := range c.Code {
		c.Code[i] = uint32(wordTrap)
	}
	for i := range c.GPR {
		c.GPR[i] = d.Value()
	}
	c.LR, c.CTR, c.XER, c.CR = d.Value(), d.Value(), d.Next()&flagsXER, d.Next()&0xffffffff
	if d.Below(2) == 0 {
		c.CTR = d.Below(3)
	}
	for i := 0; i < len(c.Memory); i += 8 {
		binary.LittleEndian.PutUint64(c.Memory[i:], d.Next())
	}
	code := []word{in.word}
	if in.Len == PrefixLen {
		code = []word{in.prefix, in.word}
	}
	if strings.HasSuffix(in.form.name, "cx.") && d.Below(4) != 0 { // after a load that reserves
		xo := map[uint8]word{1: 52, 2: 116, 4: 20, 8: 84}[in.size]
		load := x(xo).value | in.word&(fieldA|fieldB) | word(d.Below(32))<<21
		if t := uint8(load >> 21 & 31); t == in.a || t == in.b {
			return c, false
		}
		code = []word{load, in.word}
	}
	target := uint64(slot + archtest.Start + 4 + 4*arch.Addr(d.Below(16)))
	switch in.form.name {
	case "bclr":
		c.LR = target
	case "bcctr":
		c.CTR = target
	case "bctar":
		s := d.Below(32)
		code = []word{0x7c0003a6 | word(s)<<21 | 815&31<<16 | 815>>5<<11, in.word}
		c.GPR[s] = target + 4
	case "mtspr":
		if in.word.numberSPR() == sprXER {
			c.GPR[in.a] &= flagsXER
		}
	}
	for i, w := range code {
		c.Code[i] = uint32(w)
	}
	if (in.form.fits != nil && strings.HasPrefix(in.form.name, "div") || strings.HasPrefix(in.form.name, "mod")) &&
		!defined(in, &c) {
		return c, false
	}
	return c, !in.memory || in.relative || d.point(in, &c)
}

// defined reports whether the result of a division is.
func defined(in *Inst, c *refCase) bool {
	fits := map[string]divide{"modsd": quotient, "modud": quotientU, "modsw": quotientWord, "moduw": quotientWordU}
	a, b := c.GPR[in.a], c.GPR[in.b]
	if q := fits[in.form.name]; q != nil {
		_, ok := q(a, b)
		return ok
	}
	return in.form.fits(a, b)
}

// point makes the address of the memory operand lie in the window.
func (d *draw) point(in *Inst, c *refCase) bool {
	to := uint64(archtest.First) + d.Below(archtest.Window-8+1)
	if strings.HasSuffix(in.form.name, "rx") || strings.HasSuffix(in.form.name, "cx.") || d.Below(2) == 0 {
		to &^= uint64(max(in.size, 1)) - 1
	}
	base := in.a
	switch {
	case in.aMask == 0 && in.bMask == 0, in.aMask != 0 && in.bMask != 0 && in.a == in.b:
		return false
	case in.aMask == 0:
		base = in.b
	}
	c.GPR[base] = 0
	r := c.registers(0)
	c.GPR[base] = to - in.sum(&r)
	return true
}
