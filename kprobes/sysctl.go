package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
)

// SetOptimization writes the sysctl debug.kprobes-optimization (spec 7.3). Off:
// no jump is written any more, those that are there are queued to be taken
// away, and it returns when the optimizer has done so. On: every aggr that can
// be optimized is queued again; it waits for nothing. A write of what is there
// already does nothing. Context: may sleep. Takes kprobe_sysctl_mutex, then
// kprobe_mutex.
func (e *Engine) SetOptimization(x kapi.Context, on bool) {
	e.kprobeSysctlMutex.Lock(x)
	e.kprobeMutex.Lock(x)
	changed := e.kprobesAllowOptimization != on
	e.kprobesAllowOptimization = on
	for i := 0; changed && i < len(e.aggrs); i++ {
		if ap := e.aggrs[i]; ap.freed || !e.do.AggrEnabled(ap) {
			continue // a disabled aggr's jump is on its way out already
		} else if on {
			e.optimizeKprobe(x, ap)
		} else {
			e.unoptimizeKprobe(x, ap, false)
		}
	}
	if changed && on {
		e.printk(x, e.line(kpev.LineOptimized, kpev.LineAllowed), 0, 0)
	}
	e.kprobeMutex.Unlock(x)
	if changed && !on {
		e.WaitOptimizer(x)
		e.printk(x, e.line(kpev.LineUnoptimized, kpev.LineForbidden), 0, 0)
	}
	e.kprobeSysctlMutex.Unlock(x)
}

// SetArmed writes the file enabled (spec 7.2). Off: every aggr is disarmed, a
// jump at once, and it returns when the optimizer has nothing left to do; until it
// is on again nothing is armed, and no probe's own state changes. On: every aggr
// with a probe that isn't disabled is armed. A write of what is there already does
// nothing. Context: may sleep. Takes kprobe_mutex.
func (e *Engine) SetArmed(x kapi.Context, on bool) {
	e.kprobeMutex.Lock(x)
	if e.kprobesAllDisarmed != on {
		e.kprobeMutex.Unlock(x)
		return
	}
	failed, all := 0, 0
	if on {
		e.do.SetAllDisarmed(e, false) // before anything is armed: what is armed is to be optimized, too
		failed, all = e.do.ArmAllKprobes(e, x)
	} else {
		e.do.SetAllDisarmed(e, true)
		e.do.DisarmAllKprobes(e, x)
	}
	switch {
	case on && failed > 0 && e.s.Kernel.Edition >= rules.Edition514: // since 4.16 (12310e343755)
		e.printk(x, e.line(kpev.LineArmedSome, kpev.LineEnabledSome), uint64(failed), uint64(all))
	case on:
		e.printk(x, kpev.LineArmed, 0, 0)
	default:
		e.printk(x, kpev.LineDisarmed, 0, 0)
	}
	e.kprobeMutex.Unlock(x)
	if !on {
		e.WaitOptimizer(x)
	}
}

// DisarmKprobeNow disarms an aggr whose jump, if it has one, isn't left to the
// optimizer, but for the breakpoint of one that was queued for it already. Context:
// kprobe_mutex held.
func (e *Engine) DisarmKprobeNow(x kapi.Context, ap *Aggr) {
	if ap.client != nil {
		e.do.DisarmKprobeFtrace(e, x, ap)
		return
	}
	e.do.LockText(e, x)
	e.unoptimizeKprobe(x, ap, true)
	if ap.list == nil && ap.armed.ReadOnce(x) {
		e.archDisarmKprobe(x, ap)
	}
	e.unlockText(x)
}

// armAllKprobes arms every aggr with a probe that isn't disabled. Context:
// kprobe_mutex held.
func (e *Engine) armAllKprobes(x kapi.Context) (failed, all int) {
	for i := 0; i < len(e.aggrs); i++ {
		ap := e.aggrs[i]
		if ap.freed || !e.do.AggrEnabled(ap) {
			continue
		}
		if !ap.armed.ReadOnce(x) { // one whose jump is gone keeps its breakpoint until the optimizer has come
			if e.do.ArmKprobe(e, x, ap) != nil { // a site of ftrace that another client has taken meanwhile stays as it is
				failed++
			}
		}
		all++
		e.optimizeKprobe(x, ap)
	}
	return failed, all
}

// disarmAllKprobes disarms every aggr, also what is on its way out: it may be enabled
// again before it is there. Context: kprobe_mutex held.
func (e *Engine) disarmAllKprobes(x kapi.Context) {
	for i := 0; i < len(e.aggrs); i++ {
		if ap := e.aggrs[i]; !ap.freed {
			e.DisarmKprobeNow(x, ap)
		}
	}
}
