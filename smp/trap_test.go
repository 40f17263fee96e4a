package smp_test

import (
	"fmt"
	"slices"
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
)

// fill gives each register a value of its own, so that a mix-up shows.
func fill(regs *arch.Regs) {
	for i := range regs.R[:x86.AMD64.Used] {
		if arch.Reg(i) != x86.RSP {
			regs.R[i] = 0x1111_1111_1111_1111 * uint64(i)
		}
	}
	regs.Flags |= x86.CF | x86.ZF
}

// The frame of a trap lies in memory, wherever the stack pointer stood: the
// handler finds the registers there, ss:rsp was pushed at a 16-byte boundary,
// below what was interrupted, and below the gap if it is an int3. Nothing of
// what was interrupted changes.
func TestFrame(t *testing.T) {
	for _, c := range []struct {
		name, code string
		vector     uint8
		gap        uint64
		saved      int // f+saved is the IP in the frame
		skip       int // what the handler adds to it
	}{
		{"#BP", "cc", smpev.VecBP, 48, 5, 0},
		{"#UD", "0f 0b", smpev.VecUD, 0, 4, 2},
		{"#PF", "48 8b 04 25 00 20 00 00", smpev.VecPF, 0, 4, 8},
		{"#GP", "0f 33", smpev.VecGP, 0, 4, 2},                                         // rdpmc
		{"#GP, not canonical", "48 a1 00 00 00 00 00 80 00 00", smpev.VecGP, 0, 4, 10}, // mov to rax
		{"#DE", "f6 f0", smpev.VecDE, 0, 4, 2},
		{"int1", "f1", smpev.VecDB, 0, 5, 0},
		{"int 0x40", "cd 40", 0x40, 0, 6, 0},
		{"timer", "90", smpev.VecTimer, 0, 4, 0},
		{"nmi", "90", smpev.VecNMI, 0, 4, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for below := 0; below < 0x20; below++ {
				frameAt(t, c.code, c.vector, c.gap, c.saved, c.skip, below)
			}
		})
	}
}

func frameAt(t *testing.T, code string, vector uint8, gap uint64, saved, skip, below int) {
	t.Helper()
	r := newRig(t, smp.Config{CPUs: 1})
	// lea -below(%rsp),%rsp
	f := r.text("f", 0, fmt.Sprintf("48 8d 64 24 %02x %s 48 8d 64 24 %02x c3", byte(-below), code, below))
	saved++
	r.source(smp.TimerSource, 0, 1)
	r.source(smp.NMISource, 0, 1)
	at := func(p *sim.Point) sim.Mover {
		if name, off, text := r.Names().Where(0); !text || name != "f" || off != 5 {
			return sim.NoMover
		}
		switch vector {
		case smpev.VecTimer:
			return sim.MoverSource
		case smpev.VecNMI:
			return sim.MoverSource + 1
		}
		return sim.NoMover
	}
	var before, after arch.Regs
	var sp uint64
	hits := 0
	r.Hooks().Trap[vector] = func(x *smp.Ctx, regs *arch.Regs) {
		hits++
		base := x86.SP(x.Regs())
		var image arch.Regs
		if !x86.LoadPtRegs(x.Memory(), base, &image) || image != *regs {
			t.Errorf("in memory %+v\nin hand   %+v", image, *regs)
		}
		if top := uint64(base) + x86.PtRegsSize; top%16 != 0 || top > sp-uint64(below)-gap ||
			top+16 <= sp-uint64(below)-gap {
			t.Errorf("the frame's top is %#x, the stack pointer was %#x, the gap is %d", top, sp-uint64(below), gap)
		}
		if regs.IP != f+arch.Addr(saved) || regs.R[x86.RSP] != sp-uint64(below) {
			t.Errorf("saved ip %#x, sp %#x; want %#x, %#x", regs.IP, regs.R[x86.RSP], f+arch.Addr(saved),
				sp-uint64(below))
		}
		for _, w := range []struct {
			off  int
			want uint64
		}{{x86.PtCS, x86.KernelCS}, {x86.PtSS, x86.KernelDS}} {
			if v, _ := x.Memory().Load(base+arch.Addr(w.off), 8); v != w.want {
				t.Errorf("the selector at %d is %#x, want %#x", w.off, v, w.want)
			}
		}
		if x.Regs().Flags&x86.IF != 0 {
			t.Error("the handler runs with interrupts on")
		}
		regs.IP += arch.Addr(skip)
	}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		fill(x.Regs())
		before = *x.Regs()
		sp = before.R[x86.RSP]&^15 - 8
		x.Call(f)
		after = *x.Thread().Left()
	})
	r.want(smp.Passed, director(at))
	before.IP, before.R[x86.RSP], after.IP = 0, 0, 0
	if hits != 1 || after != before {
		t.Errorf("below %d: %d hits\nbefore %+v\nafter  %+v", below, hits, before, after)
	}
}

// An int3 handler may push up to six words, as the call that it emulates
// would, and move the stack pointer: neither the frame nor what is pushed is
// harmed.
func TestInt3Gap(t *testing.T) {
	pops := []arch.Reg{x86.RAX, x86.RCX, x86.RDX, x86.RBX, x86.RBP, x86.RSI}
	const code = "58 59 5a 5b 5d 5e"
	for words := 1; words <= 6; words++ {
		for below := 0; below < 0x20; below++ {
			r := newRig(t, smp.Config{CPUs: 1})
			f := r.text("f", 0, fmt.Sprintf("48 8d 64 24 %02x cc %s 48 8d 64 24 %02x c3", byte(-below),
				code[:3*words-1], below))
			r.Hooks().Trap[smpev.VecBP] = func(x *smp.Ctx, regs *arch.Regs) {
				for i := range words {
					regs.R[x86.RSP] -= 8
					if !x.Memory().Store(x86.SP(regs), 8, uint64(100+words-i)) {
						t.Error("nothing can be pushed")
					}
				}
				var image arch.Regs
				x86.LoadPtRegs(x.Memory(), x86.SP(x.Regs()), &image)
				if image.R[x86.RSP] = regs.R[x86.RSP]; image != *regs {
					t.Errorf("%d words, %d below: the frame was overwritten: %+v, want %+v", words, below, image, *regs)
				}
			}
			var want, got arch.Regs
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
				fill(x.Regs())
				want = *x.Regs()
				x.Call(f)
				got = *x.Thread().Left()
			})
			r.want(smp.Passed, sim.Always0{})
			for i := range words {
				want.R[pops[i]] = uint64(101 + i)
			}
			want.R[x86.RSP], want.IP, got.IP = 0, 0, 0
			if got != want {
				t.Errorf("%d words, %d below:\ngot  %+v\nwant %+v", words, below, got, want)
			}
		}
	}
}

// What a handler leaves in its registers is what the CPU resumes with.
func TestHandlerChangesRegisters(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	f := r.text("f", 0, "cc 0f 0b")
	to := r.text("to", 0x40, "c3")
	r.Hooks().Trap[smpev.VecBP] = func(x *smp.Ctx, regs *arch.Regs) {
		for i := range regs.R[:x86.AMD64.Used] {
			if arch.Reg(i) != x86.RSP {
				regs.R[i] = uint64(i) + 7
			}
		}
		regs.IP = to
		regs.Flags |= x86.OF
	}
	var left arch.Regs
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		x.Call(f)
		left = *x.Thread().Left()
	})
	r.want(smp.Passed, sim.Always0{})
	for i, v := range left.R[:x86.AMD64.Used] {
		if arch.Reg(i) != x86.RSP && v != uint64(i)+7 {
			t.Errorf("register %d is %#x", i, v)
		}
	}
	if left.Flags&x86.OF == 0 {
		t.Error("the flags were not changed")
	}
}

// A handler may call text that traps in turn, to any depth that the stack
// holds: all frames come back.
func TestNestedTraps(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	f := r.text("f", 0, "53 cc 5b c3")
	r.source(smp.TimerSource, 0, 2)
	r.source(smp.NMISource, 0, 2)
	const most = 8
	depth, deepest := 0, 0
	r.Hooks().Trap[smpev.VecBP] = func(x *smp.Ctx, regs *arch.Regs) {
		if depth++; depth < most {
			x.Call(f)
		}
		deepest = max(deepest, x.Thread().Traps())
	}
	nothing := func(x *smp.Ctx, _ *arch.Regs) { x.Step("irq", 1) }
	r.Hooks().Trap[smpev.VecTimer], r.Hooks().Trap[smpev.VecNMI] = nothing, nothing
	var before, after arch.Regs
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		fill(x.Regs())
		before = *x.Regs()
		x.Call(f)
		after = *x.Thread().Left()
	})
	for name, ch := range schedules(20) {
		depth, deepest = 0, 0
		r.want(smp.Passed, ch)
		before.IP, before.R[x86.RSP], after.IP = 0, 0, 0
		if depth != most || deepest < most || before != after {
			t.Fatalf("%s: depth %d, traps %d, before %+v, after %+v", name, depth, deepest, before, after)
		}
	}
}

// With TF set each instruction that completes raises #DB, but the one that set
// it; the handler runs with TF off, and an interrupt's handler too.
func TestSingleStep(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	// pushf; orl TF; popf; nop; push; pop; pushf; andl ^TF; popf; nop; ret
	f := r.text("f", 0, "9c 81 0c 24 00 01 00 00 9d 90 51 59 9c 81 24 24 ff fe ff ff 9d 90 c3")
	r.source(smp.TimerSource, 0, 3)
	want := []arch.Addr{f + 10, f + 11, f + 12, f + 13, f + 20, f + 21}
	var got []arch.Addr
	r.Hooks().Trap[smpev.VecDB] = func(x *smp.Ctx, regs *arch.Regs) {
		got = append(got, regs.IP)
		if x.Regs().Flags&x86.TF != 0 || regs.Flags&x86.TF == 0 && regs.IP != f+21 {
			t.Errorf("TF on in the handler, or not in the frame, at f+%d", regs.IP-f)
		}
		x.Step("debug", 1)
	}
	r.Hooks().Trap[smpev.VecTimer] = func(x *smp.Ctx, _ *arch.Regs) {
		if x.Regs().Flags&x86.TF != 0 {
			t.Error("TF is on in a timer's handler")
		}
		x.Step("timer", 1)
	}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
	for name, ch := range schedules(20) {
		got = got[:0]
		r.want(smp.Passed, ch)
		if !slices.Equal(got, want) {
			t.Errorf("%s: #DB at %#x, want %#x", name, got, want)
		}
	}
}

// An iret in text that turns TF off raises one more #DB, as popf does: what
// counts is how TF was before.
func TestSingleStepIret(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	// mov %rsp,24(%rdi); pushf; orl TF; popf; mov %rdi,%rsp; iretq; ud2; 20: nop; ret
	f := r.text("f", 0, "48 89 67 18 9c 81 0c 24 00 01 00 00 9d 48 89 fc 48 cf 0f 0b 90 c3")
	var at []arch.Addr
	r.Hooks().Trap[smpev.VecDB] = func(_ *smp.Ctx, regs *arch.Regs) { at = append(at, regs.IP-f) }
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		frame := smp.DataBase + 0x800
		x.Regs().R[x86.RDI] = uint64(frame)
		for i, v := range []uint64{uint64(f) + 20, x86.KernelCS, x86.F1 | x86.IF, 0, x86.KernelDS} {
			x.Memory().Store(frame+arch.Addr(8*i), 8, v)
		}
		x.Call(f)
	})
	r.want(smp.Passed, sim.Always0{})
	if !slices.Equal(at, []arch.Addr{16, 20}) {
		t.Errorf("#DB at %v", at)
	}
}

// A handler runs without the flags that would hinder it: what NT does to an iret
// among them. They are in the frame.
func TestHandlerFlags(t *testing.T) {
	const nt = 1 << 14
	r := newRig(t, smp.Config{CPUs: 1})
	f := r.text("f", 0, "9c 81 0c 24 00 40 00 00 9d cc c3") // pushf; orl NT; popf; int3; ret
	hits := 0
	r.Hooks().Trap[smpev.VecBP] = func(x *smp.Ctx, regs *arch.Regs) {
		hits++
		if x.Regs().Flags != x86.F1|x86.CF || regs.Flags != x86.F1|x86.CF|x86.IF|nt {
			t.Errorf("flags %#x in the handler, %#x in the frame", x.Regs().Flags, regs.Flags)
		}
	}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		x.Regs().Flags |= x86.CF
		x.Call(f)
	})
	r.want(smp.Passed, sim.Always0{})
	if hits != 1 {
		t.Errorf("%d hits", hits)
	}
}
