package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// kprobeFaultHandler is asked about each fault, before anybody else is (kprobe_fault_handler).
//
// A copy that is stepped has faulted: the fault is the original's. The CPU goes
// back to it, as if it hadn't been hit, and hits the probe once more when the
// fault is mended. Where probes have fault handlers (spec 1.12) they are asked
// then; one that returns 1 has mended it.
//
// A handler has faulted: its own fault handler is asked.
//
// What nobody has handled is an ordinary fault. Context: interrupts off.
func (e *Engine) kprobeFaultHandler(x kapi.Context, regs *arch.Regs, trapnr int) uint64 {
	b := e.kcb.This(x)
	p := b.current
	switch {
	case p == nil:
		return 0
	case !b.stepping():
		return e.handlerFault(x, b, p, regs, trapnr)
	case regs.IP != b.copy: // of an NMI's handler, on top of the step
		return 0
	}
	e.do.RewindIP(p, regs)
	e.do.ClearTF(regs)
	regs.Flags |= b.old
	handled := e.s.FaultHandlers && b.status == kprobeHitSS && e.stepFault(x, b, p, regs, trapnr)
	b.restorePreviousKprobe()
	if handled {
		return kpev.OwnerKprobe
	}
	return 0
}

// handlerFault is a fault in what a pre_handler or a post_handler does, or under
// an NMI on top of it. The kernel counts it in nmissed, of all probes of the aggr.
func (e *Engine) handlerFault(x kapi.Context, b *kprobeCtlblk, p *Aggr, regs *arch.Regs, trapnr int) uint64 {
	k := b.child
	if !e.s.FaultHandlers || k == nil {
		return 0
	}
	for _, one := range p.probes.Load(x).probes {
		kapi.Add(&one.missed, x, 1)
	}
	if e.asksFault(k) && k.Fault(x, k, regs, trapnr) != 0 {
		return kpev.OwnerKprobe
	}
	return 0
}

// stepFault asks the probes of an aggr about a fault of the copy, until one has
// handled it.
func (e *Engine) stepFault(x kapi.Context, b *kprobeCtlblk, p *Aggr, regs *arch.Regs, trapnr int) bool {
	b.status = kprobeHitActive // what they hit is missed
	handled := false
	for _, k := range p.probes.Load(x).probes {
		if handled || !e.asksFault(k) || k.disabled.Load(x) {
			continue
		}
		x.Work(kapi.WorkHandler, 1)
		b.child = k
		handled = k.Fault(x, k, regs, trapnr) != 0
		b.child = nil
	}
	b.status = kprobeHitSS
	return handled
}

// asksFault reports whether a probe has a fault handler to ask.
func (e *Engine) asksFault(k *Kprobe) bool { return k.Fault != nil }
