package riscv64_test

import (
	"encoding/binary"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

// The instructions that are compared with an emulator are drawn, by a generator that gives the same
// ones everywhere: only the digests of the emulator's results are recorded.

// A drawer draws operands and code.
type drawer struct{ archtest.Draw }

func (d *drawer) below(n int) int { return int(d.Below(uint64(n))) }

// edges are values at which results change their form.
var edges = [...]uint64{0, 1, 2, 31, 32, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000,
	0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffff80000000, 0xffffffff7fffffff,
	0xffffffffffffffff, 0xfffffffffffffffe}

// value draws what a register holds.
func (d *drawer) value() uint64 {
	switch d.below(5) {
	case 0:
		return edges[d.below(len(edges))]
	case 1:
		return uint64(int64(int32(d.Next())))
	case 2:
		return d.Next() >> d.below(64)
	}
	return d.Next()
}

// Where an emulator has the blocks of an instance each: code, and a record of registers and data.
//
//	block:  the address of the record; loads of all registers
//	        a jump over ──┐
//	        landings      │ of branches back; a jump to the end
//	entry:  code  ◄───────┘
//	        landings        of branches on
//	end:    stores of all registers; a jump to the next block
const (
	blockSize  = 384
	recordSize = 320
	recordData = 256
	dataSize   = recordSize - recordData
	landings   = 16
)

// An instance is code to execute with given registers and data.
type instance struct {
	name    string
	code    []byte // a whole block
	at      arch.Addr
	entry   arch.Addr
	end     arch.Addr
	record  arch.Addr
	base    uint8 // the register that has the record's address: it isn't compared
	regs    [32]uint64
	data    [dataSize]byte
	touched uint32 // the registers that the code names, by bit
}

// A draft is an instance that is being made.
type draft struct {
	*drawer
	*instance
	form   rv.Listed
	branch bool // it has landings
}

// draw draws the instance of a form that has a number in its batch.
func draw(d *drawer, form rv.Listed, number int) *instance {
	for {
		x := &draft{drawer: d, form: form, instance: &instance{name: form.Name,
			at: textAt + arch.Addr(number*blockSize), record: dataAt + arch.Addr(number*recordSize)}}
		for r := 1; r < 32; r++ {
			x.regs[r] = d.value()
		}
		if d.below(4) == 0 { // two registers are often the same
			x.regs[1+d.below(31)] = x.regs[1+d.below(31)]
		}
		for i := range x.data {
			x.data[i] = byte(d.Next())
		}
		code, ok := x.make()
		if !ok {
			continue
		}
		x.lay(code)
		return x.instance
	}
}

// entryOf is where the code of a block stands.
func (x *draft) entryOf() arch.Addr {
	at := x.at + 8 + 30*4
	if x.branch {
		at += 4 + 2*landings + 4
	}
	return at
}

// make draws the code.
func (x *draft) make() (code []byte, ok bool) {
	if special := specials[x.form.Name]; special != nil {
		return special(x)
	}
	bits := uint32(x.Next())
	return x.one(x.form.Value | bits&^x.form.Mask)
}

// bytes returns an instruction of the form's length.
func (x *draft) bytes(w uint32) []byte {
	if x.form.Bytes == rv.HalfLen {
		return halfBytes(uint16(w))
	}
	return wordBytes(w)
}

// decode decodes an instruction at an address and notes which registers it names.
func (x *draft) decode(b []byte, at arch.Addr) (*rv.Inst, bool) {
	in, err := rv.Decode(b, at)
	if err != nil {
		return nil, false
	}
	regs, _ := in.(*rv.Inst).Fields()
	for _, r := range regs {
		x.touched |= 1 << r
	}
	return in.(*rv.Inst), true
}

// one is code of one instruction: registers are given what it needs.
func (x *draft) one(w uint32) ([]byte, bool) {
	b := x.bytes(w)
	in, ok := x.decode(b, x.entryOf())
	if !ok {
		return nil, false
	}
	regs, imm := in.Fields()
	switch in.Flow() {
	case arch.FlowNext:
	case arch.FlowRet, arch.FlowIndirectJump, arch.FlowIndirectCall:
		x.branch = true
		if regs[1] == 0 {
			return nil, false
		}
		x.regs[regs[1]] = uint64(x.landing(len(b))) - imm | x.Next()&1&^imm
	case arch.FlowCond, arch.FlowJump, arch.FlowCall:
		x.branch = true
		return x.direct(w)
	default:
		return nil, false
	}
	if in.Name() == "ctzw" && uint32(x.regs[regs[1]]) == 0 {
		return nil, false // qemu 7.2 counts on in the upper word: the manual gives 32
	}
	if size := in.OperandSize(); size != 0 && in.Flow() == arch.FlowNext {
		off := x.below(dataSize - size + 1)
		if in.Operation().Drains { // atomic
			off &^= size - 1
			imm = 0
		}
		if regs[1] == 0 {
			return nil, false
		}
		x.regs[regs[1]] = uint64(x.record) + recordData + uint64(off) - imm
	}
	return b, true
}

// landing draws where a branch of n bytes goes.
func (x *draft) landing(n int) arch.Addr {
	k := arch.Addr(2 * x.below(landings+1))
	if x.below(2) == 0 {
		return x.entryOf() - 4 - 2*landings + k
	}
	return x.entryOf() + arch.Addr(n) + k
}

// direct gives a direct branch a distance that it has a landing for.
func (x *draft) direct(w uint32) ([]byte, bool) {
	n := x.form.Bytes
	if n == rv.HalfLen {
		for range 1 << 12 {
			b := x.bytes(x.form.Value | uint32(x.Next())&^x.form.Mask&0xffff)
			in, _ := rv.Decode(b, x.entryOf())
			if to, _ := in.Target(); x.lands(to, n) {
				_, ok := x.decode(b, x.entryOf())
				return b, ok
			}
		}
		return nil, false
	}
	d := uint32(x.landing(n) - x.entryOf())
	if w&0x7f == 0x6f {
		w = rv.JType(w&0xfff, 0, d)
	} else {
		w = rv.BType(w&0x7f, w>>12&7, w>>15&31, w>>20&31, d)
	}
	_, ok := x.decode(wordBytes(w), x.entryOf())
	return wordBytes(w), ok
}

// lands reports whether there is a landing.
func (x *draft) lands(to arch.Addr, n int) bool {
	from, on := x.entryOf()-4-2*landings, x.entryOf()+arch.Addr(n)
	return to >= from && to <= from+2*landings || to >= on && to <= on+2*landings
}

// free draws a register that the code doesn't name.
func (x *draft) free() uint32 {
	for {
		if r := uint32(1 + x.below(31)); x.touched>>r&1 == 0 {
			x.touched |= 1 << r
			return r
		}
	}
}

// specials draw what isn't one instruction with any operands, by the name of its form. nil, false: it
// isn't executed in user mode.
var specials = map[string]func(x *draft) ([]byte, bool){
	"sc.w": (*draft).pair, "sc.d": (*draft).pair,
	"csrrs": (*draft).counter, "csrrc": (*draft).counter, "csrrsi": (*draft).counter, "csrrci": (*draft).counter,
}

// notUser are forms that user mode doesn't execute, qemu 7.2 doesn't, or whose results a program
// doesn't see.
var notUser = map[string]bool{"ebreak": true, "c.ebreak": true, "c.unimp": true, "wfi": true, "sfence.vma": true,
	"csrrw": true, "csrrwi": true, "wrs.nto": true, "wrs.sto": true}

// pair is a store on the condition of a reservation, after a load that reserved, another such store, a
// load elsewhere, or nothing.
func (x *draft) pair() ([]byte, bool) {
	size := 4 << (x.form.Value >> 12 & 1)
	at, other := x.free(), x.free()
	off := uint64(x.below(dataSize/16)) * 16
	x.regs[at] = uint64(x.record) + recordData + off
	x.regs[other] = x.regs[at] + uint64(size)
	order := func() uint32 { return uint32(x.Next()) & (3 << 25) }
	result := func() uint32 {
		for {
			if r := uint32(x.below(32)); r != at && r != other {
				x.touched |= 1 << r
				return r
			}
		}
	}
	source := func() uint32 {
		r := uint32(x.below(32))
		x.touched |= 1 << r
		return r
	}
	load := func(at uint32) []byte {
		return wordBytes(x.form.Value&^(1<<27) | order() | result()<<7 | at<<15)
	}
	store := func(at uint32) []byte {
		return wordBytes(x.form.Value | order() | result()<<7 | at<<15 | source()<<20)
	}
	var code []byte
	for _, b := range [...][][]byte{
		{load(at), store(at)},
		{store(at)},
		{load(at), store(at), store(at)},
		{load(at), store(other)},
		{load(at), load(other), store(at)},
		{load(other), load(at), store(at)},
	}[x.below(6)] {
		code = append(code, b...)
	}
	return code, true
}

// counter reads a counter twice. A program sees that it doesn't go back.
func (x *draft) counter() ([]byte, bool) {
	first, second, back := x.free(), x.free(), x.free()
	number := 0xc00 + uint32(x.below(3))
	w := x.form.Value | number<<20
	var code []byte
	for _, w := range []uint32{
		w | first<<7, w | second<<7,
		0x3033 | back<<7 | second<<15 | first<<20, // sltu
		rv.IType(0x13, 0, first, 0, 0), rv.IType(0x13, 0, second, 0, 0),
	} {
		code = append(code, wordBytes(w)...)
	}
	return code, true
}

// lay makes the block.
func (x *draft) lay(code []byte) {
	base := x.free()
	x.base = uint8(base)
	x.regs[base] = 0
	var b []byte
	word := func(w uint32) { b = append(b, wordBytes(w)...) }
	jump := func(to arch.Addr) { word(rv.JType(0x6f, 0, uint32(to-x.at)-uint32(len(b)))) }
	each := func(f func(r uint32) uint32) {
		for r := uint32(1); r < 32; r++ {
			if r != base {
				word(f(r))
			}
		}
	}
	x.entry = x.entryOf()
	x.end = x.entry + arch.Addr(len(code))
	var pad []byte
	if x.branch {
		x.end += 2 * landings
		count := x.free()
		for range landings {
			pad = append(pad, halfBytes(uint16(0x0005|count<<7))...) // c.addi count,1
		}
	}
	word(rv.UType(0x37, base, uint32(x.record)+0x800))
	word(rv.IType(0x1b, 0, base, base, uint32(x.record)))
	each(func(r uint32) uint32 { return rv.IType(0x03, 3, r, base, 8*r) })
	if x.branch {
		jump(x.entry)
		b = append(b, pad...)
		jump(x.end)
	}
	b = append(append(b, code...), pad...)
	each(func(r uint32) uint32 { return rv.SType(0x23, 3, base, r, 8*r) })
	jump(x.at + blockSize)
	x.code = b
}

// execute executes an instance, and returns the record as it leaves it.
func (x *instance) execute(t *testing.T) []byte {
	t.Helper()
	m := &flat{base: x.record, b: make([]byte, recordSize), system: rv.NewSystem(0)}
	copy(m.b[recordData:], x.data[:])
	r := arch.Regs{IP: x.entry}
	copy(r.R[:], x.regs[:])
	r.R[x.base] = 0
	for steps := 0; r.IP != x.end; steps++ {
		require.Less(t, steps, 100, "%s doesn't end", x.name)
		in, err := rv.Decode(x.code[r.IP-x.at:], r.IP)
		require.NoError(t, err)
		out := in.Exec(&r, m)
		require.Contains(t, []arch.Outcome{arch.Next, arch.Relaxed, arch.Serialized}, out, "%v", in)
	}
	for i := range 32 {
		binary.LittleEndian.PutUint64(m.b[8*i:], r.R[i])
	}
	return m.b
}

// before returns the record that an instance begins with.
func (x *instance) before() []byte {
	b := make([]byte, recordSize)
	for i, v := range x.regs {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	copy(b[recordData:], x.data[:])
	return b
}

// tally is the number of instances of a form, and a digest of what they left.
type tally struct {
	n      int
	digest uint64
}

// add adds what an instance left.
func (y *tally) add(record []byte) {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, y.digest))
	h.Write(record)
	*y = tally{y.n + 1, h.Sum64()}
}
