package smp_test

import (
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

const loop8 = "b9 08 00 00 00 ff c9 75 fc c3" // mov $8,%ecx; 1: dec %ecx; jnz 1b; ret

// A hard interrupt's handler runs with interrupts off: no second one comes
// until its IRET, unless it opens them.
func TestHardInterrupts(t *testing.T) {
	for _, opens := range []bool{false, true} {
		r := newRig(t, smp.Config{CPUs: 2})
		f := r.text("f", 0, loop8)
		for range 2 {
			r.source(smp.TimerSource, 0, 3)
		}
		depth, deepest, fired := 0, 0, 0
		r.Hooks().Trap[smpev.VecTimer] = func(x *smp.Ctx, regs *arch.Regs) {
			depth++
			fired++
			deepest = max(deepest, depth)
			x.Step("timer", 1)
			if opens {
				x.IRQ(true)
			}
			x.Step("timer", 2)
			x.Step("timer", 3)
			x.IRQ(false)
			depth--
			if regs.Flags&x86.IF == 0 {
				t.Error("code with interrupts off was interrupted")
			}
		}
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
		r.Tasks().AddProgram("q", 1, func(x *smp.Ctx) { x.Call(f) })
		most := 0
		for name, ch := range schedules(40) {
			depth, deepest, fired = 0, 0, 0
			r.want(smp.Passed, ch)
			if !opens && deepest > 1 {
				t.Errorf("%s: %d timers at once", name, deepest)
			}
			if name == "greedy" && fired != 6 {
				t.Errorf("greedy: %d timers fired, want all 6", fired)
			}
			most = max(most, deepest)
		}
		if opens && most < 2 {
			t.Error("no handler that opened interrupts was interrupted")
		}
	}
}

// A pending IPI is taken at the first boundary with interrupts on, unless a
// deviation delays it.
func TestPendingIPI(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	f := r.text("f", 0, "fa 90 90 90 fb 90 90 90 90 c3") // cli; 3 nops; sti; 4 nops; ret
	sent, answered := r.flag(), r.flag()
	pending := false
	handle := func(x *smp.Ctx, _ *arch.Regs) { answered.WriteOnce(x, 1) }
	r.Hooks().Trap[smpev.VecCall] = handle
	r.Tasks().AddProgram("sender", 0, func(x *smp.Ctx) {
		x.Spin(&sent.up)
		r.Interrupts().SendIPI(x, 1<<1, smp.IPICall)
		pending = true
		x.SpinForIPI(&answered.up)
	})
	r.Tasks().AddProgram("taker", 1, func(x *smp.Ctx) {
		sent.WriteOnce(x, 1)
		x.Call(f)
	})
	closed := func(*sim.Point) sim.Mover { // cpu1 runs into f, past cli; then the IPI is sent
		if name, off, _ := r.Names().Where(1); pending {
			return sim.NoMover
		} else if name == "f" && off > 1 {
			return 0
		}
		return 1
	}
	for _, c := range []struct {
		name  string
		delay int // until cpu1 is at f+delay
		at    arch.Addr
	}{
		{"at once", 0, f + 6}, // sti holds interrupts off for one more instruction
		{"delayed by one", 7, f + 7},
		{"delayed to the end", 9, f + 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			pending = false
			r.want(smp.Passed, director(func(p *sim.Point) sim.Mover {
				if mv := closed(p); mv != sim.NoMover {
					return mv
				}
				if _, off, text := r.Names().Where(1); text && off < c.delay {
					return 1
				}
				return sim.NoMover
			}))
			traps := r.events(smpev.Trap)
			if len(traps) != 1 || traps[0].CPU != 1 || traps[0].A != smpev.VecCall || traps[0].B != uint64(c.at) {
				t.Errorf("traps %v, want one IPI at %#x", traps, c.at)
			}
		})
	}
}

// In the default run CPUs answer an IPI in their order, each returning to
// where it stood, and the waiter goes on before they do.
func TestIPIInCPUOrder(t *testing.T) {
	const cpus = 5
	r := newRig(t, smp.Config{CPUs: cpus})
	f := r.text("f", 0, loop8)
	done := r.flag()
	all := kapi.Is[int]{Var: &done.Var, Want: cpus - 1}
	var order []int
	r.Hooks().Trap[smpev.VecCall] = func(x *smp.Ctx, _ *arch.Regs) {
		order = append(order, x.CPU())
		x.Step("answer", 1)
		kapi.Add(&done.Var, x, kapi.Once, 1)
		x.Step("answer", 2)
	}
	for c := 1; c < cpus; c++ {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) { x.Call(f) })
	}
	went := uint64(0)
	r.Tasks().AddProgram("sender", 0, func(x *smp.Ctx) {
		before := r.Counts().Instructions
		r.Interrupts().SendIPI(x, 1<<cpus-2, smp.IPICall)
		x.SpinForIPI(&all)
		went = r.Counts().Instructions - before
	})
	r.want(smp.Passed, sim.Always0{})
	for i, c := range order {
		if c != i+1 {
			t.Errorf("CPUs answered in the order %v", order)
			break
		}
	}
	if len(order) != cpus-1 || went != 0 {
		t.Errorf("%d CPUs answered, %d instructions were run before the sender went on", len(order), went)
	}
}

// After sti one more instruction runs with interrupts off (SDM vol. 2, "STI").
func TestSTIShadow(t *testing.T) {
	for _, c := range []struct {
		name, code string
		at         int // where a timer comes that comes as early as it can; -1: nowhere
	}{
		{"sti nop", "fa fb 90 90 c3", 3},
		{"sti cli", "fa fb fa 90 90 fb 90 c3", 7},
		{"sti ret", "fa e8 02 00 00 00 90 c3 fb c3", 6},
		{"sti int3", "fa fb cc 90 c3", 3},
		{"sti push", "fa fb 50 58 c3", 3},
		{"popf", "9c fa 9d 90 c3", 3},        // popf has no shadow
		{"sti sti nop", "fa fb fb 90 c3", 3}, // only the first of a sequence of sti has one
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, smp.Config{CPUs: 1})
			f := r.text("f", 0, c.code)
			r.source(smp.TimerSource, 0, 1)
			r.Hooks().Trap[smpev.VecTimer] = func(*smp.Ctx, *arch.Regs) {}
			r.Hooks().Trap[smpev.VecBP] = func(*smp.Ctx, *arch.Regs) {}
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
			r.want(smp.Passed, director(func(p *sim.Point) sim.Mover {
				if name, off, _ := r.Names().Where(0); name == "f" && off > 0 && r.Counts().Instructions > 1 {
					return sim.MoverSource
				}
				return sim.NoMover
			}))
			at := -1
			for _, e := range r.events(smpev.Trap) {
				if e.A == smpev.VecTimer {
					at = int(arch.Addr(e.B) - f)
				}
			}
			if at != c.at {
				t.Errorf("the timer came at f%+d, want f%+d", at, c.at)
			}
		})
	}
}

// An NMI comes whatever the interrupt flag says, but not in an NMI's handler,
// until the next IRET: that of an int3 inside the handler will do.
func TestNMIBlocked(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler string // text that the handler calls
		nested  bool
	}{
		{"plain", "90 90 c3", false},
		{"sti", "fb 90 90 fa c3", false},
		{"int3", "90 cc 90 90 c3", true},
		{"ud2", "90 0f 0b 90 90 c3", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, smp.Config{CPUs: 1})
			f := r.text("f", 0, "fa 90 90 90 fb 90 c3")
			g := r.text("g", 0x40, c.handler)
			r.source(smp.NMISource, 0, 4)
			depth, deepest, closed := 0, 0, 0
			early := false
			unblocked := map[int]bool{} // by depth: the handler has been through an IRET
			r.Hooks().Trap[smpev.VecNMI] = func(x *smp.Ctx, regs *arch.Regs) {
				if depth > 0 && !unblocked[depth] {
					early = true
				}
				depth++
				unblocked[depth] = false
				deepest = max(deepest, depth)
				if regs.Flags&x86.IF == 0 && depth == 1 {
					closed++
				}
				x.Step("nmi", 1)
				x.Call(g)
				x.Step("nmi", 2)
				depth--
				unblocked[depth] = true // by its own IRET, which is next
			}
			r.Hooks().Trap[smpev.VecBP] = func(x *smp.Ctx, _ *arch.Regs) { unblocked[depth] = true }
			r.Hooks().Trap[smpev.VecUD] = func(x *smp.Ctx, regs *arch.Regs) {
				regs.IP += 2
				unblocked[depth] = true
			}
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
			most, mostClosed := 0, 0
			for name, ch := range schedules(50) {
				depth, deepest, closed, early = 0, 0, 0, false
				clear(unblocked)
				r.want(smp.Passed, ch)
				if early || depth != 0 {
					t.Fatalf("%s: an NMI came in an NMI's handler before any IRET", name)
				}
				most, mostClosed = max(most, deepest), max(mostClosed, closed)
			}
			if (most > 1) != c.nested {
				t.Errorf("NMIs nested %d deep, want nesting: %v", most, c.nested)
			}
			if mostClosed == 0 {
				t.Error("no NMI came while interrupts were off")
			}
		})
	}
}

// The registers that an interrupt saves are right wherever it comes: what text
// computes doesn't depend on it.
func TestInterruptsAreTransparent(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	// 1: push %rcx; call f2; pop %rcx; add %rcx,%rax; dec %rcx; jnz 1b; ret; f2: pushf; popf; ret
	f := r.text("f", 0, "51 e8 0a 00 00 00 59 48 01 c8 48 ff c9 75 f1 c3 9c 9d c3")
	for c := range 2 {
		r.source(smp.TimerSource, c, 5)
		r.source(smp.NMISource, c, 5)
	}
	clobber := func(x *smp.Ctx, _ *arch.Regs) {
		for i := range x.Regs().R {
			if arch.Reg(i) != x86.RSP {
				x.Regs().R[i] = 0xdead
			}
		}
		x.Regs().Flags ^= x86.CF | x86.ZF | x86.SF
		x.Step("clobber", 1)
		x.Call(f + 0x10)
	}
	r.Hooks().Trap[smpev.VecTimer], r.Hooks().Trap[smpev.VecNMI] = clobber, clobber
	for c := range 2 {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			x.Regs().R[x86.RAX], x.Regs().R[x86.RCX] = 0, 20
			if got := x.Call(f); got != 210 {
				t.Errorf("text computed %d, want 210", got)
			}
		})
	}
	for _, ch := range schedules(40) {
		r.want(smp.Passed, ch)
	}
}
