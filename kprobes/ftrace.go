package kprobes

import (
	"kpsim/engine/ftrace"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A client is one of the engine's two clients of ftrace. Probes that may change the path,
// because they have a post_handler, belong to the client that declares so to ftrace. ftrace
// then lets no other client change the path there (5.4 and later).
type client struct {
	ops   ftrace.Client `state:"boot"` // set at New
	armed int           // owned by kprobe_mutex: how many aggrs it has
}

// FtraceOps are the two clients.
type FtraceOps struct {
	*env              `state:"boot"` // set at New
	kprobeFtraceOps   client         // owned by kprobe_mutex: of ftrace, for aggrs without a post_handler
	kprobeIpmodifyOps client         // owned by kprobe_mutex: and for those with one
	onFtrace          ftrace.Handler `state:"boot"` // set at New
}

// renew makes the clients.
func (f *FtraceOps) renew() {
	f.kprobeFtraceOps, f.kprobeIpmodifyOps = client{}, client{}
	if f.d.Ftrace == nil {
		return
	}
	f.kprobeFtraceOps = client{ops: f.d.Ftrace.NewOps("kprobe_ftrace_ops", f.onFtrace, 0)}
	f.kprobeIpmodifyOps = client{ops: f.d.Ftrace.NewOps("kprobe_ipmodify_ops", f.onFtrace, ftrace.Modifies)}
}

// clientFor returns the client that an aggr is armed with.
func (f *FtraceOps) clientFor(ap *Aggr) *client {
	if ap.post() || f.s.FtraceClaims {
		return &f.kprobeIpmodifyOps
	}
	return &f.kprobeFtraceOps
}

// calledFrom reports whether ftrace calls the engine from a site.
func (f *FtraceOps) calledFrom(at arch.Addr) bool {
	return f.kprobeFtraceOps.ops.Wants(at) || f.kprobeIpmodifyOps.ops.Wants(at)
}

// armKprobeFtrace makes ftrace call the engine from an aggr's site (spec 8.4). A client with
// an empty filter would be called from all sites, so the filter is set first and removed
// last. It returns EBUSY if another client of ftrace changes the path there.
// Context: kprobe_mutex held.
func (f *FtraceOps) armKprobeFtrace(x kapi.Context, ap *Aggr) error {
	c := f.clientFor(ap)
	if errno := c.ops.Filter(x, ap.addr, true); errno != 0 {
		f.warnFtrace(x, kpev.LineFtraceArm, uint64(ap.addr), uint64(errno))
		return Errno(errno)
	}
	if c.armed == 0 {
		if errno := c.ops.Register(x); errno != 0 {
			f.warnFtrace(x, kpev.LineFtraceInit, uint64(errno), 0)
			c.ops.Filter(x, ap.addr, false)
			return Errno(errno)
		}
	}
	c.armed++
	ap.client = c
	ap.armed.WriteOnce(x, true)
	return nil
}

// warnFtrace prints the WARN of kernels until 4.15, their only report of a site that couldn't
// be armed (12310e343755).
func (f *FtraceOps) warnFtrace(x kapi.Context, line kpev.Line, a, b uint64) {
	if f.s.Kernel.Edition < rules.Edition514 {
		f.e.Files.printk(x, line, a, b)
	}
}

// disarmKprobeFtrace undoes armKprobeFtrace, with the client that the aggr was armed with.
//
// Kernels use the client that the aggr would be armed with now. If a probe with a post_handler
// has joined meanwhile, the site isn't disarmed, and the unregistered probe stays in the table
// (mutant ftrace-by-post).
//
// Removing a client's last site leaves its filter empty, which means all sites. So this waits
// until no CPU walks the old list of clients: such a CPU would call this client for another
// client's site, and a probe there would be hit twice. Kernels don't wait (mutant
// filter-emptied). Context: kprobe_mutex held; may sleep.
func (f *FtraceOps) disarmKprobeFtrace(x kapi.Context, ap *Aggr) {
	c := &f.kprobeFtraceOps
	if f.do.Gone.ArmedIPModify(f.e, ap) {
		c = &f.kprobeIpmodifyOps
	}
	if c.armed == 1 {
		c.ops.Unregister(x)
		f.do.Gone.SyncFtrace(f.e, x)
	}
	c.armed--
	c.ops.Filter(x, ap.addr, false)
	ap.client = nil
	ap.armed.WriteOnce(x, false)
}

// kprobeFtraceHandler is called by ftrace from an aggr's site. The handlers see the same
// registers as for a breakpoint there and a stepped 5-byte nop. Context:
// preemption off, interrupts as they were; off through 4.14, as after a detour
// (a19b2e3d7839, "Remove IRQ disabling from ftrace-based/optimized kprobes", lets both be).
func (f *FtraceOps) kprobeFtraceHandler(x kapi.Context, ip arch.Addr, regs *arch.Regs) {
	if !f.s.DetourIRQsOff {
		f.do.Gone.KprobeFtraceHandler(f.e, x, ip, regs)
		return
	}
	on := x.IRQ(false)
	f.do.Gone.KprobeFtraceHandler(f.e, x, ip, regs)
	if on {
		x.IRQ(true)
	}
}

// callFtraceHandlers runs the handlers of an aggr's site.
func (f *FtraceOps) callFtraceHandlers(x kapi.Context, ip arch.Addr, regs *arch.Regs) {
	x.Work(WorkLookup, 1)
	ap, ok := f.e.Table.probes.Get(x, ip)
	if !ok || !ap.runs(x) {
		return
	}
	kcb := f.e.Hits.kcb.This(x)
	if kcb.current != nil {
		f.e.Hits.kprobesIncNmissedCount(x, ap)
		return
	}
	origIP := regs.IP
	kcb.current, kcb.status = ap, kprobeHitActive
	regs.IP = ip + f.d.Text.Arch().Past
	if !f.do.Hit.AggrPreHandler(f.e, x, ap, regs, true) {
		regs.IP = ip + arch.Addr(f.d.Text.Arch().BranchLen) // even if another client has sent it elsewhere
		f.do.Hit.AggrPostHandler(f.e, x, ap, regs)
		regs.IP = origIP
	}
	kcb.current = nil
}

// CalledInVain returns an address from which ftrace calls the engine though no aggr in the
// table stands for it. ok is false if there is none.
func (f *FtraceOps) CalledInVain() (at arch.Addr, ok bool) {
	for _, ap := range f.e.Table.aggrs {
		if !ap.verdict.Ftrace || !f.calledFrom(ap.addr) {
			continue
		}
		if q, listed := f.e.Table.probes.Owned(ap.addr); !listed || q.Unused() {
			return ap.addr, true
		}
	}
	return 0, false
}
