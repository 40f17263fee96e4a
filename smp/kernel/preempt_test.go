package kernel_test

import (
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// An interrupt's return switches tasks under full only; might_sleep does under
// voluntary and dynamic, if another task wants the CPU.
func TestPreemption(t *testing.T) {
	for _, md := range modes {
		t.Run(md.name, func(t *testing.T) {
			r := newRig(t, md, smp.Config{CPUs: 2})
			f := r.text("f", 0, loop8)
			r.source(smp.TimerSource, 0, 4)
			r.source(smp.PreemptSource, 0, 4)
			forced, atLock := 0, 0
			wake := r.flag()
			inLock := false
			r.hear(smpev.Switch, func(e *traces.Event) {
				switch {
				case inLock && e.A == 4: // the first program, willingly or, under dynamic, not
					atLock++
				case e.C == 0:
					forced++
				}
			})
			var lock kapi.Mutex
			before := r.reset
			r.reset = func() {
				before()
				forced, atLock, inLock = 0, 0, false
				lock = r.k.Locks.NewMutex("lock")
			}
			a := r.Tasks().AddProgram("a", 0, func(x *smp.Ctx) {
				x.Sleep(kapi.Yield) // b waits for what a is about to bring
				wake.WriteOnce(x, 1)
				x.Step("woken", 1)
				x.Call(f)
				inLock = true
				lock.Lock(x)
				inLock = false
				lock.Unlock(x)
				x.Call(f)
			})
			if a.ID != 4 {
				t.Fatalf("the first program is task %d", a.ID)
			}
			r.Tasks().AddProgram("b", 0, func(x *smp.Ctx) {
				x.Sleep(&wake.up)
				x.Call(f)
			})
			mostForced, mostAtLock := 0, 0
			for name, ch := range schedules(20) {
				r.want(smp.Passed, name, ch)
				mostForced, mostAtLock = max(mostForced, forced), max(mostAtLock, atLock)
			}
			if (mostForced > 0) != md.full {
				t.Errorf("%d tasks were preempted", mostForced)
			}
			if (mostAtLock > 0) != (md.voluntary || md.full) {
				t.Errorf("might_sleep gave the CPU up %d times", mostAtLock)
			}
		})
	}
}

// Under lazy a task that wants the CPU gets it at a tick, and at no other
// interrupt's return; under full at any.
func TestLazy(t *testing.T) {
	for _, md := range modes[3:] {
		for _, tick := range []bool{false, true} {
			r := newRig(t, md, smp.Config{CPUs: 1})
			f := r.text("f", 0, loop8)
			r.source(smp.PreemptSource, 0, 8)
			if tick {
				r.source(smp.TimerSource, 0, 8)
			}
			atTick, other := 0, 0
			fired := uint64(0)
			r.hear(smpev.Trap, func(e *traces.Event) { fired = e.A })
			r.hear(smpev.Switch, func(e *traces.Event) {
				switch {
				case e.C == 1:
				case fired == smpev.VecTimer:
					atTick++
				default:
					other++
				}
			})
			for range 2 {
				r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
			}
			for name, ch := range schedules(20) {
				r.want(smp.Passed, name, ch)
			}
			if md.lazy && (other > 0 || (atTick > 0) != tick) || !md.lazy && other == 0 {
				t.Errorf("%s, ticks %v: %d preempted at a tick, %d else", md.name, tick, atTick, other)
			}
		}
	}
}

// A tick that comes while preemption is off has its effect where it is on again.
func TestLazyLater(t *testing.T) {
	r := newRig(t, modes[4], smp.Config{CPUs: 1})
	f := r.text("f", 0, loop8)
	r.source(smp.TimerSource, 0, 8)
	forced := 0
	r.hear(smpev.Switch, func(e *traces.Event) { forced += int(1 - e.C) })
	wake := r.flag()
	r.Tasks().AddProgram("a", 0, func(x *smp.Ctx) {
		x.Sleep(kapi.Yield) // b waits for what a is about to bring
		x.PreemptDisable()
		wake.WriteOnce(x, 1)
		x.Call(f)
		x.PreemptEnable()
		x.PreemptDisable() // no boundary at which a tick might come
		x.Call(f)
		x.PreemptEnable()
	})
	r.Tasks().AddProgram("b", 0, func(x *smp.Ctx) { x.Sleep(&wake.up) })
	before := r.reset
	r.reset = func() { before(); forced = 0 }
	most := 0
	for name, ch := range schedules(40) {
		r.want(smp.Passed, name, ch)
		most = max(most, forced)
	}
	if most == 0 {
		t.Error("no task was preempted where its section ends")
	}
}

// What has preemption off, interrupts off, or is a trap's handler isn't preempted.
func TestNotPreempted(t *testing.T) {
	r := newRig(t, modes[3], smp.Config{CPUs: 1})
	f := r.text("f", 0, loop8)
	// incl and decl %gs:__preempt_count; ret
	up, down := r.text("up", 0x800, "65 ff 04 25 00 00 80 82 c3"), r.text("down", 0x810, "65 ff 0c 25 00 00 80 82 c3")
	r.source(smp.PreemptSource, 0, 8)
	r.source(smp.TimerSource, 0, 8)
	r.source(smp.NMISource, 0, 4)
	atomic := map[kapi.TaskID]bool{}
	r.hear(smpev.Switch, func(e *traces.Event) {
		if e.C == 0 && atomic[kapi.TaskID(e.A)] {
			t.Errorf("task %d was preempted where it can't be", e.A)
		}
	})
	before := r.reset
	r.reset = func() { before(); clear(atomic) }
	section := func(x *smp.Ctx) {
		was := atomic[x.Task()]
		atomic[x.Task()] = true
		x.Step("atomic", 1)
		x.Call(f)
		x.Step("atomic", 2)
		atomic[x.Task()] = was
	}
	r.onInterrupt(func(x *smp.Ctx) {
		if x.Source().Kind == smp.TimerSource {
			x.IRQ(true) // another interrupt may come now, but no other task
		}
		section(x)
	})
	for i := range 3 {
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			switch i {
			case 0:
				x.PreemptDisable()
				x.PreemptDisable()
				x.PreemptEnable()
				section(x)
				atomic[x.Task()] = false
				x.PreemptEnable()
			case 2: // as text does it
				x.Call(up)
				section(x)
				atomic[x.Task()] = false
				x.Call(down)
			case 1:
				x.IRQ(false)
				section(x)
				atomic[x.Task()] = false
				x.IRQ(true)
			}
			x.Call(f)
		})
	}
	for name, ch := range schedules(40) {
		r.want(smp.Passed, name, ch)
	}
}

// cond_resched gives the CPU up if another task wants it, under none too, and
// text calls it by name.
func TestCondResched(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	gate, ok := kernel.Export("cond_resched")
	if !ok {
		t.Fatal("cond_resched isn't exported")
	}
	wake := r.flag()
	order := ""
	before := r.reset
	r.reset = func() { before(); order = "" }
	r.Tasks().AddProgram("a", 0, func(x *smp.Ctx) {
		x.Sleep(kapi.Yield)
		wake.WriteOnce(x, 1)
		x.Step("woken", 1)
		order += "a"
		x.Call(gate)
		order += "A"
	})
	r.Tasks().AddProgram("b", 0, func(x *smp.Ctx) {
		x.Sleep(&wake.up)
		order += "b"
	})
	r.want(smp.Passed, "default", sim.Always0{})
	if order != "abA" {
		t.Errorf("tasks ran in the order %s, want abA", order)
	}
}

// A task that has counted a preempt_disable in its own count, as kernels' compiled code does that count by task, keeps
// its CPU at the return of each interrupt; one that hasn't may lose it.
func TestTaskCount(t *testing.T) {
	for _, held := range []bool{false, true} {
		r := newRig(t, modes[3], smp.Config{CPUs: 1})
		f := r.text("f", 0, loop8)
		r.source(smp.PreemptSource, 0, 4)
		r.source(smp.TimerSource, 0, 4)
		counts := smp.DataBase
		r.Memory().Map(counts, make([]byte, 4096), smp.PermRead|smp.PermWrite)
		r.k.Guest.TaskPreemption(func(id kapi.TaskID) (count, flags arch.Addr) {
			return counts + 16*arch.Addr(id), counts + 16*arch.Addr(id) + 8
		}, kapi.Wanted{})
		inside, lost := false, 0
		r.hear(smpev.Switch, func(*traces.Event) {
			if inside {
				lost++
			}
		})
		count := func(x *smp.Ctx, n uint64) { x.Memory().Store(counts+16*arch.Addr(x.Task()), 4, n) }
		r.Tasks().AddProgram("a", 0, func(x *smp.Ctx) {
			x.Sleep(kapi.Yield)
			if held {
				count(x, 1)
			}
			inside = true
			x.Call(f)
			inside = false
			count(x, 0)
		})
		r.Tasks().AddProgram("b", 0, func(x *smp.Ctx) { x.Call(f) })
		for name, ch := range schedules(40) {
			r.want(smp.Passed, name, ch)
		}
		if (lost > 0) == held {
			t.Errorf("held %v: it lost its CPU %d times", held, lost)
		}
	}
}
