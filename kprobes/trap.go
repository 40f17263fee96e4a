package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
)

// status is what a CPU is doing about the probe it has hit.
type status uint8

const (
	hitActive status = iota // in a pre_handler
	hitStep                 // stepping the copy
	hitDone                 // in a post_handler
	reenter                 // stepping the copy of a probe hit from inside another
)

// kcb is a CPU's control block: the probe it has hit, and the one it was busy
// with when it hit that.
//
// owned by its CPU, between breakpoint and step with interrupts off
type kcb struct {
	busy           // owned by its CPU
	outer busy     // owned by its CPU
	regs  isa.Regs // owned by its CPU: what the handlers of an optimized probe work on
}

type busy struct {
	current *point // owned by its CPU
	status  status // owned by its CPU
	flags   uint64 // owned by its CPU: IF of the interrupted code
}

// breakpoint is asked whether a #BP is ours. Context: interrupts off.
func (e *Engine) breakpoint(x kapi.Context, regs *isa.Regs) uint64 {
	at := regs.IP - 1
	b := e.kcb.This(x)
	x.Work(kapi.WorkLookup, 1)
	if p, ok := e.table.Get(x, at); ok {
		if b.current == nil {
			e.hit(x, b, p, regs)
			return kapi.OwnerKprobe
		}
		if e.nested(x, b, p, regs) {
			return kapi.OwnerKprobe
		}
		return 0
	}
	if p := b.current; p != nil && (b.status == hitStep || b.status == reenter) && p.slot != 0 && at == p.slot+isa.Addr(p.verdict.Len) {
		e.stepped(x, b, regs)
		return kapi.OwnerKprobe
	}
	if e.s.RemovedInt3 {
		var now [1]byte
		if e.d.Text.Read(x, at, now[:]); now[0] != isa.Int3 {
			regs.IP = at
			return kapi.OwnerRemoved
		}
	}
	return 0
}

// hit runs the handlers of a probe and sets up what comes after them (spec
// 1.2, 1.3, 1.6).
func (e *Engine) hit(x kapi.Context, b *kcb, p *point, regs *isa.Regs) {
	b.current, b.status = p, hitActive
	if e.s.Mutants.PreIP {
		regs.IP = p.addr
	}
	if e.preHandlers(x, p, regs, true) {
		b.current = nil // it has set regs.IP: nothing is stepped
		return
	}
	switch {
	case p.optimized.Load(x): // queued or done: the detour's copy, without its call (4.5)
		regs.IP = p.detour.copyAt()
		b.current = nil
	case p.slot == 0:
		e.emulate(x, p, regs)
		e.postHandlers(x, b, p, regs)
		b.current = nil
	default:
		e.step(b, p, regs, hitStep)
	}
}

// nested is a hit from inside a handler, or from an NMI on top of one: no
// handler runs, and the instruction executes all the same (spec 1.11). false:
// the CPU was nested already.
func (e *Engine) nested(x kapi.Context, b *kcb, p *point, regs *isa.Regs) bool {
	if b.status == reenter {
		return false
	}
	e.missed(x, p)
	switch {
	case p.optimized.Load(x):
		regs.IP = p.detour.copyAt()
	case p.slot == 0:
		e.emulate(x, p, regs)
	default:
		b.outer = b.busy
		e.step(b, p, regs, reenter)
	}
	return true
}

// step sends the CPU to the copy, interrupts off so that it comes back here
// before anything else happens.
func (e *Engine) step(b *kcb, p *point, regs *isa.Regs, s status) {
	b.current, b.status, b.flags = p, s, regs.Flags&isa.IF
	regs.Flags &^= isa.IF
	regs.IP = p.slot
}

// stepped is the breakpoint behind the copy: what the copy left relative to
// itself is made relative to the original, and the post_handlers run.
func (e *Engine) stepped(x kapi.Context, b *kcb, regs *isa.Regs) {
	p := b.current
	regs.IP = p.addr + isa.Addr(p.verdict.Len)
	if !e.s.Mutants.LeakIF {
		regs.Flags |= b.flags
	}
	if b.status == reenter {
		b.busy, b.outer = b.outer, busy{}
		return
	}
	e.postHandlers(x, b, p, regs)
	b.current = nil
}

// emulate does what the instruction does, on the saved registers. A push goes
// into the gap above the trap frame. One that faults, or that isa doesn't
// execute, leaves the CPU where it was: unprobed it wouldn't get past it either.
func (e *Engine) emulate(x kapi.Context, p *point, regs *isa.Regs) {
	x.Work(kapi.WorkEmulate, 1)
	regs.IP = p.addr
	p.insn.Exec(regs, x.Memory())
	if e.s.Mutants.JNGAnd {
		jngAnd(p.insn, regs)
	}
}

// jngAnd sends a jng or jg that was emulated the other way where "ZF and SF !=
// OF" has another answer than "ZF or SF != OF" (SDM vol. 2, "Jcc"). It is a mutant.
func jngAnd(in *isa.Inst, regs *isa.Regs) {
	target, _ := in.Target()
	switch in.Opcode() {
	case 0x7e, 0x7f, 0x0f8e, 0x0f8f:
	default:
		return
	}
	equal := regs.Flags&isa.ZF != 0
	less := (regs.Flags&isa.SF != 0) != (regs.Flags&isa.OF != 0)
	if equal == less {
		return
	}
	if regs.IP == target {
		regs.IP = in.Next()
	} else {
		regs.IP = target
	}
}

// preHandlers runs the pre_handlers of a point, last registered first. With
// stop, one that returns non-zero skips those after it (spec 1.6, 1.8), and
// preHandlers reports it; an optimized probe's ignores it (4.10).
func (e *Engine) preHandlers(x kapi.Context, p *point, regs *isa.Regs, stop bool) bool {
	probes := p.probes.Load(x).probes
	for i, k := range probes {
		if k.disabled.Load(x) && (stop || !e.s.Mutants.DetourDisabled) || k.Pre == nil {
			continue
		}
		x.Work(kapi.WorkHandler, 1)
		if k.Pre(x, k, regs) != 0 && stop {
			for _, s := range probes[i+1:] {
				if s.Pre != nil && !s.disabled.Look(x) {
					x.Emit(kpev.Skipped, s.ID, k.ID, 0)
				}
			}
			return true
		}
	}
	return false
}

func (e *Engine) postHandlers(x kapi.Context, b *kcb, p *point, regs *isa.Regs) {
	b.status = hitDone
	for _, k := range p.probes.Load(x).probes {
		if k.Post != nil && !k.disabled.Load(x) {
			x.Work(kapi.WorkHandler, 1)
			k.Post(x, k, regs, 0)
		}
	}
}

// missed counts a hit that runs no handlers, for each probe of the point.
func (e *Engine) missed(x kapi.Context, p *point) {
	for _, k := range p.probes.Load(x).probes {
		if !k.disabled.Look(x) {
			kapi.Add(&k.missed, x, 1)
			x.Emit(kpev.Missed, k.ID, 0, 0)
		}
	}
}
