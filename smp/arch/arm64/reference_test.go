package arm64

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"sort"
	"strings"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

var qemu = flag.String("qemu", "", "runs testdata/reference.c: compare with it, and record")

// A refCase is what testdata/reference.c reads.
type refCase struct {
	Code   [archtest.Words]uint32
	Regs   [31]uint64
	SP     uint64
	NZCV   uint64
	Memory [archtest.Window]byte
}

// A refResult is what it writes. Signal 5 is a breakpoint, 4 an undefined instruction, 11 a page fault.
type refResult struct {
	Signal uint64
	Regs   [31]uint64
	SP     uint64
	PC     uint64
	NZCV   uint64
	Memory [archtest.Window]byte
}

// refMemory is a case's memory, and the rest of a machine.
type refMemory struct {
	archtest.Memory
	sys *System
}

func (c *refCase) memory(slot arch.Addr) *refMemory {
	return &refMemory{sys: NewSystem(0), Memory: archtest.Memory{Code: c.Code, Fill: uint32(wordBRK), Slot: slot,
		Window: c.Memory}}
}

func (m *refMemory) System() arch.System { return m.sys }

// registers returns the case's registers at its start.
func (c *refCase) registers(slot arch.Addr) (r arch.Regs) {
	copy(r.R[:], c.Regs[:])
	r.R[SP], r.IP, r.Flags = c.SP, slot+archtest.Start, c.NZCV|arch.IRQ
	return r
}

// refTells are the forms that ask something of a machine, and go on.
var refTells = map[string]bool{"hint": true, "isb": true, "stxr or stlxr": true, "stxp or stlxp": true}

// run executes a case here.
func (c *refCase) run(slot arch.Addr) (o refResult, err error) {
	m := c.memory(slot)
	r := c.registers(slot)
	for range 2 * archtest.Words {
		var b [Len]byte
		w, _ := m.Load(r.IP, Len)
		binary.LittleEndian.PutUint32(b[:], uint32(w))
		in, err := Decode(b[:], r.IP)
		if err != nil {
			return o, err
		}
		switch out := in.Exec(&r, m); out {
		case arch.Next, arch.Relaxed, arch.Serialized, arch.Halt:
			if r.R[ZR] != 0 || out != arch.Next && !refTells[in.form.name] {
				return o, fmt.Errorf("%v: %v, and the zero register is %#x", in, out, r.R[ZR])
			}
			continue
		case arch.Breakpoint:
			o.Signal = 5
		case arch.Undefined:
			o.Signal = 4
		default:
			return o, fmt.Errorf("%v: %v", in, out)
		}
		break
	}
	copy(o.Regs[:], r.R[:])
	o.SP, o.PC, o.NZCV, o.Memory = r.R[SP], uint64(r.IP), r.Flags&flagsNZCV, m.Window
	if m.Strayed || r.Flags&^flagsNZCV != arch.IRQ {
		err = fmt.Errorf("a stray store, or flags %#x", r.Flags)
	}
	return o, err
}

// A draw draws cases.
type draw struct{ archtest.Draw }

// refUnlike are forms that a program in user mode doesn't execute as a kernel does, and those of pointer
// authentication, which has keys there. TestByHand has them.
var refUnlike = map[string]bool{
	"hlt":        true,
	"pac or aut": true, "xpac": true, "braa and the like": true, "blraa and the like": true, "retaa or retab": true,
	"ldraa or ldrab": true,
}

// refTables are the tables whose forms are compared.
var refTables = [][]form{immediateForms, branchForms, memoryForms, exclusiveForms, registerForms}

// like reports whether an instruction is compared.
func like(in *Inst) bool {
	if in.refused {
		return false
	}
	w := in.word
	switch in.form.name {
	case "mrs", "msr":
		return in.reg != nil && in.reg.name == "nzcv"
	case "msr, immediate":
		return w.stateField() < 3
	case "sys":
		// A user's dc zva may have other blocks, and dc cvap may be undefined.
		op := sysOps[w.field(5, 14)].name
		return op != "dc zva" && op != "dc cvap"
	}
	return !refUnlike[in.form.name]
}

// word draws an instruction of a form, at an address. ok false: not this time.
func (d *draw) word(f *match, at arch.Addr) (in *Inst, ok bool) {
	w := word(d.Next())
	switch d.Below(8) { // the zero register or the stack pointer
	case 0:
		w |= 31
	case 1:
		w |= 31 << 5
	}
	w = d.system(f.form, w&^f.mask|f.bits)
	in = decodeWord(w, at)
	if in == nil || !like(in) {
		return nil, false
	}
	if _, branch := in.Target(); branch || in.literal && in.size != 0 { // to within the slot
		lo, n := uint(5), uint(19)
		switch {
		case w>>26&31 == 5:
			lo, n = 0, 26
		case w>>25&31 == 0b11011:
			n = 14
		}
		words := word(d.Below(24)) - 12
		if words+1 <= 1 { // nor to itself, or what comes before it
			words += 2
		}
		w = w&^((1<<n-1)<<lo) | words&(1<<n-1)<<lo
		in = decodeWord(w, at)
	}
	return in, in != nil
}

// system makes a system instruction one of the few that are compared.
func (d *draw) system(f *form, w word) word {
	switch f.name {
	default:
		return w
	case "mrs", "msr":
		return w&^(0x7fff<<5) | 0b1_011_0100_0010_000<<5 // nzcv
	case "msr, immediate":
		return w&^(7<<16|15<<8|7<<5) | word(d.Below(3))<<5
	case "sys":
	}
	codes := make([]uint64, 0, len(sysOps))
	for c := range sysOps {
		codes = append(codes, c)
	}
	sort.Slice(codes, func(i, j int) bool { return codes[i] < codes[j] })
	return w&^(0x3fff<<5) | word(codes[d.Below(uint64(len(codes)))])<<5
}

func decodeWord(w word, at arch.Addr) *Inst {
	in, err := Decode(binary.LittleEndian.AppendUint32(nil, uint32(w)), at)
	if err != nil {
		return nil
	}
	return in
}

// drawCase draws the case of a number of a form. The instruction that it is of is returned, too.
func drawCase(f *form, number int) (c refCase, in *Inst) {
	h := fnv.New64a()
	fmt.Fprint(h, f.pattern, number)
	d := draw{archtest.Draw(h.Sum64())}
	fixed := f.match()
	slot := arch.Addr(archtest.Code + number*archtest.Slot)
	for range 1000 {
		in, ok := d.word(&fixed, slot+archtest.Start)
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
		c.Code[i] = wordBRK
	}
	for i := range c.Regs {
		c.Regs[i] = d.Value()
	}
	c.SP, c.NZCV = d.Value(), d.Next()&flagsNZCV
	for i := 0; i < len(c.Memory); i += 8 {
		binary.LittleEndian.PutUint64(c.Memory[i:], d.Next())
	}
	code := []uint32{uint32(in.word)}
	if strings.HasPrefix(in.form.name, "stx") && d.Below(4) != 0 { // after a load that reserves
		load := in.word&^(31<<16|31) | 1<<22 | 31<<16 | word(in.n+1)&15
		if load.bit(21) {
			load = load&^(31<<10) | (word(in.n)+2)&15<<10
		}
		if l := decodeWord(load, slot+archtest.Start); l == nil || l.n == l.d || load.bit(21) && l.n == l.m {
			return c, false
		}
		code = append([]uint32{uint32(load)}, code...)
	}
	copy(c.Code[:], code)
	switch in.flow {
	case arch.FlowIndirectCall, arch.FlowIndirectJump, arch.FlowRet:
		if in.n == uint8(ZR) {
			return c, false
		}
		c.Regs[in.n] = uint64(slot + archtest.Start + 4 + 4*arch.Addr(d.Below(16)))
	}
	return c, !in.memory || d.point(in, &c, slot)
}

// point makes the address of the memory operand lie in the window.
func (d *draw) point(in *Inst, c *refCase, slot arch.Addr) bool {
	if in.n == uint8(ZR) || in.indexed && in.n == in.m {
		return false
	}
	const most = 16 // bytes of an access
	to := uint64(archtest.First) + d.Below(archtest.Window-most+1)
	switch {
	case aligned(in.form.name):
		to &^= most - 1
	case d.Below(2) == 0:
		to &^= uint64(max(in.size, 1)) - 1
	}
	base := &c.SP
	if in.n != uint8(SP) {
		base = &c.Regs[in.n]
	}
	*base = 0
	r := c.registers(slot)
	if !in.post && in.form.name != "sys" {
		to -= in.second(&r)
	}
	*base = to
	if strings.HasPrefix(in.form.name, "cas") && d.Below(2) == 0 {
		return c.equal(in, to)
	}
	return true
}

// equal makes what a comparison and swap compares equal to what is in memory.
func (c *refCase) equal(in *Inst, at uint64) bool {
	m := c.memory(0)
	for i, reg := range []uint8{in.a, in.after(in.a)} {
		if reg >= uint8(SP) || reg == in.n {
			return false
		}
		v, _ := m.Load(arch.Addr(at)+arch.Addr(i)*arch.Addr(in.size), int(in.size))
		c.Regs[reg] ^= in.cut(c.Regs[reg]) ^ v
		if in.form.name == "cas" {
			break
		}
	}
	return true
}

// aligned reports whether a form's address must be a multiple of what is accessed.
func aligned(form string) bool {
	for i := range exclusiveForms {
		if exclusiveForms[i].name == form {
			return true
		}
	}
	return false
}
