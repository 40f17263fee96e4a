package linux

import (
	"bytes"
	"slices"

	"kpsim/engine"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Row is a kernel's own engine in the list of engines.
var Row = engine.Row{
	Name: "linux", Says: "a kernel's own compiled engine, run instruction by instruction: give --kernel FILE",
	Kinds:    []engine.Kind{engine.Kprobe, engine.Kretprobe},
	Verbs:    []uint64{kpev.Register, kpev.Unregister, kpev.Enable, kpev.Disable},
	Handlers: []uint64{kpev.Pre, kpev.Post},
	Arrays:   true,
	Debugged: true,
	Fprobes:  true,
	Switches: []engine.Switch{engine.Optimization, engine.Armed},
	Mark:     TrampolineMark,
	Boot:     boot,
	New:      func(c *engine.Config) engine.Engine { return renewed(c) },
}

// Settings is the type that Config.Settings points to.
type Settings struct {
	Kernel *Kernel
	From   *Booted // the kernel after its boot; nil: as it is on disk
	// Clients says that ftrace's clients are the kernel's own: From is Booted.OwnClients.
	Clients bool
	_       struct{}
}

// Lost implements engine.Guest.
func (s *Settings) Lost(sites bool) uint64 { return s.Kernel.Lost(sites, s.Clients) }

// KeepsFlags implements engine.Guest.
func (s *Settings) KeepsFlags() bool { return !s.Clients }

// SharesDirects implements engine.Guest.
func (s *Settings) SharesDirects() bool { return !s.Clients || SharesDirects(s.Kernel) }

// Caller implements engine.Guest.
func (s *Settings) Caller() arch.Addr { return s.Kernel.Caller() }

// HashesReturns implements engine.Guest.
func (s *Settings) HashesReturns() bool { return s.Kernel.HashesReturns() }

// SetRegs implements engine.Guest.
func (s *Settings) SetRegs(g kapi.Guest) { s.Kernel.SetRegs(g) }

// Symbol implements engine.Guest.
func (s *Settings) Symbol(a arch.Addr) (name string, off int, ok bool) { return s.Kernel.Symbol(a) }

// User implements engine.Guest.
func (s *Settings) User(booted any, a arch.Addr) (probe int, member string, ok bool) {
	return booted.(*Linux).User(a)
}

// OwnText implements engine.Guest.
func (s *Settings) OwnText() (list []engine.GuestText) {
	if !s.Clients {
		return nil
	}
	for _, t := range ClientText(s.Kernel) {
		list = append(list, engine.GuestText{Name: t.Name, At: t.At, Code: t.Code})
	}
	return list
}

// Linux is a kernel's engine on a machine. It consists of parts, which share its env. It
// implements engine.Patcher; some of the methods are those of users, files and patched.
type Linux struct {
	env
	users
	files
	patched
	memory    memory
	instances instances
	locks     locks
	works     works
	thread    kthread
	traps     traps
	poke      poke
	fixmap    fixmap
	modules   moduleList
	fprobes   fprobes
	open      openCalls
	tracing   tracing
	kept      *kept // the state from Keep; nil: a run begins after the boot
}

var (
	_ engine.Patcher = (*Linux)(nil)
	_ engine.Keeper  = (*Linux)(nil)
	_ engine.Holder  = (*Linux)(nil)
)

// env is shared by all parts: the kernel, the machine's interfaces, and access to memory.
type env struct {
	e       *Linux
	k       *Kernel
	d       engine.Deps
	boot    bootState
	audit   bool
	booting bool        // the kernel's memory is as it is on disk
	sites   []kapi.Site // the result of one query
}

// newLinux returns an engine whose parts share its env. k is nil for a run without probes.
func newLinux(k *Kernel) *Linux {
	e := new(Linux)
	v := &e.env
	v.e, v.k = e, k
	e.users.env, e.files.env, e.patched.env, e.memory.env, e.instances.env, e.locks.env = v, v, v, v, v, v
	e.works.env, e.thread.env, e.traps.env, e.poke.env, e.fixmap.env, e.modules.env, e.open.env = v, v, v, v, v, v, v
	e.fprobes.env, e.tracing.env = v, v
	return e
}

// bootState is the state on the Go side that the kernel's boot leaves.
type bootState struct {
	moduleNotifier arch.Addr
	thread         thread
	heap           heap
	code           []span        // memory for code
	held           []engine.Held // slots and detours in use
}

// Held implements engine.Holder.
func (e *Linux) Held() []engine.Held { return e.boot.held }

// boot makes the engine's memory and gates, before anything runs.
func boot(settings any, g kapi.Guest, cpus int) any {
	s := settings.(*Settings)
	e := newLinux(s.Kernel)
	e.booting = s.From == nil
	for _, row := range e.k.services {
		g.Gate(row.name, func(x kapi.Context, regs *arch.Regs) { e.open.serve(x, regs, row) })
	}
	u := &e.users
	u.gates = hooks{
		pre:      g.Gate("pre_handler", u.onPre),
		post:     g.Gate("post_handler", u.onPost),
		entry:    g.Gate("entry_handler", func(x kapi.Context, regs *arch.Regs) { u.onReturn(x, regs, kpev.Entry) }),
		returned: g.Gate("handler", func(x kapi.Context, regs *arch.Regs) { u.onReturn(x, regs, kpev.Return) }),
	}
	e.fprobes.gates.entry = g.Gate("entry_handler", e.fprobes.onEntry)
	e.fprobes.gates.leave = g.Gate("exit_handler", e.fprobes.onExit)
	images := e.k.images
	if s.From != nil {
		images, e.boot = s.From.images, s.From.boot
	}
	for _, im := range images {
		g.Map(im)
	}
	if s.From == nil {
		e.mapOwn(g, cpus)
	}
	e.works.wake = g.Thread("rcu callbacks", e.works.callBack)
	if s.Clients {
		e.works.wakeTasks = g.Thread("rcu tasks callbacks", e.works.callBackTasks)
		e.tracing.boot(g)
	}
	if e.k.port.perTask {
		f := &e.k.fields.thread
		g.TaskPreemption(func(t kapi.TaskID) (count, flags arch.Addr) {
			return e.taskAt(t) + arch.Addr(f.count.off), e.taskAt(t) + arch.Addr(f.flags.off)
		}, e.k.config.wanted)
		e.k.SetRegs(g)
		if f, mask := e.k.port.data.load, e.k.port.data.mask; f != nil {
			g.CPURegs(func(cpu int, r *arch.Regs) {
				f(e.k, cpu, r)
				mask(e.k, g, cpu, r)
			})
		}
	} else {
		g.Preemption(e.k.perCPU.preemptCount)
	}
	g.OnOnline(e.putOnline)
	g.OnSwitch(func(cpu int, next kapi.TaskID) { e.switchTo(g, cpu, next) })
	return e
}

// SetRegs gives each task and CPU the registers that the kernel expects.
func (k *Kernel) SetRegs(g kapi.Guest) {
	if k.port.perTask {
		g.TaskRegs(func(t kapi.TaskID, r *arch.Regs, s *arch.TaskState) { k.port.current(k, r, s, k.taskAt(t)) })
	}
	if f := k.port.data.load; f != nil {
		g.CPURegs(func(cpu int, r *arch.Regs) { f(k, cpu, r) })
	}
}

// switchTo makes a task the current one of a CPU, as the kernel's memory has it.
func (e *env) switchTo(g kapi.Guest, cpu int, next kapi.TaskID) {
	if e.k.port.perTask {
		cpuAt := e.k.fields.thread.cpu
		g.Put(e.taskAt(next)+arch.Addr(cpuAt.off), cpuAt.size, uint64(cpu))
		if f := e.k.port.data.switched; f != nil {
			f(e.k, g, cpu, e.taskAt(next))
		}
		return
	}
	g.Put(g.PerCPU(cpu, e.k.perCPU.currentTask), e.k.word, uint64(e.taskAt(next)))
}

// countAt returns where the kernel counts the preemption of the task that runs on a CPU.
func (e *env) countAt(cpu int, t kapi.TaskID) arch.Addr {
	if e.k.port.perTask {
		return e.taskAt(t) + arch.Addr(e.k.fields.thread.count.off)
	}
	return e.d.Guest.PerCPU(cpu, e.k.perCPU.preemptCount)
}

// renewed returns the engine for the first run of a machine.
func renewed(c *engine.Config) *Linux {
	e, ok := c.Booted.(*Linux)
	if !ok {
		e = newLinux(nil) // a run without probes
	}
	for i := range c.Probes {
		e.users.Add(c.Probes[i])
	}
	e.Renew(c)
	return e
}

// Renew implements engine.Engine.
func (e *Linux) Renew(c *engine.Config) {
	e.d, e.audit = c.Deps, c.Audit
	e.users.renew(c)
	if e.k == nil {
		return
	}
	e.memory.renew()
	e.locks.renew()
	e.works.renew()
	e.thread.renew()
	e.traps.renew()
	e.fixmap.renew()
	e.open.renew()
	e.tracing.renew()
	e.instances.list, e.poke.syncs = e.instances.list[:0], 0
	e.modules.list, e.modules.early = e.modules.list[:0], e.modules.early[:0]
	if e.kept != nil {
		e.restore(e.kept)
	}
	e.d.Traps.OnBreakpoint(e.traps.breakpoint)
	if e.k.symbols.step != 0 {
		e.d.Traps.OnDebug(e.traps.debug)
	}
	e.d.Traps.OnFault(e.traps.fault)
	e.d.Tasks.OnExit(e.instances.flushTask)
	e.d.Tasks.OnUnwind(e.instances.findRetAddr)
	e.patched.followFtrace()
	e.fprobes.renew()
	if e.d.Modules != nil {
		e.d.Modules.OnState(e.modules.onState)
		e.d.Modules.OnChange(e.modules.onModule)
	}
	if e.kept == nil {
		e.patched.ban()
		e.patched.layLabels()
		e.patched.layRecords()
		e.tracing.lay()
	}
	e.patched.layCalls()
	for c := range e.d.CPUs {
		e.switchTo(e.d.Guest, c, kapi.TaskID(c))
	}
}

// Keep implements engine.Keeper.
func (e *Linux) Keep() {
	m := &e.memory
	k := &kept{heap: heap{next: m.heap.next, live: slices.Clone(m.heap.live), objects: slices.Clone(m.heap.objects)},
		code: slices.Clone(m.code), retired: slices.Clone(m.retired), nodes: slices.Clone(e.instances.list)}
	for _, l := range e.locks.list {
		k.locks = append(k.locks, l.at)
	}
	for _, p := range e.users.list {
		was := *p
		was.kept = slices.Clone(p.kept)
		k.probes = append(k.probes, was)
	}
	e.kept = k
}

// kept is the state that Keep saves.
type kept struct {
	heap    heap
	code    []span
	retired []retired
	nodes   []instance
	locks   []arch.Addr // in the order in which they were made
	probes  []probe
}

// restore resets the state that a run changes to its value at Keep.
func (e *Linux) restore(k *kept) {
	m := &e.memory
	m.heap.set(&k.heap)
	m.code, m.retired = append(m.code[:0], k.code...), append(m.retired, k.retired...)
	e.instances.list = append(e.instances.list, k.nodes...)
	for _, at := range k.locks {
		e.locks.of(uint64(at))
	}
	for i := range k.probes {
		p, was := e.users.list[i], &k.probes[i]
		p.registered, p.shared, p.mixed, p.here = was.registered, was.shared, was.mixed, was.here
		copy(p.kept, was.kept)
	}
}

// poison is the value left wherever a callee may leave anything. It is no valid address.
const poison = 0x5a5a5a5a5a5a5a5a

// scribbled is how many bytes below the stack pointer a callee is assumed to write.
const scribbled = 384

// poisoned is scribbled bytes of poison.
var poisoned = [scribbled]byte(bytes.Repeat([]byte{poison & 0xff}, scribbled))

// scribble overwrites the stack below the stack pointer, as a callee's frames would.
func (e *env) scribble(x kapi.Context) {
	sp := e.k.arch.StackPointer(x.Regs())
	if m, ok := x.Memory().(arch.Imager); ok {
		if b := m.Image(sp-scribbled, scribbled, true); b != nil {
			copy(b, poisoned[:])
			return
		}
	}
	for at := sp - scribbled; at < sp; at += 8 {
		x.Memory().Store(at, 8, poison)
	}
}

// returned returns the result of the function that has just returned.
func (e *env) returned(x kapi.Context) uint64 { return x.Regs().R[e.k.arch.Result] }

// caller returns the return address of the function that a service replaces.
func (e *env) caller(x kapi.Context) arch.Addr {
	to, _ := e.k.arch.Caller(x.Memory(), x.Regs())
	return to
}

// call calls a function of the kernel, which must leave the CPU as it was (balance).
func (e *env) call(x kapi.Context, f arch.Addr, list ...uint64) uint64 {
	was := e.weigh(x)
	v := e.enter(x, f, list...)
	e.even(x, f, was)
	return v
}

// bug ends the run: the kernel dies.
func (e *env) bug(x kapi.Context, why string) {
	e.d.Guest.Why(x, why)
	e.d.Traps.Bug(x, why)
}

// refuse ends the run: the kernel calls a function that isn't served.
func (e *env) refuse(x kapi.Context, what string) { e.d.Guest.Refuse(x, what) }

// read copies memory into b.
func (e *env) read(x kapi.Context, at arch.Addr, b []byte) {
	for i := range b {
		v, _ := x.Memory().Load(at+arch.Addr(i), 1)
		b[i] = byte(v)
	}
}

// write copies b into memory.
func (e *env) write(x kapi.Context, at arch.Addr, b []byte) {
	for len(b) >= 8 && at%8 == 0 {
		v := uint64(0)
		for i := range 8 {
			v |= uint64(b[i]) << (8 * i)
		}
		x.Memory().Store(at, 8, v)
		at, b = at+8, b[8:]
	}
	for i := range b {
		x.Memory().Store(at+arch.Addr(i), 1, uint64(b[i]))
	}
}

// text reads a string of at most 256 bytes.
func (e *env) text(x kapi.Context, at arch.Addr) string {
	var b []byte
	for len(b) < 256 {
		v, ok := x.Memory().Load(at+arch.Addr(len(b)), 1)
		if !ok || v == 0 {
			break
		}
		b = append(b, byte(v))
	}
	return string(b)
}

// get reads a member of a struct.
func get(x kapi.Context, at arch.Addr, f field) uint64 {
	v, _ := x.Memory().Load(at+arch.Addr(f.off), f.size)
	return v
}

// set writes a member of a struct.
func set(x kapi.Context, at arch.Addr, f field, v uint64) {
	x.Memory().Store(at+arch.Addr(f.off), f.size, v)
}

// Settled implements engine.Engine.
func (e *Linux) Settled() bool {
	if e.k == nil {
		return true
	}
	for _, head := range e.k.symbols.optimizer {
		if head != 0 && e.next(head) != head {
			return false
		}
	}
	return len(e.works.due)+len(e.works.ofTasks) == 0
}

// Wait implements engine.Engine.
func (e *Linux) Wait(x kapi.Context) {
	if e.k.config.without != "" {
		return
	}
	if f := e.k.at("wait_for_kprobe_optimizer"); f != 0 {
		e.call(x, f)
		return
	}
	e.works.of(uint64(e.k.at("optimizing_work"))).Flush(x)
}

// Own implements engine.Engine.
func (e *Linux) Own() (name string, at arch.Addr, code []byte) { return "", 0, nil }

// CellName implements engine.Engine.
func (e *Linux) CellName(id kapi.CellID) string {
	if e.thread.is.Var != nil && id == e.thread.complete.ID() {
		return completion
	}
	return ""
}

// State implements engine.Engine.
func (e *Linux) State(add func(root any)) {
	for _, part := range []any{&e.users, &e.files, &e.memory, &e.instances, &e.locks, &e.works, &e.thread, &e.traps,
		&e.poke, &e.open, &e.fprobes, &e.tracing} {
		add(part)
	}
}
