package kernel

import (
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// Stacks scans all stacks while the machine is stopped. It implements kapi.Stacks.
type Stacks struct {
	k     *Kernel
	timer *DelayedWork // set at boot; nil: stacks are never looked at (Config.StackCheck)
	// owned by the one caller, and by the machine's hooks while it waits: tasks that were in a span
	inside [4]uint64
	sure   bool           // owned by the one caller: it waits for one of them to give up its CPU
	later  kapi.Var[bool] // it is time to scan again
	again  kapi.Is[bool]  `state:"boot"` // set at boot
}

func (s *Stacks) init(k *Kernel) {
	s.k = k
	s.later.Init(&k.M.Cells, false)
	s.again = kapi.Is[bool]{Var: &s.later, Want: true}
	if k.cfg.StackCheck {
		s.timer = k.Work.BootWork("stack_check", func(x kapi.Context) { s.later.WriteOnce(x, true) })
	}
}

func (s *Stacks) reset() {
	s.inside, s.sure = [4]uint64{}, false
	s.later.Set(false)
}

// eagerLooks is how often a timer triggers another scan. After that the trigger is that a task gives up its CPU or
// begins to spin: a machine that is stopped over and over makes no progress.
const eagerLooks = 4

// Quiesce implements kapi.Stacks.
//
//	step 1: stop the machine, and scan
//	step 2: if a task was in a span, scan again later
//
// The stoppers' own stacks aren't scanned. Their frames began after the machine was being stopped, so after the
// caller had closed the spans.
func (s *Stacks) Quiesce(x kapi.Context, spans []kapi.Span) {
	if s.timer == nil {
		sim.Bug("stacks are looked at, and the kernel was booted without (Config.StackCheck)")
	}
	for looks := 1; ; looks++ {
		x.Step("stack_check", 1)
		s.sure = looks > eagerLooks
		s.k.Stop.Machine(x, func(x kapi.Context) { s.look(ctxOf(x), spans) })
		x.Mark(s.later.ID(), kapi.Read)
		if s.inside == [4]uint64{} {
			return
		}

		x.Step("stack_check", 2)
		if !s.sure {
			s.timer.Queue(x)
		}
		x.Sleep(&s.again)
	}
}

// look finds the tasks that stand in a span. Context: the machine is stopped.
func (s *Stacks) look(x *smp.Ctx, spans []kapi.Span) {
	s.inside = [4]uint64{}
	s.later.Put(x, false)
	for _, t := range s.k.M.Tasks().All() {
		if t != s.k.M.Tasks().Stopper(t.CPUID()) && x.Stacks().StandsIn(t, spans, nil) {
			s.inside[t.ID/64] |= 1 << (t.ID % 64)
		}
	}
}

// switched is called at each context switch. A task that stood in a span has
// had its CPU and gives it up, or loses it to another task that wants it.
func (s *Stacks) switched(prev, next *smp.Task) {
	if s.sure && next != s.k.M.Tasks().Stopper(prev.CPUID()) {
		s.left(prev.ID)
	}
}

// left is called when a task has advanced in a way that others notice.
func (s *Stacks) left(id kapi.TaskID) {
	if s.sure && s.inside[id/64]>>(id%64)&1 != 0 && !s.later.Peek() {
		s.k.M.Footprint().TouchCell(s.later.ID(), true)
		s.later.Overwrite(true) // no CPU holds one: it was cleared while the machine was stopped
		s.k.M.Waits().Notify(s.later.ID())
	}
}
