package kprobes

import (
	"bytes"

	"kpsim/engine/ftrace"
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

// An insnCache is kprobe_insn_slots: it makes the copies, and gives them back.
type insnCache struct {
	*env `state:"boot"`  // set at New
	insn [maxDetour]byte // owned by text_mutex: what is about to be written
}

// archCopyKprobe copies the instruction, relocated, if it isn't emulated. post: the
// aggr begins with a post_handler. Context: kprobe_mutex and text_mutex held.
func (c *insnCache) archCopyKprobe(x kapi.Context, ap *Aggr, post bool) error {
	ap.boostable = c.boostable(ap)
	s, err := c.getInsnSlot(x, ap, c.s.Boost == era.BoostPrepare && ap.boostable && !post)
	ap.slot.Init(c.d.Cells, s)
	return err
}

// getInsnSlot makes a slot for an aggr, with what follows the copy: a jump back if it
// is boosted; an int3, or nothing, where it is stepped. Where the step is by int3
// what changes the instruction pointer or the interrupt flag is emulated instead,
// if it is that to the processor, too: for the kernel vpsubb is a call.
func (c *insnCache) getInsnSlot(x kapi.Context, ap *Aggr, boosted bool) (insnSlot, error) {
	if c.s.Step == era.StepInt3 && !boosted {
		if emulates, errno := c.prepareEmulation(ap); errno != nil || emulates {
			return insnSlot{}, errno
		}
	}
	s := insnSlot{size: ap.verdict.Len, boosted: boosted}
	switch {
	case boosted || c.s.Boost == era.BoostStepped && ap.boostable:
		s.size += jumpSize
	case c.s.Step == era.StepInt3:
		s.size++
	}
	if c.copiesAll() {
		s.size = max(s.size, maxCopy)
	}
	ok := false
	if s.at, ok = c.d.Exec.Alloc(x, s.size, kpev.SlotMem); !ok {
		return insnSlot{}, ENOMEM
	}
	buf, ok := c.e.text.looked.judge.Copy(c.insn[:0], &ap.verdict, c.do.Copy.RunsAt(ap, s.at))
	back, near := x86.JumpRel32(s.at+arch.Addr(ap.verdict.Len), ap.addr+arch.Addr(ap.verdict.Len))
	switch {
	case !ok || c.do.Copy.BoostEnabled(c.e) && !near:
		c.freeInsnSlot(x, s)
		return insnSlot{}, EINVAL
	case boosted:
		buf = append(buf, back[:]...)
	case c.s.Step == era.StepInt3:
		buf = append(buf, x86.Int3)
	case c.copiesAll(): // what follows mov ss is stepped with it
		buf = append(buf, ap.orig[len(buf):maxCopy]...)
	}
	c.fillCopy(x, s.at, buf)
	return s, nil
}

// fillCopy writes what CPUs are to be sent to from a breakpoint. They come there by the
// return from it: by IRET, which serialises. Where a return doesn't (FRED) a CPU may
// still have what was there before, so it has to be synchronized before the copy can
// be reached. Kernels leave that out. Context: kprobe_mutex held; may sleep.
func (c *insnCache) fillCopy(x kapi.Context, at arch.Addr, buf []byte) {
	c.d.Text.Fill(x, at, buf)
	if c.s.SyncCopies {
		c.d.Sync.Core(x, kpev.SyncCopy)
	}
}

// copiesAll reports whether more than the instruction is copied.
func (c *insnCache) copiesAll() bool {
	return c.s.Step == era.StepDebug && c.s.Kernel.Edition == rules.Edition26
}

// before514 reports whether the rules are those of kernels that step by #DB.
func (c *insnCache) before514() bool { return c.s.Kernel.Edition < rules.Edition514 }

// ownInt3 reports whether the probed instruction is an int3 of another owner.
// Only 2.6 allows that; the int3 is executed where it is.
func (c *insnCache) ownInt3(ap *Aggr) bool {
	return c.s.Step == era.StepDebug && ap.orig[0] == x86.Int3
}

// prepareEmulation reports whether an aggr's instruction is emulated where the step is
// by int3. What kernels until 5.12 would step by #DB, and those since refuse, is
// refused (-EOPNOTSUPP), as is a copy without room for the int3 (-ENOSPC).
func (c *insnCache) prepareEmulation(ap *Aggr) (bool, error) {
	told := !c.before514() && !c.s.AnyByte // the rules have said whether it is
	switch {
	case ap.insn == nil:
		return false, nil
	case ap.insn.Emulated() && (ap.verdict.Emulated || !told):
		return true, nil
	case told:
		return false, nil // the rules have refused it
	case ap.verdict.Len == x86.MaxLen:
		return false, ENOSPC
	}
	switch ap.insn.Flow() {
	case arch.FlowIndirectJump, arch.FlowIndirectCall, arch.FlowTrapReturn, arch.FlowOther:
		return false, EOPNOTSUPP
	}
	return false, nil
}

// freeInsnSlot gives a slot back that no CPU is sent to any more, and that none steps
// in. A task may have been interrupted in a boosted one (the kernel's dirty
// slots). Context: kprobe_mutex held; may sleep.
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

// stepsAll reports whether a boosted slot is stepped all the same: a
// post_handler is there (with BoostPrepare one that joins takes the boost away), or
// was when the pre_handlers ran.
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
// after: control goes on after the copy, so that a jump must be there; else the
// copy goes where it should by itself. Other CPUs may be in the slot: they are
// stepping, and don't see what is after the copy. A CPU that is sent there once the
// slot is boosted arrives by an IRET, which makes it fetch anew.
//
//	step 1: the jump after the copy
//	step 2: from now on hits are not stepped
//
// A step that didn't end there, as an iteration of a string instruction, settles
// it, too: the slot is never boosted. Context: #DB, interrupts off.
func (c *insnCache) boostStepped(x kapi.Context, kcb *kprobeCtlblk, regs *arch.Regs, after bool) {
	ap := kcb.current
	s := ap.slot.Look(x)
	if c.s.Boost != era.BoostStepped || !c.do.Copy.BoostEnabled(c.e) || s.boosted || s.settled || after && !ap.boostable {
		return
	}
	from := s.at + arch.Addr(ap.verdict.Len)
	settled := after && regs.IP != from
	if after && !settled {
		back, _ := x86.JumpRel32(from, ap.addr+arch.Addr(ap.verdict.Len)) // in reach: getInsnSlot has checked
		c.d.Text.Write(x, from, back[:])
	}
	ap.slot.WriteOnce(x, insnSlot{at: s.at, size: s.size, boosted: !settled, settled: settled})
}

// unboost gives an aggr whose slot is boosted for good one that is stepped: a
// post_handler is about to join, and a CPU does not come back from the boosted
// one to run it. Context: kprobe_mutex held; may sleep.
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

// canProbe asks the rules about a byte of the function that was loaded. Whether
// boundaries are looked at is a setting of its own.
func (pt *probedText) canProbe(offset int) rules.Verdict {
	j := &pt.looked.judge
	if pt.s.AnyByte {
		return j.AtAny(offset)
	}
	v := j.At(offset)
	if v.Errno == 0 && pt.s.Kernel.Edition == rules.Edition26 && !j.Boundary(offset) {
		v.Errno = -int(EILSEQ)
	}
	return v
}

// recoverProbedInstruction returns the bytes of a function as the image had them, and those
// after it which its last instruction may have: what is in memory, less what
// probes have written there. Context: kprobe_mutex held.
func (pt *probedText) recoverProbedInstruction(x kapi.Context, f kapi.Function) []byte {
	size := f.Size + x86.MaxLen - 1
	if cap(pt.code) < size {
		pt.code = make([]byte, size)
	}
	code := pt.code[:size]
	clear(code[f.Size:]) // there may be no memory after it
	pt.d.Text.Read(x, f.Addr, code)
	if pt.d.Ftrace != nil {
		pt.recoverSites(f.Addr, code)
	}
	for off := written(code, 0); off < len(code); off = written(code, off+1) {
		q, ok := pt.e.Table.probes.Owned(f.Addr + arch.Addr(off))
		switch {
		case !ok:
		case q.jumped:
			if pt.do.Register.RecoverOptprobed(pt.e, q) {
				copy(code[off:], q.orig[:jumpSize])
			}
		case q.armed.Owned():
			code[off] = q.orig[0]
		}
	}
	return code
}

// written returns where the first byte of code from off on stands that a probe may have
// written there, an int3 or a jump's; len(code) if none does.
func written(code []byte, off int) int {
	rest := code[off:]
	if i := bytes.IndexByte(rest, x86.Int3); i >= 0 {
		rest = rest[:i]
	}
	if i := bytes.IndexByte(rest, jumpOpcode); i >= 0 {
		rest = rest[:i]
	}
	return off + len(rest)
}

// recoverSites puts nops where ftrace may have written calls.
func (pt *probedText) recoverSites(at arch.Addr, code []byte) {
	l := &pt.looked
	l.found = pt.d.Symbols.Sites(l.found[:0], at, len(code))
	for _, s := range l.found {
		if s.Kind != ftrace.Site {
			continue
		}
		for i, c := range x86.Nop5 {
			if off := int(s.Addr-at) + i; off >= 0 && off < len(code) {
				code[off] = c
			}
		}
	}
}

// archAdjustKprobeAddr returns where a probe at addr goes: a function's first instruction
// is the one after its endbr64 (5.18 and later, with IBT). entry is whether it
// is that.
func (pt *probedText) archAdjustKprobeAddr(x kapi.Context, addr arch.Addr) (to arch.Addr, entry bool) {
	if pt.s.Kernel.Edition < rules.Edition514 {
		return addr, false
	}
	f, ok := pt.d.Symbols.Lookup(addr)
	if !ok {
		return addr, false
	}
	first := f.Addr
	if pt.s.Kernel.IBT && addr-first <= 4 {
		first += arch.Addr(rules.Entry(&pt.s.Kernel, pt.recoverProbedInstruction(x, f)))
	}
	if addr == f.Addr {
		return first, true
	}
	return addr, addr == first
}

// archPrepareKprobe makes an aggr what the rules have said of its text, with an out-of-line
// copy of its instruction unless ftrace calls it. Context: as prepareKprobe.
func (e *Engine) archPrepareKprobe(x kapi.Context, ap *Aggr, v rules.Verdict, code []byte, post bool) error {
	ap.verdict = v
	copy(ap.orig[:], code)
	e.do.Register.SaveOpcode(x, ap)
	if v.Ftrace {
		return nil
	}
	in, _ := e.d.Text.Decode(code, ap.addr)
	ap.insn, _ = in.(*x86.Inst) // nil: the kernel takes it for an instruction, and it is none
	return e.slots.archCopyKprobe(x, ap, post)
}

var int3 = [...]byte{x86.Int3}

// archArmKprobe writes the breakpoint.
func (e *Engine) archArmKprobe(x kapi.Context, ap *Aggr) {
	e.d.Text.Poke(x, ap.addr, int3[:])
	e.d.Sync.Core(x, kpev.SyncArm)
}

// archDisarmKprobe writes the original first byte. Context: text_mutex held.
func (e *Engine) archDisarmKprobe(x kapi.Context, ap *Aggr) {
	x.Emit(kpev.Disarm, uint64(ap.addr), 0, 0)
	e.do.Arm.RestoreOpcode(e, x, ap)
	e.d.Sync.Core(x, kpev.SyncDisarm)
	ap.armed.WriteOnce(x, false)
}

// archRemoveKprobe gives back the aggr's slot and detour.
func (e *Engine) archRemoveKprobe(x kapi.Context, ap *Aggr) {
	if ap.detour.size != 0 {
		e.d.Exec.Retire(x, ap.detour.addr, ap.detour.size, kpev.DetourMem)
		ap.detour = detour{}
	}
	e.slots.freeInsnSlot(x, ap.slot.Owned())
	ap.slot.Put(x, insnSlot{})
}
