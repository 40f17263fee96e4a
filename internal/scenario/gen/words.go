package gen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/fetch"
)

// Scenarios of processors whose instructions are numbers. Their functions take a value in the register of the result,
// use that and registers that a call may clobber, and always end.

// A tongue is what functions are made of on a processor: a row.
type tongue struct {
	plain []uint32   // instructions that a slot can hold; they compute with the first arguments
	odd   []uint32   // those that are simulated, or refused, and change nothing that results depend on
	takes []uint32   // those that put an address into a register, and are simulated
	adds  uint32     // adds that register to the result
	pairs [][]uint32 // instructions that belong together: what is stored is loaded, what is counted branches
	hops  [][]uint32 // jumps through a register over an instruction, in functions that have saved the link

	nop       uint32
	zero      []uint32 // the result is 0
	ret       []uint32
	in, out   []uint32 // the link register is saved, and restored
	count     []uint32 // of a loop: a counter, which nothing else uses, gets two rounds
	down      []uint32 // the counter is one less
	call      branch   // to another function, linking the register that ret returns by
	again     branch   // to the loop's first instruction, if the counter isn't 0
	skips     []branch // forward, by the first argument
	recursion []uint32 // a function that calls itself as often as its argument says, and returns 0
	site      []uint32 // what the compiler leaves for ftrace

	// The models of fetch under which the kernel's patching is sound (docs/matrix-processors.md): with sites of ftrace,
	// with labels, and with probes alone.
	sites, labels, probes fetch.Model
}

// A branch is an instruction with a distance in bytes from itself, which is 0 in word.
type branch struct {
	word   uint32
	fields []field
}

// A field says where an instruction has a part of the distance: n bits, from bit from of the distance on, are the
// instruction's from bit at on.
type field struct{ from, n, at int }

// to returns the instruction with a distance.
func (b *branch) to(distance int) uint32 {
	w := b.word
	for _, f := range b.fields {
		w |= uint32(distance) >> f.from & (1<<f.n - 1) << f.at
	}
	return w
}

var (
	riscvB  = []field{{1, 4, 8}, {5, 6, 25}, {11, 1, 7}, {12, 1, 31}}          // B-type
	riscvJ  = []field{{1, 10, 21}, {11, 1, 20}, {12, 8, 12}, {20, 1, 31}}      // J-type
	riscvCB = []field{{1, 2, 3}, {3, 2, 10}, {5, 1, 2}, {6, 2, 5}, {8, 1, 12}} // CB-type
	armB19  = []field{{2, 19, 5}}
	armB14  = []field{{2, 14, 5}}
	powerB  = []field{{2, 14, 2}}
)

// tongues has a row for each processor whose programs are drawn so.
var tongues = map[target.Processor]*tongue{
	target.RISCV64: {
		plain: []uint32{0x0001, 0x00000013, 0x0505, 0x06450593, 0x952e, 0x95aa, 0x8d2d, 0x0506, 0x4615, 0x862a,
			0x00b5053b, 0x40b50533, 0x02b505b3, 0x12345637, 0x00b53633, 0x0ff57513, 0x810d}, // nop to srli
		odd:   []uint32{0x00000617, 0x0ff0000f, 0xa009}, // auipc a2,0; fence; c.j to the next
		takes: []uint32{0x00000617, 0x12345617},         // auipc a2
		adds:  0x9532,                                   // c.add a0,a2
		// auipc a2,0; addi a2,a2,12 or 16; c.jr a2, c.jalr a2, or jalr a2,0(a2); what is jumped over
		hops: [][]uint32{{0x00000617, 0x00c60613, 0x8602, 0x0505}, {0x00000617, 0x00c60613, 0x9602, 0x0505},
			{0x00000617, 0x01060613, 0x00060667, 0x00150513}},
		nop:   0x00000013,
		zero:  []uint32{0x4501}, // c.li a0,0
		ret:   []uint32{0x8082},
		in:    []uint32{0x1141, 0xe406}, // c.addi sp,-16; c.sdsp ra,8(sp)
		out:   []uint32{0x60a2, 0x0141},
		count: []uint32{0x4309}, // c.li t1,2
		down:  []uint32{0x137d}, // c.addi t1,-1
		call:  branch{0x000000ef, riscvJ},
		again: branch{0x00031063, riscvB},
		// beqz, bne, blt, bge, bltu, bgeu a0,a1, c.beqz, c.bnez
		skips: []branch{{0x00050063, riscvB}, {0x00b51063, riscvB}, {0x00b54063, riscvB}, {0x00b55063, riscvB},
			{0x00b56063, riscvB}, {0x00b57063, riscvB}, {0xc101, riscvCB}, {0xe101, riscvCB}},
		recursion: []uint32{0x1141, 0xe406, 0x357d, 0x00054463, 0xff7ff0ef, 0x60a2, 0x0141, 0x4501, 0x8082},
		site:      []uint32{0x00000013, 0x00000013},
		sites:     fetch.Stale, labels: fetch.Stale, probes: fetch.Mixing,
	},
	target.ARM64: {
		plain: []uint32{0xd503201f, 0x91000400, 0x0b010000, 0x8b010000, 0xca010000, 0xaa0003e2, 0xd37ff800, 0xd28000a2,
			0x9b010401, 0xcb010000, 0xeb01001f, 0x92401c00, 0x1a9f17e2}, // nop to cset
		// adr, adrp, b to the next, bti c, mrs x2,nzcv
		odd:   []uint32{0x10000002, 0x90000002, 0x14000001, 0xd503245f, 0xd53b4202},
		takes: []uint32{0x10000002, 0x90000002, 0xf0ffffe2}, // adr, adrp x2
		adds:  0x8b020000,                                   // add x0,x0,x2
		// adr x2,12; br x2, or blr x2; adr x30,12; blr x30; what is jumped over
		hops: [][]uint32{{0x10000062, 0xd61f0040, 0x91000400}, {0x10000062, 0xd63f0040, 0x91000400},
			{0x1000007e, 0xd63f03c0, 0x91000400}},
		nop:   0xd503201f,
		zero:  []uint32{0xd2800000},
		ret:   []uint32{0xd65f03c0},
		in:    []uint32{0xa9bf7bfd, 0x910003fd}, // stp x29,x30,[sp,-16]!; mov x29,sp
		out:   []uint32{0xa8c17bfd},
		count: []uint32{0xd280004a}, // mov x10,2
		down:  []uint32{0xd100054a},
		call:  branch{0x94000000, []field{{2, 26, 0}}},
		again: branch{0xb500000a, armB19},
		// cbz, cbnz of 64 and of 32 bits, tbz, tbnz of a low and a high bit, b.eq to b.al
		skips: append([]branch{{0xb4000000, armB19}, {0xb5000000, armB19}, {0x34000000, armB19}, {0x35000000, armB19},
			{0x36080000, armB14}, {0x37080000, armB14}, {0xb6180000, armB14}, {0xb7180000, armB14}}, armConditions()...),
		recursion: []uint32{0xa9bf7bfd, 0x51000400, 0x37f80040, 0x97fffffd, 0xa8c17bfd, 0x52800000, 0xd65f03c0},
		site:      []uint32{0xd503201f, 0xd503201f},
		sites:     fetch.Coherent, labels: fetch.Mixing, probes: fetch.Mixing,
	},
	target.PPC64LE: {
		plain: []uint32{ // nop to mfcr; arithmetic, logic, rotations and shifts, comparisons, fields of cr, moves
			0x60000000, 0x38630001, 0x7c632214, 0x7c632278, 0x7c651b78, 0x78630fa4, 0x38a00005, 0x7c8321d2,
			0x7c641850, 0x7c232000, 0x706300ff, 0x3ca00012, 0x7ca00026, 0x3463ffff, 0x30630005, 0x20630007,
			0x7c6300d0, 0x7ca32114, 0x7c630194, 0x7c6301d4, 0x7c641810, 0x7c641910, 0x7c632215, 0x7ca32614,
			0x1c630007, 0x7ca32092, 0x7ca32012, 0x7ca321d6, 0x7c632038, 0x7c632078, 0x7c6320f8, 0x7c6323b8,
			0x7c632338, 0x7c632238, 0x60630011, 0x64630001, 0x68630055, 0x6c638000, 0x7463ffff, 0x7c630774,
			0x7c630734, 0x7c6307b4, 0x7c650775, 0x7c630034, 0x7c630074, 0x7c6303f4, 0x7c6302f4, 0x7c630474,
			0x7c630174, 0x54632834, 0x5463f87f, 0x5083442e, 0x5c63203e, 0x78634400, 0x78634224, 0x78632508,
			0x7883000e, 0x78632210, 0x7c632030, 0x7c632430, 0x7c632630, 0x7c631e70, 0x7c632036, 0x7c632436,
			0x7c632634, 0x7c632e74, 0x7c032000, 0x2c03ffff, 0x7c032040, 0x28030005, 0x7ca32040, 0x28230006,
			0x2fa30002, 0x7ca3209e, 0x4c420a02, 0x4c023382, 0x4c201182, 0x4c410042, 0x4c040000, 0x4f800000,
			0x7c780120, 0x7c642120, 0x7ca102a6, 0x7c6903a6, 0x7ca902a6, 0x7ca00100, 0x7c641851, 0x3860fff9,
			0x3ca0fffd, 0x64848000, 0x7c6523f8, 0x7c632115,
		},
		// b to the next, sync, lwsync, isync, dcbt 0,r1, and traps on conditions that no argument meets
		odd: []uint32{0x48000004, 0x7c0004ac, 0x7c2004ac, 0x4c00012c, 0x7c000a2c, 0x0c837777, 0x08848889},
		// stores below the stack pointer with loads of each form; loops and branches by ctr and by other fields of cr
		pairs: [][]uint32{
			{0xf861fff0, 0xe8a1fff0}, {0x9061ffe8, 0x80a1ffe8}, {0x9061ffe8, 0xe8a1ffea}, {0xb061ffe8, 0xa8a1ffe8},
			{0xb061ffe8, 0xa0a1ffe8}, {0x9861ffe8, 0x88a1ffe8}, {0x38a1ffe0, 0xf8650009, 0xe8850000},
			{0x38a1ffe0, 0x94650004, 0x80850000}, {0x38a1ffe0, 0xf8650008, 0xe8850009},
			{0x38a0ffd8, 0x7c65092a, 0x7c85082a}, {0x38a0ffd8, 0x7c65092e, 0x7c85082e},
			{0x38a0ffd8, 0x7c65092e, 0x7c850aaa}, {0x38a0ffd8, 0x7c650b2e, 0x7c850aae},
			{0x38a0ffd8, 0x7c650d28, 0x7c850c28}, {0x38a0ffd8, 0x7c650d2c, 0x7c850c2c},
			{0x38a0ffd8, 0x7c650f2c, 0x7c850e2c}, {0x38a00003, 0x7ca903a6, 0x38630001, 0x4200fffc},
			{0x38a00002, 0x7ca903a6, 0x7c632278, 0x4320fffc}, {0x38a00001, 0x7ca903a6, 0x42400008, 0x38630009},
			{0x2ca30002, 0x41850008, 0x38630009}, {0x2f83ffff, 0x409c0008, 0x38630009},
			{0x2b230005, 0x409a0008, 0x38630009}, {0x38a00002, 0x7ca903a6, 0x2c230002, 0x40020008, 0x38630009},
			// comparisons of what is negative, and mfcr; what writes the carry after one, and addze
			{0x38a0ffff, 0x28250006, 0x7ca00026, 0x7c632a78}, {0x38a0fffd, 0x28850005, 0x7ca00026, 0x7c632a78},
			{0x38a0ffff, 0x7c252040, 0x7ca00026, 0x7c632a78}, {0x38a0fffe, 0x7f052040, 0x7ca00026, 0x7c632a78},
			{0x38a0ffff, 0x7c252000, 0x7ca00026, 0x7c632a78}, {0x38a0fffe, 0x7f852000, 0x7ca00026, 0x7c632a78},
			{0x3ca07fff, 0x78a50fa4, 0x7c052000, 0x7ca00026, 0x7c632a78},
			{0x38a0ffff, 0x30a50001, 0x7c631e70, 0x7c630194}, {0x38a0ffff, 0x30a50001, 0x7c632e74, 0x7c630194},
			{0x38a0ffff, 0x30a50001, 0x7c632630, 0x7c630194}, {0x38a0ffff, 0x30a50001, 0x7c632634, 0x7c630194},
			{0x38a0fffb, 0x7ca50e70, 0x7c630194}, {0x38a0fffb, 0x7ca50e74, 0x7c632114, 0x7c630194},
			{0x38a0fffb, 0x7ca52630, 0x7c6301d4, 0x7c630194}, {0x38a0ffff, 0x30a50001, 0x2063ffff, 0x7c630194},
			{0x38a0ffff, 0x30a50001, 0x7c641810, 0x7c630194}, {0x38a0ffff, 0x30a50001, 0x7c641910, 0x7c630194},
			{0x38a0ffff, 0x30a50001, 0x7c632014, 0x7c630194},
		},
		// bcl 20,31 for the address, and bctr, bctrl, blr or blrl to behind what is jumped over
		hops: [][]uint32{
			{0x429f0005, 0x7ca802a6, 0x38a50010, 0x7ca903a6, 0x4e800420, 0x38630009},
			{0x429f0005, 0x7ca802a6, 0x38a50010, 0x7ca903a6, 0x4e800421, 0x38630009},
			{0x429f0005, 0x7ca802a6, 0x38a50010, 0x7ca803a6, 0x4e800020, 0x38630009},
			{0x429f0005, 0x7ca802a6, 0x38a50010, 0x7ca803a6, 0x4e800021, 0x38630009},
		},
		nop:   0x60000000,
		zero:  []uint32{0x38600000},
		ret:   []uint32{0x4e800020},
		in:    []uint32{0x7c0802a6, 0xf8010010, 0xf821ffe1}, // mflr r0; std r0,16(r1); stdu r1,-32(r1)
		out:   []uint32{0xe8210000, 0xe8010010, 0x7c0803a6},
		count: []uint32{0x38c00002},             // li r6,2
		down:  []uint32{0x38c6ffff, 0x2c260000}, // addi r6,r6,-1; cmpdi r6,0
		call:  branch{0x48000001, []field{{2, 24, 2}}},
		again: branch{0x40820000, powerB},                                                 // bne
		skips: []branch{{0x41820000, powerB}, {0x40820000, powerB}, {0x41800000, powerB}}, // beq, bne, blt
		recursion: []uint32{0x7c0802a6, 0xf8010010, 0xf821ffe1, 0x3863ffff, 0x2c230000, 0x41800008, 0x4bffffe9,
			0xe8210000, 0xe8010010, 0x7c0803a6, 0x38600000, 0x4e800020},
		site:  []uint32{0x60000000, 0x60000000},
		sites: fetch.Coherent, labels: fetch.Coherent, probes: fetch.Coherent,
	},
}

// Short reports whether drawn programs of a processor have a few functions of a few instructions.
func Short(p target.Processor) bool { return tongues[p] != nil }

// armConditions returns the branches that ask the flags, one for each condition.
func armConditions() (list []branch) {
	for c := range uint32(15) {
		list = append(list, branch{0x54000000 | c, armB19})
	}
	return list
}

// The functions that these scenarios have beside the drawn ones.
const (
	againName    = "again"    // calls itself
	sitedName    = "sited"    // begins with a site of ftrace
	labelledName = "labelled" // has a jump label
	keyName      = "key"
)

// wordOf returns the bytes of an instruction. One of RISC-V has two bytes unless its two lowest bits are set.
func wordOf(g *maker, w uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, w)
	if g.arch().Align == 2 && w&3 != 3 {
		return b[:2]
	}
	return b
}

// words adds instructions.
func (f *function) words(list ...uint32) {
	for _, w := range list {
		f.put(wordOf(f.g, w)...)
	}
}

// drawWords is generate for a processor whose instructions are numbers. It draws a few functions, of which one may call
// itself, one may have a site of ftrace and one a jump label; probes of all kinds on their instructions; and tasks as
// elsewhere.
func drawWords(c Choices, on *On, t *tongue, machine func(g *maker)) *scenario.Scenario {
	g := &maker{rand: c, on: on, sc: &scenario.Scenario{Name: "drawn"}}
	c.Part("machine")
	machine(g)
	wordTexts(g, t)
	g.part("sites")
	if g.one(3) {
		wordSite(g, t)
	}
	if g.one(3) {
		wordLabel(g, t)
	}
	most := t.probes
	if g.labelled {
		most = min(most, t.labels)
	}
	if len(g.sc.Sites) > 0 {
		most = min(most, t.sites)
	}
	g.sc.Machine.Fetch = min(g.sc.Machine.Fetch, most)
	c.Part("calls")
	g.changes = g.one(6)
	g.calls()
	wordProbes(g, t)
	g.probers()
	g.callers()
	wordTimers(g)
	wordOthers(g)
	g.plugs()
	firstInterrupts(g.sc)
	if on.Contract {
		g.sc = Sane(g.sc)
	}
	return g.sc
}

// wordTexts draws the functions one after another, some without a gap between them.
func wordTexts(g *maker, t *tongue) {
	g.part("functions")
	g.sc.Datas = append(g.sc.Datas, scenario.Data{Name: noteName, At: noteAt, Bytes: make([]byte, dataSize)})
	at := textsAt + arch.Addr(g.arch().Align*g.rand.N(16))
	add := func(name string, make func(f *function)) {
		f := &function{g: g, at: at}
		make(f)
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: at, Code: f.code})
		if name != againName { // its argument says how often it calls itself, so no handler may choose it
			g.made, g.takes = append(g.made, name), append(g.takes, f.calls+2*len(f.starts))
			g.special = append(g.special, f.special)
		}
		if at += arch.Addr(len(f.code)); g.one(2) {
			at += arch.Addr(g.arch().Align * g.rand.N(8))
		}
	}
	add(zeroName, func(f *function) { f.words(t.zero...); f.words(t.ret...) })
	for i := range 2 + g.rand.N(2) {
		g.numbered("f", i)
		add(fmt.Sprintf("f%d", i), func(f *function) { f.wordBody(t) })
	}
	g.focus = focusName
	g.funcs = []string{focusName}
	if g.part("again"); g.one(3) {
		add(againName, func(f *function) { f.words(t.recursion...) })
		g.funcs = append(g.funcs, againName)
	}
	g.funcs = append(g.funcs, g.made...)
}

// wordBody adds a function's instructions. One that calls others has a frame.
func (f *function) wordBody(t *tongue) {
	frame := len(f.g.made) > 1 && f.g.one(2)
	if frame {
		f.words(t.in...)
	}
	for range 2 + f.g.rand.N(5) {
		f.wordItem(t, frame)
	}
	if frame {
		f.words(t.out...)
	}
	f.words(t.ret...)
}

// wordItem adds an instruction, or a few that belong together.
func (f *function) wordItem(t *tongue, frame bool) {
	at := len(f.starts)
	switch f.g.rand.N(10) {
	case 0, 1:
		f.wordSkip(t)
		f.special = append(f.special, f.starts[at])
	case 2:
		if !f.looping {
			f.wordLoop(t)
		}
	case 3, 4:
		if frame && len(t.hops) > 0 && f.g.one(3) {
			f.words(t.hops[f.g.rand.N(len(t.hops))]...)
			f.special = append(f.special, f.starts[at:]...)
			return
		}
		to, ok := f.callee()
		if frame && ok && !f.looping {
			f.words(t.call.to(int(int64(to - f.at - arch.Addr(len(f.code))))))
			f.special = append(f.special, f.starts[at])
			return
		}
		f.words(f.plainWord(t))
	case 5:
		if len(t.pairs) > 0 && !f.g.one(3) {
			f.words(t.pairs[f.g.rand.N(len(t.pairs))]...)
			f.special = append(f.special, f.starts[at:]...)
			return
		}
		if len(t.takes) > 0 && f.g.one(2) {
			f.words(t.takes[f.g.rand.N(len(t.takes))], t.adds)
		} else {
			f.words(t.odd[f.g.rand.N(len(t.odd))])
		}
		f.special = append(f.special, f.starts[at])
	default:
		f.words(f.plainWord(t))
	}
}

func (f *function) plainWord(t *tongue) uint32 { return t.plain[f.g.rand.N(len(t.plain))] }

// wordSkip adds a branch over a few plain instructions.
func (f *function) wordSkip(t *tongue) {
	b := t.skips[f.g.rand.N(len(t.skips))]
	var over []byte
	for range 1 + f.g.rand.N(3) {
		over = append(over, wordOf(f.g, f.plainWord(t))...)
	}
	f.words(b.to(len(wordOf(f.g, b.word)) + len(over)))
	f.put(over...)
}

// wordLoop adds a loop of two rounds.
func (f *function) wordLoop(t *tongue) {
	f.words(t.count...)
	to := len(f.code)
	f.looping = true
	for range 1 + f.g.rand.N(3) {
		f.words(f.plainWord(t))
	}
	f.looping = false
	f.words(t.down...)
	f.words(t.again.to(to - len(f.code)))
}

// wordSite adds a function with a site of ftrace.
func wordSite(g *maker, t *tongue) {
	f := &function{g: g, at: textsAt + 0x2000}
	f.words(t.site...)
	f.words(f.plainWord(t))
	f.words(t.ret...)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: sitedName, At: f.at, Code: f.code})
	g.sites = []scenario.Site{{Func: sitedName}}
	g.sc.Sites = g.sites
	g.funcs = append(g.funcs, sitedName)
}

// wordLabel adds a function with a jump label.
func wordLabel(g *maker, t *tongue) {
	f := &function{g: g, at: textsAt + 0x2100}
	f.words(t.nop)
	f.words(t.ret...)
	on := len(f.code)
	f.words(t.zero...)
	f.words(t.ret...)
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: labelledName, At: f.at, Code: f.code})
	g.sc.Labels = []scenario.Label{{Name: keyName, Sites: []scenario.LabelSite{
		{Func: labelledName, Target: labelledName, TOff: on}}}}
	g.labelled, g.changes = true, true // what a call returns depends on the label
	g.funcs = append(g.funcs, labelledName)
}

// wordProbes draws the probes, mostly at a few addresses.
func wordProbes(g *maker, t *tongue) {
	g.part("probes")
	g.nests = g.one(4)
	for i := range 2 + g.rand.N(probesMost-1) {
		g.numbered("k", i)
		p := scenario.Probe{Name: fmt.Sprintf("k%d", i), Func: g.some(),
			Pre: []scenario.Step{{Kind: scenario.StepCount}}}
		p.Offset = g.offset(p.Func)
		if k := slices.Index(g.made, p.Func); k >= 0 && len(g.special[k]) > 0 && g.one(2) {
			p.Offset = g.special[k][g.rand.N(len(g.special[k]))]
		}
		if g.one(3) {
			p.Post = []scenario.Step{{Kind: scenario.StepCount}}
		}
		g.handlers(&p)
		if g.one(3) {
			if p = g.kretprobe(p.Name); g.on.Contract && mayRefuse(g, t, p.Func) {
				p.Func = zeroName // what wasn't registered may not be unregistered
			}
		} else if g.nests && p.Symbol == "" && g.one(2) {
			p.Pre = append(p.Pre, g.handlerCalls())
		}
		p.Disabled = i > 0 && g.one(8) && g.sc.Machine.Batches
		g.sc.Probes = append(g.sc.Probes, p)
	}
}

// mayRefuse reports whether a kernel may refuse a probe on a function's first instruction.
func mayRefuse(g *maker, t *tongue, name string) bool {
	if name == sitedName || name == labelledName {
		return true
	}
	i := slices.IndexFunc(g.sc.Texts, func(x scenario.Text) bool { return x.Name == name })
	return slices.ContainsFunc(t.odd, func(w uint32) bool { return bytes.HasPrefix(g.sc.Texts[i].Code, wordOf(g, w)) })
}

// wordTimers draws interrupts.
func wordTimers(g *maker) {
	g.part("sources")
	for cpu := range g.sc.Machine.CPUs {
		if g.one(3) {
			g.sc.Sources = append(g.sc.Sources, timerOn(g, cpu))
		}
	}
}

// wordOthers adds rare tasks: one that flips the label, one that traces or patches live.
func wordOthers(g *maker) {
	g.part("others")
	add := func(name string, ops ...scenario.Op) {
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: name, CPU: g.rand.N(g.sc.Machine.CPUs), Repeat: 1,
			Ops: ops})
	}
	if g.labelled && !g.one(3) {
		add("flipper", scenario.Op{Kind: act.EnableLabel, Target: keyName}, g.call(),
			scenario.Op{Kind: act.DisableLabel, Target: keyName})
	}
	if len(g.sites) > 0 && g.one(2) {
		add("tracer", scenario.Op{Kind: act.Tracer, On: true}, g.call(), scenario.Op{Kind: act.Tracer})
	}
}

// MachinesOf returns the machines that scenarios of a processor are drawn on.
func MachinesOf(p target.Processor) []scenario.Machine {
	list := Machines()
	if tongues[p] != nil {
		list = slices.DeleteFunc(list, func(m scenario.Machine) bool { return !m.Edition.Numbers() })
	}
	for i := range list {
		m := scenario.Machine{Arch: p, Edition: list[i].Edition, Preempt: list[i].Preempt}
		m.Settle()
		list[i] = m
	}
	return list
}
