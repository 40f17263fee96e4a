package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// A slot is where the out-of-line copy of an aggr's instruction is.
type insnSlot struct {
	at      arch.Addr // set at the making; 0: there is none, the instruction is emulated
	size    int       // set at the making: in bytes, as it was handed out
	boosted bool      // a jump back follows the copy, or it goes elsewhere by itself
	settled bool      // it was stepped, and is not to be boosted
}

// maxCopy is how many bytes 2.6 copies, whatever the instruction's length.
const maxCopy = 16

// archCopyKprobe copies the instruction, relocated, if it isn't emulated. post: the
// aggr begins with a post_handler. Context: kprobe_mutex and text_mutex held.
func (e *Engine) archCopyKprobe(x kapi.Context, p *Aggr, post bool) error {
	p.boostable = e.boostable(p)
	s, err := e.getInsnSlot(x, p, e.s.Boost == era.BoostPrepare && p.boostable && !post)
	p.slot.Init(e.d.Cells, s)
	return err
}

// getInsnSlot makes a slot for an aggr, with what follows the copy: a jump back if it
// is boosted; an int3, or nothing, where it is stepped. Where the step is by int3
// what changes the instruction pointer or the interrupt flag is emulated instead,
// if it is that to the processor, too: for the kernel vpsubb is a call.
func (e *Engine) getInsnSlot(x kapi.Context, p *Aggr, boosted bool) (insnSlot, error) {
	if e.s.Step == era.StepInt3 && !boosted {
		if emulates, errno := e.prepareEmulation(p); errno != nil || emulates {
			return insnSlot{}, errno
		}
	}
	s := insnSlot{size: p.verdict.Len, boosted: boosted}
	switch {
	case boosted || e.s.Boost == era.BoostStepped && p.boostable:
		s.size += jumpSize
	case e.s.Step == era.StepInt3:
		s.size++
	}
	if e.copiesAll() {
		s.size = max(s.size, maxCopy)
	}
	ok := false
	if s.at, ok = e.d.Exec.Alloc(x, s.size, kpev.SlotMem); !ok {
		return insnSlot{}, ENOMEM
	}
	buf, ok := e.looked.judge.Copy(e.insn[:0], &p.verdict, e.do.RunsAt(p, s.at))
	back, near := x86.JumpRel32(s.at+arch.Addr(p.verdict.Len), p.addr+arch.Addr(p.verdict.Len))
	switch {
	case !ok || e.do.BoostEnabled(e) && !near:
		e.freeInsnSlot(x, s)
		return insnSlot{}, EINVAL
	case boosted:
		buf = append(buf, back[:]...)
	case e.s.Step == era.StepInt3:
		buf = append(buf, x86.Int3)
	case e.copiesAll(): // what follows mov ss is stepped with it
		buf = append(buf, p.orig[len(buf):maxCopy]...)
	}
	e.d.Text.Fill(x, s.at, buf)
	return s, nil
}

// copiesAll reports whether more than the instruction is copied.
func (e *Engine) copiesAll() bool {
	return e.s.Step == era.StepDebug && e.s.Kernel.Edition == rules.Edition26
}

// before514 reports whether the rules are those of kernels that step by #DB.
func (e *Engine) before514() bool { return e.s.Kernel.Edition < rules.Edition514 }

// ownInt3 reports whether the probed instruction is an int3 of another owner.
// Only 2.6 allows that; the int3 is executed where it is.
func (e *Engine) ownInt3(p *Aggr) bool { return e.s.Step == era.StepDebug && p.orig[0] == x86.Int3 }

// prepareEmulation reports whether an aggr's instruction is emulated where the step is
// by int3. What kernels until 5.12 would step by #DB, and those since refuse, is
// refused (-EOPNOTSUPP), as is a copy without room for the int3 (-ENOSPC).
func (e *Engine) prepareEmulation(p *Aggr) (bool, error) {
	told := !e.before514() && !e.s.AnyByte // the rules have said whether it is
	switch {
	case p.insn == nil:
		return false, nil
	case p.insn.Emulated() && (p.verdict.Emulated || !told):
		return true, nil
	case told:
		return false, nil // the rules have refused it
	case p.verdict.Len == x86.MaxLen:
		return false, ENOSPC
	}
	switch p.insn.Flow() {
	case arch.FlowIndirectJump, arch.FlowIndirectCall, arch.FlowTrapReturn, arch.FlowOther:
		return false, EOPNOTSUPP
	}
	return false, nil
}

// freeInsnSlot gives a slot back that no CPU is sent to any more, and that none steps
// in. A task may have been interrupted in a boosted one (the kernel's dirty
// slots). Context: kprobe_mutex held; may sleep.
func (e *Engine) freeInsnSlot(x kapi.Context, s insnSlot) {
	switch {
	case s.boosted:
		e.d.Exec.Retire(x, s.at, s.size, kpev.SlotMem)
	case s.at != 0:
		e.d.Exec.Free(x, s.at, s.size, kpev.SlotMem)
	}
}

// A boosted slot ends with a jump to the instruction after the probed one, so that a
// hit needs no step (spec 8.5): the CPU does not return to the engine. It runs the slot
// with interrupts as they were, and can be preempted there like in any kernel code.
// So a boosted slot is free only when a grace period has passed since it could
// last be reached; and a grace period of a preemptible build would not be enough.

// boostable reports whether an aggr's slot may have a jump after the copy: by
// the build, and by the instruction, as the rules see it. Context: kprobe_mutex
// held, the aggr's function loaded last.
func (e *Engine) boostable(p *Aggr) bool {
	return e.do.BoostEnabled(e) && e.do.CanBoost(e, p)
}

// stepsAll reports whether a boosted slot is stepped all the same: a
// post_handler is there (with BoostPrepare one that joins takes the boost away), or
// was when the pre_handlers ran.
func (e *Engine) stepsAll(x kapi.Context, p *Aggr, owes bool) bool {
	if e.s.Boost != era.BoostStepped {
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
// behind: control goes on after the copy, so that a jump must be there; else the
// copy goes where it should by itself. Other CPUs may be in the slot: they are
// stepping, and don't see what is after the copy. A CPU that is sent there once the
// slot is boosted arrives by an IRET, which makes it fetch anew.
//
//	step 1: the jump after the copy
//	step 2: from now on hits are not stepped
//
// A step that didn't end there, as an iteration of a string instruction, settles
// it, too: the slot is never boosted. Context: #DB, interrupts off.
func (e *Engine) boostStepped(x kapi.Context, b *kprobeCtlblk, regs *arch.Regs, behind bool) {
	p := b.current
	s := p.slot.Look(x)
	if e.s.Boost != era.BoostStepped || !e.do.BoostEnabled(e) || s.boosted || s.settled || behind && !p.boostable {
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
// post_handler is about to join, and a CPU does not come back from the boosted
// one to run it. Context: kprobe_mutex held; may sleep.
//
//	step 1: make the other slot
//	step 2: from now on hits go there; wait for those that are in the old one
//	step 3: free that
func (e *Engine) unboost(x kapi.Context, p *Aggr) error {
	old := p.slot.Peek()
	if e.s.Boost != era.BoostPrepare || !old.boosted {
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
