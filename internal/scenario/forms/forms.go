package forms

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// A kind is what a form does.
type kind uint8

const (
	branches kind = iota // to a distance from itself, or on
	jumps                // to the first register that it reads, plus its distance
	takes                // an address at a distance into a register
	loads                // what lies at a distance into a register
	computes             // nothing of these
	switches             // to a distance or on, by a jump label
)

// none is the number of no register.
const none = -1

// A form is a kind of instruction, with 0 in all its fields.
type form struct {
	name     string
	word     uint32
	does     kind
	reads    []int   // the lowest bits of the numbers of registers that it reads
	writes   []int   // likewise of the register that it writes, unless that is the link register; nil: none
	same     bool    // it writes the register that it reads
	even     bool    // it jumps to an even address, whatever it reads
	short    bool    // numbers of registers have three bits, and mean those from 8 on
	distance []field // the pieces of the distance in bytes

	cases []uint32 // bits to add, each for functions of its own; nil: none
	// values returns what a case reads, for each call: the registers, or the flags. nil: it makes no difference.
	values func(c int) [][]uint64
	flags  []uint32 // instructions that make the flags of the first argument
}

// A field says where an instruction has a part of a distance: n bits, from bit from of the distance on, are the
// instruction's from bit at on.
type field struct{ from, n, at int }

// A speech is how functions are made on a processor: a row.
type speech struct {
	align  int
	move   func(to, from int) uint32
	mark   func(to int, n uint32) uint32 // to is n
	add    func(to, from int) uint32
	ret    uint32
	result int // the register of the result, and of the first argument; those of others follow
	link   int // what ret returns by; none: fromLink and toLink are how it gets to a register and back
	// See link.
	fromLink, toLink func(r int) uint32
	zero             int   // the register that is always 0
	fixed            []int // registers that kernels rely on
	spare            []int // six registers and more, beside those of arguments, that a call may clobber
	forms            []form
}

// speeches has a row for each processor that has forms.
var speeches = map[target.Processor]*speech{target.RISCV64: &ofRISCV64, target.ARM64: &ofARM64,
	target.PPC64LE: &ofPPC64}

// to returns the bits of a distance.
func (f *form) to(distance int64) (w uint32) {
	for _, p := range f.distance {
		w |= uint32(distance>>p.from) & (1<<p.n - 1) << p.at
	}
	return w
}

// distances returns the farthest in both directions, of which one has all bits but the sign and the other the sign
// alone, and drawn ones. Each leaves room for a function in between.
func (f *form) distances(r *rand.Rand) (list []int64) {
	if f.distance == nil {
		return []int64{0}
	}
	lowest, highest := 64, 0
	for _, p := range f.distance {
		lowest, highest = min(lowest, p.from), max(highest, p.from+p.n)
	}
	most, unit := int64(1)<<(highest-1), int64(1)<<lowest
	for list = []int64{most - unit, -most}; len(list) < fewest; {
		if d := (r.Int64N(2*most) - most) &^ (unit - 1); d >= room || d <= -room {
			list = append(list, d)
		}
	}
	return list
}

// registers returns those whose numbers a form may have.
func (s *speech) registers(f *form) (list []int) {
	first, n := 0, 32
	if f.short {
		first, n = 8, 8
	}
	for r := first; r < first+n; r++ {
		if !slices.Contains(s.fixed, r) && (r != s.zero || f.does != jumps) {
			list = append(list, r)
		}
	}
	return list
}

const (
	// functions is how many functions a form has, functionsOfCase how many each of its cases has at least, and
	// fewest how many distances are used.
	functions, functionsOfCase, fewest = 48, 2, 13

	// room is more bytes than a function takes, or what lies in the distance.
	room = 112

	// middle is where functions lie: below the text of kernels, with the longest distance free on both sides.
	middle arch.Addr = 0xffffffff70000000
)

// A maker makes the program of a form.
type maker struct {
	*speech
	f     *form
	sc    *scenario.Scenario
	ops   []scenario.Op
	taken []span
}

// A span is an address range.
type span struct{ from, to arch.Addr }

// A use is a form with its operands.
type use struct {
	c        int // the case
	bits     uint32
	distance int64
	reads    []int
	writes   int
}

// Programs returns a serial program for each form of a machine's processor, nil if it has none.
func Programs(m scenario.Machine) (list []*scenario.Scenario) {
	if s := speeches[m.Arch]; s != nil {
		for i := range s.forms {
			list = append(list, s.program(&s.forms[i], m))
		}
	}
	return list
}

// program makes the program of a form: each of its registers, of its distances and of its cases is used, in several
// combinations.
func (s *speech) program(f *form, m scenario.Machine) *scenario.Scenario {
	g := &maker{speech: s, f: f, sc: &scenario.Scenario{Name: "form-" + f.name, Machine: m}}
	cases, registers := f.cases, s.registers(f)
	if cases == nil {
		cases = []uint32{0}
	}
	distances := f.distances(rand.New(rand.NewPCG(1, uint64(f.word))))
	n := max((functions+len(cases)-1)/len(cases), functionsOfCase)
	if f.distance == nil && f.reads == nil && f.writes == nil {
		n = 1
	}
	for k := range n * len(cases) {
		u := use{c: k / n, bits: cases[k/n], distance: distances[k%len(distances)], writes: none}
		for j := range f.reads {
			u.reads = append(u.reads, registers[(k+7*j)%len(registers)])
		}
		if f.same {
			u.writes = u.reads[0]
		} else if f.writes != nil {
			u.writes = registers[(5*k+3)%len(registers)]
		}
		g.function(&u)
	}
	g.sc.Tasks = []scenario.Task{{Name: "one", Repeat: 1, Ops: g.ops}}
	return g.sc
}

// function adds a function with a use of the form and a probe on it, and calls of it.
func (g *maker) function(u *use) {
	b := g.body(u)
	probed := len(b.before)
	to := u.distance
	if g.f.does == jumps {
		to = room // anywhere else
	}
	at := g.place(len(b.code), int64(probed)+to, len(b.far))
	name := fmt.Sprintf("f%d", len(g.sc.Probes)+len(g.sc.Labels))
	far := at + arch.Addr(probed) + arch.Addr(to)
	if g.f.does == switches {
		g.label(name, at, far, &b)
		return
	}
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: at, Code: b.code})
	switch {
	case b.far == nil:
	case g.f.does == loads:
		g.sc.Datas = append(g.sc.Datas, scenario.Data{Name: name + "_far", At: far, Bytes: b.far})
	default:
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name + "_far", At: far, Code: b.far})
	}
	count := []scenario.Step{{Kind: scenario.StepCount}}
	p := scenario.Probe{Name: "p" + name[1:], Func: name, Offset: probed, Pre: count}
	if len(g.sc.Probes)%2 == 1 {
		p.Post = count
	}
	g.sc.Probes = append(g.sc.Probes, p)
	calls := [][]uint64{nil}
	if g.f.does == jumps {
		calls = [][]uint64{{uint64(far) - uint64(u.distance)}}
		if g.f.even {
			calls = append(calls, []uint64{calls[0][0] + 1})
		}
	} else if g.f.values != nil {
		calls = g.f.values(u.c)
	}
	g.ops = append(g.ops, scenario.Op{Kind: act.Register, Target: p.Name})
	for _, args := range calls {
		g.ops = append(g.ops, scenario.Op{Kind: act.Call, Target: name, Args: args})
	}
	g.ops = append(g.ops, scenario.Op{Kind: act.Unregister, Target: p.Name})
}

// label adds a function with a jump label, and calls of it while the label is on and off.
func (g *maker) label(name string, at, far arch.Addr, b *body) {
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: at, Code: b.code},
		scenario.Text{Name: name + "_far", At: far, Code: b.far})
	g.sc.Labels = append(g.sc.Labels, scenario.Label{Name: "l" + name[1:], Sites: []scenario.LabelSite{
		{Func: name, Offset: len(b.before), Target: name + "_far"}}})
	call := scenario.Op{Kind: act.Call, Target: name}
	g.ops = append(g.ops, scenario.Op{Kind: act.EnableLabel, Target: "l" + name[1:]}, call,
		scenario.Op{Kind: act.DisableLabel, Target: "l" + name[1:]}, call)
}

// place returns an address for n bytes from which far bytes at a distance are free, too. Data has pages of its own.
func (g *maker) place(n int, to int64, far int) arch.Addr {
	const page = 0x1000
	unit := arch.Addr(1)
	if g.f.does == loads {
		unit = page
	}
	whole := func(at arch.Addr, n int) span {
		return span{at &^ (unit - 1), (at + arch.Addr(n) + unit - 1) &^ (unit - 1)}
	}
	free := func(s span) bool {
		return !slices.ContainsFunc(g.taken, func(t span) bool { return s.from < t.to && t.from < s.to })
	}
	for at := middle; ; at += max(unit, room) + arch.Addr(g.align) {
		a, b := whole(at, n), whole(at+arch.Addr(to), far)
		if free(a) && (far == 0 || free(b) && (b.to <= a.from || a.to <= b.from)) {
			g.taken = append(g.taken, a, b)
			return at
		}
	}
}

// A body is a function with a use: what comes before it, all of it, and what lies at the distance.
type body struct{ before, code, far []byte }

// literal is what a load finds: its halves have different signs.
var literal = []byte{0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01}

// body returns a function that sets the registers that the use reads to its arguments, executes it and returns a sum:
// of 1, or 2 if it was left for what is far, and of the registers that were used. It gives back registers that it
// hasn't got for its own use.
func (g *maker) body(u *use) (b body) {
	var used []int
	for _, r := range append(slices.Clone(u.reads), u.writes) {
		if r != none && r != g.zero && !slices.Contains(used, r) {
			used = append(used, r)
		}
	}
	spare := slices.DeleteFunc(slices.Clone(g.spare), func(r int) bool { return slices.Contains(used, r) })
	link, mark, spare := spare[0], spare[1], spare[2:]
	from, to := g.fromLink, g.toLink
	if g.link != none {
		from = func(r int) uint32 { return g.move(r, g.link) }
		to = func(r int) uint32 { return g.move(g.link, r) }
	}

	before := append([]uint32{from(link)}, g.f.flags...)
	for i := range u.reads {
		before = append(before, g.move(spare[i], g.result+i))
	}
	kept := spare[len(u.reads):]
	for i, r := range used {
		before = append(before, g.move(kept[i], r))
	}
	for i, r := range u.reads {
		if r != g.zero {
			before = append(before, g.move(r, spare[i]))
		}
	}
	after := []uint32{}
	if slices.Contains(used, g.result) {
		after = append(after, g.add(g.result, mark))
	} else {
		after = append(after, g.move(g.result, mark))
	}
	after = append(after, from(spare[0]), g.add(g.result, spare[0]))
	for i, r := range used {
		if r != g.result {
			after = append(after, g.add(g.result, r), g.move(r, kept[i]))
		}
	}
	after = append(after, to(link), g.ret)
	b.before = g.bytes(before...)
	b.code = slices.Concat(b.before, g.bytes(g.word(u)), g.bytes(g.mark(mark, 1)), g.bytes(after...))
	switch g.f.does {
	case branches, jumps, switches:
		b.far = append(g.bytes(g.mark(mark, 2)), g.bytes(after...)...)
	case loads:
		b.far = literal
	}
	return b
}

// word returns the instruction of a use.
func (g *maker) word(u *use) uint32 {
	first := 0
	if g.f.short {
		first = 8
	}
	if g.f.does == switches {
		return g.f.word
	}
	w := g.f.word | u.bits | g.f.to(u.distance)
	for i, r := range u.reads {
		w |= uint32(r-first) << g.f.reads[i]
	}
	if u.writes != none {
		w |= uint32(u.writes-first) << g.f.writes[0]
	}
	return w
}

// bytes returns instructions as they lie in memory. One of a processor that has shorter ones has two bytes unless its
// two lowest bits are set.
func (g *maker) bytes(list ...uint32) (code []byte) {
	for _, w := range list {
		if g.align == 2 && w&3 != 3 {
			code = binary.LittleEndian.AppendUint16(code, uint16(w))
		} else {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
	}
	return code
}

// The values of which comparisons tell sign, width and equality.
const (
	high = 1 << 63
	wide = 1 << 32 // 0 as a number of 32 bits
	ones = 1<<64 - 1
)

// signs are values that are compared with 0.
func signs(int) [][]uint64 { return [][]uint64{{0}, {1}, {high}, {wide}} }

// pairs are values that are compared with each other.
func pairs(int) [][]uint64 {
	return [][]uint64{{5, 5}, {1, 2}, {2, 1}, {ones, 1}, {1, ones}, {wide | 5, 5}}
}

// bits are values that differ in bit c.
func bits(c int) [][]uint64 { return [][]uint64{{1 << c}, {ones &^ (1 << c)}} }
