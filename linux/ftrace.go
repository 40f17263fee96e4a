package linux

import (
	"fmt"

	"kpsim/engine/ftrace"
	"kpsim/linux/linuxev"
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
	open [64]int     // by CPU: how many functions of clients run there
	keys []arch.Addr // the keys of static calls
}

// followFtrace makes the clients for a run whose functions have sites.
func (pa *patched) followFtrace() {
	pa.ops = pa.ops[:0]
	clear(pa.open[:])
	if pa.d.Ftrace == nil || pa.Clients() != nil {
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

// redZone is how many bytes below the stack pointer functions may use, but for those of ppc64le (psABI of x86-64,
// 3.2.2).
const redZone = 128

// traced calls the function of an ftrace_ops, which struct ftrace_ops begins with:
// func(ip, parent_ip, ops, fregs). fregs begins with the pt_regs. They are on the
// task's stack, as ftrace_regs_caller makes them.
func (pa *patched) traced(x kapi.Context, ops, ip arch.Addr, regs *arch.Regs) {
	mem, a := x.Memory(), pa.k.arch
	live := x.Regs()
	was := *live
	top := arch.Addr(was.R[a.SP])
	parent := regs.R[a.Link]
	if a.Pushed != 0 {
		parent, _ = mem.Load(top+arch.Addr(a.Word), a.Word) // it lies above the return address to the site
	}
	frame := (top - max(redZone, pa.k.port.frames.below) - arch.Addr(a.Frame.Size)) &^ 15
	pa.e.storeRegs(x, uint64(frame), regs)
	live.R[a.SP] = uint64(frame - pa.k.port.frames.header)
	f, _ := mem.Load(ops, a.Word)
	cpu := x.CPU()
	pa.open[cpu]++
	pa.call(x, arch.Addr(f), uint64(ip), parent, uint64(ops), uint64(frame))
	pa.open[cpu]--
	pa.e.loadRegs(x, uint64(frame), regs)
	x.Regs().R = was.R
}

// opsOf returns the client of an ftrace_ops. If none has it, the run ends and nil is returned.
func (pa *patched) opsOf(x kapi.Context, at uint64) ftrace.Client {
	for i := range pa.ops {
		if pa.ops[i].at == arch.Addr(at) {
			return pa.ops[i].ops
		}
	}
	if p := pa.e.fprobes.withOps(at); p != nil {
		return p.ops
	}
	pa.refuse(x, "an ftrace_ops that isn't of its probes")
	return nil
}

// calledFrom reports whether ftrace calls the kernel's probes from a site, or will once text
// is loaded there again.
func (pa *patched) calledFrom(at arch.Addr) bool {
	if pa.Clients() != nil {
		return pa.e.tracing.probed(at)
	}
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

func ftraceBug(e *Linux, x kapi.Context, a *args) uint64 {
	r := &e.k.records
	e.d.Guest.Why(x, fmt.Sprintf("ftrace_bug: %d at %#x", int32(a[0]), get(x, arch.Addr(a[1]), r.ip)))
	x.Emit(linuxev.Warn, uint64(e.caller(x)), 0, 0)
	return 0
}

func registerFtrace(e *Linux, x kapi.Context, a *args) uint64 {
	c := e.patched.opsOf(x, a[0])
	if c == nil {
		return negative(einval)
	}
	p, errno := e.fprobes.withOps(a[0]), c.Register(x)
	switch {
	case p == nil: // EBUSY says that another client changes the path
	case errno == 0: // by that unregister_fprobe knows it
		set(x, p.at, e.k.fields.fprobe.saved, get(x, arch.Addr(a[0]), field{0, e.k.word}))
	case errno == ftrace.EBUSY && !e.fprobes.again[x.Task()]:
		e.warned(x, "a client of ftrace is registered that is registered")
	}
	return negative(uint32(errno))
}

func unregisterFtrace(e *Linux, x kapi.Context, a *args) uint64 {
	c := e.patched.opsOf(x, a[0])
	if c == nil {
		return negative(einval)
	}
	errno := c.Unregister(x)
	if errno == ftrace.EINVAL && e.fprobes.withOps(a[0]) != nil {
		e.warned(x, "a client of ftrace is unregistered that isn't registered")
		errno = ftrace.EBUSY
	}
	return negative(uint32(errno))
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

// The sites of ftrace. A page of records (struct ftrace_page, struct dyn_ftrace) holds those
// of a scenario, as ftrace_init leaves them. A record counts the clients of its site before
// the kernel's own code walks the records and patches the text.

// Bits of a record's flags (include/linux/ftrace.h), and of a command.
const (
	recordEnabled  = 1 << 31
	recordRegs     = 1 << 30 // the site's clients want all registers
	recordRegsNow  = 1 << 29 // the site's clients get all registers
	recordDisabled = 1 << 25 // the site's text isn't loaded
	recordClients  = 1<<16 - 1

	updateCalls = 1
)

// recordParts are the parts of ftrace that the engine uses.
type recordParts struct {
	// ftrace_arch_code_modify_prepare, arch_ftrace_update_code, ftrace_arch_code_modify_post_process
	begin, update, end   arch.Addr
	clients              clientParts
	pages                arch.Addr // ftrace_pages_start; 0: the kernel has no ftrace
	caller, plain        arch.Addr // ftrace_regs_caller, ftrace_caller
	list, length         field     // of struct ftrace_page
	ip, flags            field     // of struct dyn_ftrace
	stub                 field     // likewise: its stub, where calls stand out of line; size 0: there is none
	pageSize, recordSize arch.Addr
}

// findRecords looks up the parts of ftrace. It finds all of them or none.
func (k *Kernel) findRecords() {
	t := k.Image.Types()
	r := recordParts{
		begin: k.at("ftrace_arch_code_modify_prepare"), update: k.at("arch_ftrace_update_code"),
		end:   k.at("ftrace_arch_code_modify_post_process"),
		pages: k.at("ftrace_pages_start"), caller: k.at("ftrace_regs_caller"),
		plain: k.at("ftrace_caller"),
	}
	if r.caller == 0 { // the shorter one is the only one
		r.caller = r.plain
	}
	ok := r.begin != 0 && r.update != 0 && r.end != 0 && r.pages != 0 && r.caller != 0 && r.plain != 0
	r.list, ok = part(t, "ftrace_page", "records", ok)
	r.length, ok = part(t, "ftrace_page", "index", ok)
	r.ip, ok = part(t, "dyn_ftrace", "ip", ok)
	r.flags, ok = part(t, "dyn_ftrace", "flags", ok)
	r.stub, _ = part(t, "dyn_ftrace", "arch.ool_stub", true)
	page, _ := t.Size("ftrace_page")
	record, _ := t.Size("dyn_ftrace")
	if r.pageSize, r.recordSize = arch.Addr(page), arch.Addr(record); ok {
		k.records = r
	}
}

// StopsForSites reports whether the kernel writes the sites of ftrace with the machine stopped.
func (k *Kernel) StopsForSites() (yes bool) {
	f := k.Closure.Function(uint64(k.records.update))
	if f == nil {
		return false
	}
	k.Closure.Decode(f, func(in arch.Inst) {
		s, _ := k.Closure.Target(f, in)
		yes = yes || s.Name == "stop_machine"
	})
	return yes
}

// Stubs reports whether calls of ftrace stand out of line, and Caller returns what a stub calls at first
// (ftrace_caller).
func (k *Kernel) Stubs() bool       { return k.records.stub.size != 0 }
func (k *Kernel) Caller() arch.Addr { return k.records.plain } // see Stubs

// record returns the address of a site's record.
func (k *Kernel) record(site int) arch.Addr {
	return k.near() + recordsAt + k.records.pageSize + arch.Addr(site)*k.records.recordSize
}

// layRecords writes the page and its records.
func (pa *patched) layRecords() {
	r, g := &pa.k.records, pa.d.Guest
	if pa.Sites() == nil {
		return
	}
	if at := pa.k.port.text.tramp; at != 0 {
		pa.putWord(pa.k.at("ftrace_tramps"), uint64(at))
	}
	page, n := pa.k.near()+recordsAt, pa.d.Sites.Sites()
	pa.putWord(r.pages, uint64(page))
	g.Put(page+arch.Addr(r.list.off), r.list.size, uint64(pa.k.record(0)))
	g.Put(page+arch.Addr(r.length.off), r.length.size, uint64(n))
	for i := range n {
		g.Put(pa.k.record(i)+arch.Addr(r.ip.off), r.ip.size, uint64(pa.d.Sites.At(i)))
		if at := pa.d.Sites.Stub(i); at != 0 {
			g.Put(pa.k.record(i)+arch.Addr(r.stub.off), r.stub.size, uint64(at))
		}
	}
}

// Sites implements engine.Patcher.
func (pa *patched) Sites() ftrace.Writer {
	if pa.k.records.pages == 0 || pa.d.Sites == nil || pa.k.record(pa.d.Sites.Sites()) > pa.k.near()+nearSize {
		return nil
	}
	return pa
}

// WriteSites implements ftrace.Writer by ftrace_run_update_code. The kernel's flags in a
// record are kept, unless the site's text was replaced since.
func (pa *patched) WriteSites(x kapi.Context, f *ftrace.Ftrace) {
	r := &pa.k.records
	for i := range f.Sites() {
		want, at := f.Record(i), pa.k.record(i)
		flags := get(x, at, r.flags) &^ (recordClients | recordRegs | recordDisabled)
		if !want.On {
			flags &^= recordEnabled | recordRegsNow
		}
		flags |= uint64(want.Clients)
		if want.Regs && r.caller != r.plain {
			flags |= recordRegs
		}
		if !want.Here {
			flags |= recordDisabled
		}
		set(x, at, r.flags, flags)
	}
	pa.call(x, r.begin)
	pa.call(x, r.update, updateCalls)
	pa.call(x, r.end)
}

// SiteCalls implements ftrace.Writer.
func (pa *patched) SiteCalls(at arch.Addr) (regs, plain arch.Code) {
	return pa.siteCall(at, pa.k.records.caller), pa.siteCall(at, pa.k.records.plain)
}

func (pa *patched) siteCall(at, to arch.Addr) arch.Code {
	call, ok := pa.k.arch.Call(at, to)
	if !ok {
		call, _ = pa.k.arch.Call(at, pa.k.port.text.tramp)
	}
	return call
}

// siteCalls is ftrace_regs_caller or ftrace_caller, which the sites call.
func siteCalls(e *Linux, x kapi.Context, _ *args) uint64 {
	e.d.Sites.Caller(x, x.Regs())
	return 0
}
