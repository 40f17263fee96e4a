package kprobes

import (
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
	s, err := e.getInsnSlot(x, p, e.s.Boost == BoostPrepare && p.boostable && !post)
	p.slot.Init(e.d.Cells, s)
	return err
}

// getInsnSlot makes a slot for an aggr, with what follows the copy: a jump back if it
// is boosted; an int3, or nothing, where it is stepped. Where the step is by int3
// what changes the instruction pointer or the interrupt flag is emulated instead,
// if it is that to the processor, too: for the kernel vpsubb is a call.
func (e *Engine) getInsnSlot(x kapi.Context, p *Aggr, boosted bool) (insnSlot, error) {
	if e.s.Step == StepInt3 && !boosted {
		if emulates, errno := e.prepareEmulation(p); errno != nil || emulates {
			return insnSlot{}, errno
		}
	}
	s := insnSlot{size: p.verdict.Len, boosted: boosted}
	switch {
	case boosted || e.s.Boost == BoostStepped && p.boostable:
		s.size += jumpSize
	case e.s.Step == StepInt3:
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
	case e.s.Step == StepInt3:
		buf = append(buf, x86.Int3)
	case e.copiesAll(): // what follows mov ss is stepped with it
		buf = append(buf, p.orig[len(buf):maxCopy]...)
	}
	e.d.Text.Fill(x, s.at, buf)
	return s, nil
}

// copiesAll reports whether more than the instruction is copied.
func (e *Engine) copiesAll() bool {
	return e.s.Step == StepDebug && e.s.Kernel.Edition == rules.Edition26
}

// before514 reports whether the rules are those of kernels that step by #DB.
func (e *Engine) before514() bool { return e.s.Kernel.Edition < rules.Edition514 }

// ownInt3 reports whether what is probed is a breakpoint of somebody else's,
// which only 2.6 takes: it is executed where it is.
func (e *Engine) ownInt3(p *Aggr) bool { return e.s.Step == StepDebug && p.orig[0] == x86.Int3 }

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
// in. In a boosted one somebody may have been interrupted (the kernel's dirty
// slots). Context: kprobe_mutex held; may sleep.
func (e *Engine) freeInsnSlot(x kapi.Context, s insnSlot) {
	switch {
	case s.boosted:
		e.d.Exec.Retire(x, s.at, s.size, kpev.SlotMem)
	case s.at != 0:
		e.d.Exec.Free(x, s.at, s.size, kpev.SlotMem)
	}
}
