package kprobes

import (
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// A boosted slot ends with a jump back behind the probed instruction, so that a
// hit needs no step (spec 8.5): nobody comes back to the engine from it, the CPU
// runs there with interrupts as they were, and it is let go like any kernel code.
// So a boosted slot is free only when a grace period has passed since it could
// last be reached; and a grace period of a preemptible build would not be enough.

// boostable reports whether an aggr's slot may have a jump behind the copy: by
// the build, and by the instruction, as the rules see it. Context: kprobe_mutex
// held, the aggr's function loaded last.
func (e *Engine) boostable(p *Aggr) bool {
	return e.do.BoostEnabled(e) && e.do.CanBoost(e, p)
}

// stepsAll reports whether a boosted slot is stepped all the same: a
// post_handler is there (with BoostPrepare one that joins takes the boost away), or
// was when the pre_handlers ran.
func (e *Engine) stepsAll(x kapi.Context, p *Aggr, owes bool) bool {
	if e.s.Boost != BoostStepped {
		return false
	}
	if owes {
		return true
	}
	for _, k := range p.probes.Look(x).probes {
		if k.Post != nil {
			return true
		}
	}
	return false
}

// boostStepped boosts a slot that was stepped for the first time (BoostStepped).
// behind: control goes on behind the copy, so that a jump must be there; else the
// copy goes where it should by itself. Other CPUs may be in the slot: they are
// stepping, and see nothing of what is behind the copy. Who is sent there once the
// slot is boosted comes by an IRET, and fetches anew.
//
//	step 1: the jump behind the copy
//	step 2: from now on hits are not stepped
//
// A step that didn't end there, as an iteration of a string instruction, settles
// it, too: the slot is never boosted. Context: #DB, interrupts off.
func (e *Engine) boostStepped(x kapi.Context, b *kprobeCtlblk, regs *arch.Regs, behind bool) {
	p := b.current
	s := p.slot.Look(x)
	if e.s.Boost != BoostStepped || !e.do.BoostEnabled(e) || s.boosted || s.settled || behind && !p.boostable {
		return
	}
	from := s.at + arch.Addr(p.verdict.Len)
	settled := behind && regs.IP != from
	if behind && !settled {
		back, _ := x86.JumpRel32(from, p.addr+arch.Addr(p.verdict.Len)) // in reach: getInsnSlot has checked
		e.d.Text.Write(x, from, back[:])
	}
	p.slot.Store(x, insnSlot{at: s.at, size: s.size, boosted: !settled, settled: settled})
}

// unboost gives an aggr whose slot is boosted for good one that is stepped: a
// post_handler is about to join, and from the boosted one nobody comes back to
// run it. Context: kprobe_mutex held; may sleep.
//
//	step 1: make the other slot
//	step 2: from now on hits go there; wait for those that are in the old one
//	step 3: free that
func (e *Engine) unboost(x kapi.Context, p *Aggr) error {
	old := p.slot.Peek()
	if e.s.Boost != BoostPrepare || !old.boosted {
		return nil
	}
	e.d.Text.Mutex().Lock(x)
	f, _ := e.d.Symbols.Lookup(p.addr)
	e.loadFunction(f, e.d.Symbols.Kind(p.addr), e.recoverProbedInstruction(x, f))
	next, err := e.getInsnSlot(x, p, false)
	e.d.Text.Mutex().Unlock(x)
	if err != nil {
		return err
	}
	p.slot.Store(x, next)
	e.do.Synchronize(e, x)
	e.freeInsnSlot(x, old)
	return nil
}
