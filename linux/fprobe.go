package linux

import (
	"slices"

	"kpsim/engine/fprobe"
	"kpsim/engine/ftrace"
	"kpsim/linux/linuxev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// fprobes: the kernel's own code is called from sites of ftrace and follows calls; the machine's tracer patches the
// sites and calls it.

// fprobeFields are the members of struct fprobe, and of the ftrace_ops in it.
type fprobeFields struct {
	size                                            int
	ops, saved, flags, dataSize, most, entry, leave field
}

// fprobeAPI holds the calls of the API.
type fprobeAPI struct{ register, unregister arch.Addr }

// fprobeDisabled is FPROBE_FL_DISABLED.
const fprobeDisabled = 1

// findFprobes looks up what fprobes need. It returns what is missing, "" if nothing is.
func findFprobes(k *Kernel) string {
	f, t := &k.fields.fprobe, k.Image.Types()
	if k.port != &portX8664 {
		return "kpsim runs those of x86-64 alone"
	}
	k.api.fprobe = fprobeAPI{k.at("register_fprobe_ips"), k.at("unregister_fprobe")}
	if k.api.fprobe.register == 0 || k.api.fprobe.unregister == 0 {
		return "it is built without CONFIG_FPROBE (5.18 and later)"
	}
	if k.at("fprobe_handler") == 0 {
		return "its fprobes are clients of the function graph tracer (6.14 and later)"
	}
	size, ok := t.Size("fprobe")
	f.size = size
	f.ops, ok = part(t, "fprobe", "ops", ok)
	f.saved, ok = part(t, "fprobe", "ops.saved_func", ok)
	f.flags, ok = part(t, "fprobe", "flags", ok)
	f.entry, ok = part(t, "fprobe", "entry_handler", ok)
	f.leave, ok = part(t, "fprobe", "exit_handler", ok)
	f.dataSize, ok = part(t, "fprobe", "entry_data_size", ok)
	if f.most, ok = part(t, "fprobe", "nr_maxactive", ok); !ok {
		return "its struct fprobe lacks members that it has from 6.3 on"
	}
	return ""
}

// fprobes holds the users' structs, runs their handlers, and implements fprobe.Owner.
type fprobes struct {
	*env    `state:"boot"`
	gates   struct{ entry, leave arch.Addr } `state:"boot"`
	list    []fprobeUser
	follows []follow
	calls   []fprobeCall     // calls of the kernel's handler that are under way
	moves   int              // how often a hook has been asked for or given back, or has begun to be
	moving  int              // how many of those are under way
	regs    [256][]arch.Regs // by task: registers of open handlers
	again   [256]bool        // by task: the task registers an fprobe that is registered
}

// A fprobeUser is a user's struct fprobe, in memory that the kernel doesn't own.
type fprobeUser struct {
	of         *fprobe.Fprobe `state:"boot"`
	at         arch.Addr
	ops        ftrace.Client `state:"boot"` // set at the boot of a run
	registered bool
	filtered   bool // its filter has sites
	here       bool // the struct's memory is mapped: the user hasn't freed it
	calls      int  // open calls of the API
}

// renew makes the structs that a run begins with.
func (fs *fprobes) renew() {
	fs.list, fs.follows, fs.calls, fs.moves, fs.moving = fs.list[:0], fs.follows[:0], fs.calls[:0], 0, 0
	for i := range fs.regs {
		fs.regs[i], fs.again[i] = fs.regs[i][:0], false
	}
	if fs.d.Fprobes == nil || fs.k.config.fprobes != "" || fs.d.Ftrace == nil {
		return
	}
	for i, fp := range fs.d.Fprobes.All() {
		at := fs.k.places.fprobes + arch.Addr(i)*userStep
		fs.list = append(fs.list, fprobeUser{of: fp, at: at})
		ops := at + arch.Addr(fs.k.fields.fprobe.ops.off)
		fs.list[i].ops = fs.d.Ftrace.NewOps("fprobe", func(x kapi.Context, ip arch.Addr, regs *arch.Regs) {
			fs.handled(x, i, ops, ip, regs)
		}, ftrace.Dynamic)
	}
}

// Fprobes implements engine.Patcher.
func (e *Linux) Fprobes() fprobe.Owner {
	if e.k == nil || len(e.fprobes.list) == 0 {
		return nil
	}
	return &e.fprobes
}

// tell tells monitors what an fprobe does with a call.
func (fs *fprobes) tell(x kapi.Context, n int, what uint64, ip arch.Addr) {
	fs.d.Tell(x, smpev.Hooks, smpev.SubjectFprobe+uint64(n), what, uint64(ip))
}

// emit emits what becomes of an fprobe, for all its functions.
func (fs *fprobes) emit(x kapi.Context, n int, what uint64) {
	sites := fs.list[n].of.Sites()
	x.Emit(smpev.Fprobe, uint64(sites[0]), what, uint64(len(sites)))
}

// RegisterFprobe implements fprobe.Owner by register_fprobe_ips(fp, addresses, number).
func (fs *fprobes) RegisterFprobe(x kapi.Context, n int) (errno int) {
	p, sites := &fs.list[n], fs.list[n].of.Sites()
	if !p.here {
		p.here = fs.d.Guest.MapData(x, p.at, 1)
	}
	if !p.registered && p.calls == 0 {
		fs.fill(x, p)
	}
	at := fs.k.places.arrays + arch.Addr(page)*arch.Addr(x.Task())
	for i, site := range sites {
		x.Memory().Store(at+fs.k.words(i), fs.k.word, uint64(site))
	}
	p.calls++
	fs.again[x.Task()] = p.registered
	v := fs.call(x, fs.k.api.fprobe.register, uint64(p.at), uint64(at), uint64(len(sites)))
	fs.again[x.Task()] = false
	p.calls--
	if errno = -int(int32(v)); errno == 0 {
		p.registered = true
		fs.emit(x, n, smpev.FprobeSet)
	}
	fs.hide(x, p)
	return errno
}

// UnregisterFprobe implements fprobe.Owner by unregister_fprobe(fp).
func (fs *fprobes) UnregisterFprobe(x kapi.Context, n int) (errno int) {
	p := &fs.list[n]
	if !p.here { // a user who hasn't registered it has a struct that is clear but for what it says
		p.here = fs.d.Guest.MapData(x, p.at, 1)
		fs.fill(x, p)
	}
	p.calls++
	v := fs.call(x, fs.k.api.fprobe.unregister, uint64(p.at))
	p.calls--
	if errno = -int(int32(v)); errno == 0 {
		p.registered = false
		fs.emit(x, n, smpev.FprobeGone)
	}
	fs.hide(x, p)
	return errno
}

// fill writes the struct as its user does before it is registered.
func (fs *fprobes) fill(x kapi.Context, p *fprobeUser) {
	f, h := &fs.k.fields.fprobe, p.of.Handlers()
	for off := 0; off < f.size; off += 8 {
		x.Memory().Store(p.at+arch.Addr(off), 8, 0)
	}
	if h.Entry != 0 {
		set(x, p.at, f.entry, uint64(fs.gates.entry))
	}
	if h.Exit != 0 {
		set(x, p.at, f.leave, uint64(fs.gates.leave))
	}
	set(x, p.at, f.most, uint64(h.Nodes))
	set(x, p.at, f.dataSize, uint64(h.Size))
}

// hide unmaps the struct of an fprobe that isn't registered: its user may free it.
func (fs *fprobes) hide(x kapi.Context, p *fprobeUser) {
	if p.here && !p.registered && p.calls == 0 {
		if p.filtered {
			fs.d.Guest.Why(x, "its user may free it, and the filter of its ftrace_ops is never freed")
			x.Emit(linuxev.Heap, linuxev.Leak, uint64(p.at), uint64(fs.k.fields.fprobe.size))
		}
		p.here = false
		fs.d.Guest.UnmapData(x, p.at, 1)
	}
}

// freed returns the number of the fprobe whose struct an address lies in, if its user may have freed it; otherwise -1.
func (fs *fprobes) freed(at arch.Addr) int {
	return slices.IndexFunc(fs.list, func(p fprobeUser) bool { return at >= p.at && at < p.at+userStep && !p.here })
}

// withOps returns the fprobe whose ftrace_ops is at an address, or nil.
func (fs *fprobes) withOps(at uint64) *fprobeUser {
	if i := fs.of(at - uint64(fs.k.fields.fprobe.ops.off)); i >= 0 {
		return &fs.list[i]
	}
	return nil
}

// of returns the number of the fprobe whose struct is at an address, or -1.
func (fs *fprobes) of(at uint64) int {
	return slices.IndexFunc(fs.list, func(p fprobeUser) bool { return p.at == arch.Addr(at) })
}

// setFilterIPs is ftrace_set_filter_ips(ops, ips, number, remove, reset).
func setFilterIPs(e *Linux, x kapi.Context, a *args) uint64 {
	c := e.patched.opsOf(x, a[0])
	if c == nil {
		return negative(einval)
	}
	n, on := int(int32(a[2])), a[3]&0xff == 0
	if p := e.fprobes.withOps(a[0]); p != nil {
		p.filtered = true
	}
	for i := range n {
		ip := e.pointer(x, arch.Addr(a[1])+e.k.words(i))
		if errno := c.Filter(x, ip, on); errno != 0 {
			for i > 0 { // nothing changes, then
				i--
				c.Filter(x, e.pointer(x, arch.Addr(a[1])+e.k.words(i)), !on)
			}
			return negative(uint32(errno))
		}
	}
	return 0
}

// freeFilter is ftrace_free_filter(ops): it is called from all sites again. A client that is registered keeps its
// filter, with a WARN.
func freeFilter(e *Linux, x kapi.Context, a *args) uint64 {
	p := e.fprobes.withOps(a[0])
	if p == nil {
		e.refuse(x, "ftrace_free_filter of an ftrace_ops that is no fprobe's")
		return 0
	}
	c := p.ops
	switch sites := p.of.Sites(); {
	case !c.Wants(sites[0]):
		p.filtered = false
		for _, at := range sites {
			c.Filter(x, at, false)
		}
	case !e.fprobes.again[x.Task()]: // there the WARN is about the caller
		e.warned(x, "the filter of a client of ftrace is freed that is registered")
	}
	return 0
}

// warned is a WARN_ON of a function that a service does.
func (e *env) warned(x kapi.Context, why string) {
	e.d.Guest.Why(x, why)
	x.Emit(linuxev.Warn, uint64(e.caller(x)), 0, 0)
}
