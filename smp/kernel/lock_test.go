package kernel_test

import (
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// At most one task is between a lock's Lock and Unlock, under every mode and
// schedule, and all finish.
func TestExclusion(t *testing.T) {
	for _, md := range modes {
		for _, kind := range []string{"mutex", "spinlock", "irq spinlock"} {
			t.Run(md.name+"/"+kind, func(t *testing.T) { exclusion(t, md, kind) })
		}
	}
}

func exclusion(t *testing.T, md mode, kind string) {
	r := newRig(t, md, smp.Config{CPUs: 3})
	f := r.text("f", 0, loop8)
	for c := range 3 {
		r.source(smp.TimerSource, c, 3)
		r.source(smp.PreemptSource, c, 3)
		r.source(smp.NMISource, c, 1)
	}
	var lock kapi.Mutex
	inside, entered := 0, 0
	r.reset = func() {
		inside, entered = 0, 0
		switch kind { // as an engine makes it, anew each run
		case "mutex":
			lock = r.k.Locks.NewMutex("lock")
		case "spinlock":
			lock = r.k.Locks.NewSpinlock("lock", false)
		case "irq spinlock":
			lock = r.k.Locks.NewSpinlock("lock", true)
		}
	}
	for i := range 5 {
		r.Tasks().AddProgram("p", i%3, func(x *smp.Ctx) {
			for range 2 {
				lock.Lock(x)
				if inside++; inside != 1 {
					t.Errorf("%d tasks hold the lock", inside)
				}
				entered++
				x.Step("inside", 1)
				x.Call(f)
				x.Step("inside", 2)
				inside--
				lock.Unlock(x)
				x.Step("outside", 1)
			}
		})
	}
	for name, ch := range schedules(25) {
		r.want(smp.Passed, name, ch)
		if entered != 10 {
			t.Errorf("%s: the lock was taken %d times, want 10", name, entered)
		}
	}
}

// A lock that is held when a run ends is free in the next.
func TestLocksAreResetFree(t *testing.T) {
	for _, kind := range []string{"mutex made in the run", "mutex of the kernel", "spinlock made in the run"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, modes[0], smp.Config{CPUs: 1})
			never := r.flag()
			holds := true
			var lock kapi.Mutex
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
				switch kind {
				case "mutex made in the run":
					lock = r.k.Locks.NewMutex("lock")
				case "spinlock made in the run":
					lock = r.k.Locks.NewSpinlock("lock", false)
				case "mutex of the kernel":
					lock = r.k.Text.Mutex()
				}
				lock.Lock(x)
				if holds {
					x.Spin(&never.up)
				}
				lock.Unlock(x)
			})
			r.want(smp.Stuck, "held", sim.Always0{})
			holds = false
			r.want(smp.Passed, "in the next run", sim.Always0{})
		})
	}
}

// A mutex gives the CPU up to its holder; a spinlock's holder isn't preempted.
func TestMutexGivesTheCPUUp(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	var lock kapi.Mutex
	r.reset = func() { lock = r.k.Locks.NewMutex("lock") }
	for range 3 {
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			lock.Lock(x)
			x.Sleep(kapi.Yield)
			lock.Unlock(x)
		})
	}
	for name, ch := range schedules(10) {
		r.want(smp.Passed, name, ch)
	}
}

// A spinlock that turns interrupts off is never taken by a handler that has
// interrupted its holder, and leaves interrupts as they were; one that doesn't is.
func TestSpinlockKeepsInterruptsOut(t *testing.T) {
	for _, irqs := range []bool{true, false} {
		r := newRig(t, modes[0], smp.Config{CPUs: 1})
		var lock kapi.Spinlock
		r.reset = func() { lock = r.k.Locks.NewSpinlock("lock", irqs) }
		r.source(smp.TimerSource, 0, 2)
		r.onInterrupt(func(x *smp.Ctx) {
			lock.Lock(x)
			x.Step("handler", 1)
			lock.Unlock(x)
			if x.Open() {
				t.Error("interrupts are on in a handler that had them off")
			}
		})
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			for range 3 {
				lock.Lock(x)
				x.Step("inside", 1)
				lock.Unlock(x)
				if !x.Open() {
					t.Error("interrupts are off behind the lock")
				}
			}
		})
		stuck := 0
		for _, ch := range schedules(200) {
			if r.run(ch) == smp.Stuck {
				stuck++
			}
		}
		if (stuck > 0) == irqs {
			t.Errorf("interrupts off %v: %d runs of 200 end with a CPU that waits for itself", irqs, stuck)
		}
	}
}
