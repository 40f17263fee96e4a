package linux

import (
	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// ftrace's clients, where they are the kernel's own (Settings.Clients): its code decides which of them want a site,
// writes the sites and the calls in its trampolines, and makes and frees the trampolines, which tasks execute. The
// handlers of clients beside kprobes are Go.

// TellsClients reports whether handlers get a struct ftrace_regs (5.11). Of earlier kernels two handlers in Go that the
// list calls one after the other don't come back: why isn't known.
func TellsClients(k *Kernel) bool { return k.records.clients.partial }

// SharesDirects reports whether a function may have a direct call and a client that changes where it goes on (6.0).
func SharesDirects(k *Kernel) bool { return k.records.clients.allows.size > 0 }

// tracing is ftrace's clients. It implements ftrace.Core.
type tracing struct {
	*env    `state:"boot"`
	entry   arch.Addr        `state:"boot"` // the gate that is the function of each; 0: kpsim has the clients
	allow   arch.Addr        `state:"boot"` // the gate that is ops_func of each
	calls   []ftrace.Call    `state:"boot"` // that may stand in the common trampolines
	list    []*traceOps      // taken in order
	n       int              // how many are in use
	directs []directCall     // by number
	made    []made           // trampolines of clients
	reached []*object        `state:"skip: each search fills it first"`       // by what the kernel's ftrace keeps
	regs    [256][]arch.Regs `state:"skip: each handler fills its own first"` // by task
}

// A traceOps is a struct ftrace_ops of a client.
type traceOps struct {
	t  *tracing       `state:"boot"`
	at arch.Addr      // set at the first boot of a run
	h  ftrace.Handler `state:"boot"` // nil: it is of a direct call
}

// A directCall is a direct call of a site. A client that is refused one has had a struct of its own.
type directCall struct {
	site arch.Addr    // set at the boot of a run
	ops  [2]*traceOps // set at the boot of a run, where the functions get one
	cur  int          // owned by direct_mutex: the one that is registered; -1: none is
	to   arch.Addr    // owned by direct_mutex: what it calls
}

// Clients implements engine.Patcher.
func (pa *patched) Clients() ftrace.Core {
	if t := &pa.e.tracing; t.entry != 0 && pa.d.Sites != nil && pa.d.Sites.Sites() > 0 {
		return t
	}
	return nil
}

// boot makes the memory and the gates of clients, before anything runs.
func (t *tracing) boot(g kapi.Guest) {
	g.Map(&kapi.Image{At: t.k.near() + opsAt, Size: mostOps*opsStep + page, Write: true})
	t.calls = t.callsOf()
	t.entry = g.Gate("ftrace_ops.func", t.called)
	t.allow = g.Gate("ftrace_ops.ops_func", func(x kapi.Context, r *arch.Regs) { r.R[t.k.arch.Result] = 0 })
}

// Poke implements engine.Patcher by text_poke_bp, as bpf_arch_text_poke does once it has found the old instruction.
func (pa *patched) Poke(x kapi.Context, at arch.Addr, insn []byte) (done bool) {
	c := &pa.k.records.clients
	if pa.e.tracing.entry == 0 || c.poke == 0 {
		return false
	}
	from := pa.k.near() + opsAt + mostOps*opsStep
	pa.write(x, from, insn)
	pa.call(x, c.poke, uint64(at), uint64(from), uint64(len(insn)), 0)
	return true
}

// renew forgets the clients of the last run.
func (t *tracing) renew() {
	t.n, t.directs, t.made = 0, t.directs[:0], t.made[:0]
	for i := range t.regs {
		t.regs[i] = t.regs[i][:0]
	}
}

// lay does what ftrace_init does, besides the records.
func (t *tracing) lay() {
	if t.entry == 0 {
		return
	}
	for _, name := range []string{"ftrace_enabled", "last_ftrace_enabled"} {
		if at := t.k.at(name); at != 0 {
			t.d.Guest.Put(at, 4, 1)
		}
	}
}

// Calls implements ftrace.Core.
func (t *tracing) Calls() []ftrace.Call { return t.calls }

// callsOf lists the calls that may stand in the common trampolines.
func (t *tracing) callsOf() (list []ftrace.Call) {
	for _, call := range [...]string{"ftrace_call", "ftrace_regs_call"} {
		for _, to := range [...]string{"ftrace_stub", "arch_ftrace_ops_list_func", "ftrace_ops_list_func",
			"ftrace_ops_assist_func", "kprobe_ftrace_handler", "call_direct_funcs"} {
			if at := t.k.at(call); at != 0 && t.k.at(to) != 0 {
				c, _ := t.k.arch.Call(at, t.k.at(to)) // both are the kernel's
				list = append(list, ftrace.Call{At: at, Insn: c})
			}
		}
	}
	return list
}

// take returns the next struct.
func (t *tracing) take(h ftrace.Handler) *traceOps {
	if t.n == len(t.list) {
		t.list = append(t.list, &traceOps{t: t, at: t.k.near() + opsAt + arch.Addr(t.n)*opsStep})
	}
	o := t.list[t.n]
	t.n++
	o.h = h
	return o
}

// NewOps implements ftrace.Core. A kernel before 5.11 gives handlers registers only if it saves all (struct
// ftrace_regs).
func (t *tracing) NewOps(_ string, h ftrace.Handler, flags ftrace.Flags) ftrace.Client {
	o, c, g := t.take(h), &t.k.records.clients, t.d.Guest
	bits := uint64(0)
	if !c.partial || flags&ftrace.Plain == 0 {
		bits |= opsSaveRegs
	}
	if flags&ftrace.Modifies != 0 {
		bits |= opsModifies
	}
	g.Put(o.at+arch.Addr(c.fn.off), c.fn.size, uint64(t.entry))
	g.Put(o.at+arch.Addr(c.flags.off), c.flags.size, bits)
	return o
}

// Filter implements ftrace.Client.
func (o *traceOps) Filter(x kapi.Context, ip arch.Addr, on bool) (errno int) {
	return o.errno(x, o.t.k.records.clients.filter, uint64(ip), b2u(!on), 0)
}

// Register implements ftrace.Client.
func (o *traceOps) Register(x kapi.Context) (errno int) {
	return o.errno(x, o.t.k.records.clients.register)
}

// Unregister implements ftrace.Client.
func (o *traceOps) Unregister(x kapi.Context) (errno int) {
	return o.errno(x, o.t.k.records.clients.unregister)
}

// errno calls a function of the kernel with the struct and further arguments.
func (o *traceOps) errno(x kapi.Context, f arch.Addr, further ...uint64) int {
	return -int(int32(o.t.call(x, f, append([]uint64{uint64(o.at)}, further...)...)))
}

// Wants implements ftrace.Client.
func (o *traceOps) Wants(ip arch.Addr) bool { return o.t.wants(o.at, ip) }

// probed reports whether the kernel's ftrace calls its probes from a site, or will once text is loaded there again.
func (t *tracing) probed(ip arch.Addr) bool {
	for _, c := range clients {
		if at := t.k.at(c.name); at != 0 && t.wants(at, ip) {
			return true
		}
	}
	return false
}

// wants reports whether a struct ftrace_ops is registered and has a site in its filter. An empty filter has all.
func (t *tracing) wants(ops, ip arch.Addr) bool {
	c := &t.k.records.clients
	if t.look(ops, c.flags)&opsEnabled == 0 {
		return false
	}
	hash := arch.Addr(t.look(arch.Addr(t.look(ops, c.hash)), c.filters))
	all := true
	if hash == 0 {
		return all
	}
	for b := range min(uint64(1)<<t.look(hash, c.bits), page) {
		at := arch.Addr(t.look(hash, c.buckets)) + t.k.words(int(b))
		for entry := t.look(at, field{0, t.k.word}); entry != 0; entry = t.look(arch.Addr(entry), c.next) {
			if all = false; t.look(arch.Addr(entry), c.ip) == uint64(ip) {
				return true
			}
		}
	}
	return all
}

// called is the function of a client's struct: (ip, parent, ops, registers).
func (t *tracing) called(x kapi.Context, r *arch.Regs) {
	a := t.k.arch
	ip, at, frame := r.R[a.Args[0]], arch.Addr(r.R[a.Args[2]]), r.R[a.Args[3]]
	n := int(at-t.k.near()-opsAt) / opsStep
	if at < t.k.near()+opsAt || n >= t.n || t.list[n].at != at || t.list[n].h == nil || frame == 0 {
		t.bug(x, "ftrace calls what is no client of its")
		return
	}
	was := x.Regs().R
	open := &t.regs[x.Task()]
	depth := len(*open)
	*open = append(roomy(*open), arch.Regs{})
	regs := &(*open)[depth]
	t.loadRegs(x, frame, regs)
	x.PreemptDisable()
	t.list[n].h(x, arch.Addr(ip), regs)
	x.PreemptEnable()
	t.storeRegs(x, frame, regs)
	*open = (*open)[:depth]
	x.Regs().R = was
	for _, c := range t.k.clobbered {
		x.Regs().R[c] = t.k.poison
	}
}

// NewDirect implements ftrace.Core.
func (t *tracing) NewDirect(ip arch.Addr) {
	d := directCall{site: ip, cur: -1}
	if t.k.records.clients.direct.byOps {
		for i := range d.ops {
			d.ops[i] = t.take(nil)
		}
	}
	t.directs = append(t.directs, d)
}

// RegisterDirect implements ftrace.Core. A struct has been allocated for it, and says that its function may be patched
// live, too (ops_func, 6.0).
func (t *tracing) RegisterDirect(x kapi.Context, direct int, to arch.Addr) (errno int) {
	d, c := &t.directs[direct], &t.k.records.clients
	if !c.direct.byOps {
		errno = -int(int32(t.call(x, c.direct.register, uint64(d.site), uint64(to))))
		if errno == 0 {
			d.cur, d.to = 0, to
		}
		return errno
	}
	n := max(0, 1-d.cur) & 1
	o := d.ops[n]
	for at := arch.Addr(0); at < arch.Addr(c.size); at += t.k.words(1) {
		x.Memory().Store(o.at+at, t.k.word, 0)
	}
	if c.allows.size > 0 {
		set(x, o.at, c.allows, uint64(t.allow))
	}
	if errno = o.Filter(x, d.site, true); errno != 0 {
		return errno
	}
	if errno = o.errno(x, c.direct.register, uint64(to)); errno != 0 {
		o.Filter(x, d.site, false)
		return errno
	}
	d.cur, d.to = n, to
	return 0
}

// UnregisterDirect implements ftrace.Core.
func (t *tracing) UnregisterDirect(x kapi.Context, direct int) (errno int) {
	d, c := &t.directs[direct], &t.k.records.clients
	switch {
	case d.cur < 0:
		return ftrace.EINVAL
	case !c.direct.byOps:
		errno = -int(int32(t.call(x, c.direct.unregister, uint64(d.site), uint64(d.to))))
	default: // the last argument, since 6.4: the filter goes, too
		o := d.ops[d.cur]
		if errno = o.errno(x, c.direct.unregister, uint64(d.to), 1); errno == 0 && t.filtered(x, o.at) {
			o.Filter(x, d.site, false)
		}
	}
	if errno == 0 {
		d.cur = -1
	}
	return errno
}

// filtered reports whether a struct ftrace_ops still has a filter.
func (t *tracing) filtered(x kapi.Context, ops arch.Addr) bool {
	c := &t.k.records.clients
	hash := arch.Addr(get(x, arch.Addr(get(x, ops, c.hash)), c.filters))
	return hash != 0 && get(x, hash, c.count) > 0
}

// ModifyDirect implements ftrace.Core. Since 6.4 the kernel leaves the wait for tasks in the old trampoline to its
// caller.
func (t *tracing) ModifyDirect(x kapi.Context, direct int, to arch.Addr, waits bool) (errno int) {
	d, c := &t.directs[direct], &t.k.records.clients
	switch {
	case d.cur < 0:
		return ftrace.EINVAL
	case !c.direct.byOps:
		errno = -int(int32(t.call(x, c.direct.modify, uint64(d.site), uint64(d.to), uint64(to))))
	default:
		errno = d.ops[d.cur].errno(x, c.direct.modify, uint64(to))
	}
	if errno == 0 {
		d.to = to
	}
	if errno == 0 && waits && c.direct.leaves {
		t.d.RCU.Synchronize(x, kapi.QuiesceTasks)
	}
	return errno
}
