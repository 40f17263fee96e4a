package smp

import (
	"fmt"

	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
)

// deliver takes a trap or interrupt on c: ip is what the frame saves, addr what
// a fault was about. The handler's routine begins with c's next step.
func (m *Machine) deliver(c *CPU, vec uint8, ip arch.Addr, addr uint64) {
	t, user := c.task, c.user
	m.flush(c)
	m.enters(c, vec)
	sp := c.regs.R[regSP]
	if user { // the processor changes stacks
		sp, addr = kernelSP(t), smpev.TrapUser
	}
	layout := m.frameOf(user)
	base := layout.At(sp, vec == smpev.VecBP)
	m.emit(c, smpev.Trap, uint64(vec), uint64(ip), addr)
	c.regs.IP = ip
	if !m.storeFrame(c, layout, base, &c.regs) {
		// A fault while delivering a fault: nothing can be saved any more.
		m.emit(c, smpev.Oops, smpev.VecDF, uint64(ip), uint64(m.mem.fault))
		what := fmt.Sprintf("double fault: vector %d could not be delivered, stack pointer %#x is not mapped", vec, c.regs.R[regSP])
		if room := t.stack - spOf(&c.regs); room > StackSize-pageSize && room <= StackSize+pageSize {
			what += fmt.Sprintf(": the stack, of %d bytes, is used up; does it call itself without end?", StackSize)
		}
		if m.refuseAt(c, ip, what); m.log.Found != nil {
			m.end(Violated)
		}
		return
	}
	if vec == smpev.VecNMI {
		c.nmiBlocked = true
	}
	if f := m.foot; f != nil {
		f.frame(t, base, layout.Size)
	}
	x := m.acquire(c, t)
	x.regs, x.was = c.regs, x.Balance()
	c.regs.Flags &^= m.clears(vec)
	c.regs.R[regSP] = uint64(base)
	c.regs.IP = m.idleIP()
	c.after = 0
	c.guest, c.user = false, false
	m.spend(c.id, delivery(vec), 1)

	x.trap, x.vector = m.hooks.Trap[vec], vec
	x.place, x.step = vectorName(vec), 0
	t.frames = append(t.frames, frame{kind: routine, trap: true, user: user, vector: vec, ctx: x, base: base})
	m.countChanges(c)
	m.attend(c)
}

// clears returns the flags that are cleared on the way to the handler of a vector.
func (m *Machine) clears(vec uint8) uint64 {
	if vec == smpev.VecBP && m.cfg.Late {
		return trapClears &^ irqFlag
	}
	return trapClears
}

// vectors are the traps and faults that outcomes are, but for those that are not the
// same for each instruction.
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

// raise delivers the trap or fault that an instruction has for outcome: a trap
// saves the address after it, a fault its own.
func (m *Machine) raise(c *CPU, in *inst, out arch.Outcome) {
	switch v := vectors[out]; {
	case v.has && out.Faulted():
		m.deliver(c, v.vec, in.Addr, 0)
	case v.has:
		m.deliver(c, v.vec, c.regs.IP, 0)
	case out == arch.SoftInt: // one of vector 2 blocks no NMI
		was := c.nmiBlocked
		m.deliver(c, in.Vector(), c.regs.IP, 0)
		c.nmiBlocked = was
	case out == arch.PageFault:
		m.pageFault(c, in.Addr, m.mem.fault)
	default:
		m.refuse(c, in, out)
	}
}

// pageFault delivers the fault of an access to a by what is at ip. Of an address
// that isn't canonical there is no page: that is #GP (SDM vol. 1, 3.3.7.1).
func (m *Machine) pageFault(c *CPU, ip, a arch.Addr) {
	if !m.arch.Valid(a) {
		m.deliver(c, smpev.VecGP, ip, 0)
		return
	}
	c.sys.CR2 = uint64(a)
	m.deliver(c, smpev.VecPF, ip, uint64(a))
}

// frameBase returns where the frame of a trap begins.
func (m *Machine) frameBase(vec uint8, sp uint64) arch.Addr {
	return m.arch.Frame.At(sp, vec == smpev.VecBP)
}

// frameOf returns how the frame of a trap looks that user mode, or the kernel, has taken.
func (m *Machine) frameOf(user bool) *arch.Frame {
	if user {
		return &m.arch.UserFrame
	}
	return &m.arch.Frame
}

// image returns the bytes of a frame, nil if they aren't at hand. An observed machine
// is told of each word that isn't on a stack, or may be shared there, so it gets none
// of others.
func (m *Machine) image(layout *arch.Frame, base arch.Addr, store bool) []byte {
	if layout.Put == nil || m.foot != nil && (m.foot.words.stacks || !m.isStack(base)) {
		return nil
	}
	return m.mem.Image(base, layout.Size, store)
}

// storeFrame writes the saved registers of a trap, at once if they lie in one page. Else they
// are the CPU's stores: they may be held in its buffer, and in no other CPU's.
func (m *Machine) storeFrame(c *CPU, layout *arch.Frame, base arch.Addr, r *arch.Regs) bool {
	b := m.image(layout, base, true)
	if b == nil {
		was := m.mem.cpu
		m.mem.cpu = c.id
		ok := layout.Store(m.data, base, r)
		m.mem.cpu = was
		return ok
	}
	layout.Put(b, r)
	return true
}

// loadFrame reads the saved registers of a trap, at once if they lie in one page.
func (m *Machine) loadFrame(c *CPU, layout *arch.Frame, base arch.Addr, r *arch.Regs) bool {
	b := m.image(layout, base, false)
	if b == nil {
		was := m.mem.cpu
		m.mem.cpu = c.id
		ok := layout.Load(m.data, base, r)
		m.mem.cpu = was
		return ok
	}
	layout.Get(b, r)
	return true
}

// iret returns from the trap whose handler has finished: registers come back
// from memory, the CPU serialises unless it returns as FRED has it, NMIs are
// taken again.
func (m *Machine) iret(c *CPU) {
	t := c.task
	f := t.top()
	vec := f.vector
	serialises := !m.cfg.FRED
	if serialises {
		m.flush(c)
	}
	layout := m.frameOf(f.user)
	if !m.loadFrame(c, layout, f.base, &c.regs) {
		m.emit(c, smpev.Oops, smpev.VecDF, uint64(f.base), 0)
		m.refuseAt(c, f.base, "the trap frame to return from is not mapped")
		return
	}
	if m.state.scrubs {
		end := spOf(&c.regs)
		if f.user {
			end = f.base + arch.Addr(layout.Size)
		}
		m.scrub(f.base, end)
	}
	c.user = f.user
	t.pop()
	m.countChanges(c)
	c.nmiBlocked = false
	c.trace()
	c.guest = t.onGuest()
	m.spend(c.id, cycles.Iret, 1)
	if serialises {
		m.text.Serialise(int(c.id))
		m.touchFloor(c)
	}
	m.emit(c, smpev.Return, uint64(vec), uint64(c.regs.IP), uint64(t.Traps()))
	m.touchIdle(c)
	if c.task == c.idle && t.top() == nil && m.hooks.Idle != nil {
		m.hooks.Idle(int(c.id))
	}
	if m.errand == c && (vec == smpev.VecCall || t.top() == nil) {
		m.errand = nil
	}
	m.attend(c)
}

// onGuest reports whether guest text is what the task runs.
func (t *Task) onGuest() bool {
	f := t.top()
	return f != nil && f.kind == guest
}

// refuse ends the run: text holds what the simulator doesn't execute.
func (m *Machine) refuse(c *CPU, in *inst, out arch.Outcome) {
	what := "is not executed by this simulator"
	if out == arch.Halt {
		what = "hlt in text that a task runs: only the idle task halts"
	}
	m.garbled(c, in.Addr, in.Bytes(), fmt.Sprintf("% x: %s: %s", in.Bytes(), in.String(), what))
}

// undecodable ends the run: bytes that are no instruction, and no monitor
// took them for a finding.
func (m *Machine) undecodable(c *CPU, ip arch.Addr, b []byte) {
	m.garbled(c, ip, b, fmt.Sprintf("% x: no instruction", b))
}

// garbled ends the run at what can't be executed: the kernel dies of it, or, if the
// input is to blame, the run is refused.
func (m *Machine) garbled(c *CPU, ip arch.Addr, code []byte, what string) {
	if m.log.Found == nil && m.hooks.Blames != nil && m.hooks.Blames(ip, code) {
		m.died = what
		if m.emit(c, smpev.Oops, smpev.VecGarbage, uint64(ip), 0); m.log.Found != nil {
			m.end(Violated)
		}
	}
	m.refuseAt(c, ip, what)
}

func (m *Machine) refuseAt(c *CPU, ip arch.Addr, what string) {
	m.refuseIn(c, m.names.Symbol(ip), what)
}

func (m *Machine) refuseIn(c *CPU, place, what string) {
	if m.log.Found != nil {
		return // what led here is a finding already
	}
	m.refusal = fmt.Errorf("cpu%d %s: %s: %s", c.id, c.task.Name, place, what)
	m.end(Refused)
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

// Fault returns the address that the last page fault of the CPU was about (CR2).
func (x *Ctx) Fault() arch.Addr { return arch.Addr(x.cpu.sys.CR2) }

// Stepped says that the trap's handler has executed an instruction of what was interrupted,
// on the saved registers. The frame moves to where that of a debug trap after the
// instruction lies: the instruction may have stored where the frame was, and without a stack
// pointer in the frame it ends where the stack does.
func (x *Ctx) Stepped() {
	m, f, sp := x.m, x.task.top(), spOf(&x.regs)
	if !m.arch.Frame.NoSP && sp >= f.base+arch.Addr(m.arch.Frame.Size) {
		return
	}
	base := m.frameBase(smpev.VecDB, uint64(sp))
	if m.state.scrubs && base > f.base {
		m.scrub(f.base, base)
	}
	if m.foot != nil {
		m.foot.frame(x.task, base, m.arch.Frame.Size)
	}
	f.base, x.cpu.regs.R[regSP] = base, uint64(base)
}

// Refuse ends the run: what happened at a place is the input's fault, and what
// says which. The routine is to return.
func (x *Ctx) Refuse(place, what string) { x.m.refuseIn(x.cpu, place, what) }

// Why says what the next finding of the run is about, in words (Machine.Died).
func (x *Ctx) Why(why string) { x.m.Why(why) }

// Why is Ctx.Why, also after the last step of a run.
func (m *Machine) Why(why string) {
	if m.log.Found == nil {
		m.died = why
	}
}
