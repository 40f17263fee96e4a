package smp

import (
	"fmt"
	"kpsim/smp/cycles"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A trap frame in memory, from high to low addresses:
//
//	SP of what was interrupted
//	(#BP only: a gap, for the pushes of an instruction the handler emulates)
//	ss  sp  flags  cs  ip      pushed by the processor at a 16-byte boundary
//	orig_ax                    an error code's place
//	rdi … r15                  saved by the entry code
//	SP of the handler
//
// The gap is what Linux makes in its int3 entry for emulated calls.
const int3Gap = 48

// deliver takes a trap or interrupt on c: ip is what the frame saves, addr what
// a fault was about. The handler's routine begins with c's next step.
func (m *Machine) deliver(c *CPU, vec uint8, ip arch.Addr, addr uint64) {
	t := c.task
	base := m.frameBase(vec, c.regs.R[x86.RSP])
	m.emit(c, smpev.Trap, uint64(vec), uint64(ip), addr)
	c.regs.IP = ip
	if !m.storeFrame(base, &c.regs) {
		// A fault while delivering a fault: nothing can be saved any more.
		m.emit(c, smpev.Oops, smpev.VecDF, uint64(ip), uint64(m.mem.fault))
		what := fmt.Sprintf("double fault: vector %d could not be delivered, stack pointer %#x is not mapped", vec, c.regs.R[x86.RSP])
		if room := t.stack - c.regs.SP(); room > StackSize-pageSize && room <= StackSize+pageSize {
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
	x := m.acquire(c, t)
	x.regs = c.regs
	c.regs.Flags &^= x86.TrapClears
	c.regs.R[x86.RSP] = uint64(base)
	c.regs.IP = m.idleIP()
	c.after = 0
	c.guest = false
	m.spend(c.id, delivery(vec), 1)

	x.trap, x.vector = m.hooks.Trap[vec], vec
	x.place, x.step = vectorName(vec), 0
	t.frames = append(t.frames, frame{kind: routine, trap: true, vector: vec, ctx: x, base: base})
	m.attend(c)
}

// raise delivers the trap or fault that an instruction has for outcome: a trap
// saves the address behind it, a fault its own.
func (m *Machine) raise(c *CPU, in *x86.Inst, out x86.Outcome) {
	switch out {
	case x86.Breakpoint:
		m.deliver(c, smpev.VecBP, c.regs.IP, 0)
	case x86.DebugTrap:
		m.deliver(c, smpev.VecDB, c.regs.IP, 0)
	case x86.Overflow:
		m.deliver(c, smpev.VecOF, c.regs.IP, 0)
	case x86.SoftInt: // one of vector 2 blocks no NMI
		was := c.nmiBlocked
		m.deliver(c, in.Vector(), c.regs.IP, 0)
		c.nmiBlocked = was
	case x86.Undefined:
		m.deliver(c, smpev.VecUD, in.Addr, 0)
	case x86.DivideError:
		m.deliver(c, smpev.VecDE, in.Addr, 0)
	case x86.Bound:
		m.deliver(c, smpev.VecBR, in.Addr, 0)
	case x86.Protection:
		m.deliver(c, smpev.VecGP, in.Addr, 0)
	case x86.PageFault:
		m.pageFault(c, in.Addr, m.mem.fault)
	default:
		m.refuse(c, in, out)
	}
}

// pageFault delivers the fault of an access to a by what is at ip. Of an address
// that isn't canonical there is no page: that is #GP (SDM vol. 1, 3.3.7.1).
func (m *Machine) pageFault(c *CPU, ip, a arch.Addr) {
	if !x86.Canonical(a) {
		m.deliver(c, smpev.VecGP, ip, 0)
		return
	}
	c.sys.CR2 = uint64(a)
	m.deliver(c, smpev.VecPF, ip, uint64(a))
}

// frameBase returns where the frame of a trap begins.
func (m *Machine) frameBase(vec uint8, sp uint64) arch.Addr {
	if m.cfg.Mode == x86.Mode32 {
		return arch.Addr(sp) - ptRegs32Size
	}
	if vec == smpev.VecBP {
		sp -= int3Gap
	}
	return arch.Addr(sp&^15) - kapi.PtRegsSize
}

// image is memory.Image of a frame. An observed machine is told of each word that isn't
// on a stack, or may be shared there, so that it gets none of others.
func (m *Machine) image(base arch.Addr, store bool) *[kapi.PtRegsSize]byte {
	if m.foot != nil && (m.foot.words.stacks || !m.isStack(base)) {
		return nil
	}
	return m.mem.Image(base, store)
}

// storeFrame writes a register image, at once if it lies in one page.
func (m *Machine) storeFrame(base arch.Addr, r *arch.Regs) bool {
	if m.cfg.Mode == x86.Mode32 {
		return m.storeFrame32(base, r)
	}
	b := m.image(base, true)
	if b == nil {
		return kapi.StorePtRegs(m.data, base, r)
	}
	kapi.PutPtRegs(b, r)
	return true
}

// loadFrame reads a register image, at once if it lies in one page.
func (m *Machine) loadFrame(base arch.Addr, r *arch.Regs) bool {
	if m.cfg.Mode == x86.Mode32 {
		return m.loadFrame32(base, r)
	}
	b := m.image(base, false)
	if b == nil {
		return kapi.LoadPtRegs(m.data, base, r)
	}
	kapi.GetPtRegs(b, r)
	return true
}

// iret returns from the trap whose handler has finished: registers come back
// from memory, the CPU serialises, NMIs are taken again.
func (m *Machine) iret(c *CPU) {
	t := c.task
	f := t.top()
	vec := f.vector
	if !m.loadFrame(f.base, &c.regs) {
		m.emit(c, smpev.Oops, smpev.VecDF, uint64(f.base), 0)
		m.refuseAt(c, f.base, "the trap frame to return from is not mapped")
		return
	}
	if m.state.scrubs {
		m.scrub(f.base, c.regs.SP())
	}
	t.pop()
	c.nmiBlocked = false
	c.trace()
	c.guest = t.onGuest()
	m.spend(c.id, cycles.Iret, 1)
	m.text.Serialise(int(c.id))
	m.touchFloor(c)
	m.emit(c, smpev.Return, uint64(vec), uint64(c.regs.IP), uint64(t.Traps()))
	m.touchIdle(c)
	if c.task == c.idle && t.top() == nil && m.hooks.Idle != nil {
		m.hooks.Idle(int(c.id))
	}
	if m.errand == c && vec == smpev.VecCall {
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
func (m *Machine) refuse(c *CPU, in *x86.Inst, out x86.Outcome) {
	what := "is not executed by this simulator"
	if out == x86.Halt {
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
