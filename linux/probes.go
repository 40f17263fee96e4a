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

// Add implements engine.Engine.
func (e *Linux) Add(p engine.Probe) {
	size, at := 0, places64.users
	if e.k != nil {
		size, at = roundUp(max(e.k.fields.kprobe.size, e.k.fields.kretprobe.size), 8), e.k.places.users
	}
	e.probes = append(e.probes, &probe{Probe: p, at: at + arch.Addr(len(e.probes))*userStep, kept: make([]byte, size)})
}

// fill writes the struct as its user does before the first registration.
func (e *Linux) fill(x kapi.Context, p *probe) {
	f := &e.k.fields
	size := f.kprobe.size
	if p.Kind == engine.Kretprobe {
		size = f.kretprobe.size
	}
	for off := 0; off < size; off += 8 {
		x.Memory().Store(p.at+arch.Addr(off), 8, 0)
	}
	set(x, p.at, f.kprobe.addr, uint64(p.Addr))
	if p.Symbol != "" {
		e.write(x, p.at+nameAt, append([]byte(p.Symbol), 0))
		set(x, p.at, f.kprobe.symbol, uint64(p.at)+nameAt)
		set(x, p.at, f.kprobe.offset, uint64(p.Offset))
	}
	if p.Disabled {
		set(x, p.at, f.kprobe.flags, flagDisabled)
	}
	if p.has(kpev.Pre) {
		set(x, p.at, f.kprobe.pre, uint64(e.gates.pre))
	}
	if p.has(kpev.Post) {
		set(x, p.at, f.kprobe.post, uint64(e.gates.post))
	}
	if p.Kind != engine.Kretprobe {
		return
	}
	if p.has(kpev.Entry) {
		set(x, p.at, f.kretprobe.entry, uint64(e.gates.entry))
	}
	if p.has(kpev.Return) {
		set(x, p.at, f.kretprobe.handler, uint64(e.gates.returned))
	}
	set(x, p.at, f.kretprobe.maxactive, uint64(uint32(int32(p.Maxactive))))
	set(x, p.at, f.kretprobe.dataSize, uint64(p.DataSize))
}

func (p *probe) has(which uint64) bool { return p.Handlers>>which&1 != 0 }

// Prepare implements engine.Engine.
func (e *Linux) Prepare(verb uint64, i int) (at arch.Addr, moved bool) {
	p := e.probes[i]
	if e.k == nil {
		return p.Addr, false
	}
	if !p.registered && verb == kpev.Register {
		asked := p.Addr
		if p.Symbol != "" {
			f, _ := e.d.Symbols.Named(p.Symbol)
			asked = f.Addr + arch.Addr(p.Offset)
		}
		if at, behind := e.entry(asked); behind {
			return at, true
		}
		return p.Addr, false
	}
	v := e.member(p, e.k.fields.kprobe.addr)
	return arch.Addr(v), p.Symbol == "" && arch.Addr(v) != p.Addr && v != 0
}

// Do implements engine.Engine.
func (e *Linux) Do(x kapi.Context, verb uint64, i int) uint64 {
	p := e.probes[i]
	e.begin(x, verb, p)
	ret := p.Kind == engine.Kretprobe
	f := e.k.api.one[verb]
	if ret {
		f = e.k.api.ret[verb]
	}
	v := e.call(x, f, uint64(p.at))
	return e.done(x, verb, p, v)
}

// begin prepares the struct as a user does before a call.
func (e *Linux) begin(x kapi.Context, verb uint64, p *probe) {
	e.show(x, p)
	if verb == kpev.Register && !p.registered && p.calls == 0 {
		e.fill(x, p)
	}
	if verb == kpev.Register && (p.registered || p.calls > 0) {
		e.again[x.Task()] = true
	}
	p.calls++
	p.shared = p.shared || p.calls > 1
	p.mixed = p.mixed || p.shared
}

// show maps a probe's struct.
func (e *Linux) show(x kapi.Context, p *probe) {
	if p.here {
		return
	}
	p.here = e.d.Guest.MapData(x, p.at, 1)
	e.write(x, p.at, p.kept)
	if p.Symbol != "" {
		e.write(x, p.at+nameAt, append([]byte(p.Symbol), 0))
	}
}

// hide unmaps a probe's struct. After the probe was unregistered, or a registration failed,
// its user may free the struct, so the kernel mustn't access it any more.
func (e *Linux) hide(x kapi.Context, p *probe) {
	if !p.here {
		return
	}
	e.read(x, p.at, p.kept)
	p.here = false
	e.d.Guest.UnmapData(x, p.at, 1)
}

// member reads a member of a probe's struct, while nothing runs.
func (e *Linux) member(p *probe, f field) uint64 {
	if p.here {
		return e.look(p.at, f)
	}
	v := uint64(0)
	for i := range f.size {
		v |= uint64(p.kept[f.off+i]) << (8 * i)
	}
	return v
}

// done takes a call's result. It returns the errno and updates the probe's state. An unregister
// of a probe that wasn't registered is recognised by the address, which is NULL then.
func (e *Linux) done(x kapi.Context, verb uint64, p *probe, v uint64) uint64 {
	p.calls--
	e.again[x.Task()] = false
	errno := uint64(uint32(-int32(v)))
	if verb == kpev.Unregister {
		if errno = 0; get(x, p.at, e.k.fields.kprobe.addr) == 0 {
			errno = einval
		}
	}
	switch {
	case p.shared: // the order in which the calls took effect isn't known
		p.registered = e.holds(p.at)
	case verb == kpev.Register && errno == 0:
		p.registered = true
	case verb == kpev.Unregister:
		p.registered = false
	}
	if p.calls == 0 && !p.registered && !p.shared && (verb == kpev.Unregister || verb == kpev.Register) {
		e.hide(x, p)
	}
	p.shared = p.shared && p.calls > 0
	return errno
}

const einval = 22

// DoAll implements engine.Engine.
func (e *Linux) DoAll(x kapi.Context, verb uint64, list []int) uint64 {
	at := e.k.places.arrays + arch.Addr(page)*arch.Addr(x.Task())
	ret := false
	for i, n := range list {
		p := e.probes[n]
		ret = ret || p.Kind == engine.Kretprobe
		e.begin(x, verb, p)
		x.Memory().Store(at+e.k.words(i), e.k.word, uint64(p.at))
	}
	f := e.k.api.array[verb]
	if ret {
		f = e.k.api.retArray[verb]
	}
	v := e.call(x, f, uint64(at), uint64(len(list)))
	errno := uint64(0)
	for _, n := range list {
		errno = max(errno, e.done(x, verb, e.probes[n], v))
	}
	return errno
}

// Status implements engine.Engine.
func (e *Linux) Status(i int) engine.Status {
	p := e.probes[i]
	s := engine.Status{Addr: p.Addr, Registered: p.registered}
	if e.k == nil {
		return s
	}
	f := &e.k.fields
	get := func(m field) uint64 { return e.member(p, m) }
	if at := get(f.kprobe.addr); at != 0 {
		s.Addr = arch.Addr(at)
	}
	s.Missed, s.Disabled = int(get(f.kprobe.missed)), get(f.kprobe.flags)&flagDisabled != 0
	if p.Kind == engine.Kretprobe {
		s.NoInstance = int(get(f.kretprobe.missed))
	}
	return s
}

// of returns the number of the probe whose struct is at an address, or -1.
func (e *Linux) of(at uint64) int {
	i := int(arch.Addr(at)-e.k.places.users) / userStep
	if arch.Addr(at) < e.k.places.users || i >= len(e.probes) || e.probes[i].at != arch.Addr(at) {
		return -1
	}
	return i
}

// onPre is pre_handler(p, regs).
func (e *Linux) onPre(x kapi.Context, r *arch.Regs) {
	x.Regs().R[e.k.arch.Result] = e.hit(x, r.R[e.k.arch.Args[0]], r.R[e.k.arch.Args[1]], kpev.Pre)
}

// onPost is post_handler(p, regs, flags).
func (e *Linux) onPost(x kapi.Context, r *arch.Regs) {
	e.hit(x, r.R[e.k.arch.Args[0]], r.R[e.k.arch.Args[1]], kpev.Post)
}

// hit runs a handler with the registers at an address, and returns the handler's result.
func (e *Linux) hit(x kapi.Context, of, frame uint64, which uint64) uint64 {
	i := e.of(of)
	if i < 0 {
		e.bug(x, "a handler is called for what is no probe")
		return 0
	}
	left := e.withRegs(x, arch.Addr(frame),
		engine.Hit{Probe: i, Which: which, At: arch.Addr(get(x, e.probes[i].at, e.k.fields.kprobe.addr))})
	if left != 0 && which == kpev.Pre {
		e.skipped(x, i)
	}
	return uint64(left)
}

// withRegs calls a handler with the registers saved at an address, and stores the handler's
// changes there.
func (e *Linux) withRegs(x kapi.Context, frame arch.Addr, h engine.Hit) int {
	open := &e.regs[x.Task()]
	depth := len(*open)
	*open = append(roomy(*open), arch.Regs{})
	h.Regs = &(*open)[depth]
	e.k.arch.Frame.Load(x.Memory(), frame, h.Regs)
	if h.Which == kpev.Return { // a sibling's ret_addr is the trampoline's address
		h.Ret = h.Regs.IP
	}
	was := *h.Regs
	left := e.handle(x, h)
	if *h.Regs != was {
		e.k.arch.Frame.Store(x.Memory(), frame, h.Regs)
	}
	*open = (*open)[:depth]
	return left
}

// onReturn is entry_handler(ri, regs), or handler(ri, regs).
func (e *Linux) onReturn(x kapi.Context, r *arch.Regs, which uint64) {
	f := &e.k.fields
	ri, frame := arch.Addr(r.R[e.k.arch.Args[0]]), arch.Addr(r.R[e.k.arch.Args[1]])
	rh := get(x, ri, f.instance.rethook)
	i := e.of(get(x, arch.Addr(rh&^1), f.instance.rethookData))
	if i < 0 {
		e.bug(x, "a handler is called for what is no return probe")
		return
	}
	p := e.probes[i]
	var private []byte
	if p.DataSize > 0 {
		private = make([]byte, p.DataSize) // a handler may be interrupted by another
		e.read(x, ri+arch.Addr(f.instance.data.off), private)
	}
	left := e.withRegs(x, frame, engine.Hit{
		Probe: i, Which: which, At: arch.Addr(get(x, p.at, f.kprobe.addr)), Private: private,
	})
	e.write(x, ri+arch.Addr(f.instance.data.off), private)
	x.Regs().R[e.k.arch.Result] = uint64(left)
}

// User returns the probe whose struct an address lies in, and the member there ("" for the
// struct itself). ok is false if no struct has the address. It serves viewers of a run.
func (e *Linux) User(a arch.Addr) (probe int, member string, ok bool) {
	if e.k == nil || a < e.k.places.users {
		return 0, "", false
	}
	if probe = int(a-e.k.places.users) / userStep; probe >= len(e.probes) {
		return 0, "", false
	}
	if a == e.probes[probe].at {
		return probe, "", true
	}
	of := "kprobe"
	if e.probes[probe].Kind == engine.Kretprobe {
		of = "kretprobe"
	}
	member, ok = e.k.Image.Types().Member(of, int(a-e.probes[probe].at))
	return probe, member, ok
}
