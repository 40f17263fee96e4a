package smp_test

import (
	"slices"
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Sleep gives the CPU to another task: a voluntary switch. Spin keeps it.
func TestSleepSwitchesAndSpinDoesNot(t *testing.T) {
	for _, spin := range []bool{false, true} {
		r := newRig(t, smp.Config{CPUs: 1})
		done := r.flag()
		a := r.Tasks().AddProgram("a", 0, func(x *smp.Ctx) {
			if spin {
				x.Spin(&done.up)
			} else {
				x.Sleep(&done.up)
			}
		})
		b := r.Tasks().AddProgram("b", 0, func(x *smp.Ctx) { done.WriteOnce(x, 1) })
		switched := false // from a to b, of a's own will
		r.Hooks().Switched = func(prev, next *smp.Task, voluntary bool) {
			switched = switched || prev == a && next == b && voluntary
		}
		for name, ch := range schedules(5) {
			switched = false
			first := -1 // a may come after b, and then has nothing to wait for
			got := r.run(ch)
			for _, e := range r.events(smpev.Switch) {
				if e.A == uint64(r.Tasks().All()[0].ID) {
					first = int(e.B)
					break
				}
			}
			want := smp.Passed
			if spin && first == int(a.ID) {
				want = smp.Stuck
			}
			if got != want || first == int(a.ID) && switched == spin {
				t.Errorf("%s, spin %v: ended %v, want %v; switched %v", name, spin, got, want, switched)
			}
		}
	}
}

// A spinning task takes interrupts if they are on, NMIs always.
func TestSpinTakesInterrupts(t *testing.T) {
	for _, c := range []struct {
		name string
		kind smp.SourceKind
		on   bool
		want smp.Outcome
	}{
		{"timer, interrupts on", smp.TimerSource, true, smp.Passed},
		{"timer, interrupts off", smp.TimerSource, false, smp.Stuck},
		{"nmi, interrupts off", smp.NMISource, false, smp.Passed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, smp.Config{CPUs: 1})
			r.source(c.kind, 0, 1)
			done := r.flag()
			handle := func(x *smp.Ctx, _ *arch.Regs) { done.WriteOnce(x, 1) }
			r.Hooks().Trap[smpev.VecTimer], r.Hooks().Trap[smpev.VecNMI] = handle, handle
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
				x.IRQ(c.on)
				x.Spin(&done.up)
				x.IRQ(true)
			})
			r.want(c.want, sim.Always0{})
		})
	}
}

// twoWait makes a machine on which two CPUs wait in a loop for what the third one does.
func twoWait(t *testing.T) *rig {
	r := newRig(t, smp.Config{CPUs: 3})
	wait := r.text("wait", 0, "f3 90 83 3f 00 74 f9 c3")   // pause; cmpl $0,(%rdi); je to the pause; ret
	set := r.text("set", 32, "90 90 c7 07 01 00 00 00 c3") // nop; nop; movl $1,(%rdi); ret
	for c, f := range []arch.Addr{wait, wait, set} {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			x.Regs().R[x86.RDI] = uint64(smp.DataBase)
			x.Call(f)
		})
	}
	return r
}

// TestPauseGivesWay: text that waits in a loop with a pause in it doesn't wait for ever: by
// default another CPU goes on, the one that is waited for in the end.
func TestPauseGivesWay(t *testing.T) {
	r := twoWait(t)
	for _, ch := range schedules(10) {
		r.want(smp.Passed, ch)
	}
	if n := r.Counts().Boundaries; n > 1000 {
		t.Errorf("it took %d boundaries", n)
	}
}

// TestPauseIsFair: a strategy that keeps the CPU that is waited for from going on, as one
// with priorities does, can't while another one waits for it in a loop: between two pauses
// of a CPU each other one makes a step.
func TestPauseIsFair(t *testing.T) {
	r := twoWait(t)
	for _, order := range [][]sim.Mover{{0}, {0, 1}, {1, 0}} {
		turn := 0
		r.want(smp.Passed, director(func(p *sim.Point) sim.Mover {
			turn++
			for i := range order {
				if mv := order[(turn+i)%len(order)]; p.Moves[0]>>mv&1 != 0 {
					return mv
				}
			}
			return p.First
		}))
		if n := r.Counts().Boundaries; n > 1000 {
			t.Errorf("%v first: it took %d boundaries", order, n)
		}
	}
}

// A program's end is told once, with its CPU given up; a thread that has ended
// can be woken again, and one woken while it runs runs once more.
func TestTaskEnds(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	var exits []kapi.TaskID
	r.Hooks().Exited = func(t *smp.Task) { exits = append(exits, t.ID) }
	runs := 0
	thread := r.Tasks().AddThread("thread", 1, func(x *smp.Ctx) {
		runs++
		x.Step("thread", 1)
	})
	woken := 0
	p := r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		for range 3 {
			r.Tasks().Wake(thread)
			woken++
			x.Step("p", 1)
		}
	})
	for name, ch := range schedules(20) {
		exits, runs, woken = nil, 0, 0
		r.want(smp.Passed, ch)
		if !slices.Equal(exits, []kapi.TaskID{p.ID}) || len(r.events(smpev.Exit)) != 1 {
			t.Errorf("%s: exits %v, want task %d's", name, exits, p.ID)
		}
		if runs < 1 || runs > woken {
			t.Errorf("%s: the thread was woken %d times and ran %d times", name, woken, runs)
		}
		if p.Switches() == 0 || thread.OnQueue() {
			t.Errorf("%s: p's end is no switch, or the thread isn't dormant", name)
		}
	}
}

// A wake-up that comes while a thread runs isn't lost.
func TestWakeWhileRunning(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	runs := 0
	var thread *smp.Task
	thread = r.Tasks().AddThread("thread", 0, func(x *smp.Ctx) {
		if runs++; runs < 3 {
			r.Tasks().Wake(thread)
			r.Tasks().Wake(thread) // which is the same as once
		}
	})
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { r.Tasks().Wake(thread) })
	r.want(smp.Passed, sim.Always0{})
	if runs != 3 {
		t.Errorf("the thread ran %d times, want 3", runs)
	}
}

// Tasks that sleep, spin, call and end in any order go on with their own
// registers and stacks.
func TestTasksKeepTheirRegisters(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	f := r.text("f", 0, "51 48 01 c8 59 e2 f9 c3") // 1: push %rcx; add %rcx,%rax; pop %rcx; loop 1b; ret
	yield := r.Gates().Bind("yield", func(x kapi.Context, _ *arch.Regs) { x.Sleep(kapi.Yield) })
	call, _ := x86.CallRel32(smp.TextBase+0x41, yield)
	r.Memory().Map(smp.TextBase+0x40, append(append([]byte{0x51}, call[:]...), 0x59, 0xff, 0xc9, 0x75, 0xf5, 0xc3), smp.PermRead|smp.PermExec) // 1: push; call yield; pop; dec; jnz 1b; ret
	for i := range 6 {
		r.Tasks().AddProgram("p", i%2, func(x *smp.Ctx) {
			n := uint64(10 + i)
			regs := x.Regs()
			regs.R[x86.RAX], regs.R[x86.RCX], regs.R[x86.R12] = 0, n, n<<32
			if got := x.Call(f); got != n*(n+1)/2 {
				t.Errorf("task %d computed %d", i, got)
			}
			x.Sleep(kapi.Yield)
			regs.R[x86.RCX] = 4
			x.Call(smp.TextBase + 0x40)
			if left := x.Thread().Left(); left.R[x86.R12] != n<<32 || left.R[x86.RSP] != 0 {
				t.Errorf("task %d: r12 %#x, stack pointer off by %d", i, left.R[x86.R12], int64(left.R[x86.RSP]))
			}
		})
	}
	for _, ch := range schedules(30) {
		r.want(smp.Passed, ch)
	}
}

// A routine calls text, which calls a bound routine, which calls text, and so
// on: each returns to its caller.
func TestCallsAndGates(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	for c := range 2 {
		r.source(smp.TimerSource, c, 3)
		r.source(smp.NMISource, c, 3)
	}
	const depth = 12
	// f: push %rbx; mov %rdi,%rbx; call gate; add %rbx,%rax; pop %rbx; ret
	f := smp.TextBase
	gate := r.Gates().Bind("down", func(x kapi.Context, regs *arch.Regs) {
		if regs.R[x86.RDI] == 0 {
			regs.R[x86.RAX] = 0
			return
		}
		x.Step("down", 1)
		regs.R[x86.RDI]--
		regs.R[x86.RAX] = x.Call(f)
	})
	call, _ := x86.CallRel32(f+4, gate)
	code := append([]byte{0x53, 0x48, 0x89, 0xfb}, call[:]...)
	r.Memory().Map(f, append(code, 0x48, 0x01, 0xd8, 0x5b, 0xc3), smp.PermRead|smp.PermExec)
	nothing := func(x *smp.Ctx, _ *arch.Regs) { x.Step("irq", 1) }
	r.Hooks().Trap[smpev.VecTimer], r.Hooks().Trap[smpev.VecNMI] = nothing, nothing
	for c := range 2 {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			x.Regs().R[x86.RDI], x.Regs().R[x86.RBX] = depth, 42
			sp := x86.SP(x.Regs())
			if got := x.Call(f); got != depth*(depth+1)/2 {
				t.Errorf("the calls came to %d", got)
			}
			if left := x.Thread().Left(); left.R[x86.RBX] != 42 || x86.SP(x.Regs()) != sp || left.R[x86.RSP] != 0 {
				t.Error("rbx or the stack pointer wasn't kept")
			}
		})
	}
	for _, ch := range schedules(30) {
		r.want(smp.Passed, ch)
	}
}

// The return address lies in memory, and the stack is aligned as the ABI has
// it at a function's entry.
func TestCallStack(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	f := r.text("f", 0, "48 8b 04 24 c3") // mov (%rsp),%rax; ret
	g := r.text("g", 0x40, "48 89 e0 c3") // mov %rsp,%rax; ret
	h := r.text("h", 0x80, "58 59 50 c3") // leaves its stack pointer 8 too high
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		ret := x.Call(f)
		if name, _, ok := r.Names().SymbolAt(arch.Addr(ret)); !ok || name != "return" {
			t.Errorf("the return address is %#x", ret)
		}
		if sp := x.Call(g); sp%16 != 8 {
			t.Errorf("at the entry rsp is %#x", sp)
		}
		x.Call(h)
		if off := int64(x.Thread().Left().R[x86.RSP]); off != 8 {
			t.Errorf("the stack pointer is off by %d, want 8", off)
		}
	})
	r.want(smp.Passed, sim.Always0{})
}
