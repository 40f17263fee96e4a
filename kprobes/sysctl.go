package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/kapi"
)

// SetOptimization writes the sysctl debug.kprobes-optimization (spec 7.3). Off:
// no jump is written any more, those that are there are queued to be taken
// away, and it returns when the optimizer has done so. On: every point that can
// be optimized is queued again; it waits for nothing. A write of what is there
// already does nothing. Context: may sleep. Takes kprobe_sysctl_mutex, then
// kprobe_mutex.
func (e *Engine) SetOptimization(x kapi.Context, on bool) {
	e.sysctl.Lock(x)
	e.mutex.Lock(x)
	changed := e.allowed != on
	e.allowed = on
	for i := 0; changed && i < len(e.aggrs); i++ {
		if p := e.aggrs[i]; p.freed || !p.enabled() {
			continue // a disabled point's jump is on its way out already
		} else if on {
			e.optimizeKprobe(x, p)
		} else {
			e.unoptimizeKprobe(x, p, false)
		}
	}
	if changed && on {
		e.printk(x, e.line(kpev.LineOptimized, kpev.LineAllowed), 0, 0)
	}
	e.mutex.Unlock(x)
	if changed && !on {
		e.WaitOptimizer(x)
		e.printk(x, e.line(kpev.LineUnoptimized, kpev.LineForbidden), 0, 0)
	}
	e.sysctl.Unlock(x)
}

// SetArmed writes the file enabled (spec 7.2). Off: every point is disarmed, a
// jump at once, and it returns when the optimizer has nothing left to do; until it
// is on again nothing is armed, and no probe's own state changes. On: every point
// with a probe that isn't disabled is armed. A write of what is there already does
// nothing. Context: may sleep. Takes kprobe_mutex.
func (e *Engine) SetArmed(x kapi.Context, on bool) {
	e.mutex.Lock(x)
	if e.disarmed != on {
		e.mutex.Unlock(x)
		return
	}
	late := e.s.Mutants.ArmBeforeClear && on
	if !late {
		e.disarmed = !on // before anything is armed: what is armed is to be optimized, too
	}
	for i := 0; i < len(e.aggrs); i++ {
		switch p := e.aggrs[i]; {
		case p.freed:
		case !on && e.s.Mutants.EnabledIgnored:
		case !on:
			e.disarmKprobeNow(x, p) // also what is on its way out: it may be enabled again before it is there
		case p.enabled() || e.s.Mutants.EnabledAll:
			if !p.armed.Load(x) { // one whose jump is gone keeps its breakpoint until the optimizer has come
				_ = e.armKprobe(x, p) // a site of ftrace that somebody else has taken meanwhile stays as it is
			}
			e.optimizeKprobe(x, p)
		}
	}
	if t := &e.ret; !on && e.s.Mutants.DisarmTrampoline && t.ready.Peek() && e.s.Return == ReturnGlobal {
		e.disarmKprobeNow(x, &t.nopAggr) // which is not among the points, so that it stays armed
	}
	if late {
		e.disarmed = false
	}
	if on {
		e.printk(x, kpev.LineArmed, 0, 0)
	} else {
		e.printk(x, kpev.LineDisarmed, 0, 0)
	}
	e.mutex.Unlock(x)
	if !on {
		e.WaitOptimizer(x)
	}
}

// disarmKprobeNow disarms a point whose jump, if it has one, isn't left to the
// optimizer, but for the breakpoint of one that was queued for it already. Context:
// kprobe_mutex held.
func (e *Engine) disarmKprobeNow(x kapi.Context, p *Aggr) {
	if p.client != nil {
		e.disarmKprobeFtrace(x, p)
		return
	}
	e.lockText(x)
	e.unoptimizeKprobe(x, p, true)
	if p.list == nil && p.armed.Load(x) {
		e.archDisarmKprobe(x, p)
	}
	e.unlockText(x)
}
