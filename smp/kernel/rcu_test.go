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
			map[string]int{"dynamic": rcu, "full": rcu}},
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
			map[string]int{"none": sched | rcu | tasks, "voluntary": sched | rcu | tasks, "dynamic": sched | rcu | tasks, "full": sched | rcu | tasks}},
		{"user mode", func(s *subject) { s.k.User(s.x) },
			map[string]int{"none": sched | rcu | tasks, "voluntary": sched | rcu | tasks, "dynamic": sched | rcu | tasks, "full": sched | rcu | tasks}},
		{"cond_resched, which sees that it is wanted", func(s *subject) { s.k.CondResched(s.x) },
			map[string]int{"none": sched | rcu | tasks, "voluntary": sched | rcu | tasks, "dynamic": sched | rcu, "full": 0}},
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
	begun := s.flag()
	s.hear(smpev.GPStart, func(e *traces.Event) {
		if e.A == s.waitsFor {
			s.raise(begun)
		}
	})
	s.AddProgram("subject", 0, func(x *smp.Ctx) {
		s.x = x
		x.Spin(&begun.up) // a timer ends the grace period before that of tasks
		if s.k.RCU.Waiting() == 0 {
			s.t.Error("the grace period ended by itself")
		}
		do(s)
		ended = s.k.RCU.Waiting() == 0
	})
	s.AddProgram("waiter", 1, func(x *smp.Ctx) { s.k.RCU.Synchronize(x, s.flavour) })
	s.want(smp.Passed, "by hand", director(func(p *sim.Point) sim.Mover {
		if s.force != sim.NoMover {
			mv := s.force
			s.force = sim.NoMover
			return mv
		}
		// The waiter is off its CPU before the subject does anything.
		if s.x != nil && !s.Tasks()[7].Sleeping() && p.Moves[0]>>1&1 != 0 {
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
		f                    kapi.Flavour
		whilePreempted, back bool // the grace period has ended
	}{
		{kapi.QuiesceSched, true, true},
		{kapi.QuiesceRCU, true, true},
		{kapi.QuiesceTasks, false, false},
	} {
		t.Run(c.f.String(), func(t *testing.T) {
			s := newSubject(t, modes[3], c.f)
			s.AddThread("pad", 2, func(*smp.Ctx) {}) // so that the waiter is task 7 again, and the mate 9
			_ = c
		})
	}
}
