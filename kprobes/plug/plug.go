package plug

import (
	"kpsim/engine"
	"kpsim/kprobes"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Row is kprobes in the list of engines.
var Row = engine.Row{
	Name: "kprobes", Says: "the kernel's kprobes, kretprobes and jprobes, of six editions",
	Kinds:    []engine.Kind{engine.Kprobe, engine.Kretprobe, engine.Jprobe},
	Verbs:    []uint64{kpev.Register, kpev.Unregister, kpev.Enable, kpev.Disable},
	Handlers: []uint64{kpev.Pre, kpev.Post, kpev.Fault},
	Arrays:   true,
	Reads:    true,
	Debugged: true,
	Switches: []engine.Switch{engine.Optimization, engine.Armed},
	Memory:   func(s any) []kapi.Memory { return s.(*Settings).Memory },
	New:      func(c *engine.Config) engine.Engine { return newPlug(c) },
}

// Settings is the type that Config.Settings points to.
type Settings struct {
	kprobes.Settings
	Memory []kapi.Memory // the executable memory that the kernel sets up at boot
	_      struct{}
}

// plug is kprobes as an engine.Engine.
type plug struct {
	e          *kprobes.Engine
	files      era.Files
	own        arch.Addr // see Own
	trampoline arch.Addr
	handle     engine.Handler
	probes     []*probe
	audit      audit

	// The routines below, as values.
	onPre   kprobes.PreHandler
	onPost  kprobes.PostHandler
	onFault kprobes.FaultHandler
	onEntry kprobes.RetHandler
	onRet   kprobes.RetHandler
	onJump  kprobes.JHandler
}

// A probe holds the struct that is registered with the engine. Its kind decides which of the three is used.
type probe struct {
	kind             engine.Kind
	k, freshK        kprobes.Kprobe
	ret, freshRet    kprobes.Kretprobe
	jprobe, freshJpr kprobes.Jprobe
}

func newPlug(c *engine.Config) *plug {
	p := &plug{handle: c.Handle}
	p.onPre, p.onPost, p.onFault, p.onEntry, p.onRet, p.onJump = p.pre, p.post, p.fault, p.entry, p.returned, p.jump
	for i := range c.Probes {
		p.Add(c.Probes[i])
	}
	d, s := p.given(c)
	p.e = kprobes.New(d, s)
	return p
}

// given takes over a run's configuration and returns the engine's.
func (p *plug) given(c *engine.Config) (kprobes.Deps, kprobes.Settings) {
	d, s := c.Deps, c.Settings.(*Settings)
	p.files, p.own, p.trampoline = s.Files, 0, d.Bind.Stub(trampoline)
	if s.NopTrampoline() {
		p.own = p.trampoline
	}
	if c.Audit {
		p.audit.watch(p, &d)
	}
	return d, s.Settings
}

// Renew implements engine.Engine.
func (p *plug) Renew(c *engine.Config) {
	d, s := p.given(c)
	p.e.Renew(d, s)
	p.probes = p.probes[:len(c.Probes)]
	for _, q := range p.probes {
		q.k, q.ret, q.jprobe = q.freshK, q.freshRet, q.freshJpr
	}
}

// Add implements engine.Engine.
func (p *plug) Add(a engine.Probe) {
	has := func(which uint64) bool { return a.Handlers>>which&1 != 0 }
	k := kprobes.Kprobe{ID: uint64(len(p.probes)), Symbol: a.Symbol, Offset: a.Offset, Addr: a.Addr}
	if a.Disabled {
		k.Flags = kprobes.FlagDisabled
	}
	q := &probe{kind: a.Kind}
	switch a.Kind {
	case engine.Kretprobe:
		r := &q.freshRet
		r.Kprobe, r.Maxactive, r.DataSize = k, a.Maxactive, a.DataSize
		if has(kpev.Entry) {
			r.Entry = p.onEntry
		}
		if has(kpev.Return) {
			r.Handler = p.onRet
		}
	case engine.Jprobe:
		j := &q.freshJpr
		j.Kprobe, j.Entry = k, a.Entry
		if has(kpev.Jump) {
			j.Handler = p.onJump
		}
	default:
		if has(kpev.Pre) {
			k.Pre = p.onPre
		}
		if has(kpev.Post) {
			k.Post = p.onPost
		}
		if has(kpev.Fault) {
			k.Fault = p.onFault
		}
		q.freshK = k
	}
	q.k, q.ret, q.jprobe = q.freshK, q.freshRet, q.freshJpr
	p.probes = append(p.probes, q)
}

// kprobe returns the Kprobe that every kind contains.
func (q *probe) kprobe() *kprobes.Kprobe {
	switch q.kind {
	case engine.Kretprobe:
		return &q.ret.Kprobe
	case engine.Jprobe:
		return &q.jprobe.Kprobe
	}
	return &q.k
}

// asked returns the address in the configuration.
func (q *probe) asked() arch.Addr {
	switch q.kind {
	case engine.Kretprobe:
		return q.freshRet.Kprobe.Addr
	case engine.Jprobe:
		return q.freshJpr.Kprobe.Addr
	}
	return q.freshK.Addr
}

// Prepare implements engine.Engine. For a probe given by a symbol alone, it clears the
// address that the previous registration filled in, as a user must before registering again.
func (p *plug) Prepare(verb uint64, i int) (at arch.Addr, moved bool) {
	q := p.probes[i]
	k, asked := q.kprobe(), q.asked()
	if verb == kpev.Register && !k.Registered() { // while registered, the struct belongs to the engine
		if k.Symbol != "" && asked == 0 {
			k.Addr = 0
		} else if k.Addr == 0 { // a superfluous unregister has cleared it
			k.Addr = asked
		}
	}
	return k.Addr, k.Symbol == "" && k.Addr != asked
}

// Do implements engine.Engine.
func (p *plug) Do(x kapi.Context, verb uint64, i int) uint64 {
	e, q := p.e, p.probes[i]
	var err error
	switch {
	case verb == kpev.Enable:
		err = e.Enable(x, q.kprobe())
	case verb == kpev.Disable:
		err = e.Disable(x, q.kprobe())
	case verb == kpev.Register && q.kind == engine.Kretprobe:
		err = e.Kretprobes.Register(x, &q.ret)
	case verb == kpev.Register && q.kind == engine.Jprobe:
		err = e.Jprobes.Register(x, &q.jprobe)
	case verb == kpev.Register:
		err = e.Register(x, &q.k)
	case q.kind == engine.Kretprobe:
		err = e.Kretprobes.Unregister(x, &q.ret)
	case q.kind == engine.Jprobe:
		err = e.Jprobes.Unregister(x, &q.jprobe)
	default:
		err = e.Unregister(x, &q.k)
	}
	return errnoOf(err)
}

// DoAll implements engine.Engine.
func (p *plug) DoAll(x kapi.Context, verb uint64, list []int) uint64 {
	var ks []*kprobes.Kprobe
	var rets []*kprobes.Kretprobe
	for _, i := range list {
		q := p.probes[i]
		ks = append(ks, q.kprobe())
		if q.kind == engine.Kretprobe {
			rets = append(rets, &q.ret)
		}
	}
	switch {
	case verb == kpev.Register && rets != nil:
		return errnoOf(p.e.Kretprobes.RegisterAll(x, rets))
	case verb == kpev.Register:
		return errnoOf(p.e.RegisterAll(x, ks))
	case rets != nil:
		return errnoOf(p.e.Kretprobes.UnregisterAll(x, rets))
	}
	return errnoOf(p.e.UnregisterAll(x, ks))
}

func errnoOf(err error) uint64 {
	if err == nil {
		return 0
	}
	return uint64(err.(kprobes.Errno))
}

// spelled lists spellings of off and on that a switch accepts in every edition; spelledBool those that
// kprobes/enabled accepts since 5.16. meaningless lists words that mean neither in any edition;
// meaninglessChar those that mean neither in kprobes/enabled before 5.16.
var (
	spelled = [...][2][]string{
		engine.Armed:        {{"0\n", "n\n", "N"}, {"1\n", "y\n", "Y"}},
		engine.Optimization: {{"0\n", "\t0", "0x0\n", "00 1"}, {"1\n", " 1", "0x1\n", "01 0"}},
	}
	spelledBool = [2][]string{{"0\n", "n\n", "off\n", "f\n"}, {"1\n", "y\n", "on\n", "True"}}
	meaningless = [...][]string{
		engine.Armed:        {"2\n", "ox\n", " 1", " 0", ""},
		engine.Optimization: {"2\n", "-1\n", "0x\n", "1x", "", "18446744073709551617\n", "1a", "08"},
	}
	meaninglessChar = []string{"2\n", "on\n", "f\n", "True", "off", ""}
)

// Set implements engine.Engine. The task's number decides the spelling. After the write, two
// meaningless words are written, which must change nothing.
func (p *plug) Set(x kapi.Context, s engine.Switch, on bool) {
	write, words, others := p.e.Files.WriteEnabled, spelled[s], meaningless[s]
	switch {
	case s == engine.Optimization:
		write = p.e.Files.WriteOptimization
	case p.files == era.FilesBool:
		words = spelledBool
	default:
		others = meaninglessChar
	}
	n := int(x.Task())
	which := words[0]
	if on {
		which = words[1]
	}
	// An engine that doesn't understand the word leaves the switch as it was, and monitors see that.
	write(x, which[n%len(which)])
	write(x, others[n%len(others)])
	write(x, others[(n+len(others)/2)%len(others)])
}

// Wait implements engine.Engine.
func (p *plug) Wait(x kapi.Context) { p.e.Optimizer.WaitOptimizer(x) }

// Settled implements engine.Engine.
func (p *plug) Settled() bool { return p.e.Optimizer.Settled() }

// Switched implements engine.Engine.
func (p *plug) Switched(s engine.Switch) bool {
	if s == engine.Armed {
		return p.e.Files.ReadEnabled() == "1\n"
	}
	return p.e.Files.ReadOptimization() == "1\n"
}

// Status implements engine.Engine.
func (p *plug) Status(i int) engine.Status {
	q := p.probes[i]
	k := q.kprobe()
	s := engine.Status{Addr: k.Addr, Registered: k.Registered(), Missed: k.Missed()}
	s.Disabled = p.e.FlagsOf(k)&kprobes.FlagDisabled != 0
	if q.kind == engine.Kretprobe {
		s.NoInstance = q.ret.Missed()
	}
	return s
}

// CellName implements engine.Engine.
func (p *plug) CellName(id kapi.CellID) string { return p.e.CellName(id) }

// State implements engine.Engine.
func (p *plug) State(add func(root any)) {
	add(p.e)
	for _, q := range p.probes {
		add(q.kprobe())
		switch q.kind {
		case engine.Jprobe:
			add(&q.jprobe)
		case engine.Kretprobe:
			add(&q.ret)
		}
	}
}

// trampoline is the symbol that hooked calls return to.
const trampoline = "kretprobe_trampoline"

// Trampoline implements engine.Engine.
func (p *plug) Trampoline() arch.Addr { return p.trampoline }

// Own implements engine.Engine. It returns the nop that is the trampoline of 2.6 and of ppc64le, and the
// BUG() after it.
func (p *plug) Own() (name string, at arch.Addr, code []byte) {
	if p.own == 0 {
		return "", 0, nil
	}
	return trampoline, p.own, make([]byte, p.e.Rethook.Size())
}

// Files implements engine.Engine.
func (p *plug) Files() []engine.File {
	e := p.e
	debugfs := "/sys/kernel/debug/kprobes"
	if !e.Files.HasBlacklist() {
		debugfs = "/debug/kprobes" // the path in the documentation of 2.6
	}
	list := []engine.File{
		{Dir: debugfs, Name: "enabled", Mode: "-rw-------", Read: e.Files.ReadEnabled, Write: e.Files.WriteEnabled,
			Parse: e.Files.ParseEnabled, Switch: engine.Armed},
		{Dir: debugfs, Name: "list", Mode: "-r--------", Read: func() string { return string(e.Table.List(nil)) }},
	}
	if e.Files.HasBlacklist() {
		list = append(list, engine.File{Dir: debugfs, Name: "blacklist", Mode: "-r--------", Read: func() string {
			return string(e.Files.Blacklist(nil))
		}})
	}
	if e.Files.HasOptimization() {
		list = append(list, engine.File{Dir: "/proc/sys/debug", Name: "kprobes-optimization", Mode: "-rw-r--r--",
			Read: e.Files.ReadOptimization, Write: e.Files.WriteOptimization, Parse: e.Files.ParseOptimization,
			Switch: engine.Optimization})
	}
	return list
}

// ReadList implements engine.Reader.
func (p *plug) ReadList(x kapi.Context, show func(addr, letter, tags uint64)) {
	p.e.Files.ReadList(x, show)
}

// ReadSwitch implements engine.Reader.
func (p *plug) ReadSwitch(x kapi.Context, s engine.Switch) bool {
	if s == engine.Armed {
		return p.e.Files.SeesEnabled(x)
	}
	return p.e.Files.SeesOptimization(x)
}

// ReadMissed implements engine.Engine.
func (p *plug) ReadMissed(x kapi.Context, i int) int {
	q := p.probes[i]
	if q.kind == engine.Kretprobe {
		return q.ret.SeesMissed(x)
	}
	return q.kprobe().SeesMissed(x)
}

// Claim implements engine.Engine.
func (p *plug) Claim(tell func(k traces.Kind, a, b, c uint64)) {
	p.audit.list(p, tell)
	p.remains(tell)
}

func (p *plug) pre(x kapi.Context, k *kprobes.Kprobe, regs *arch.Regs) int {
	return p.handle(x, engine.Hit{Probe: int(k.ID), Which: kpev.Pre, At: k.Addr, Regs: regs})
}

func (p *plug) post(x kapi.Context, k *kprobes.Kprobe, regs *arch.Regs, _ uint64) {
	p.handle(x, engine.Hit{Probe: int(k.ID), Which: kpev.Post, At: k.Addr, Regs: regs})
}

func (p *plug) fault(x kapi.Context, k *kprobes.Kprobe, regs *arch.Regs, _ int) int {
	return p.handle(x, engine.Hit{Probe: int(k.ID), Which: kpev.Fault, At: k.Addr, Regs: regs})
}

func (p *plug) entry(x kapi.Context, ri *kprobes.Instance, regs *arch.Regs) int {
	k := &ri.Rp.Kprobe
	return p.handle(x, engine.Hit{Probe: int(k.ID), Which: kpev.Entry, At: k.Addr, Regs: regs, Private: ri.Data})
}

func (p *plug) returned(x kapi.Context, ri *kprobes.Instance, regs *arch.Regs) int {
	k := &ri.Rp.Kprobe
	return p.handle(x, engine.Hit{Probe: int(k.ID), Which: kpev.Return, At: k.Addr, Regs: regs, Ret: ri.RetAddr,
		Private: ri.Data})
}

func (p *plug) jump(x kapi.Context, j *kprobes.Jprobe, regs *arch.Regs) {
	p.handle(x, engine.Hit{Probe: int(j.Kprobe.ID), Which: kpev.Jump, At: j.Kprobe.Addr, Regs: regs})
}
