package gen

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Addresses of functions whose instructions some kernels emulate instead of copying, or refuse to
// probe.
const (
	emulatedName           = "emulates"
	emulatedAt   arch.Addr = 0xffffffff81044000
	refusedName            = "refuses"
	refusedAt    arch.Addr = 0xffffffff81045000
	faultsName             = "faults"
	faultsAt     arch.Addr = 0xffffffff81046000
)

// emulated adds a function of instructions that newer kernels emulate: conditional jumps, jumps
// by a counter, direct and indirect calls and jumps, changes of the interrupt flag, and a ret
// with an argument on the stack. Its result depends on its first two arguments, and it doesn't
// loop.
func (g *maker) emulated(add func(name string, make func(f *function))) {
	takes := func(f *function) { // a callee with an argument on the stack
		f.put(0x90)
		f.put(0xc2, byte(g.arch().Word), 0)
	}
	var inner, popped arch.Addr
	add("adds", func(f *function) {
		inner = f.at
		f.put(by32(g, []byte{0xff, 0xc0}, []byte{0x40})...) // inc %eax
		f.put(0xc3)
	})
	add("pops", func(f *function) {
		popped = f.at
		takes(f)
	})
	add(emulatedName, func(f *function) {
		f.put(0x31, 0xc0) // xor %eax,%eax
		for range 2 + g.rand.N(5) {
			g.emulates(f, inner, popped)
		}
		f.put(0x89, by32(g, byte(0xf9), 0xd1)) // mov %edi,%ecx
		f.put([][]byte{{0xc3}, {0xf3, 0xc3}}[g.rand.N(2)]...)
	})
}

// emulates adds one of these instructions.
func (g *maker) emulates(f *function, inner, popped arch.Addr) {
	add := func(n byte) { f.put(0x83, 0xc0, n) } // add $n,%eax
	over := func() byte { return byte(1 + g.rand.N(100)) }
	move := func(to arch.Addr) { f.absolute(to, by32(g, []byte{0x48, 0xc7, 0xc0}, []byte{0xb8})...) } // mov $to,%rax
	// cmp %esi,%edi, or %ecx,%edx
	compare := func() { f.put(0x39, by32(g, byte(0xf7), 0xca)) }
	switch g.rand.N(11) {
	case 0, 1: // cmp %esi,%edi; a jump over an add
		compare()
		if cc := byte(g.rand.N(16)); g.one(2) {
			f.put(0x0f, 0x80|cc, 3, 0, 0, 0)
		} else {
			f.put(0x70|cc, 3)
		}
		add(over())
	case 2: // mov $n,%ecx; cmp %esi,%edi; loopne, loope, loop, jrcxz over an add, also by ecx alone
		f.put(0xb9, byte(g.rand.N(4)), 0, 0, 0)
		compare()
		if op := 0xe0 | byte(g.rand.N(4)); g.one(2) {
			f.put(0x67, op, 3)
		} else {
			f.put(op, 3)
		}
		add(over())
		f.put(0x01, 0xc8) // add %ecx,%eax
	case 3: // a call, straight or through a register
		if g.one(2) {
			f.relative(inner, 0xe8)
		} else {
			move(inner)
			f.put(0xff, 0xd0)
		}
	case 4: // a jump over an add, short or long
		if g.one(2) {
			f.put(0xe9, 3, 0, 0, 0)
		} else {
			f.put(0xeb, 3)
		}
		add(over())
	case 5: // a jump through a register to the next instruction
		if g.direct() {
			add(over())
			return
		}
		move(f.at + arch.Addr(len(f.code)+by32(g, 7, 5)+2))
		f.put(0xff, 0xe0)
		f.put(0x31, 0xc0)
	case 6: // pushf; cli; and sti, maybe; popf
		f.put(0x9c)
		f.put(0xfa)
		if g.one(2) {
			f.put(0xfb)
		}
		f.put(0x9d)
	case 7: // push %rdi; call; a ret takes it off
		f.put(0x57)
		f.relative(popped, 0xe8)
	case 8: // through a register that needs a prefix: mov $inner,%r8; call *%r8
		f.absolute(inner, by32(g, []byte{0x49, 0xc7, 0xc0}, []byte{0xba})...) // or mov $inner,%edx; call *%edx
		f.put(by32(g, []byte{0x41, 0xff, 0xd0}, []byte{0xff, 0xd2})...)
	case 9: // pushfw; what it takes of the stack; popfw
		if g.on.Contract { // kernels take eight bytes: findings.md, flags-wide
			add(over())
			return
		}
		f.put(0x66, 0x9c)
		f.put(by32(g, []byte{0x48, 0x8d, 0x4c, 0x24, 0x02}, []byte{0x8d, 0x4c, 0x24, 0x02})...) // lea 2(%rsp),%rcx
		f.put(0x66, 0x9d)
		f.put(by32(g, []byte{0x48, 0x29, 0xe1}, []byte{0x29, 0xe1})...) // sub %rsp,%rcx
		f.put(0x01, 0xc8)                                               // add %ecx,%eax
	case 10: // iret to after a nop
		f.returns()
	}
}

// returns adds an iret to a place after it. Kernels don't see where it leads, so no jump may cover that
// place: as long an instruction as a jump precedes it.
func (f *function) returns() {
	if f.g.i386 {
		f.put(0x9c) // pushf
		f.put(0x0e) // push %cs
		f.absolute(f.at+arch.Addr(len(f.code)+5+1+len(x86.Nop5)), 0x68)
		f.put(0xcf)
	} else {
		f.put(0x48, 0x89, 0xe1) // mov %rsp,%rcx
		f.put(0x6a, 0x18)       // push the stack segment
		f.put(0x51)
		f.put(0x9c)
		f.put(0x6a, 0x10) // push the code segment
		f.place(1 + 2 + len(x86.Nop5))
		f.put(0x52)
		f.put(0x48, 0xcf) // iretq
	}
	f.put(x86.Nop5[:]...)
}

// refusedInsns lists instructions that all kernels or some refuse to probe, or that are stepped
// in a special way. They are never executed.
var refusedInsns = [...][]byte{
	{0xcc},       // int3
	{0xcd, 0x80}, // int $0x80
	{0xcf},       // iret
	{0xcb},       // lret
	{0xff, 0x18}, // lcall *(%rax)
	{0xff, 0x28}, // ljmp *(%rax)
	{0xff, 0x20}, // jmp *(%rax)
	{0xff, 0x10}, // call *(%rax)
	{0x0f, 0x0b}, // ud2
	{0x0f, 0x05}, // syscall
	{0x0f, 0x07}, // sysret
	{0x0f, 0x34}, // sysenter
	{0x0f, 0x35}, // sysexit
	{0x0f, 0x30}, // wrmsr
	{0x0f, 0xa2}, // cpuid
	{0xf4},       // hlt
	{0xf3, 0xa4}, // rep movsb
	{0xf0, 0xff, 0x07},
	{0x9b},                         // wait
	{0xe4, 0x10},                   // in
	{0xc8, 0x10, 0x00, 0x01},       // enter
	{0xc9},                         // leave
	{0x8e, 0xd0},                   // mov %eax,%ss
	{0x0f, 0x20, 0xc0},             // mov %cr0,%rax
	{0x62, 0xf1, 0x75, 0x48, 0xfe}, // EVEX
	{0xc5, 0xf8, 0x77},             // vzeroupper
	{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}, // a nop of 15 bytes
}

// refused adds a function with refused instructions after its return.
func (g *maker) refused(add func(name string, make func(f *function))) {
	add(refusedName, func(f *function) {
		f.put(0x8d, by32(g, byte(0x47), 0x40), 0x01) // lea 1(%rdi),%eax
		f.put(0xeb, 0)                               // skips all of them
		from := len(f.code)
		for range 1 + g.rand.N(4) {
			if g.one(2) {
				f.put(f.any()...)
				continue
			}
			f.put(f.refused()...)
		}
		f.code[from-1] = byte(len(f.code) - from)
		f.put(0xc3)
	})
}

// refused draws one of these instructions.
func (f *function) refused() []byte {
	r := f.g.rand
	b := refusedInsns[r.N(len(refusedInsns))]
	if f.g.i386 && f.g.one(2) {
		b = encodings32[r.N(len(encodings32))]
	}
	if b[0] == 0x62 && len(b) == 5 {
		b = append(slices.Clone(b), 0xc2) // vpaddd %zmm2,%zmm1,%zmm0
	}
	return f.known(b)
}

// known returns b if it decodes as instructions on this processor, or else a nop.
func (f *function) known(b []byte) []byte {
	for rest := b; len(rest) > 0; {
		in, err := f.g.arch().Decode(rest, f.at)
		if err != nil {
			return []byte{0x90}
		}
		rest = rest[in.Size():]
	}
	return b
}

// any draws an instruction of random encoding: prefixes, an opcode map, and operands.
func (f *function) any() []byte {
	r := f.g.rand
	for range 16 {
		var b []byte
		for f.g.one(3) && len(b) < 3 {
			b = append(b, [...]byte{0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x65, 0xf0}[r.N(7)])
		}
		switch r.N(12) {
		case 0, 1:
			b = append(b, 0x40+byte(r.N(16))) // REX
		case 2, 3:
			b = append(b, 0x0f)
		case 4:
			b = append(b, 0x0f, 0x38)
		case 5:
			b = append(b, 0x0f, 0x3a)
		case 6, 7:
			b = append(b, 0xc5, byte(r.N(256))) // VEX
		case 8:
			b = append(b, 0xc4, byte(r.N(8))<<5|1+byte(r.N(3)), byte(r.N(256)))
		case 9:
			b = append(b, 0x62, byte(r.N(16))<<4|1+byte(r.N(3)), byte(r.N(256))|4, byte(r.N(256))) // EVEX
		}
		for len(b) < x86.MaxLen {
			b = append(b, byte(r.N(256)))
		}
		if in, err := f.g.arch().Decode(b, f.at); err == nil {
			return b[:in.Size()]
		}
	}
	return []byte{0x90}
}

// faults adds a function whose access always faults and continues through the exception table.
func (g *maker) faults(add func(name string, make func(f *function))) {
	add(faultsName, func(f *function) {
		f.put(0x90)
		f.extable = append(f.extable, len(f.code))
		f.number(0xff0, 0x8b, 0x04) // mov 0xff0,%eax
		f.put(0x31, 0xc0)
		f.put(0xc3)
	})
}

// odd adds the functions of this file, each to few scenarios.
func (g *maker) odd() {
	g.part("odd")
	add := func(at arch.Addr) func(name string, make func(f *function)) {
		return func(name string, make func(f *function)) {
			f := &function{g: g, at: at + arch.Addr(g.rand.N(16)), calm: true}
			make(f)
			g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: f.at, Code: f.code, Extable: f.extable})
			if at += 0x100; name != "adds" && name != "pops" {
				g.rares = append(g.rares, name)
			}
		}
	}
	if g.one(4) {
		g.emulated(add(emulatedAt))
	}
	if g.one(5) {
		g.refused(add(refusedAt))
	}
	if g.one(5) {
		g.faults(add(faultsAt))
		g.faulty = g.one(2)
	}
}
