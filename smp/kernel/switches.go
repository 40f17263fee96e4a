package kernel

import (
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// Switches says where tasks can go over from one state to another. It implements
// kapi.Switches.
type Switches struct {
	k             *Kernel
	busy          [4]uint64            // owned by who looks, and by the machine's hooks: tasks that weren't out
	later         kapi.Var[bool]       // it is time to look again
	again         kapi.Is[bool]        `state:"boot"` // set at boot
	user, resched func(x kapi.Context) `state:"boot"` // set at boot; nil: there is no client
}

func (s *Switches) reset() {
	s.busy = [4]uint64{}
	s.later.Set(false)
}

// BootOn implements kapi.Switches.
func (s *Switches) BootOn(user, resched func(x kapi.Context)) {
	s.later.Init(&s.k.M.Cells, false)
	s.again = kapi.Is[bool]{Var: &s.later, Want: true}
	s.user, s.resched = user, resched
}

// Begin implements kapi.Switches.
func (s *Switches) Begin(x kapi.Context) {
	s.later.WriteOnce(x, false)
	s.busy = [4]uint64{}
}

// Look implements kapi.Switches.
func (s *Switches) Look(x kapi.Context, t kapi.TaskID, spans []kapi.Span) kapi.Look {
	x.Mark(s.later.ID(), kapi.Read)
	look := ctxOf(x).LookAt(s.k.M.Tasks()[t], spans)
	if look != kapi.LookOut {
		s.busy[t/64] |= 1 << (t % 64)
	}
	return look
}

// Await implements kapi.Switches.
func (s *Switches) Await(x kapi.Context) { x.Sleep(&s.again) }

// Tell implements kapi.Switches.
func (s *Switches) Tell(x kapi.Context) { s.later.WriteOnce(x, true) }

// left is called when a task has given its CPU up, or a CPU is back in its idle loop.
func (s *Switches) left(t *smp.Task) {
	if s.busy[t.ID/64]>>(t.ID%64)&1 != 0 && !s.later.Peek() {
		s.k.M.Footprint().TouchCell(s.later.ID(), true)
		s.later.Overwrite(true) // no CPU holds one: who has cleared it has looked at tasks since
		s.k.M.Notify(s.later.ID())
	}
}
