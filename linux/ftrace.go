package linux

import (
	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Probes at sites of ftrace: the kernel's own code arms them and handles their hits, the
// machine's tracer patches the sites and calls it.

// A client is a struct ftrace_ops of the kernel's probes.
type client struct {
	at  arch.Addr
	ops ftrace.Client
}

// clients lists the kernel's two clients (kernel/kprobes.c). Handlers of the second may
// change where the function goes on (FTRACE_OPS_FL_IPMODIFY).
var clients = [...]struct {
	name  string
	flags ftrace.Flags
}{{"kprobe_ftrace_ops", 0}, {"kprobe_ipmodify_ops", ftrace.Modifies}}

// patched serves the other clients of text patching: ftrace, jump labels and static calls. It has
// the methods of engine.Patcher and implements ftrace.Writer.
type patched struct {
	*env
	ops  []client    // the clients of ftrace
	keys []arch.Addr // the keys of static calls
}

// followFtrace makes the clients for a run whose functions have sites.
func (pa *patched) followFtrace() {
	pa.ops = pa.ops[:0]
	if pa.d.Ftrace == nil {
		return
	}
	for _, c := range clients {
		at := pa.k.at(c.name)
		if at == 0 {
			continue
		}
		pa.ops = append(pa.ops,
			client{at, pa.d.Ftrace.NewOps(c.name, func(x kapi.Context, ip arch.Addr, regs *arch.Regs) {
				pa.traced(x, at, ip, regs)
			}, c.flags)})
	}
}

// redZone is how many bytes below the stack pointer the saved registers end.
const redZone = 128

// traced calls the function of an ftrace_ops, which struct ftrace_ops begins with:
// func(ip, parent_ip, ops, fregs). fregs begins with the pt_regs. They are on the
// task's stack, as ftrace_regs_caller makes them.
func (pa *patched) traced(x kapi.Context, ops, ip arch.Addr, regs *arch.Regs) {
	mem, a := x.Memory(), pa.k.arch
	live := x.Regs()
	was := *live
	top := arch.Addr(was.R[a.SP])
	parent, _ := mem.Load(top+arch.Addr(a.Word), a.Word) // it lies above the return address to the site
	frame := (top - redZone - arch.Addr(a.Frame.Size)) &^ 15
	a.Frame.Store(mem, frame, regs)
	live.R[a.SP] = uint64(frame)
	f, _ := mem.Load(ops, a.Word)
	pa.call(x, arch.Addr(f), uint64(ip), parent, uint64(ops), uint64(frame))
	a.Frame.Load(mem, frame, regs)
	x.Regs().R = was.R
}

// opsOf returns the client of an ftrace_ops. If none has it, the run ends and nil is returned.
func (pa *patched) opsOf(x kapi.Context, at uint64) ftrace.Client {
	for i := range pa.ops {
		if pa.ops[i].at == arch.Addr(at) {
			return pa.ops[i].ops
		}
	}
	pa.refuse(x, "an ftrace_ops that isn't of its probes")
	return nil
}

// calledFrom reports whether ftrace calls the kernel's probes from a site, or will once text
// is loaded there again.
func (pa *patched) calledFrom(at arch.Addr) bool {
	for i := range pa.ops {
		if pa.ops[i].ops.Wants(at) {
			return true
		}
	}
	return false
}

// setFilterIP is ftrace_set_filter_ip(ops, ip, remove, reset).
func setFilterIP(e *Linux, x kapi.Context, a *args) uint64 {
	c := e.patched.opsOf(x, a[0])
	if c == nil {
		return negative(einval)
	}
	return negative(uint32(c.Filter(x, arch.Addr(a[1]), a[2]&0xffffffff == 0)))
}

func registerFtrace(e *Linux, x kapi.Context, a *args) uint64 {
	c := e.patched.opsOf(x, a[0])
	if c == nil {
		return negative(einval)
	}
	return negative(uint32(c.Register(x)))
}

func unregisterFtrace(e *Linux, x kapi.Context, a *args) uint64 {
	c := e.patched.opsOf(x, a[0])
	if c == nil {
		return negative(einval)
	}
	return negative(uint32(c.Unregister(x)))
}

// ftraceLocation is ftrace_location(ip). It returns the site that an address lies in, or the
// site of the function that begins there.
func ftraceLocation(e *Linux, x kapi.Context, a *args) uint64 {
	if at := e.siteIn(ftrace.Site, arch.Addr(a[0]), 1); at != 0 {
		return uint64(at)
	}
	if at, size, ok := e.symbolOf(x, arch.Addr(a[0])); ok && at == arch.Addr(a[0]) && size > 0 {
		return uint64(e.siteIn(ftrace.Site, at, size))
	}
	return 0
}

// siteIn returns the first site of a kind in a range, or 0.
func (e *env) siteIn(kind kapi.SiteKind, at arch.Addr, size int) arch.Addr {
	e.sites = e.d.Symbols.Sites(e.sites[:0], at, size)
	for i := range e.sites {
		if e.sites[i].Kind == kind {
			return e.sites[i].Addr
		}
	}
	return 0
}
