package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// An insnSlot is the place of the out-of-line copy of an aggr's instruction.
type insnSlot struct {
	at      arch.Addr // set at the making; 0: there is no slot, the instruction is emulated
	size    int       // set at the making: the bytes handed out
	boosted bool      // a jump back follows the copy, or the copy itself goes elsewhere
	settled bool      // the copy was stepped, and the slot is never to be boosted
}

// maxCopy is how many bytes 2.6 copies, whatever the instruction's length.
const maxCopy = 16

// An insnCache is kprobe_insn_slots. It makes and frees the copies.
type insnCache struct {
	*env `state:"boot"`  // set at New
	insn [maxDetour]byte // owned by text_mutex: the bytes about to be written
}

// archCopyKprobe copies and relocates the instruction unless it is emulated. post is true if
// the aggr's first probe has a post_handler. Context: kprobe_mutex and text_mutex held.
func (c *insnCache) archCopyKprobe(x kapi.Context, ap *Aggr, post bool) error {
	ap.boostable = c.boostable(ap)
	s, err := c.getInsnSlot(x, ap, c.s.Boost == era.BoostPrepare && ap.boostable && !post)
	ap.slot.Init(c.d.Cells, s)
	return err
}

// getInsnSlot makes a slot for an aggr. The copy is followed by a jump back if it is boosted,
// and by an int3 or nothing if it is stepped. With steps by int3, an instruction that changes
// the instruction pointer or the interrupt flag is emulated instead. That applies only if the
// processor decodes it so, too: the kernel takes vpsubb for a call.
func (c *insnCache) getInsnSlot(x kapi.Context, ap *Aggr, boosted bool) (insnSlot, error) {
	if c.s.Step == era.StepInt3 && !boosted {
		if emulates, errno := c.row.emulates(c, ap); errno != nil || emulates {
			return insnSlot{}, errno
		}
	}
	s := insnSlot{size: ap.verdict.Len, boosted: boosted}
	switch {
	case boosted || c.s.Boost == era.BoostStepped && ap.boostable:
		s.size += c.cpu.BranchLen
	case c.s.Step == era.StepInt3:
		s.size += len(c.row.stepEnd)
	}
	if c.copiesAll() {
		s.size = max(s.size, maxCopy)
	}
	ok := false
	if s.at, ok = c.d.Exec.Alloc(x, s.size, kpev.SlotMem); !ok {
		return insnSlot{}, ENOMEM
	}
	buf, ok := c.e.text.looked.judge.Copy(c.insn[:0], &ap.verdict, c.do.Copy.RunsAt(ap, s.at))
	back, near := c.cpu.Jump(s.at+arch.Addr(ap.verdict.Len), ap.addr+arch.Addr(ap.verdict.Len))
	switch {
	case !ok || c.do.Copy.BoostEnabled(c.e) && !near:
		c.freeInsnSlot(x, s)
		return insnSlot{}, EINVAL
	case boosted:
		buf = append(buf, back.Bytes()...)
	case c.s.Step == era.StepInt3:
		buf = append(buf, c.row.stepEnd...)
	case c.copiesAll(): // the instruction after mov ss is stepped with it
		buf = append(buf, ap.orig[len(buf):maxCopy]...)
	}
	c.fillCopy(x, s.at, buf)
	return s, nil
}

// fillCopy writes a copy that CPUs will reach from a breakpoint. They reach it by the return
// from the breakpoint, by IRET, which serialises. Where the return doesn't serialise (FRED), a
// CPU may still hold the old bytes, so every CPU is synchronized before the copy becomes
// reachable. x86's kernels don't do that, those of processors on which neither a trap nor the
// return from it serialises do. Context: kprobe_mutex held; may sleep.
func (c *insnCache) fillCopy(x kapi.Context, at arch.Addr, buf []byte) {
	c.d.Text.Fill(x, at, buf)
	if c.s.SyncCopies || c.row.syncsCopies {
		c.d.Sync.Core(x, kpev.SyncCopy)
	}
}

// copiesAll reports whether more than the instruction is copied.
func (c *insnCache) copiesAll() bool {
	return c.s.Step == era.StepDebug && c.s.Kernel.Edition == rules.Edition26 && c.cpu.Align == 1
}

// before514 reports whether the rules are those of kernels that step by #DB.
func (c *insnCache) before514() bool { return c.s.Kernel.Edition < rules.Edition514 }

// ownInt3 reports whether the probed instruction is an int3 of another owner.
// Only 2.6 allows that; the int3 is executed where it is.
func (c *insnCache) ownInt3(ap *Aggr) bool {
	return c.s.Step == era.StepDebug && c.cpu.IsBreakpoint(arch.Word(ap.orig[:]))
}

// freeInsnSlot frees a slot that no CPU can reach any more, and in which none steps. A task
// may have been interrupted in a boosted slot (the kernel's dirty slots). Context:
// kprobe_mutex held; may sleep.
func (c *insnCache) freeInsnSlot(x kapi.Context, s insnSlot) {
	switch {
	case s.boosted:
		c.d.Exec.Retire(x, s.at, s.size, kpev.SlotMem)
	case s.at != 0:
		c.d.Exec.Free(x, s.at, s.size, kpev.SlotMem)
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
func (c *insnCache) boostable(ap *Aggr) bool {
	return c.do.Copy.BoostEnabled(c.e) && c.do.Copy.CanBoost(c.e, ap)
}

// stepsAll reports whether a boosted slot must still be stepped: the aggr has a post_handler,
// or had one when the pre_handlers ran. With BoostPrepare, a joining post_handler removes the
// boost instead.
func (c *insnCache) stepsAll(x kapi.Context, ap *Aggr, owes bool) bool {
	if c.s.Boost != era.BoostStepped {
		return false
	}
	if owes {
		return true
	}
	for _, p := range ap.probes.Look(x).probes {
		if p.Post != nil {
			return true
		}
	}
	return false
}

// boostStepped boosts a slot that was stepped for the first time (BoostStepped).
// If after is true, control continues after the copy, so a jump must be written there;
// otherwise the copy itself goes to the right place. Other CPUs may be in the slot. They are
// stepping, and don't execute the bytes after the copy. A CPU sent there after the slot is
// boosted arrives by an IRET, which makes it fetch anew.
//
//	step 1: the jump after the copy
//	step 2: from now on hits are not stepped
//
// A step that ended elsewhere, as after one iteration of a string instruction, also settles
// the slot: it is never boosted. Context: #DB, interrupts off.
func (c *insnCache) boostStepped(x kapi.Context, kcb *kprobeCtlblk, regs *arch.Regs, after bool) {
	ap := kcb.current
	s := ap.slot.Look(x)
	if c.s.Boost != era.BoostStepped || !c.do.Copy.BoostEnabled(c.e) || s.boosted || s.settled || after &&
		!ap.boostable {
		return
	}
	from := s.at + arch.Addr(ap.verdict.Len)
	settled := after && regs.IP != from
	if after && !settled {
		back, _ := c.cpu.Jump(from, ap.addr+arch.Addr(ap.verdict.Len)) // in reach: getInsnSlot has checked
		c.d.Text.Write(x, from, back.Bytes())
	}
	ap.slot.WriteOnce(x, insnSlot{at: s.at, size: s.size, boosted: !settled, settled: settled})
}

// unboost replaces an aggr's boosted slot by one that is stepped, because a post_handler is
// about to join and a CPU doesn't come back from a boosted slot to run it. Context:
// kprobe_mutex held; may sleep.
//
//	step 1: make the other slot
//	step 2: from now on hits go there; wait for those that are in the old one
//	step 3: free that
func (c *insnCache) unboost(x kapi.Context, ap *Aggr) error {
	old := ap.slot.Owned()
	if c.s.Boost != era.BoostPrepare || !old.boosted {
		return nil
	}
	c.d.Text.Mutex().Lock(x)
	f, _ := c.d.Symbols.Lookup(ap.addr)
	c.e.text.loadFunction(x, f, c.d.Symbols.Kind(ap.addr), c.e.text.recoverProbedInstruction(x, f))
	next, err := c.getInsnSlot(x, ap, false)
	c.d.Text.Mutex().Unlock(x)
	if err != nil {
		return err
	}
	ap.slot.WriteOnce(x, next)
	c.do.Register.Synchronize(c.e, x)
	c.freeInsnSlot(x, old)
	return nil
}
