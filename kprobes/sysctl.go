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
	for i := 0; changed && i < len(e.points); i++ {
		if p := e.points[i]; p.freed || !p.enabled() {
			continue // a disabled point's jump is on its way out already
		} else if on {
			e.optimize(x, p)
		} else {
			e.unoptimizeLocked(x, p, false)
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
