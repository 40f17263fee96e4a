package kernel

import (
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// Stacks looks at all stacks while the machine is stopped. It implements
// kapi.Stacks.
type Stacks struct {
	k      *Kernel
	inside [4]uint64      // owned by the one caller, and by the machine's hooks while it waits: tasks that stood in a span
	moved  kapi.Var[bool] // one of them has had its CPU since; or there was none
	again  kapi.Is[bool]  // set at boot
}

func (s *Stacks) init(k *Kernel) {
	s.k = k
	s.moved.Init(&k.M.Cells, false)
	s.again = kapi.Is[bool]{Var: &s.moved, Want: true}
}

func (s *Stacks) reset() {
	s.inside = [4]uint64{}
	s.moved.Set(false)
}

// Quiesce implements kapi.Stacks. Where a task stands in a span it is tried again
// once such a task has run: it must have left, or be there anew for an interrupt.
//
//	step 1: stop the machine, and look
//	step 2: wait until one of those found has run; again
//
// The stoppers' own stacks aren't looked at. What stands on one began after the
// machine was being stopped, so after the caller had closed the spans.
func (s *Stacks) Quiesce(x kapi.Context, spans []kapi.Span) {
	for found := true; found; {
		x.Step("stack_check", 1)
		s.k.Stop.Machine(x, func(x kapi.Context) { s.look(x.(*smp.Ctx), spans) })
		x.Touch(s.moved.ID(), kapi.Read)
		if found = s.inside != [4]uint64{}; found {
			x.Step("stack_check", 2)
			x.Sleep(&s.again)
		}
	}
}

// look finds who stands in a span. Context: the machine is stopped.
func (s *Stacks) look(x *smp.Ctx, spans []kapi.Span) {
	s.inside = [4]uint64{}
	x.Touch(s.moved.ID(), kapi.Write)
	s.moved.Set(false)
	for _, t := range s.k.M.Tasks() {
		if t != s.k.M.Stopper(t.CPUID()) && x.StandsIn(t, spans) {
			s.inside[t.ID/64] |= 1 << (t.ID % 64)
		}
	}
}

// switched is told of each context switch: next gets the CPU.
func (s *Stacks) switched(next *smp.Task) {
	if s.inside[next.ID/64]>>(next.ID%64)&1 != 0 && !s.moved.Peek() {
		s.k.M.TouchCell(s.moved.ID(), true)
		s.moved.Set(true)
		s.k.M.Notify(s.moved.ID())
	}
}
