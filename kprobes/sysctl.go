package kprobes

import (
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/kapi"
)

// SetOptimization writes the sysctl debug.kprobes-optimization (spec 7.3). If on is false, no
// more jumps are written, existing jumps are queued for removal, and it returns when the
// optimizer has removed them. If on is true, every aggr that can be optimized is queued again,
// and it doesn't wait. Writing the current value does nothing. Context: may sleep. Takes
// kprobe_sysctl_mutex, then kprobe_mutex.
func (f *Files) SetOptimization(x kapi.Context, on bool) {
	f.kprobeSysctlMutex.Lock(x)
	f.e.kprobeMutex.Lock(x)
	changed := f.e.Optimizer.kprobesAllowOptimization != on
	f.e.Optimizer.kprobesAllowOptimization = on
	for i := 0; changed && i < len(f.e.Table.aggrs); i++ {
		if ap := f.e.Table.aggrs[i]; ap.freed || !f.do.Arm.AggrEnabled(ap) {
			continue // a disabled aggr's jump is on its way out already
		} else if on {
			f.e.Optimizer.optimizeKprobe(x, ap)
		} else {
			f.e.Optimizer.unoptimizeKprobe(x, ap, false)
		}
	}
	if changed && on {
		f.printk(x, f.line(kpev.LineOptimized, kpev.LineAllowed), 0, 0)
	}
	f.e.kprobeMutex.Unlock(x)
	if changed && !on {
		f.e.Optimizer.WaitOptimizer(x)
		f.printk(x, f.line(kpev.LineUnoptimized, kpev.LineForbidden), 0, 0)
	}
	f.kprobeSysctlMutex.Unlock(x)
}

// SetArmed writes the file enabled (spec 7.2). Off: every aggr is disarmed, a jump at once, and it returns when the
// optimizer has nothing left to do; until it is on again nothing is armed, and no probe's own state changes. On:
// every aggr with a probe that isn't disabled is armed. A write of the current value does nothing. Context: may
// sleep. Takes kprobe_mutex.
func (f *Files) SetArmed(x kapi.Context, on bool) {
	f.e.kprobeMutex.Lock(x)
	if f.kprobesAllDisarmed != on {
		f.e.kprobeMutex.Unlock(x)
		return
	}
	x.Mark(f.switchCell(), kapi.Write)
	failed, all := 0, 0
	if on {
		f.do.Files.SetAllDisarmed(f.e, false) // before anything is armed, because armed aggrs are optimized, too
		failed, all = f.do.Files.ArmAllKprobes(f.e, x)
	} else {
		f.do.Files.SetAllDisarmed(f.e, true)
		f.do.Files.DisarmAllKprobes(f.e, x)
	}
	switch {
	case on && failed > 0 && f.s.Kernel.Edition >= rules.Edition514: // since 4.16 (12310e343755)
		f.printk(x, f.line(kpev.LineArmedSome, kpev.LineEnabledSome), uint64(failed), uint64(all))
	case on:
		f.printk(x, kpev.LineArmed, 0, 0)
	default:
		f.printk(x, kpev.LineDisarmed, 0, 0)
	}
	f.e.kprobeMutex.Unlock(x)
	if !on {
		f.e.Optimizer.WaitOptimizer(x)
	}
}

// DisarmKprobeNow disarms an aggr at once, without leaving its jump to the optimizer. Only the
// breakpoint of an aggr that was already queued is left to the optimizer. Context: kprobe_mutex
// held.
func (e *Engine) DisarmKprobeNow(x kapi.Context, ap *Aggr) {
	if ap.client != nil {
		e.do.Gone.DisarmKprobeFtrace(e, x, ap)
		return
	}
	e.do.Arm.LockText(e, x)
	e.Optimizer.unoptimizeKprobe(x, ap, true)
	if ap.list == nil && ap.armed.ReadOnce(x) {
		e.archDisarmKprobe(x, ap)
	}
	e.locks.unlockText(x)
}

// armAllKprobes arms every aggr with a probe that isn't disabled. Context:
// kprobe_mutex held.
func (f *Files) armAllKprobes(x kapi.Context) (failed, all int) {
	for i := 0; i < len(f.e.Table.aggrs); i++ {
		ap := f.e.Table.aggrs[i]
		if ap.freed || !f.do.Arm.AggrEnabled(ap) {
			continue
		}
		if !ap.armed.ReadOnce(x) { // an aggr whose jump is removed keeps its breakpoint until the optimizer runs
			// a site of ftrace that another client has taken meanwhile stays as it is
			if f.do.Arm.ArmKprobe(f.e, x, ap) != nil {
				failed++
			}
		}
		all++
		f.e.Optimizer.optimizeKprobe(x, ap)
	}
	return failed, all
}

// disarmAllKprobes disarms every aggr, including those about to be disarmed by the optimizer:
// they may be enabled again before it runs. Context: kprobe_mutex held.
func (f *Files) disarmAllKprobes(x kapi.Context) {
	for i := 0; i < len(f.e.Table.aggrs); i++ {
		if ap := f.e.Table.aggrs[i]; !ap.freed {
			f.e.DisarmKprobeNow(x, ap)
		}
	}
}

// Disarmed reports whether the file enabled says 0. Context: kprobe_mutex held.
func (f *Files) Disarmed() bool { return f.kprobesAllDisarmed }
