package linux

import (
	"kpsim/engine"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A probe is a user's struct kprobe or kretprobe. It has its own place in memory that the
// kernel doesn't own.
type probe struct {
	engine.Probe
	at         arch.Addr
	registered bool
	calls      int    // the number of open API calls about the probe
	shared     bool   // several of these calls overlap now
	mixed      bool   // calls overlap, or have overlapped in this run
	here       bool   // the struct's memory is mapped: the user hasn't freed it
	kept       []byte // the struct's bytes, while it isn't mapped
}

const (
	userStep = page
	nameAt   = 1024 // the offset of the symbol's name from the struct
)

// hooks are the addresses of the routines that the kernel calls back.
type hooks struct {
	pre, post, entry, returned arch.Addr
}

// users holds the users' structs, and runs their handlers.
type users struct {
	*env   `state:"boot"`
	list   []*probe
	handle engine.Handler   `state:"boot"`
	gates  hooks            `state:"boot"`
	regs   [256][]arch.Regs // by task: registers of open handlers
	again  [256]bool        // by task: the task registers a probe that is registered
}

// renew removes the probes that a run has added, and resets the others.
func (u *users) renew(c *engine.Config) {
	u.handle, u.list = c.Handle, u.list[:len(c.Probes)]
	for _, p := range u.list {
		p.registered, p.calls, p.shared, p.mixed, p.here = false, 0, false, false, false
		clear(p.kept)
	}
	for i := range u.regs {
		u.regs[i], u.again[i] = u.regs[i][:0], false
	}
}

// Add implements engine.Engine.
func (u *users) Add(p engine.Probe) {
	size, at := 0, places64.users
	if u.k != nil {
		size, at = roundUp(max(u.k.fields.kprobe.size, u.k.fields.kretprobe.size), 8), u.k.places.users
	}
	u.list = append(u.list, &probe{Probe: p, at: at + arch.Addr(len(u.list))*userStep, kept: make([]byte, size)})
}

// fill writes the struct as its user does before the first registration.
func (u *users) fill(x kapi.Context, p *probe) {
	f := &u.k.fields
	size := f.kprobe.size
	if p.Kind == engine.Kretprobe {
		size = f.kretprobe.size
	}
	for off := 0; off < size; off += 8 {
		x.Memory().Store(p.at+arch.Addr(off), 8, 0)
	}
	set(x, p.at, f.kprobe.addr, uint64(p.Addr))
	if p.Symbol != "" {
		u.write(x, p.at+nameAt, append([]byte(p.Symbol), 0))
		set(x, p.at, f.kprobe.symbol, uint64(p.at)+nameAt)
		set(x, p.at, f.kprobe.offset, uint64(p.Offset))
	}
	if p.Disabled {
		set(x, p.at, f.kprobe.flags, flagDisabled)
	}
	if p.has(kpev.Pre) {
		set(x, p.at, f.kprobe.pre, uint64(u.gates.pre))
	}
	if p.has(kpev.Post) {
		set(x, p.at, f.kprobe.post, uint64(u.gates.post))
	}
	if p.Kind != engine.Kretprobe {
		return
	}
	if p.has(kpev.Entry) {
		set(x, p.at, f.kretprobe.entry, uint64(u.gates.entry))
	}
	if p.has(kpev.Return) {
		set(x, p.at, f.kretprobe.handler, uint64(u.gates.returned))
	}
	set(x, p.at, f.kretprobe.maxactive, uint64(uint32(int32(p.Maxactive))))
	set(x, p.at, f.kretprobe.dataSize, uint64(p.DataSize))
}

func (p *probe) has(which uint64) bool { return p.Handlers>>which&1 != 0 }

// Prepare implements engine.Engine.
func (u *users) Prepare(verb uint64, i int) (at arch.Addr, moved bool) {
	p := u.list[i]
	if u.k == nil {
		return p.Addr, false
	}
	if !p.registered && verb == kpev.Register {
		asked := p.Addr
		if p.Symbol != "" {
			f, _ := u.d.Symbols.Named(p.Symbol)
			asked = f.Addr + arch.Addr(p.Offset)
		}
		if at, behind := u.entry(asked); behind {
			return at, true
		}
		return p.Addr, false
	}
	v := u.member(p, u.k.fields.kprobe.addr)
	return arch.Addr(v), p.Symbol == "" && arch.Addr(v) != p.Addr && v != 0
}

// Do implements engine.Engine.
func (u *users) Do(x kapi.Context, verb uint64, i int) uint64 {
	p := u.list[i]
	u.begin(x, verb, p)
	ret := p.Kind == engine.Kretprobe
	f := u.k.api.one[verb]
	if ret {
		f = u.k.api.ret[verb]
	}
	v := u.call(x, f, uint64(p.at))
	return u.done(x, verb, p, v)
}

// begin prepares the struct as a user does before a call.
func (u *users) begin(x kapi.Context, verb uint64, p *probe) {
	u.show(x, p)
	if verb == kpev.Register && !p.registered && p.calls == 0 {
		u.fill(x, p)
	}
	if verb == kpev.Register && (p.registered || p.calls > 0) {
		u.again[x.Task()] = true
	}
	p.calls++
	p.shared = p.shared || p.calls > 1
	p.mixed = p.mixed || p.shared
}

// show maps a probe's struct.
func (u *users) show(x kapi.Context, p *probe) {
	if p.here {
		return
	}
	p.here = u.d.Guest.MapData(x, p.at, 1)
	u.write(x, p.at, p.kept)
	if p.Symbol != "" {
		u.write(x, p.at+nameAt, append([]byte(p.Symbol), 0))
	}
}

// hide unmaps a probe's struct. After the probe was unregistered, or a registration failed,
// its user may free the struct, so the kernel mustn't access it any more.
func (u *users) hide(x kapi.Context, p *probe) {
	if !p.here {
		return
	}
	u.read(x, p.at, p.kept)
	p.here = false
	u.d.Guest.UnmapData(x, p.at, 1)
}

// member reads a member of a probe's struct, while nothing runs.
func (u *users) member(p *probe, f field) uint64 {
	if p.here {
		return u.look(p.at, f)
	}
	v := uint64(0)
	for i := range f.size {
		v |= uint64(p.kept[f.off+i]) << (8 * i)
	}
	return v
}

// done takes a call's result. It returns the errno and updates the probe's state. An unregister
// of a probe that wasn't registered is recognised by the address, which is NULL then.
func (u *users) done(x kapi.Context, verb uint64, p *probe, v uint64) uint64 {
	p.calls--
	u.again[x.Task()] = false
	errno := uint64(uint32(-int32(v)))
	if verb == kpev.Unregister {
		if errno = 0; get(x, p.at, u.k.fields.kprobe.addr) == 0 {
			errno = einval
		}
	}
	switch {
	case p.shared: // the order in which the calls took effect isn't known
		p.registered = u.holds(p.at)
	case verb == kpev.Register && errno == 0:
		p.registered = true
	case verb == kpev.Unregister:
		p.registered = false
	}
	if p.calls == 0 && !p.registered && !p.shared && (verb == kpev.Unregister || verb == kpev.Register) {
		u.hide(x, p)
	}
	p.shared = p.shared && p.calls > 0
	return errno
}

const einval = 22

// DoAll implements engine.Engine.
func (u *users) DoAll(x kapi.Context, verb uint64, list []int) uint64 {
	at := u.k.places.arrays + arch.Addr(page)*arch.Addr(x.Task())
	ret := false
	for i, n := range list {
		p := u.list[n]
		ret = ret || p.Kind == engine.Kretprobe
		u.begin(x, verb, p)
		x.Memory().Store(at+u.k.words(i), u.k.word, uint64(p.at))
	}
	f := u.k.api.array[verb]
	if ret {
		f = u.k.api.retArray[verb]
	}
	v := u.call(x, f, uint64(at), uint64(len(list)))
	errno := uint64(0)
	for _, n := range list {
		errno = max(errno, u.done(x, verb, u.list[n], v))
	}
	return errno
}

// Status implements engine.Engine.
func (u *users) Status(i int) engine.Status {
	p := u.list[i]
	s := engine.Status{Addr: p.Addr, Registered: p.registered}
	if u.k == nil {
		return s
	}
	f := &u.k.fields
	get := func(m field) uint64 { return u.member(p, m) }
	if at := get(f.kprobe.addr); at != 0 {
		s.Addr = arch.Addr(at)
	}
	s.Missed, s.Disabled = int(get(f.kprobe.missed)), get(f.kprobe.flags)&flagDisabled != 0
	if p.Kind == engine.Kretprobe {
		s.NoInstance = int(get(f.kretprobe.missed))
	}
	return s
}

// ReadMissed implements engine.Engine.
func (u *users) ReadMissed(x kapi.Context, i int) int {
	p := u.list[i]
	if u.k == nil {
		return 0
	}
	f := u.k.fields.kprobe.missed
	if p.Kind == engine.Kretprobe {
		f = u.k.fields.kretprobe.missed
	}
	if !p.here {
		return int(u.member(p, f))
	}
	return int(get(x, p.at, f))
}

// of returns the number of the probe whose struct is at an address, or -1.
func (u *users) of(at uint64) int {
	i := int(arch.Addr(at)-u.k.places.users) / userStep
	if arch.Addr(at) < u.k.places.users || i >= len(u.list) || u.list[i].at != arch.Addr(at) {
		return -1
	}
	return i
}

// onPre is pre_handler(p, regs).
func (u *users) onPre(x kapi.Context, r *arch.Regs) {
	x.Regs().R[u.k.arch.Result] = u.hit(x, r.R[u.k.arch.Args[0]], r.R[u.k.arch.Args[1]], kpev.Pre)
}

// onPost is post_handler(p, regs, flags).
func (u *users) onPost(x kapi.Context, r *arch.Regs) {
	u.hit(x, r.R[u.k.arch.Args[0]], r.R[u.k.arch.Args[1]], kpev.Post)
}

// hit runs a handler with the registers at an address, and returns the handler's result.
func (u *users) hit(x kapi.Context, of, frame uint64, which uint64) uint64 {
	i := u.of(of)
	if i < 0 {
		u.bug(x, "a handler is called for what is no probe")
		return 0
	}
	left := u.withRegs(x, arch.Addr(frame),
		engine.Hit{Probe: i, Which: which, At: arch.Addr(get(x, u.list[i].at, u.k.fields.kprobe.addr))})
	if left != 0 && which == kpev.Pre {
		u.skipped(x, i)
	}
	return uint64(left)
}

// withRegs calls a handler with the registers saved at an address, and stores the handler's
// changes there.
func (u *users) withRegs(x kapi.Context, frame arch.Addr, h engine.Hit) int {
	open := &u.regs[x.Task()]
	depth := len(*open)
	*open = append(roomy(*open), arch.Regs{})
	h.Regs = &(*open)[depth]
	u.loadRegs(x, uint64(frame), h.Regs)
	if h.Which == kpev.Return { // a sibling's ret_addr is the trampoline's address
		if h.Ret == 0 {
			h.Ret = h.Regs.IP
		}
		if u.k.port.bare {
			h.Regs.Flags = x.Regs().Flags
		}
	}
	was := *h.Regs
	if u.k.config.uncounted { // a handler runs where preemption is off, though the kernel counts nothing
		x.PreemptDisable()
	}
	left := u.handle(x, h)
	if u.k.config.uncounted {
		x.PreemptEnable()
	}
	if *h.Regs != was {
		u.storeRegs(x, uint64(frame), h.Regs)
	}
	*open = (*open)[:depth]
	return left
}

// onReturn is entry_handler(ri, regs), or handler(ri, regs).
func (u *users) onReturn(x kapi.Context, r *arch.Regs, which uint64) {
	f := &u.k.fields
	ri, frame := arch.Addr(r.R[u.k.arch.Args[0]]), arch.Addr(r.R[u.k.arch.Args[1]])
	i := u.ofInstance(x, ri)
	if i < 0 {
		u.bug(x, "a handler is called for what is no return probe")
		return
	}
	p := u.list[i]
	var private []byte
	if p.DataSize > 0 {
		private = make([]byte, p.DataSize) // a handler may be interrupted by another
		u.read(x, ri+arch.Addr(f.instance.data.off), private)
	}
	own := which == kpev.Entry && u.k.hooks.own
	if own {
		u.e.instances.took(x, uint64(ri), i)
	}
	h := engine.Hit{Probe: i, Which: which, At: arch.Addr(get(x, p.at, f.kprobe.addr)), Private: private}
	if which == kpev.Return && u.k.HashesReturns() {
		// the instruction pointer is the trampoline's, and each ret_addr the right one
		h.Ret = arch.Addr(get(x, ri, f.node.ret))
	}
	left := u.withRegs(x, frame, h)
	if own && left != 0 {
		u.e.instances.put(x, uint64(ri))
	}
	u.write(x, ri+arch.Addr(f.instance.data.off), private)
	x.Regs().R[u.k.arch.Result] = uint64(left)
}

// ofInstance returns the number of the probe that an instance is for, or -1. Without rethook unregister_kretprobe may
// have cleared the pointer since the kernel has looked (get_kretprobe is NULL then). A call that begins then is of the
// probe whose pre_handler runs on the CPU: of several at an address, that of kprobe_instance.
func (u *users) ofInstance(x kapi.Context, ri arch.Addr) int {
	f := &u.k.fields.instance
	of := get(x, ri, f.hook)
	if f.user.size > 0 {
		of = get(x, arch.Addr(of&^1), f.user)
	}
	i := u.of(of)
	if n := u.e.instances.number(uint64(ri)); i < 0 && n > 0 {
		i = u.e.instances.list[n-1].probe
	}
	for _, at := range [...]arch.Addr{u.k.perCPU.kprobeInstance, u.k.perCPU.currentKprobe} {
		if i < 0 && at != 0 {
			i = u.of(get(x, u.d.Guest.PerCPU(x.CPU(), at), field{size: u.k.word}))
		}
	}
	return i
}

// User returns the probe whose struct an address lies in, and the member there ("" for the
// struct itself). ok is false if no struct has the address. It serves viewers of a run.
func (u *users) User(a arch.Addr) (probe int, member string, ok bool) {
	if u.k == nil || a < u.k.places.users {
		return 0, "", false
	}
	if probe = int(a-u.k.places.users) / userStep; probe >= len(u.list) {
		return 0, "", false
	}
	if a == u.list[probe].at {
		return probe, "", true
	}
	of := "kprobe"
	if u.list[probe].Kind == engine.Kretprobe {
		of = "kretprobe"
	}
	member, ok = u.k.Image.Types().Member(of, int(a-u.list[probe].at))
	return probe, member, ok
}
