package mutate

import (
	"kpsim/linux/closure"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// kindsX86 lists the mutants of a function.
func kindsX86(l *lister, f *closure.Function) {
	var code []x86.Inst
	dead := make(map[arch.Addr]bool) // addresses at which the kernel dies or warns
	l.c.Decode(f, func(i arch.Inst) {
		in := i.(*x86.Inst)
		code = append(code, *in)
		s, _ := l.c.Target(f, in)
		dead[in.Addr] = in.Flow() == arch.FlowUndefined || in.Flow() == arch.FlowCall && dull[s.Name]
	})
	for i := range code {
		in := &code[i]
		switch in.Flow() {
		case arch.FlowCall, arch.FlowJump:
			l.call(in)
		case arch.FlowIndirectCall:
			l.paravirt(in)
		case arch.FlowCond:
			if t, _ := in.Target(); !dead[t] && !(i+1 < len(code) && dead[code[i+1].Addr]) {
				l.condition(in)
			}
		case arch.FlowNext:
			l.plain(in)
		}
	}
}

// dull lists the callees that only print: skipping such a call changes nothing else.
var dull = map[string]bool{"__stack_chk_fail": true, "_printk": true, "printk": true, "__warn_printk": true,
	"dump_kprobe": true, "dump_stack": true}

// call adds the mutant that skips a call, or a tail call (a jump that stands for a call and a return).
func (l *lister) call(in *x86.Inst) {
	s, kind := l.c.Target(l.f, in)
	jump := in.Flow() == arch.FlowJump
	if kind != closure.Inner && kind != closure.Outer || dull[s.Name] || jump &&
		closure.Base(s.Name) == closure.Base(l.f.Name) {
		return
	}
	with := nops(in)
	if jump {
		with = returns(in)
	}
	l.skip(s.Name, in, with)
}

// paravirt adds the mutant that skips a call through pv_ops.
func (l *lister) paravirt(in *x86.Inst) {
	name, ok := l.c.Paravirtual(in)
	if !ok {
		return
	}
	l.skip(name, in, nops(in))
}

// condition adds the mutants of a conditional jump: it is inverted, always taken, or never taken.
func (l *lister) condition(in *x86.Inst) {
	_, imm := in.DispAndImm()
	old := in.Bytes()
	if imm[0] < 1 || imm[0] > len(old) {
		return
	}
	what := mnemonic(in)
	at, place := uint64(in.Addr), l.place(uint64(in.Addr))
	invert := in.Bytes()
	invert[imm[0]-1] ^= 1 // the lowest bit of the opcode negates the condition
	l.add("invert:"+place, "invert the condition "+what, at, old, invert)
	always := in.Bytes()
	switch {
	case imm[0] == 1 && len(old) == 2:
		always[0] = shortJump
	case imm[0] == 2 && len(old) == 6:
		always[0], always[1] = nop, x86.OpJump
	}
	l.add("always:"+place, "always take the jump "+what, at, old, always)
	l.add("never:"+place, "never take the jump "+what, at, old, nops(in))
}

const (
	shortJump = 0xeb // jmp rel8
	nop       = 0x90
	ret       = 0xc3
	cli       = 0xfa
	sti       = 0xfb
	cmpAL     = 0x3c // cmp imm8, the accumulator's lowest byte
	cmpEAX    = 0x3d // cmp imm32, the accumulator
)

// plain adds the mutants of an instruction that continues to the next one.
func (l *lister) plain(in *x86.Inst) {
	at, place := uint64(in.Addr), l.place(uint64(in.Addr))
	switch in.Opcode() {
	case cli, sti:
		l.add("drop-flag:"+place, "drop the "+in.String(), at, in.Bytes(), nops(in))
		return
	}
	group, _ := in.RegField()
	if op := in.Opcode(); op == cmpAL || op == cmpEAX || op >= 0x80 && op <= 0x83 && group == 7 {
		l.compare(in)
		return
	}
	if !stores(in) {
		return
	}
	if p := in.AddressRegs(); len(p) > 0 && p[0] == x86.RSP {
		return // a store to the stack frame
	}
	kind, what := "drop-store:", "drop the store "
	if in.Prefixes()&x86.PrefixLock != 0 || op86(in) {
		kind, what = "drop-locked:", "drop the locked store "
	}
	l.add(kind+place, what+in.String(), at, in.Bytes(), nops(in))
}

// op86 reports whether the instruction is xchg with memory, which locks without a prefix.
func op86(in *x86.Inst) bool { return in.Opcode() == 0x86 || in.Opcode() == 0x87 }

// compare adds the mutant whose comparison uses a number off by one. It skips comparisons with an address.
func (l *lister) compare(in *x86.Inst) {
	_, imm := in.DispAndImm()
	with := in.Bytes()
	if imm[0] >= imm[1] || imm[1] > len(with) {
		return
	}
	number := with[imm[0]:imm[1]]
	if len(number) == 4 && number[3] >= 0x80 && number[3] != 0xff {
		return
	}
	if top := number[len(number)-1]; number[0] == 0xff || len(number) == 1 && top == 0x7f {
		number[0]--
	} else {
		number[0]++
	}
	l.add("off-by-one:"+l.place(uint64(in.Addr)), "compare with a number off by one: "+in.String(), uint64(in.Addr),
		in.Bytes(), with)
}

// stores reports whether an instruction writes memory that ModRM describes.
func stores(in *x86.Inst) bool {
	pos, ok := in.ModRM()
	if !ok || in.Encoding() != x86.Legacy {
		return false
	}
	if raw := in.Raw(); raw[pos]>>6 == 3 { // a register
		return false
	}
	group, _ := in.RegField()
	switch op := in.Opcode(); {
	case op < 0x38: // add, or, adc, sbb, and, sub, xor
		return op&7 <= 1
	case op == 0x80, op == 0x81, op == 0x83: // the same with a number; 7 compares
		return group != 7
	case op == 0x86, op == 0x87, op == 0x88, op == 0x89, op == 0xc6, op == 0xc7: // xchg, mov
		return true
	case op == 0xc0, op == 0xc1, op >= 0xd0 && op <= 0xd3: // shifts
		return true
	case op == 0xf6, op == 0xf7: // not, neg
		return group == 2 || group == 3
	case op == 0xfe, op == 0xff: // inc, dec
		return group <= 1
	case op == 0x0fab, op == 0x0fb3, op == 0x0fbb: // bts, btr, btc
		return true
	case op == 0x0fba: // the same with a number
		return group >= 5
	case op == 0x0fb0, op == 0x0fb1, op == 0x0fc0, op == 0x0fc1: // cmpxchg, xadd
		return true
	case op == 0x0fc7: // cmpxchg16b
		return group == 1
	case op >= 0x0f90 && op <= 0x0f9f: // setcc
		return true
	}
	return false
}

// nops returns nops as long as the instruction.
func nops(in *x86.Inst) []byte { return x86.NopN(int(in.Len)) }

// returns returns a ret, padded with int3 to the length of the instruction.
func returns(in *x86.Inst) []byte {
	b := make([]byte, in.Len)
	for i := range b {
		b[i] = x86.Int3
	}
	b[0] = ret
	return b
}
