package kprobes

import "kpsim/smp/arch"

// What an engine still has when nothing runs and no work is left. It has no use for any
// of it; monitors are told (plug).

// Unneeded returns where there is an aggr without probes: in the table, or not freed.
// ok false: there is none.
func (e *Engine) Unneeded() (at arch.Addr, ok bool) {
	for _, ap := range e.aggrs {
		q, listed := e.kprobeTable.Peek(ap.addr)
		if ap.Unused() && (!ap.freed || listed && q == ap) {
			return ap.addr, true
		}
	}
	return 0, false
}

// CalledInVain returns an address that ftrace calls the engine from, and that no aggr in
// the table stands for. ok false: there is none.
func (e *Engine) CalledInVain() (at arch.Addr, ok bool) {
	for _, ap := range e.aggrs {
		if !ap.verdict.Ftrace || !e.calledFrom(ap.addr) {
			continue
		}
		if q, listed := e.kprobeTable.Peek(ap.addr); !listed || q.Unused() {
			return ap.addr, true
		}
	}
	return 0, false
}

// Busy returns a CPU that is still with a probe it has hit, and where that is. ok false:
// there is none.
func (e *Engine) Busy() (cpu int, at arch.Addr, ok bool) {
	for cpu := range e.d.CPUs {
		kcb := e.kcb.Of(cpu)
		for _, ap := range [...]*Aggr{kcb.current, kcb.prevKprobe.current} {
			if ap != nil {
				return cpu, ap.addr, true
			}
		}
	}
	return 0, 0, false
}

// InFlight returns an instance that is in a list of calls in flight. ok false: there is
// none.
func (e *Engine) InFlight() (ri *Instance, ok bool) {
	t := &e.ret
	for i := range t.buckets {
		if calls := t.buckets[i].calls.Peek(); len(calls) > 0 {
			return calls[0], true
		}
	}
	if !t.ready.Peek() || !e.listed() {
		return nil, false
	}
	for i := range t.calls {
		if ri := t.calls[i].Peek(); ri != nil {
			return ri, true
		}
	}
	return nil, false
}
