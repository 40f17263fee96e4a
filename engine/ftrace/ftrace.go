package ftrace

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Deps are the kernel services that ftrace stands on.
type Deps struct {
	Boot  kapi.Boot
	Cells *kapi.Cells
	Text  kapi.Text
	Form  *arch.SiteForm // what stands at sites; nil: what does so usually on the processor
	Patch kapi.Batcher
	RCU   kapi.RCU
	Traps kapi.Traps

	// ModuleMutex returns module_mutex, nil if there is no module.
	ModuleMutex func() kapi.Mutex

	Trampolines Trampolines
	Exec        kapi.Exec // where clients have trampolines of their own
	Caller      arch.Addr // what stubs call at first; 0: the trampoline
	Sync        kapi.Sync // likewise; nil: CPUs hold no old bytes
	_           struct{}
}

// Ftrace is the ftrace of one kernel. It implements Tracer.
type Ftrace struct {
	d Deps `state:"boot"` // set at boot
	// ftrace_lock; set at boot, nil: no function has a site
	lock  kapi.Mutex         `state:"address: it is among the mutexes"`
	at    arch.Addr          // set at boot: the trampoline
	sites []*site            // set at boot, by address
	ops   kapi.Var[*clients] // the registered clients; replaced as a whole: the trampoline walks the list that it found
	made  []*client          // owned by the boot of a run: places of clients, taken in order
	n     int                // owned by the boot of a run: how many are in use
	dead  bool               // owned by ftrace_lock: it has found foreign bytes, and is shut down (ftrace_disabled)
	batch []kapi.Rewrite     `state:"skip: follows from what its maker has read"` // owned by ftrace_lock
	// owned by ftrace_lock: places of lists, taken in order
	lists []*clients `state:"skip: the one in use is ops"`
	taken int        // owned by ftrace_lock: how many are in use

	direct directs     // functions that call a client directly
	inside trampolines // owned by the boot, and by ftrace_lock: the trampolines, if they are text

	// owned by the boot of a run: it writes the sites' text; nil: Deps.Patch does
	Writer Writer `state:"skip: the engine"`
	// owned by the boot of a run: it has the clients, too; nil: they are here
	Core Core `state:"skip: the engine"`

	// owned by the boot of a run: the lock that is taken for reading under text_mutex (stop_machine in
	// ftrace_run_update_code, 5.2-rc): a mutant; nil: none
	Plug kapi.CPUs `state:"boot"`

	// owned by the boot of a run: several clients that may change the path have one site (until
	// IPMODIFY, 3.19): a mutant
	Shared bool
	Kept   bool // owned by the boot of a run: a client that is refused a site keeps the earlier ones: a mutant

	// owned by the boot of a run: a direct call is removed without waiting for the tasks in it: a mutant
	DirectStays bool
	// owned by the boot of a run: a direct call returns to after the site, even if a client has sent it elsewhere: a
	// mutant
	DirectOwn   bool
	PlainDirect bool // owned by the boot of a run: one direct call is written over another as plain data: a mutant

	// owned by the boot of a run: module_mutex is taken under text_mutex (set_all_modules_text_rw,
	// until 5.2): a mutant
	TextRW bool

	// set at boot: a client that is registered when ftrace shuts down is taken off its list again, and the
	// registration fails (ftrace_startup since c3b0f72e805f, 6.0)
	Rolls bool
}

// clients are the registered ones. The list is never changed once readers can see it.
type clients struct {
	list []*client // set at the making: the newest first, as in ftrace_ops_list
}

// A site is where a function calls ftrace.
type site struct {
	at   arch.Addr // set at boot
	call arch.Code // set at boot: of ftrace's trampoline, or the branch to the site's stub
	nop  arch.Code // set at boot
	// set at boot: where the call of ftrace's trampoline stands, and the stub that it is in out of line; 0: at the site
	from, stub arch.Addr
	// owned by ftrace_lock: the call of the only client's trampoline
	own   arch.Code `state:"skip: follows from what its maker has read"`
	calls arch.Addr // owned by ftrace_lock: the target in the text; 0: it is a nop
	here  bool      // owned by ftrace_lock: the text is there
	ip    bool      // owned by ftrace_lock: a client that may change the path has it (FTRACE_FL_IPMODIFY)
}

// New returns the ftrace of a kernel, without a site.
func New(d Deps) *Ftrace {
	if d.Form == nil {
		d.Form, _ = d.Text.Arch().SiteForm(false, false)
	}
	f := &Ftrace{d: d}
	d.Boot.OnReset(f.reset)
	d.Boot.OnSections(f.follow)
	return f
}

func (f *Ftrace) reset() {
	f.DirectStays, f.DirectOwn, f.PlainDirect = false, false, false
	f.n, f.TextRW, f.Shared, f.Kept, f.Plug, f.Writer = 0, false, false, false, nil, nil
	f.Core = nil
	f.dead, f.inside.to = false, f.inside.stub
	for _, s := range f.sites {
		s.calls, s.here, s.ip = 0, f.d.Boot.Present(s.at), false
	}
	if f.lock != nil {
		f.taken = 0
		f.ops.Init(f.d.Cells, f.newList())
	}
}

// publish is the order of a client and the list that the trampoline finds it in.
var publish = kapi.DefineBarrier("ftrace: a client, then the list that it is in", kapi.OrderRelease,
	"add_ftrace_ops, kernel/trace/ftrace.c: rcu_assign_pointer(*list, ops); before ops are lists, smp_wmb() "+
		"(405e1d834807)")

// Faults of mutants.
var (
	forgetsReload = kapi.DefineFault("site-forgotten",
		"when a module is loaded again its functions don't call the clients that have stayed registered",
		"ftrace_module_enable")
	oldestFirst = kapi.DefineFault("oldest-client-first", "ftrace calls the oldest client of a function first",
		"add_ftrace_ops")
)

// newList returns an empty list of clients. Context: ftrace_lock held.
func (f *Ftrace) newList() *clients {
	if f.taken == len(f.lists) {
		f.lists = append(f.lists, new(clients))
	}
	c := f.lists[f.taken]
	f.taken++
	c.list = c.list[:0]
	return c
}

// replace publishes a new list of clients, with add first and without drop. Context: ftrace_lock held.
func (f *Ftrace) replace(x kapi.Context, add, drop *client) {
	next := f.newList()
	if add != nil {
		next.list = append(next.list, add)
	}
	for _, o := range f.ops.Owned().list {
		if o != drop {
			next.list = append(next.list, o)
		}
	}
	if add != nil && f.d.Boot.Planted(oldestFirst) {
		next.list = append(next.list[1:], add)
	}
	f.ops.StoreRelease(x, publish, next)
}

// AddSite makes a site at at, at boot, when its module has been made. It returns what stands there while no client
// wants it. ok false: it is out of the trampoline's reach.
func (f *Ftrace) AddSite(at arch.Addr) (nop arch.Code, ok bool) {
	if f.lock == nil {
		if f.d.Trampolines == NoText {
			f.at = f.d.Boot.BootBind("ftrace_caller", f.caller)
		} else {
			f.bootText()
		}
		f.lock = f.d.Boot.BootMutex("ftrace_lock")
	}
	s := &site{at: at, here: f.d.Boot.Present(at)}
	if s.call, ok = f.siteCall(s); !ok {
		return nop, false
	}
	s.nop = f.d.Form.Nop(at, f.at)
	i := len(f.sites)
	f.sites = append(f.sites, s)
	for ; i > 0 && f.sites[i-1].at > at; i-- {
		f.sites[i] = f.sites[i-1]
	}
	f.sites[i] = s
	f.d.Boot.AddSite(kapi.Site{Addr: at, Size: len(s.call.Bytes()), Kind: Site})
	return s.nop, true
}

// Images calls image with the instructions that may stand at a site, and in its stub.
func (f *Ftrace) Images(i int, image func(at arch.Addr, insn arch.Code)) {
	s := f.sites[i]
	image(s.at, s.nop)
	if f.Writer == nil || s.stub != 0 {
		image(s.at, s.call)
	}
	if f.Writer != nil {
		regs, plain := f.Writer.SiteCalls(s.from)
		image(s.from, plain)
		image(s.from, regs)
	}
}

// Sites returns the number of sites, At where site i is.
func (f *Ftrace) Sites() int         { return len(f.sites) }
func (f *Ftrace) At(i int) arch.Addr { return f.sites[i].at } // see Sites

// Record returns the state of site i.
func (f *Ftrace) Record(i int) Record {
	s := f.sites[i]
	n, regs := 0, false
	for _, o := range f.ops.Owned().list {
		if o.wants(s.at) {
			n, regs = n+1, regs || o.flags&Plain == 0
		}
	}
	return Record{At: s.at, Clients: n, Regs: regs, On: s.calls != 0, Here: s.here}
}

// Tracer returns f if there is a site, otherwise nil.
func (f *Ftrace) Tracer() Tracer {
	if len(f.sites) == 0 {
		return nil
	}
	return f
}

func (f *Ftrace) find(at arch.Addr) *site {
	for _, s := range f.sites {
		if s.at == at {
			return s
		}
	}
	return nil
}

// Site implements Tracer.
func (f *Ftrace) Site(addr arch.Addr) bool { return f.find(addr) != nil }

// A client is an ftrace_ops. It implements Client.
type client struct {
	f      *Ftrace
	name   string               // set at the boot of a run
	h      Handler              `state:"boot"` // set at the boot of a run
	flags  Flags                // set at the boot of a run
	direct *direct              `state:"boot"` // set at the boot of a run; nil: it has a handler
	active bool                 // owned by ftrace_lock
	gate   arch.Addr            // set at the first boot of a run: its function, for trampolines that are text
	own    arch.Addr            // owned by ftrace_lock: its own trampoline; 0: it has none
	filter kapi.List[arch.Addr] // the sites it wants; none: all
}

// NewOps implements Tracer.
func (f *Ftrace) NewOps(name string, h Handler, flags Flags) Client {
	if f.Core != nil {
		return f.Core.NewOps(name, h, flags)
	}
	if f.n == len(f.made) {
		f.made = append(f.made, &client{f: f})
	}
	o := f.made[f.n]
	f.n++
	o.name, o.h, o.flags, o.direct, o.active, o.own = name, h, flags, nil, false, 0
	if o.gate == 0 && f.d.Trampolines != NoText {
		o.gate = f.d.Boot.BootBind(name, o.called)
	}
	o.filter.Init(f.d.Cells)
	return o
}

// wants reports whether the client is to be called from a site. Context: ftrace_lock
// held, or nothing running.
func (o *client) wants(at arch.Addr) bool {
	return takes(o.filter.Owned(), at)
}

// takes reports whether a filter accepts a site: an empty one accepts all.
func takes(filter []arch.Addr, at arch.Addr) bool {
	return len(filter) == 0 || slices.Contains(filter, at)
}

// Wants implements Client.
func (o *client) Wants(ip arch.Addr) bool { return o.active && o.wants(ip) }

// Filter implements Client.
func (o *client) Filter(x kapi.Context, ip arch.Addr, on bool) (errno int) {
	f := o.f
	s := f.find(ip)
	if s == nil {
		return EINVAL
	}
	f.lock.Lock(x)
	switch has := len(o.filter.Owned()) > 0 && o.wants(ip); {
	case f.dead:
		errno = ENODEV
	case on && !s.here:
		errno = EINVAL // its module is unloaded
	case on && !has:
		if errno = f.claim(o, func(at arch.Addr) bool { return o.active && at == ip }); errno == 0 {
			o.filter.Add(x, ip)
		}
	case !on && has:
		f.disclaim(o, func(at arch.Addr) bool { return o.active && at == ip })
		o.filter.Del(x, ip)
	case !on:
		errno = ENOENT
	}
	if errno == 0 && o.active {
		f.update(x)
	}
	f.lock.Unlock(x)
	return errno
}

// claim claims sites for a client that may change the path (__ftrace_hash_update_ipmodify). EBUSY: another such
// client has one of them; those claimed before are released. Context: ftrace_lock held.
func (f *Ftrace) claim(o *client, comes func(at arch.Addr) bool) (errno int) {
	if o.flags&Modifies == 0 || f.Shared {
		return 0
	}
	for i, s := range f.sites {
		switch {
		case !comes(s.at):
		case !s.ip:
			s.ip = true
		default:
			for _, got := range f.sites[:i] {
				if comes(got.at) && !f.Kept {
					got.ip = false
				}
			}
			return EBUSY
		}
	}
	return 0
}

// disclaim releases sites that a client isn't called from any more. Context: ftrace_lock held.
func (f *Ftrace) disclaim(o *client, goes func(at arch.Addr) bool) {
	for _, s := range f.sites {
		if o.flags&Modifies != 0 && goes(s.at) {
			s.ip = false
		}
	}
}

// Register implements Client.
func (o *client) Register(x kapi.Context) (errno int) {
	f := o.f
	f.lock.Lock(x)
	switch {
	case f.dead:
		errno = ENODEV
	case o.active:
		errno = EBUSY
	case o.flags&Modifies != 0 && len(o.filter.Owned()) == 0:
		errno = EINVAL // it may not change the path of all functions (__ftrace_hash_update_ipmodify)
	default:
		errno = f.claim(o, func(at arch.Addr) bool { return slices.Contains(o.filter.Owned(), at) })
	}
	if errno == 0 {
		o.active = true
		f.replace(x, o, nil)
		o.makeTrampoline(x)
		f.update(x)
		if f.dead && f.Rolls {
			o.active = false
			f.replace(x, nil, o)
			errno = ENODEV
		}
	}
	f.lock.Unlock(x)
	return errno
}

// Unregister implements Client.
func (o *client) Unregister(x kapi.Context) (errno int) {
	f := o.f
	f.lock.Lock(x)
	dead, was := f.dead, o.active
	if was && !dead {
		o.active = false
		f.disclaim(o, func(at arch.Addr) bool { return slices.Contains(o.filter.Owned(), at) })
		f.replace(x, nil, o)
		f.update(x)
		if o.flags&Dynamic != 0 && f.d.Trampolines == Own {
			o.freeTrampoline(x)
		}
	}
	f.lock.Unlock(x)
	switch {
	case dead:
		return ENODEV
	case !was:
		return EINVAL
	}
	// a handler runs with preemption off: each CPU must schedule (synchronize_rcu_tasks_rude)
	if o.flags&Dynamic != 0 && f.d.Trampolines != Own {
		f.d.RCU.Synchronize(x, kapi.QuiesceSched)
	}
	return 0
}

// update writes to all sites what the clients want, in one batch (ftrace_run_update_code). Where a site has bytes that
// aren't ftrace's nothing is written, and ftrace shuts down. Context: ftrace_lock held.
func (f *Ftrace) update(x kapi.Context) {
	f.lock.AssertHeld(x)
	if f.dead {
		return
	}
	if f.Writer != nil {
		f.Writer.WriteSites(x, f)
		for i, s := range f.sites {
			if s.calls = 0; s.here && f.Record(i).Clients > 0 {
				s.calls = f.at
			}
		}
		return
	}
	f.batch = f.batch[:0]
	for _, s := range f.sites {
		if insn, target := f.wanted(s); s.calls != target && s.here && !f.keeps(s, target) {
			f.batch = append(f.batch, kapi.Rewrite{At: s.at, Insn: insn.Bytes(), Keep: f.d.Form.Keep})
		}
	}
	leads := f.d.Trampolines != NoText && f.inside.to != f.leads()
	if len(f.batch) == 0 && !leads {
		return
	}
	f.d.Text.Mutex().Lock(x)
	if leads { // first: the list asks which sites a client wants
		f.lead(x, listAt)
	}
	if !f.verify(x) {
		f.d.Text.Mutex().Unlock(x)
		return
	}
	for _, s := range f.sites {
		if _, target := f.wanted(s); s.here && !f.keeps(s, target) {
			s.calls = target
		}
	}
	if m := f.d.ModuleMutex(); f.TextRW && m != nil {
		m.Lock(x)
		m.Unlock(x)
	}
	if f.Plug != nil {
		f.Plug.ReadLock(x)
		f.Plug.ReadUnlock(x)
	}
	f.d.Patch.Batch(x, f.batch)
	for i := range f.batch {
		f.d.Boot.Shares(x, f.batch[i].At, len(f.batch[i].Insn), Site, true)
	}
	if leads {
		f.lead(x, f.leads())
	}
	f.d.Text.Mutex().Unlock(x)
}

// claimed reports whether a client that may change the path wants a site. Context:
// ftrace_lock held.
func (f *Ftrace) claimed(at arch.Addr) bool {
	return slices.ContainsFunc(f.ops.Owned().list, func(o *client) bool { return o.flags&Modifies != 0 && o.wants(at) })
}

// follow is called when a module's section has been loaded or is about to be unloaded: new sites are nops, and those
// of unloaded text are forgotten without a store (ftrace_module_enable, ftrace_release_mod). Context: may sleep.
func (f *Ftrace) follow(x kapi.Context, in kapi.Section, here bool) {
	if f.lock == nil {
		return
	}
	if f.Core != nil {
		return // scenarios have no sites in text that comes and goes
	}
	f.lock.Lock(x)
	for _, s := range f.sites {
		if in.Has(s.at) {
			s.here, s.calls, s.ip = here, 0, here && f.claimed(s.at)
		}
	}
	if here && !f.d.Boot.Planted(forgetsReload) {
		f.update(x)
	}
	f.lock.Unlock(x)
}
