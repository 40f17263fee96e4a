package arm64

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"sort"
	"strings"

	"kpsim/smp/arch"
)

var qemu = flag.String("qemu", "", "runs testdata/reference.c: compare with it, and record")

// Where a case's code and memory lie: see testdata/reference.c.
const (
	refCode   = 0x50000000
	refSlot   = 256
	refAt     = 128 // the case's first instruction, in its slot
	refWords  = 8
	refData   = 0x60000000
	refSize   = 0x10000
	refWindow = 256 // the end of it
	refFill   = wordBRK
)

// A refCase is what testdata/reference.c reads.
type refCase struct {
	Code   [refWords]uint32
	Regs   [31]uint64
	SP     uint64
	NZCV   uint64
	Memory [refWindow]byte
}

// A refResult is what it writes. Signal 5 is a breakpoint, 4 an undefined instruction, 11 a page fault.
type refResult struct {
	Signal uint64
	Regs   [31]uint64
	SP     uint64
	PC     uint64
	NZCV   uint64
	Memory [refWindow]byte
}

// refMemory is a case's memory: the window, zeroes before it, and the code.
type refMemory struct {
	c        *refCase
	slot     arch.Addr
	window   [refWindow]byte
	sys      *System
	at       arch.Addr
	reserved int
	strayed  bool // a store went elsewhere than to the window
}

func (m *refMemory) System() arch.System { return m.sys }

func (m *refMemory) Reserve(a arch.Addr, n int) { m.at, m.reserved = a, n }

func (m *refMemory) Reserved(a arch.Addr, n int) bool {
	ok := m.reserved == n && m.at == a && n != 0
	m.reserved = 0
	return ok
}

// byteAt returns the byte at an address; nil if there is none.
func (m *refMemory) byteAt(a arch.Addr) (b byte, ok bool) {
	const first = refData + refSize - refWindow
	switch {
	case a >= first && a < first+refWindow:
		return m.window[a-first], true
	case a >= refData && a < first:
		return 0, true
	case a >= m.slot && a < m.slot+refSlot:
		i := (a - m.slot - refAt) / 4
		w := uint32(refFill)
		if a >= m.slot+refAt && i < refWords {
			w = m.c.Code[i]
		}
		return byte(w >> (8 * (a & 3))), true
	}
	return 0, false
}

func (m *refMemory) Load(a arch.Addr, size int) (v uint64, ok bool) {
	for i := range size {
		b, ok := m.byteAt(a + arch.Addr(i))
		if !ok {
			return 0, false
		}
		v |= uint64(b) << (8 * i)
	}
	return v, true
}

func (m *refMemory) Store(a arch.Addr, size int, v uint64) bool {
	const first = refData + refSize - refWindow
	if a < first || a+arch.Addr(size) > first+refWindow {
		m.strayed = true
		return false
	}
	for i := range size {
		m.window[a-first+arch.Addr(i)] = byte(v >> (8 * i))
	}
	return true
}

// registers returns the case's registers at its start.
func (c *refCase) registers(slot arch.Addr) (r arch.Regs) {
	copy(r.R[:], c.Regs[:])
	r.R[SP], r.IP, r.Flags = c.SP, slot+refAt, c.NZCV|arch.IRQ
	return r
}

// refTells are the forms that ask something of a machine, and go on.
var refTells = map[string]bool{"hint": true, "isb": true, "stxr or stlxr": true, "stxp or stlxp": true}

// run executes a case here.
func (c *refCase) run(slot arch.Addr) (o refResult, err error) {
	m := refMemory{c: c, slot: slot, window: c.Memory, sys: NewSystem(0)}
	r := c.registers(slot)
	for range 2 * refWords {
		var b [Len]byte
		w, _ := m.Load(r.IP, Len)
		binary.LittleEndian.PutUint32(b[:], uint32(w))
		in, err := Decode(b[:], r.IP)
		if err != nil {
			return o, err
		}
		switch out := in.Exec(&r, &m); out {
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
	o.SP, o.PC, o.NZCV, o.Memory = r.R[SP], uint64(r.IP), r.Flags&flagsNZCV, m.window
	if m.strayed || r.Flags&^flagsNZCV != arch.IRQ {
		err = fmt.Errorf("a stray store, or flags %#x", r.Flags)
	}
	return o, err
}

// A draw is a sequence of numbers (splitmix64: Steele, Lea and Flood, OOPSLA 2014).
type draw uint64

func (d *draw) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	v := uint64(*d)
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// below returns a number less than n.
func (d *draw) below(n uint64) uint64 { return d.next() % n }

// value returns a register's value: any, small, near a power of two, or of few runs of bits.
func (d *draw) value() uint64 {
	v := d.next()
	switch d.below(8) {
	case 0:
		return v & 63
	case 1:
		return uint64(1)<<(v&63) - v>>6&1
	case 2:
		return -(v & 63)
	case 3:
		return uint64(int32(v))
	case 4:
		return 1<<31 - v&1
	case 5:
		return ^uint64(0) << (v & 63) >> (v >> 6 & 63)
	}
	return v
}

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
	w := word(d.next())
	switch d.below(8) { // the zero register or the stack pointer
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
		words := word(d.below(24)) - 12
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
		return w&^(7<<16|15<<8|7<<5) | word(d.below(3))<<5
	case "sys":
	}
	codes := make([]uint64, 0, len(sysOps))
	for c := range sysOps {
		codes = append(codes, c)
	}
	sort.Slice(codes, func(i, j int) bool { return codes[i] < codes[j] })
	return w&^(0x3fff<<5) | word(codes[d.below(uint64(len(codes)))])<<5
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
	d := draw(h.Sum64())
	fixed := f.match()
	slot := arch.Addr(refCode + number*refSlot)
	for range 1000 {
		in, ok := d.word(&fixed, slot+refAt)
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
		c.Code[i] = refFill
	}
	for i := range c.Regs {
		c.Regs[i] = d.value()
	}
	c.SP, c.NZCV = d.value(), d.next()&flagsNZCV
	for i := 0; i < len(c.Memory); i += 8 {
		binary.LittleEndian.PutUint64(c.Memory[i:], d.next())
	}
	code := []uint32{uint32(in.word)}
	if strings.HasPrefix(in.form.name, "stx") && d.below(4) != 0 { // after a load that reserves
		load := in.word&^(31<<16|31) | 1<<22 | 31<<16 | word(in.n+1)&15
		if load.bit(21) {
			load = load&^(31<<10) | (word(in.n)+2)&15<<10
		}
		if l := decodeWord(load, slot+refAt); l == nil || l.n == l.d || load.bit(21) && l.n == l.m {
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
		c.Regs[in.n] = uint64(slot + refAt + 4 + 4*arch.Addr(d.below(16)))
	}
	return c, !in.memory || d.point(in, &c, slot)
}

// point makes the address of the memory operand lie in the window.
func (d *draw) point(in *Inst, c *refCase, slot arch.Addr) bool {
	if in.n == uint8(ZR) || in.indexed && in.n == in.m {
		return false
	}
	const most = 16 // bytes of an access
	to := uint64(refData+refSize-refWindow) + d.below(refWindow-most+1)
	switch {
	case aligned(in.form.name):
		to &^= most - 1
	case d.below(2) == 0:
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
	if strings.HasPrefix(in.form.name, "cas") && d.below(2) == 0 {
		return c.equal(in, to)
	}
	return true
}

// equal makes what a comparison and swap compares equal to what is in memory.
func (c *refCase) equal(in *Inst, at uint64) bool {
	m := refMemory{c: c, window: c.Memory}
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
