package smp

import (
	"fmt"

	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
)

// traps takes CPUs into the handlers of traps and interrupts, and back.
type traps struct {
	m      *Machine
	scrubs bool // the return from a trap leaves zeros (State.ScrubStacks)
}

// deliver takes a trap or interrupt on c. ip is the address that the frame saves, addr the
// address that a fault was about. The handler's routine begins with c's next step.
func (tr *traps) deliver(c *CPU, vec uint8, ip arch.Addr, addr uint64) {
	m := tr.m
	t, user := c.task, c.user
	if m.text.patches != nil {
		m.text.storeRest(c)
	}
	m.weak.flush(c)
	m.weak.enters(c, vec)
	m.cpus.reserves.lose(c)
	sp := c.regs.R[m.arch.SP]
	if user { // the processor changes stacks
		sp, addr = kernelSP(t), smpev.TrapUser
	}
	layout := tr.frameOf(user)
	base := layout.At(sp, vec == smpev.VecBP)
	m.emit(c, smpev.Trap, uint64(vec), uint64(ip), addr)
	c.regs.IP = ip
	if !tr.storeFrame(c, layout, base, &c.regs) {
		// The frame of a fault faulted: nothing can be saved any more.
		m.emit(c, smpev.Oops, smpev.VecDF, uint64(ip), uint64(m.mem.fault))
		what := fmt.Sprintf("double fault: vector %d could not be delivered, stack pointer %#x is not mapped", vec,
			c.regs.R[m.arch.SP])
		if room := t.stack - tr.m.arch.StackPointer(&c.regs); room > StackSize-pageSize && room <= StackSize+pageSize {
			what += fmt.Sprintf(": the stack, of %d bytes, is used up; does it call itself without end?", StackSize)
		}
		if m.ending.refuseAt(c, ip, what); m.log.Found != nil {
			m.ending.with(Violated)
		}
		return
	}
	if vec == smpev.VecNMI {
		c.nmiBlocked = true
	}
	if f := m.foot; f != nil {
		f.frame(t, base, layout.Size)
	}
	if m.arch.EntrySerialises {
		m.text.model.Serialise(int(c.id))
		m.foot.touchFloor(c)
	}
	x := m.routines.acquire(c, t)
	x.regs, x.was = c.regs, x.Balance()
	c.regs.Flags &^= tr.clears(vec)
	c.regs.R[m.arch.SP] = uint64(base)
	c.regs.IP = m.gates.idleIP()
	m.cpus.own(c)
	c.after = 0
	c.guest, c.user = false, false
	m.time.spend(c.id, delivery(vec), 1)

	x.trap, x.vector = m.hooks.Trap[vec], vec
	x.place, x.step = vectorName(vec), 0
	t.frames = append(t.frames, frame{kind: routine, trap: true, user: user, vector: vec, ctx: x, base: base})
	m.foot.countChanges(c)
	m.turns.attend(c)
}

// clears returns the flags that are cleared on the way to the handler of a vector.
func (tr *traps) clears(vec uint8) uint64 {
	if vec == smpev.VecBP && tr.m.cfg.Late {
		return tr.m.arch.Cleared &^ arch.IRQ
	}
	return tr.m.arch.Cleared
}

// vectors gives the trap or fault of each outcome, except outcomes whose trap depends on the
// instruction.
var vectors = [arch.Outcomes]struct {
	has bool
	vec uint8
}{

	arch.Breakpoint:  {true, smpev.VecBP},
	arch.DebugTrap:   {true, smpev.VecDB},
	arch.Overflow:    {true, smpev.VecOF},
	arch.Undefined:   {true, smpev.VecUD},
	arch.DivideError: {true, smpev.VecDE},
	arch.Bound:       {true, smpev.VecBR},
	arch.Protection:  {true, smpev.VecGP},
}

// raise delivers the trap or fault that is the outcome of an instruction. A trap saves the
// address after the instruction, a fault the instruction's own address.
func (tr *traps) raise(c *CPU, in *inst, out arch.Outcome) {
	switch v := vectors[out]; {
	case v.has && out.Faulted():
		tr.deliver(c, v.vec, in.Addr, 0)
	case v.has:
		tr.deliver(c, v.vec, c.regs.IP, 0)
	case out == arch.SoftInt: // int 2 doesn't block NMIs
		was := c.nmiBlocked
		tr.deliver(c, in.Inst.(arch.Vectored).Vector(), c.regs.IP, 0)
		c.nmiBlocked = was
	case out == arch.PageFault:
		tr.pageFault(c, in.Addr, tr.m.mem.fault)
	default:
		tr.m.ending.refuse(c, in, out)
	}
}

// pageFault delivers the fault of an access to a by the instruction at ip. An address that
// isn't canonical has no page: the fault is #GP (SDM vol. 1, 3.3.7.1).
func (tr *traps) pageFault(c *CPU, ip, a arch.Addr) {
	if !tr.m.arch.Valid(a) {
		tr.deliver(c, smpev.VecGP, ip, 0)
		return
	}
	c.sys.SetFault(a)
	tr.deliver(c, smpev.VecPF, ip, uint64(a))
}

// frameBase returns where the frame of a trap begins.
func (tr *traps) frameBase(vec uint8, sp uint64) arch.Addr {
	return tr.m.arch.Frame.At(sp, vec == smpev.VecBP)
}

// frameOf returns the layout of the frame of a trap taken in user mode or in the kernel.
func (tr *traps) frameOf(user bool) *arch.Frame {
	if user {
		return &tr.m.arch.UserFrame
	}
	return &tr.m.arch.Frame
}

// image returns the bytes of a frame for direct access, nil if that isn't possible. An
// observed machine gets them only on a stack without shared words: it must see each access to
// any other word.
func (tr *traps) image(layout *arch.Frame, base arch.Addr, store bool) []byte {
	m := tr.m
	if layout.Put == nil || m.foot != nil && (m.foot.words.stacks || !m.tasks.isStack(base)) {
		return nil
	}
	return m.mem.Image(base, layout.Size, store)
}

// storeFrame writes the saved registers of a trap, at once if they lie in one page. Otherwise
// they are stores of the CPU, which it may hold in its buffer.
func (tr *traps) storeFrame(c *CPU, layout *arch.Frame, base arch.Addr, r *arch.Regs) bool {
	m := tr.m
	b := tr.image(layout, base, true)
	if b == nil {
		was := m.mem.cpu
		m.mem.cpu = c.id
		ok := layout.Store(m.mem.data, base, r)
		m.mem.cpu = was
		return ok
	}
	layout.Put(b, r)
	return true
}

// loadFrame reads the saved registers of a trap, at once if they lie in one page.
func (tr *traps) loadFrame(c *CPU, layout *arch.Frame, base arch.Addr, r *arch.Regs) bool {
	m := tr.m
	b := tr.image(layout, base, false)
	if b == nil {
		was := m.mem.cpu
		m.mem.cpu = c.id
		ok := layout.Load(m.mem.data, base, r)
		m.mem.cpu = was
		return ok
	}
	layout.Get(b, r)
	return true
}

// iret returns from the trap whose handler has finished. Registers are loaded from memory,
// the CPU serialises (not under FRED), and NMIs are taken again.
func (tr *traps) iret(c *CPU) {
	m := tr.m
	t := c.task
	f := t.top()
	vec := f.vector
	serialises := m.arch.ReturnSerialises && !m.cfg.FRED
	if serialises {
		m.weak.flush(c)
	}
	layout := tr.frameOf(f.user)
	if !tr.loadFrame(c, layout, f.base, &c.regs) {
		m.emit(c, smpev.Oops, smpev.VecDF, uint64(f.base), 0)
		m.ending.refuseAt(c, f.base, "the trap frame to return from is not mapped")
		return
	}
	m.cpus.own(c)
	if tr.scrubs {
		end := m.arch.StackPointer(&c.regs)
		if f.user {
			end = f.base + arch.Addr(layout.Size)
		}
		tr.scrub(f.base, end)
	}
	c.user = f.user
	t.pop()
	m.foot.countChanges(c)
	c.nmiBlocked = false
	c.trace()
	c.guest = t.onGuest()
	m.time.spend(c.id, cycles.Iret, 1)
	if serialises {
		m.text.model.Serialise(int(c.id))
		m.foot.touchFloor(c)
	}
	m.emit(c, smpev.Return, uint64(vec), uint64(c.regs.IP), uint64(t.Traps()))
	m.foot.touchIdle(c)
	if c.task == c.idle && t.top() == nil && m.hooks.Idle != nil {
		m.hooks.Idle(int(c.id))
	}
	if m.turns.errand == c && (vec == smpev.VecCall || t.top() == nil) {
		m.turns.errand = nil
	}
	m.turns.attend(c)
}

// onGuest reports whether the task is running guest text.
func (t *Task) onGuest() bool {
	f := t.top()
	return f != nil && f.kind == guest
}

func vectorName(vec uint8) string {
	switch vec {
	case smpev.VecBP:
		return "int3 handler"
	case smpev.VecDB:
		return "debug handler"
	case smpev.VecNMI:
		return "nmi handler"
	case smpev.VecTimer:
		return "timer handler"
	case smpev.VecCall:
		return "call-function handler"
	case smpev.VecResch:
		return "reschedule handler"
	case smpev.VecPF:
		return "page-fault handler"
	}
	return "fault handler"
}

// Fault returns the address that the last page fault of the CPU was about (CR2). SetFault changes that.
func (x *Pages) Fault() arch.Addr { return x.cpu.sys.Fault() }

// SetFault is said at Fault.
func (x *Pages) SetFault(a arch.Addr) { x.cpu.sys.SetFault(a) }

// Stepped says that the trap's handler has executed an instruction of the interrupted code on
// the saved registers. The frame moves to where the frame of a debug trap after the
// instruction would lie: the instruction may have stored where the frame was, and a frame
// without a stack pointer must end at the interrupted stack pointer.
func (x *Ctx) Stepped() {
	m, f, sp := x.m, x.task.top(), x.m.arch.StackPointer(&x.regs)
	if !m.arch.Frame.NoSP && sp >= f.base+arch.Addr(m.arch.Frame.Size) {
		return
	}
	base := m.traps.frameBase(smpev.VecDB, uint64(sp))
	if m.traps.scrubs && base > f.base {
		m.traps.scrub(f.base, base)
	}
	if m.foot != nil {
		m.foot.frame(x.task, base, m.arch.Frame.Size)
	}
	f.base, x.cpu.regs.R[m.arch.SP] = base, uint64(base)
}

// Refuse ends the run because of a fault of the input at a place; what describes the fault.
// The routine must return then.
func (x *Ctx) Refuse(place, what string) { x.m.ending.refuseIn(x.cpu, place, what) }
