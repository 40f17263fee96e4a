package kernel_test

import (
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A subject is the one task that a grace period waits for: it does something,
// and asks whether that was a quiescent state.
type subject struct {
	*rig
	x     *smp.Ctx
	force sim.Mover // the source that is to fire at the next boundary
	ticks int
	inNMI func(x *smp.Ctx)
	never *flag
	mate  *smp.Task // another one of the subject's CPU

	before, after func(x *smp.Ctx) // the grace period begins; what the subject does is over

	flavour  kapi.Flavour
	waitsFor uint64
}

// fire has the source interrupt the subject here.
func (s *subject) fire(mv sim.Mover) {
	s.force = mv
	s.x.Step("subject", 1)
	s.force = sim.NoMover
}

const (
	timerSource = sim.MoverSource + iota
	nmiSource
	preemptSource
)

// Which of the things that a task may do is a quiescent state, by build, mode
// and flavour.
func TestQuiescentStates(t *testing.T) {
	const sched, rcu, tasks = 1, 2, 4 // flavours for which it is one
	for _, c := range []struct {
		name string
		do   func(s *subject)
		ends map[string]int // by mode
	}{
		{"nothing", func(s *subject) { s.x.Step("subject", 1) }, nil},
		{"a call into text", func(s *subject) { s.x.Call(smp.TextBase) }, nil},
		{"a tick in preemptible code", func(s *subject) { s.fire(timerSource) },
			map[string]int{"dynamic": rcu, "full": rcu, "lazy": rcu}},
		{"a tick with preemption off", func(s *subject) {
			s.x.PreemptDisable()
			s.fire(timerSource)
			s.x.PreemptEnable()
		}, nil},
		{"no tick with interrupts off", func(s *subject) {
			s.x.IRQ(false)
			n := s.ticks
			s.fire(timerSource)
			if s.ticks != n {
				s.t.Error("a timer fired with interrupts off")
			}
			s.x.IRQ(true)
		}, nil},
		{"a tick in a handler that opened interrupts", func(s *subject) {
			n := s.ticks
			s.inNMI = func(x *smp.Ctx) {
				x.IRQ(true)
				s.force = timerSource
				x.Step("nmi", 2)
				x.IRQ(false)
			}
			s.fire(nmiSource)
			if s.ticks != n+1 {
				s.t.Error("no timer fired in the handler")
			}
		}, nil},
		{"schedule, with nobody else to run", func(s *subject) { s.x.Sleep(kapi.Yield) },
			map[string]int{"none": sched | rcu | tasks, "voluntary": sched | rcu | tasks, "dynamic": sched | rcu | tasks, "full": sched | rcu | tasks, "lazy": sched | rcu | tasks}},
		{"user mode", func(s *subject) { s.k.User(s.x) },
			map[string]int{"none": sched | rcu | tasks, "voluntary": sched | rcu | tasks, "dynamic": sched | rcu | tasks, "full": sched | rcu | tasks, "lazy": sched | rcu | tasks}},
		{"cond_resched, which sees that it is wanted", func(s *subject) { s.k.CondResched(s.x) },
			map[string]int{"none": sched | rcu | tasks, "voluntary": sched | rcu | tasks}},
		{"cond_resched, where another task wants the CPU", func(s *subject) {
			s.Tasks().Wake(s.mate)
			s.x.Step("subject", 1)
			s.k.CondResched(s.x)
		}, map[string]int{"none": sched | rcu | tasks, "voluntary": sched | rcu | tasks, "dynamic": sched | rcu}},
		{"cond_resched_tasks_rcu_qs", func(s *subject) { s.k.CondReschedTasks(s.x) },
			map[string]int{"none": sched | rcu | tasks, "voluntary": sched | rcu | tasks, "dynamic": tasks, "full": tasks, "lazy": tasks}},
		{"a sleep that isn't one", func(s *subject) { s.x.Sleep(&kapi.Is[int]{Var: &s.never.Var, Want: 0}) }, nil},
		{"a spin", func(s *subject) { s.x.Spin(&kapi.Is[int]{Var: &s.never.Var, Want: 0}) }, nil},
		{"a spinlock", func(s *subject) {
			s.x.PreemptDisable()
			s.x.PreemptEnable()
		}, nil},
		{"an NMI", func(s *subject) { s.fire(nmiSource) }, nil},
	} {
		for _, md := range modes {
			for bit, f := range map[int]kapi.Flavour{sched: kapi.QuiesceSched, rcu: kapi.QuiesceRCU, tasks: kapi.QuiesceTasks} {
				t.Run(c.name+"/"+md.name+"/"+f.String(), func(t *testing.T) {
					s := newSubject(t, md, f)
					if got, want := s.quiescent(c.do), c.ends[md.name]&bit != 0; got != want {
						t.Errorf("a quiescent state: %v, want %v", got, want)
					}
				})
			}
		}
	}
}

func newSubject(t *testing.T, md mode, f kapi.Flavour) *subject {
	s := &subject{rig: newRig(t, md, smp.Config{CPUs: 3}), force: sim.NoMover} // the third CPU is idle throughout
	s.flavour = f
	s.waitsFor = smpev.GPSched
	switch {
	case f == kapi.QuiesceRCU:
		s.waitsFor = smpev.GPRcu
	case f == kapi.QuiesceTasks && md.preemptible:
		s.waitsFor = smpev.GPTasks // between two of rcu
	}
	s.text("f", 0, loop8)
	s.source(smp.TimerSource, 0, 20)
	s.source(smp.NMISource, 0, 1)
	s.source(smp.PreemptSource, 0, 1)
	s.never = s.flag()
	s.mate = s.Tasks().AddThread("mate", 0, func(x *smp.Ctx) { x.Step("mate", 1) })
	s.onInterrupt(func(x *smp.Ctx) {
		if x.Source().Kind == smp.TimerSource {
			s.ticks++
		} else if s.inNMI != nil {
			s.inNMI(x)
		}
	})
	return s
}

// quiescent runs what do does, on CPU 0, after the grace period has begun, and
// reports whether that ended it. The subject then exits, which must end it.
func (s *subject) quiescent(do func(s *subject)) (ended bool) {
	begun, over := s.flag(), false
	s.hear(smpev.GPStart, func(e *traces.Event) {
		if e.A == s.waitsFor {
			s.raise(begun)
		}
	})
	s.hear(smpev.GPEnd, func(e *traces.Event) { over = over || e.A == s.waitsFor })
	s.Tasks().AddProgram("subject", 0, func(x *smp.Ctx) {
		if s.before != nil {
			s.before(x)
		}
		s.x = x
		x.Spin(&begun.up) // a timer ends the grace period before that of tasks
		if s.k.RCU.Waiting() == 0 {
			s.t.Error("the grace period ended by itself")
		}
		do(s)
		ended = over || s.k.RCU.Waiting() == 0
		if s.after != nil {
			s.after(x)
		}
	})
	waiter := s.Tasks().AddProgram("waiter", 1, func(x *smp.Ctx) { s.k.RCU.Synchronize(x, s.flavour) })
	s.want(smp.Passed, "by hand", director(func(p *sim.Point) sim.Mover {
		if s.force != sim.NoMover {
			mv := s.force
			s.force = sim.NoMover
			return mv
		}
		// The waiter is off its CPU before the subject does anything.
		if s.x != nil && !waiter.Sleeping() && p.Moves[0]>>1&1 != 0 {
			return 1
		}
		return sim.NoMover
	}))
	return ended
}

// A preempted task isn't quiescent for tasks until it switches voluntarily;
// for the other flavours the CPU has switched.
func TestPreemptedTask(t *testing.T) {
	for _, c := range []struct {
		f    kapi.Flavour
		ends bool
	}{{kapi.QuiesceSched, true}, {kapi.QuiesceRCU, true}, {kapi.QuiesceTasks, false}} {
		t.Run(c.f.String(), func(t *testing.T) {
			s := newSubject(t, modes[3], c.f)
			preempted := 0
			s.hear(smpev.Switch, func(e *traces.Event) {
				if e.C == 0 {
					preempted++
				}
			})
			ended := s.quiescent(func(s *subject) {
				s.Tasks().Wake(s.mate)
				s.x.Step("subject", 1) // the mate is runnable from here
				s.fire(preemptSource)
			})
			if ended != c.ends || preempted != 1 {
				t.Errorf("ended %v, want %v; %d preemptions", ended, c.ends, preempted)
			}
		})
	}
}

// A read-side section that began before the grace period holds an RCU one up
// until its end, whatever happens to the task in it: a tick, or a preemption.
// One that begins later doesn't hold it up longer than its CPU.
func TestReadSide(t *testing.T) {
	disturb := func(s *subject) {
		s.Tasks().Wake(s.mate)
		s.x.Step("subject", 1)
		s.fire(timerSource)
		s.fire(preemptSource)
	}
	lock := func(s *subject) func(x *smp.Ctx) { return func(x *smp.Ctx) { s.k.RCU.ReadLock(x) } }
	unlock := func(s *subject) func(x *smp.Ctx) { return func(x *smp.Ctx) { s.k.RCU.ReadUnlock(x) } }
	full := modes[3]

	s := newSubject(t, full, kapi.QuiesceRCU)
	s.before, s.after = lock(s), unlock(s)
	if s.quiescent(disturb) {
		t.Error("a grace period ended inside a section that began before it")
	}

	s = newSubject(t, full, kapi.QuiesceRCU)
	s.before = func(x *smp.Ctx) { s.k.RCU.ReadLock(x); s.k.RCU.ReadLock(x) }
	s.after = unlock(s)
	if s.quiescent(func(s *subject) { disturb(s); s.k.RCU.ReadUnlock(s.x) }) {
		t.Error("the inner end of a nested section ended the grace period")
	}

	s = newSubject(t, full, kapi.QuiesceRCU)
	s.before = lock(s)
	if !s.quiescent(func(s *subject) { disturb(s); s.k.RCU.ReadUnlock(s.x) }) {
		t.Error("the end of the section didn't end the grace period")
	}

	s = newSubject(t, full, kapi.QuiesceRCU)
	s.after = unlock(s)
	if s.quiescent(func(s *subject) { s.k.RCU.ReadLock(s.x); s.fire(timerSource) }) {
		t.Error("a tick inside a section was a quiescent state")
	}

	s = newSubject(t, modes[0], kapi.QuiesceRCU)
	s.before, s.after = lock(s), unlock(s)
	if s.quiescent(func(s *subject) { s.fire(timerSource) }) {
		t.Error("without preemption: a grace period ended inside a section")
	}
}

// A grace period ends if and only if each CPU or task that it waits for has
// been seen quiescent, which the machine's events show; two at once, of
// any flavour, don't mix their CPUs up; and none waits for ever.
func TestGracePeriods(t *testing.T) {
	for _, md := range modes {
		t.Run(md.name, func(t *testing.T) { gracePeriods(t, md) })
	}
}

// A pending is a grace period as the test sees it: what it must wait for.
type pending struct {
	flavour uint64
	cpus    uint64
	tasks   map[uint64]bool
}

func gracePeriods(t *testing.T, md mode) {
	const cpus = 3
	r := newRig(t, md, smp.Config{CPUs: cpus})
	f := r.text("f", 0, loop8)
	for c := range cpus {
		r.source(smp.TimerSource, c, 4)
		r.source(smp.PreemptSource, c, 2)
		r.source(smp.NMISource, c, 1)
	}

	// Which task is current and which are on a queue, by the machine's events
	// alone.
	var current [cpus]uint64
	onQueue := map[uint64]bool{}
	open := map[uint64]*pending{}
	atomic := [cpus]int{} // preemption or interrupts are off
	inTick := uint64(0)   // CPUs that will count, or have counted, a tick in preemptible code
	traps := map[uint64]int{}
	ended, both := 0, 0
	idle := func(task uint64) bool { return task < cpus }
	quiet := func(cpu uint8, task uint64, voluntary bool) {
		for _, g := range open {
			g.cpus &^= 1 << cpu
			if voluntary {
				delete(g.tasks, task)
			}
		}
	}
	before := r.reset
	r.reset = func() {
		before()
		clear(onQueue)
		clear(open)
		clear(traps)
		current, atomic = [cpus]uint64{0, 1, 2}, [cpus]int{}
		for i := range 5 {
			onQueue[uint64(2*cpus+i)] = true
		}
		ended, both, inTick = 0, 0, 0
	}
	r.hear(smpev.Wake, func(e *traces.Event) { onQueue[e.A] = true })
	r.hear(smpev.Switch, func(e *traces.Event) {
		current[e.CPU] = e.B
		quiet(e.CPU, e.A, e.C == 1)
		if e.C == 1 && r.Tasks().All()[e.A].Sleeping() {
			onQueue[e.A] = false
		}
	})
	r.hear(smpev.Exit, func(e *traces.Event) {
		onQueue[e.A] = false
		quiet(e.CPU, e.A, true)
	})
	r.hear(smpev.Trap, func(e *traces.Event) {
		if e.A == smpev.VecTimer && !idle(uint64(e.Task)) && traps[uint64(e.Task)] == 0 && atomic[e.CPU] == 0 && md.preemptible {
			for _, g := range open {
				if g.flavour == smpev.GPRcu {
					g.cpus &^= 1 << e.CPU
				}
			}
			inTick |= 1 << e.CPU
		}
		traps[uint64(e.Task)]++
	})
	r.hear(smpev.Return, func(e *traces.Event) {
		if e.A == smpev.VecTimer {
			inTick &^= 1 << e.CPU
		}
		if traps[uint64(e.Task)]--; traps[uint64(e.Task)] == 0 && idle(uint64(e.Task)) {
			quiet(e.CPU, uint64(e.Task), false)
		}
	})
	r.hear(smpev.GPStart, func(e *traces.Event) {
		g := &pending{flavour: e.A, tasks: map[uint64]bool{}}
		for c := range uint8(cpus) {
			if e.A != smpev.GPTasks && !(idle(current[c]) && traps[current[c]] == 0) {
				g.cpus |= 1 << c
			}
		}
		for id, on := range onQueue {
			if on && e.A == smpev.GPTasks && !idle(id) {
				g.tasks[id] = true
			}
		}
		if e.A == smpev.GPRcu {
			g.cpus &^= inTick
		}
		open[e.B] = g
		both = max(both, len(open))
	})
	r.hear(smpev.GPEnd, func(e *traces.Event) {
		if g := open[e.B]; g.cpus != 0 || len(g.tasks) != 0 {
			t.Errorf("grace period %d of flavour %d ended; not quiescent: CPUs %#x, tasks %v", e.B, e.A, g.cpus, g.tasks)
		}
		delete(open, e.B)
		ended++
	})

	for i := range 3 {
		r.Tasks().AddProgram("worker", i, func(x *smp.Ctx) {
			for k := range 3 {
				switch (i + k) % 3 {
				case 0:
					x.PreemptDisable()
					atomic[x.CPU()]++
					x.Call(f)
					atomic[x.CPU()]--
					x.PreemptEnable()
				case 1:
					x.IRQ(false)
					atomic[x.CPU()]++
					x.Step("irq off", 1)
					x.Step("irq off", 2)
					atomic[x.CPU()]--
					x.IRQ(true)
				default:
					x.Call(f)
				}
			}
		})
	}
	flavours := [...]kapi.Flavour{kapi.QuiesceTasks, kapi.QuiesceSched, kapi.QuiesceRCU}
	for i := range 2 {
		r.Tasks().AddProgram("waiter", i, func(x *smp.Ctx) {
			for k := range flavours {
				r.k.RCU.Synchronize(x, flavours[(k+i)%len(flavours)])
			}
			r.k.RCU.Synchronize(x, kapi.QuiesceNone)
		})
	}
	want, most := 6, 0
	if md.preemptible {
		want = 10 // one of tasks is three
	}
	for name, ch := range schedules(40) {
		r.want(smp.Passed, name, ch)
		if ended != want {
			t.Errorf("%s: %d grace periods, want %d", name, ended, want)
		}
		if most = max(most, both); t.Failed() {
			t.Fatal(name)
		}
	}
	if most < 2 {
		t.Error("no two grace periods were ever open at once")
	}
}
