package linux

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"kpsim/engine"
	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Row is a kernel's own engine in the list of engines.
var Row = engine.Row{
	Name: "linux", Says: "a kernel's own compiled engine, run instruction by instruction: give --kernel FILE",
	Kinds:    []engine.Kind{engine.Kprobe, engine.Kretprobe},
	Verbs:    []uint64{kpev.Register, kpev.Unregister, kpev.Enable, kpev.Disable},
	Handlers: []uint64{kpev.Pre, kpev.Post},
	Arrays:   true,
	Debugged: true,
	Switches: []engine.Switch{engine.Optimization, engine.Armed},
	Boot:     boot,
	New:      func(c *engine.Config) engine.Engine { return renewed(c) },
}

// Settings is the type that Config.Settings points to.
type Settings struct {
	Kernel *Kernel
	From   *Booted // the kernel after its boot; nil: as it is on disk
	_      struct{}
}

// Linux is a kernel's engine on a machine. It implements engine.Engine.
type Linux struct {
	k      *Kernel
	d      engine.Deps
	handle engine.Handler
	gates  hooks
	boot   bootState
	kept   *kept // the state from Keep; nil: a run begins after the boot

	audit   bool
	booting bool        // the kernel's memory is as it is on disk
	wake    func()      // the thread of callbacks
	sites   []kapi.Site // the result of one query
	modules []*kapi.Module
	clients []client    // the clients of ftrace
	keys    []arch.Addr // the keys of static calls
	scratch [page]byte
	running
}

// running is the state that a run changes, besides the kernel's memory.
type running struct {
	probes    []*probe
	locks     []lock
	works     []work
	callbacks []*callback // the callbacks of call_rcu; idle ones are reused
	due       []due       // callbacks whose grace period has ended
	code      []span      // memory handed out by module_alloc
	retired   []retired   // slots that wait to be collected
	nodes     []instance  // the instances of return probes
	heap      heap
	allocator kapi.Var[int] // a cell that stands for all memory handed out

	calls    [256][]args      // by task: arguments of open calls of watched functions
	served   [256][]args      // by task: arguments of open calls of services
	regs     [256][]arch.Regs // by task: registers of open handlers
	again    [256]bool        // by task: the task registers a probe that is registered
	wanted   [256]bool        // by task: the value that the task writes to an interface file
	owner    [64]uint64       // by CPU: the owner of the breakpoint that the CPU handles
	chained  [64]bool         // by CPU: the die chain is to be asked for the owner once the kernel's handler returns
	stepping [64][]uint64     // by CPU: the values of current_kprobe from before the probes whose copies run in slots
	doing    threading        // the state of the kernel's thread
	syncs    int              // which sync of text_poke_bp_batch is next; 0: none is under way
}

// hooks are the addresses of the routines that the kernel calls back.
type hooks struct {
	pre, post, entry, returned arch.Addr
}

// bootState is the state on the Go side that the kernel's boot leaves.
type bootState struct {
	moduleNotifier arch.Addr
	thread         thread
	heap           heap
}

// boot makes the engine's memory and gates, before anything runs.
func boot(settings any, g kapi.Guest, cpus int) any {
	s := settings.(*Settings)
	e := &Linux{k: s.Kernel, booting: s.From == nil}
	for _, row := range e.k.services {
		g.Gate(row.name, func(x kapi.Context, regs *arch.Regs) { e.serve(x, regs, row) })
	}
	e.gates = hooks{
		pre:      g.Gate("pre_handler", func(x kapi.Context, regs *arch.Regs) { e.onPre(x, regs) }),
		post:     g.Gate("post_handler", func(x kapi.Context, regs *arch.Regs) { e.onPost(x, regs) }),
		entry:    g.Gate("entry_handler", func(x kapi.Context, regs *arch.Regs) { e.onReturn(x, regs, kpev.Entry) }),
		returned: g.Gate("handler", func(x kapi.Context, regs *arch.Regs) { e.onReturn(x, regs, kpev.Return) }),
	}
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
	e.wake = g.Thread("rcu callbacks", e.callBack)
	g.Preemption(e.k.perCPU.preemptCount)
	g.OnSwitch(func(cpu int, next kapi.TaskID) {
		g.Put(g.PerCPU(cpu, e.k.perCPU.currentTask), e.k.word, uint64(e.taskAt(next)))
	})
	return e
}

// renewed returns the engine for the first run of a machine.
func renewed(c *engine.Config) *Linux {
	e, ok := c.Booted.(*Linux)
	if !ok {
		e = new(Linux) // a run without probes
	}
	for i := range c.Probes {
		e.Add(c.Probes[i])
	}
	e.Renew(c)
	return e
}

// Renew implements engine.Engine.
func (e *Linux) Renew(c *engine.Config) {
	e.d, e.handle, e.audit = c.Deps, c.Handle, c.Audit
	e.probes = e.probes[:len(c.Probes)]
	for _, p := range e.probes {
		p.registered, p.calls, p.shared, p.mixed, p.here = false, 0, false, false, false
		clear(p.kept)
	}
	if e.k == nil {
		return
	}
	e.locks, e.works, e.due, e.code, e.retired, e.nodes, e.modules, e.syncs = e.locks[:0], e.works[:0], e.due[:0],
		e.code[:0], e.retired[:0], e.nodes[:0], e.modules[:0], 0
	for i := range e.calls {
		e.calls[i], e.served[i], e.regs[i] = e.calls[i][:0], e.served[i][:0], e.regs[i][:0]
		e.again[i] = false
	}
	for i := range e.stepping {
		e.stepping[i] = e.stepping[i][:0]
	}
	for _, c := range e.callbacks {
		c.busy = false
	}
	e.allocator.Init(e.d.Cells, 0)
	e.heap.next, e.heap.live, e.heap.objects = e.boot.heap.next, append(e.heap.live[:0], e.boot.heap.live...),
		e.heap.objects[:0]
	for _, name := range mutexes {
		if at := e.k.at(name); at != 0 {
			at += e.k.mutexIn(name)
			e.locks = append(e.locks, lock{at, e.d.Locks.NewMutex(name)})
		}
	}
	e.locks = append(e.locks, lock{e.k.at("text_mutex"), e.d.Text.Mutex()})
	if at := e.k.at("optimizing_work"); at != 0 {
		e.work(uint64(at))
	}
	e.renewThread()
	if e.kept != nil {
		e.restore(e.kept)
	}
	e.d.Traps.OnBreakpoint(e.breakpoint)
	e.d.Traps.OnFault(e.fault)
	e.d.Tasks.OnExit(e.flushTask)
	e.d.Tasks.OnUnwind(e.findRetAddr)
	e.followFtrace()
	if e.d.Modules != nil {
		e.d.Modules.OnState(e.moduleIs)
		e.d.Modules.OnChange(e.onModule)
	}
	if e.kept == nil {
		e.ban()
		e.layLabels()
		e.layRecords()
	}
	e.layCalls()
	for c := range e.d.CPUs {
		e.putWord(e.d.Guest.PerCPU(c, e.k.perCPU.currentTask), uint64(e.taskAt(kapi.TaskID(c))))
	}
}

// Keep implements engine.Keeper.
func (e *Linux) Keep() {
	k := &kept{heap: heap{next: e.heap.next, live: slices.Clone(e.heap.live), objects: slices.Clone(e.heap.objects)},
		code: slices.Clone(e.code), retired: slices.Clone(e.retired), nodes: slices.Clone(e.nodes)}
	for _, l := range e.locks {
		k.locks = append(k.locks, l.at)
	}
	for _, p := range e.probes {
		was := *p
		was.kept = slices.Clone(p.kept)
		k.probes = append(k.probes, was)
	}
	e.kept = k
}

// kept is the part of running that Keep saves.
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
	e.heap.next, e.heap.live, e.heap.objects = k.heap.next, append(e.heap.live[:0], k.heap.live...),
		append(e.heap.objects[:0], k.heap.objects...)
	e.code, e.retired, e.nodes = append(e.code, k.code...), append(e.retired, k.retired...), append(e.nodes, k.nodes...)
	for _, at := range k.locks {
		e.mutex(uint64(at))
	}
	for i := range k.probes {
		p, was := e.probes[i], &k.probes[i]
		p.registered, p.shared, p.mixed, p.here = was.registered, was.shared, was.mixed, was.here
		copy(p.kept, was.kept)
	}
}

// serve runs a service that text has called.
func (e *Linux) serve(x kapi.Context, regs *arch.Regs, s *service) {
	served := &e.served[x.Task()]
	depth := len(*served)
	*served = append(roomy(*served), args{})
	a := &(*served)[depth]
	e.arguments(x, regs, s.varied, a)
	if s.watch != nil {
		e.noted(x, s, a)
		*served = (*served)[:depth]
		return
	}
	e.d.Tell(x, linuxev.Call, uint64(x.Regs().IP), uint64(e.k.arch.StackPointer(x.Regs())), a[0])
	if s.do == nil {
		*served = (*served)[:depth]
		e.unserved(x, s)
		return
	}
	if s.sleeps && e.d.Guest.Busy(x) {
		e.d.Guest.Why(x, fmt.Sprintf("%s calls %s", e.named(e.caller(x)), s.name))
		x.Emit(smpev.MightSleep, 1, 0, 0)
	}
	if s.keeps {
		s.do(e, x, a)
		*served = (*served)[:depth]
		return
	}
	e.scribble(x)
	v := s.do(e, x, a)
	*served = (*served)[:depth]
	r := x.Regs()
	for _, c := range e.k.clobbered {
		r.R[c] = e.k.poison
	}
	r.R[e.k.arch.Result] = e.k.truncated(v)
}

// deep is how many handlers and services of a task may be open before their list is
// reallocated. Outer ones keep pointers to their elements.
const deep = 16

// roomy returns the list, allocated with spare capacity if it has none.
func roomy[T any](list []T) []T {
	if cap(list) == 0 {
		return make([]T, 0, deep)
	}
	return list
}

// noted notes the beginning or the end of a call of a watched function. The end gets the
// arguments that the call began with.
func (e *Linux) noted(x kapi.Context, s *service, a *args) {
	open := &e.calls[x.Task()]
	if !s.ends {
		*open = append(*open, *a)
		if s.watch.before != nil {
			s.watch.before(e, x, a)
		}
		return
	}
	n := len(*open) - 1
	if n < 0 {
		return
	}
	*a = (*open)[n]
	*open = (*open)[:n]
	if s.watch.after != nil {
		s.watch.after(e, x, a)
	}
}

// poison is the value left wherever a callee may leave anything. It is no valid address.
const poison = 0x5a5a5a5a5a5a5a5a

// scribbled is how many bytes below the stack pointer a callee is assumed to write.
const scribbled = 384

// poisoned is scribbled bytes of poison.
var poisoned = [scribbled]byte(bytes.Repeat([]byte{poison & 0xff}, scribbled))

// scribble overwrites the stack below the stack pointer, as a callee's frames would.
func (e *Linux) scribble(x kapi.Context) {
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
func (e *Linux) returned(x kapi.Context) uint64 { return x.Regs().R[e.k.arch.Result] }

// caller returns the return address of the function that a service replaces.
func (e *Linux) caller(x kapi.Context) arch.Addr {
	return e.pointer(x, e.k.arch.StackPointer(x.Regs()))
}

// call calls a function of the kernel, which must leave the CPU as it was (balance).
func (e *Linux) call(x kapi.Context, f arch.Addr, list ...uint64) uint64 {
	was := e.weigh(x)
	v := e.enter(x, f, list...)
	e.even(x, f, was)
	return v
}

// breakpoint is the routine for #BP. It runs the kernel's own handler with the frame that is
// on the stack.
func (e *Linux) breakpoint(x kapi.Context, regs *arch.Regs) uint64 {
	outer := e.owner[x.CPU()]
	e.owner[x.CPU()] = 0
	frame := e.k.arch.StackPointer(x.Regs())
	was, from, status := e.weigh(x), regs.IP, e.status(x.CPU())
	e.enter(x, e.k.symbols.excInt3, uint64(frame))
	e.k.arch.Frame.Load(x.Memory(), frame, regs)
	e.stepped(x, from, regs.IP, was, status)
	owner := e.owner[x.CPU()]
	e.owner[x.CPU()] = outer
	if e.chained[x.CPU()] { // Traps asks the other owners
		e.chained[x.CPU()], owner = false, 0
	}
	return owner
}

// warn reports a WARN, except the one about a user who registers a probe twice
// (warn_kprobe_rereg).
func (e *Linux) warn(x kapi.Context, regs *arch.Regs, b vmlinux.Bug) {
	if e.again[x.Task()] {
		if name, _, _ := e.k.Symbol(regs.IP); registers(name) {
			return // the WARN is about the caller, not the kernel
		}
	}
	e.d.Guest.Why(x, "WARN at "+place(b))
	x.Emit(linuxev.Warn, uint64(regs.IP), uint64(b.Line), 0)
}

// registers reports whether the kernel, in this function, warns about a caller that registers
// a registered probe (warn_kprobe_rereg, which the compiler inlines).
func registers(name string) bool {
	switch strings.TrimSuffix(name, ".part.0") {
	case "register_kprobe", "register_kretprobe", "warn_kprobe_rereg":
		return true
	}
	return false
}

// bug ends the run: the kernel dies.
func (e *Linux) bug(x kapi.Context, why string) {
	e.d.Guest.Why(x, why)
	e.d.Traps.Bug(x, why)
}

// refuse ends the run: the kernel calls a function that isn't served.
func (e *Linux) refuse(x kapi.Context, what string) { e.d.Guest.Refuse(x, what) }

// read copies memory into b.
func (e *Linux) read(x kapi.Context, at arch.Addr, b []byte) {
	for i := range b {
		v, _ := x.Memory().Load(at+arch.Addr(i), 1)
		b[i] = byte(v)
	}
}

// write copies b into memory.
func (e *Linux) write(x kapi.Context, at arch.Addr, b []byte) {
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
func (e *Linux) text(x kapi.Context, at arch.Addr) string {
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
	return len(e.due) == 0
}

// Wait implements engine.Engine.
func (e *Linux) Wait(x kapi.Context) {
	if f := e.k.at("wait_for_kprobe_optimizer"); f != 0 {
		e.call(x, f)
		return
	}
	e.work(uint64(e.k.at("optimizing_work"))).Flush(x)
}

// Own implements engine.Engine.
func (e *Linux) Own() (name string, at arch.Addr, code []byte) { return "", 0, nil }

// CellName implements engine.Engine.
func (e *Linux) CellName(kapi.CellID) string { return "" }

// State implements engine.Engine.
func (e *Linux) State(add func(root any)) { add(&e.running) }
