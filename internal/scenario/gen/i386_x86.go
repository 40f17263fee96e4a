package gen

import (
	"sync"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
)

// This file holds the differences between scenarios for i386 and for x86-64. i386 has its
// arguments in eax, edx and ecx, so functions test edx instead of edi. Loop counters are on the
// stack, and data are addressed absolutely.

// by32 returns the value for the scenario's machine.
func by32[T any](g *maker, x8664, i386 T) T {
	if g.i386 {
		return i386
	}
	return x8664
}

// arg returns the ModRM byte of a mov from an argument to eax: edi, or edx.
func (f *function) arg() byte { return by32(f.g, byte(0xf8), 0xd0) }

// frame returns mov %rsp,%rbp.
func (f *function) frame() []byte { return by32(f.g, []byte{0x48, 0x89, 0xe5}, []byte{0x89, 0xe5}) }

// endbr adds an endbr64, or an endbr32.
func (f *function) endbr() { f.put(0xf3, 0x0f, 0x1e, by32(f.g, byte(0xfa), 0xfb)) }

// data adds an instruction whose operand is relative to rip, or absolute on i386. op may begin
// with a REX.W, which i386 drops.
func (f *function) data(at arch.Addr, op ...byte) {
	if !f.g.i386 {
		f.relative(at, op...)
		return
	}
	if op[0] == 0x48 {
		op = op[1:]
	}
	if op[0] == 0x8b && op[1] == 0x05 && f.g.one(2) { // the short form for eax
		op = []byte{0xa1}
	}
	f.absolute(at, op...)
}

// number adds an instruction with an absolute operand. The last byte of op is its ModRM byte, of
// the form with an index.
func (f *function) number(at arch.Addr, op ...byte) {
	if f.g.i386 {
		op[len(op)-1] |= 1
	} else {
		op = append(op, 0x25)
	}
	f.absolute(at, op...)
}

// place loads the function's address, skip bytes after the instruction, into rdx.
func (f *function) place(skip int) {
	if f.g.i386 {
		f.absolute(f.at+arch.Addr(len(f.code)+5+skip), 0xba)
		return
	}
	f.relative(f.at+arch.Addr(len(f.code)+7+skip), 0x48, 0x8d, 0x15)
}

// plainInsns32 is plainInsns for i386: with eax, ecx and edx, and with the one-byte inc and dec
// that x86-64 lacks.
var plainInsns32 = [...][][]byte{
	1:  {{0x90}, {0x99}, {0xf5}, {0x40}, {0x41}, {0x48}, {0x49}}, // nop, cltd, cmc, inc, dec
	2:  {{0xff, 0xc0}, {0x01, 0xd0}, {0x31, 0xc8}, {0x66, 0x90}, {0xd1, 0xe0}, {0x89, 0xd1}},
	3:  {{0x83, 0xc0, 0}, {0x0f, 0x1f, 0x00}, {0x8d, 0x04, 0x0a}, {0x8d, 0x40, 0}, {0x66, 0xff, 0xc0}},
	4:  {{0x8d, 0x44, 0x02, 0}, {0x0f, 0x1f, 0x40, 0x00}, {0x66, 0x05, 0x34, 0x12}},
	5:  {{0x05, 0, 0, 0, 0}, {0xb9, 0, 0, 0, 0}, {0x2d, 0, 0, 0, 0}, {0x0f, 0x1f, 0x44, 0x00, 0x00}},
	6:  {{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00}, {0x81, 0xc1, 0, 0, 0, 0}, {0x69, 0xc0, 0, 0, 0, 0}},
	7:  {{0x8d, 0x84, 0x02, 0, 0, 0, 0}, {0x8d, 0x84, 0x08, 0, 0, 0, 0}, {0x0f, 0x1f, 0x80, 0, 0, 0, 0}},
	8:  {{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}},
	9:  {{0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}},
	10: {{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}},
}

// encodings32 lists encodings that x86-64 lacks or reads differently. They are decoded, never
// executed.
var encodings32 = [...][]byte{
	{0x06}, {0x07}, {0x0e}, {0x16}, {0x17}, {0x1e}, {0x1f}, // push, pop of segments
	{0x27}, {0x2f}, {0x37}, {0x3f}, // daa, das, aaa, aas
	{0x40}, {0x4f}, // inc %eax; dec %edi
	{0x60}, {0x61}, // pusha, popa
	{0x62, 0x00},             // bound %eax,(%eax)
	{0x63, 0xc8},             // arpl %cx,%ax
	{0x67, 0x8b, 0x00},       // mov (%bx,%si),%eax
	{0x67, 0x8b, 0x06, 0, 0}, // mov 0,%eax, of 16 bits
	{0x82, 0xc0, 0x01},       // add $1,%al
	{0x9a, 0x44, 0x33, 0x22, 0x11, 0x08, 0x00}, // lcall $8,$0x11223344
	{0xea, 0x44, 0x33, 0x22, 0x11, 0x08, 0x00}, // ljmp
	{0xa1, 0x44, 0x33, 0x22, 0x11},             // mov 0x11223344,%eax
	{0xc4, 0x00}, {0xc5, 0x00},                 // les, lds
	{0xce},             // into
	{0xd4, 0x0a},       // aam
	{0xd5, 0x0a},       // aad
	{0xd6},             // salc
	{0x0f, 0xa0},       // push %fs
	{0x0f, 0x20, 0xc0}, // mov %cr0,%eax
}

// The library's functions in 32 bits, as gcc 12.2 compiles those of victim.c and probe_targets.c
// with -m32 -mregparm=3, with labels added by hand.
const drawn32 = `
machine(arch = "i386")
text("victim", "55 89c1 89e5 57 56 89c6 53 29d6 8d1c10 31d0 0fafc6 8d3cdd00000000 21f2 09d9 5b 5e 31f8 5f 5d 29d0 01c8 c3")
text("clamp", "8d5001 3d01100000 b800100000 0f42c2 c3")
text("sign", "89c2 31c0 85d2 baffffffff 0f9fc0 0f48c2 c3")
text("triangle", "31c9 85c0 7410 8d7600 89ca d1ea 31c2 01d1 83e801 75f3 89c8 c3")
text("scramble", "89c2 c1e81e 31d0 69c0157c4a7f 89c2 c1ea1b 31c2 89d0 c1e81f 31d0 c3")
text("field", "55 89e5 53 89c3 b8ffffffff d3e0 89d1 d3eb f7d0 21d8 8b5dfc c9 c3")
text("tally", "8b1500000283 a340000283 01c2 891500000283 89d0 c3")
text("over", "8b1580000283 39c2 730a 83050000028301 29d0 c3 31c0 c3")
data("events", "03000000", at = 0x83020000)
data("latest", "00000000", at = 0x83020040)
data("limit", "64000000", at = 0x83020080)
text("labelled", "8d4000 0f1f440000 83c001 c3")
text("labelled_on", "83c002 c3")
task("nobody", ops = [schedule()])
never()
`

// drawnModule32 is drawnModule in 32-bit code.
const drawnModule32 = `
machine(arch = "i386")
work = text("work", "8d4000 83c003 c3", at = 0x81100000) # lea 0(%eax),%eax; add $3,%eax; ret
leave = text("leave", "c3", at = 0x81100040)
traced = text("traced", "0f1f440000 8d4001 c3", at = 0x81100080) # a site of ftrace; lea 1(%eax),%eax; ret
counts = text("counts", "ff0500001083 31c0 01d0 c3", at = 0x811000c0) # incl counted; xor %eax,%eax; add %edx,%eax; ret
enter = text("enter", "31c0 c3", at = 0x81101000)                # xor %eax,%eax; ret
fails = text("fails", "b8f4ffffff c3", at = 0x81101010)          # mov $-ENOMEM,%eax; ret
counted = data("counted", "00000000", at = 0x83100000)
other = data("other", "00000000", at = 0x83102000)
m = module("m", funcs = [work, leave, traced, counts], init_funcs = [enter, fails], data = [counted, other], init = enter, exit = leave)
task("nobody", ops = [schedule()])
never()
`

var (
	base32 = copies(sync.OnceValue(func() *scenario.Scenario {
		s := load(drawn32)
		s.Tasks = nil
		return s
	}))
	module32 = copies(sync.OnceValue(func() *scenario.Scenario { return load(drawnModule32) }))
)

// lies moves everything drawn to where a 32-bit kernel has it. Distances between functions and
// the lower halves of addresses don't change.
func (g *maker) lies() {
	if !g.i386 {
		return
	}
	a := g.arch()
	for i := range g.sc.Texts {
		g.sc.Texts[i].At = a.Addr(g.sc.Texts[i].At)
	}
	for i := range g.sc.Datas {
		g.sc.Datas[i].At = a.Addr(g.sc.Datas[i].At)
	}
}
