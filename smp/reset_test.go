package smp_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

var errBoom = errors.New("boom")

// endings is a machine whose run ends as its field says, with routines parked
// in tasks, traps and calls, and one holding what a defer gives back.
type endings struct {
	*rig
	how    string
	timers int
}

var allEndings = []struct {
	how  string
	want smp.Outcome
}{
	{"passed", smp.Passed},
	{"violated", smp.Violated},
	{"stuck", smp.Stuck},
	{"exhausted", smp.Exhausted},
	{"refused", smp.Refused},
	{"panic", smp.Passed}, // in a task; recovered
	{"panic in a trap", smp.Passed},
	{"panic in a gate", smp.Passed},
}

// finder takes a breakpoint for a finding.
type finder struct{ e *endings }

func (f finder) Event(e *traces.Event) *traces.Finding {
	if e.A == smpev.VecBP && f.e.how == "violated" {
		return &traces.Finding{Message: "a breakpoint"}
	}
	return nil
}

func newEndings(t testing.TB) *endings {
	e := &endings{rig: newRig(t, smp.Config{CPUs: 2, Budget: 2000})}
	e.log.Store = false
	e.log.Subscribe(finder{e}, smpev.Trap)
	e.source(smp.TimerSource, 0, 2)
	never, lock := e.flag(), e.flag()
	free := kapi.Is[int]{Var: &lock.Var, Want: 0}
	gate := e.Gates().Bind("gate", func(x kapi.Context, _ *arch.Regs) {
		x.Step("gate", 1)
		switch e.how {
		case "panic in a gate":
			panic(errBoom)
		case "stuck":
			x.Sleep(&never.up)
		}
	})
	// 1: int3; call gate; dec %ecx; jnz 1b; ret
	call, _ := x86.CallRel32(smp.TextBase+1, gate)
	e.Memory().Map(smp.TextBase, append(append([]byte{0xcc}, call[:]...), 0xff, 0xc9, 0x75, 0xf6, 0xc3), smp.PermRead|smp.PermExec)
	e.text("refused", 0x40, "f4 c3")
	e.Hooks().Trap[smpev.VecBP] = func(x *smp.Ctx, _ *arch.Regs) {
		x.Step("int3", 1)
		if e.how == "panic in a trap" {
			panic(errBoom)
		}
	}
	e.Hooks().Trap[smpev.VecTimer] = func(x *smp.Ctx, _ *arch.Regs) {
		e.timers++
		x.Step("timer", 1)
	}
	e.Tasks().AddProgram("a", 0, func(x *smp.Ctx) {
		for !lock.Swap(x, kapi.Once, 0, 1) {
			x.Sleep(&free)
		}
		defer lock.WriteOnce(x, 0) // reaches a point even if it is unwound
		x.Regs().R[x86.RCX] = 3
		if e.how == "exhausted" {
			x.Regs().R[x86.RCX] = 1 << 30
		}
		x.Call(smp.TextBase)
		switch e.how {
		case "panic":
			panic(errBoom)
		case "refused":
			x.Call(smp.TextBase + 0x40)
		}
	})
	e.Tasks().AddProgram("b", 1, func(x *smp.Ctx) {
		for !lock.Swap(x, kapi.Once, 0, 1) {
			x.Sleep(&free)
		}
		defer lock.WriteOnce(x, 0)
		x.Step("b", 1)
	})
	return e
}

// end runs the machine to the ending, and reports whether it was that one.
func (e *endings) end(i int, ch sim.Chooser) (ok bool) {
	e.how = allEndings[i].how
	panics := len(e.how) >= 5 && e.how[:5] == "panic"
	defer func() {
		if p := recover(); p != nil {
			if !panics || p != errBoom {
				panic(p)
			}
			ok = true
		}
	}()
	return e.run(ch) == allEndings[i].want && !panics
}

// However a run has ended, the next one is as on a new machine.
func TestResetAfterEachEnding(t *testing.T) {
	for _, ch := range schedules(3) {
		used := newEndings(t)
		fresh := newEndings(t)
		want := make([]uint64, len(allEndings))
		for i := range allEndings {
			if !fresh.end(i, sim.Always0{}) {
				t.Fatalf("the run didn't end %s", allEndings[i].how)
			}
			want[i] = fresh.log.Digest()
		}
		for i := range allEndings {
			used.end(i, ch)
			for j := range allEndings {
				if !used.end(j, sim.Always0{}) || used.log.Digest() != want[j] {
					t.Fatalf("%s after %s: another digest than on a machine that ended in order", allEndings[j].how, allEndings[i].how)
				}
			}
		}
	}
}

// counter is the default run, and counts what it is asked.
type counter struct{ asked int }

func (c *counter) Choose(*sim.Point) (pick, hold int) { c.asked++; return 0, 0 }

// To unwind what a run left parked is not part of any run: the strategy, which
// may have started on the next one, isn't asked.
func TestResetAsksNothing(t *testing.T) {
	for i, c := range allEndings {
		e := newEndings(t)
		ch := new(counter)
		e.end(i, ch)
		asked := ch.asked
		e.Reset(sim.Always0{})
		if ch.asked != asked {
			t.Errorf("%s: the reset after it asked %d questions", c.how, ch.asked-asked)
		}
	}
}

// Machines that are closed leave nothing, however their runs ended.
func TestCloseLeavesNothing(t *testing.T) {
	count := func() int { // fibres end a moment after they are stopped
		n := runtime.NumGoroutine()
		for range 100 {
			runtime.Gosched()
			time.Sleep(time.Millisecond / 10)
			n = min(n, runtime.NumGoroutine())
		}
		return n
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	machines := 1000 / slow
	if testing.Short() {
		machines = 100
	}
	before := count()
	var kept uint64
	for i := range machines {
		e := newEndings(noCleanup{t})
		k := i % len(allEndings)
		if !e.end(k, sim.Always0{}) || !e.end((k+1)%len(allEndings), sim.Always0{}) {
			t.Fatalf("machine %d didn't end %s, and then %s", i, allEndings[k].how, allEndings[(k+1)%len(allEndings)].how)
		}
		e.Close()
		if i == machines/10 {
			kept = heap()
		}
	}
	if after := count(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
	if now := heap(); now > kept+kept/2+1<<20 {
		t.Errorf("the heap was %d kB after a tenth of the machines and is %d kB", kept>>10, now>>10)
	}
}

// noCleanup is for a test that closes its machines itself.
type noCleanup struct{ testing.TB }

func (noCleanup) Cleanup(func()) {}

// One machine run many times makes no more fibres, contexts or memory.
func TestRunsAllocateNothing(t *testing.T) {
	e := newEndings(t)
	e.how = "passed"
	e.run(sim.Always0{})
	allocs := testing.AllocsPerRun(50, func() { e.run(sim.Always0{}) })
	if allocs > 6 { // those of rig.run
		t.Errorf("%v allocations per run", allocs)
	}
}

// A thread that is added after Reset, as one made by an engine that is built
// anew, can be interrupted as any other.
func TestThreadAddedInRun(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 1})
	r.source(smp.TimerSource, 0, 1)
	fired := 0
	r.Hooks().Trap[smpev.VecTimer] = func(*smp.Ctx, *arch.Regs) { fired++ }
	f := r.text("f", 0, loop8)
	r.Reset(greedy)
	thread := r.Tasks().AddThread("late", 0, func(x *smp.Ctx) {
		if x.Atomic() {
			t.Error("the thread begins with interrupts off")
		}
		x.Call(f)
	})
	r.Tasks().Wake(thread)
	if got := r.Run(); got != smp.Passed || fired != 1 {
		t.Errorf("ended %v (%v), %d timers", got, r.Refusal(), fired)
	}
}
