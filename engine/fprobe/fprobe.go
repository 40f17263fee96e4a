package fprobe

import (
	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Deps are the kernel services that fprobes stand on.
type Deps struct {
	Boot   kapi.Boot
	Cells  *kapi.Cells
	Text   kapi.Text
	Ftrace func() ftrace.Tracer // nil: there is no site
	Traps  kapi.Traps
	CPUs   int
	_      struct{}
}

// EINVAL is what is answered where there is no site, or what is registered already, or isn't.
const EINVAL = ftrace.EINVAL

// Probes are the fprobes of one kernel.
type Probes struct {
	d     Deps      `state:"boot"` // set at boot
	at    arch.Addr // set at boot: the trampoline that calls return to, 0: there is no fprobe
	list  []*Fprobe // set at boot
	hooks []hook    // owned by their tasks: of calls under way, oldest first

	StopLate bool // owned by the boot of a run: exit handlers are stopped when the wait is over: a mutant
	Twice    bool // owned by the boot of a run: what isn't registered is unregistered: a mutant
}

// An Fprobe has a handler called from functions' sites of ftrace, and one where their calls
// have returned.
type Fprobe struct {
	p           *Probes          `state:"boot"` // set at boot
	sites       []arch.Addr      // set at boot
	entry, exit arch.Addr        // set at boot: functions; 0: none
	onCall      ftrace.Handler   `state:"boot"` // set at boot
	ops         ftrace.Client    `state:"boot"` // set at the boot of a run
	registered  bool             // owned by who registers or unregisters it
	handler     kapi.Var[bool]   // exit handlers run (rethook.handler)
	nmissed     kapi.Var[int]    // calls that no handler has seen
	within      []kapi.Var[bool] // by CPU: a handler runs there
	free        kapi.Var[int]    // hooks that no call has
}

// A hook is the return of a call that is under way.
type hook struct {
	fp    *Fprobe
	task  kapi.TaskID
	frame arch.Addr // where the return address lies on the stack
	to    arch.Addr // what lay there
}

// nodes is how many calls are followed at a time, for each fprobe (rethook_alloc, as many as CPUs
// and functions let it be): here few, so that they are missed.
const nodes = 4

// New returns the fprobes of a kernel: none.
func New(d Deps) *Probes {
	p := &Probes{d: d}
	d.Boot.OnReset(func() { p.StopLate, p.Twice = false, false })
	return p
}

// Any reports whether there is an fprobe.
func (p *Probes) Any() bool { return len(p.list) > 0 }

// Add makes an fprobe, at boot. entry and exit are functions, 0 for none.
func (p *Probes) Add(sites []arch.Addr, entry, exit arch.Addr) *Fprobe {
	if p.at == 0 {
		p.at = p.d.Boot.BootBind("fprobe_return", p.returned)
	}
	fp := &Fprobe{p: p, sites: sites, entry: entry, exit: exit, within: make([]kapi.Var[bool], p.d.CPUs)}
	fp.onCall = fp.fprobeHandler
	p.list = append(p.list, fp)
	return fp
}

// Begin makes what a run begins with.
func (p *Probes) Begin() {
	p.hooks = p.hooks[:0]
	for _, fp := range p.list {
		fp.registered = false
		fp.handler.Init(p.d.Cells, false)
		fp.nmissed.Init(p.d.Cells, 0)
		fp.free.Init(p.d.Cells, nodes)
		for c := range fp.within {
			fp.within[c].Init(p.d.Cells, false)
		}
		if t := p.d.Ftrace(); t != nil {
			fp.ops = t.NewOps("fprobe", fp.onCall, ftrace.Dynamic)
		}
	}
}

// Register begins calling the handlers (register_fprobe_ips). Context: may sleep; takes
// ftrace_lock.
func (fp *Fprobe) Register(x kapi.Context) (errno int) {
	if fp.registered || fp.ops == nil {
		return EINVAL
	}
	for _, at := range fp.sites {
		if errno := fp.ops.Filter(x, at, true); errno != 0 {
			return errno
		}
	}
	fp.handler.WriteOnce(x, true)
	fp.registered = true
	return fp.ops.Register(x)
}

// Unregister ends that (unregister_fprobe):
//
//	step 1: no exit handler runs from now on, of calls that are under way (rethook_stop)
//	step 2: the client of ftrace goes; that waits until no CPU is in a handler
//
// So no handler runs when it has returned, and its text may go. Hooks of calls under way
// stay until these return. Context: as Register.
func (fp *Fprobe) Unregister(x kapi.Context) (errno int) {
	if !fp.registered {
		if fp.p.Twice {
			fp.p.d.Traps.Bug(x, "unregister_fprobe frees the rethook that isn't there")
		}
		return EINVAL
	}
	if !fp.p.StopLate {
		fp.handler.WriteOnce(x, false)
	}
	errno = fp.ops.Unregister(x)
	fp.handler.WriteOnce(x, false)
	for _, at := range fp.sites {
		fp.ops.Filter(x, at, false)
	}
	fp.registered = false
	return errno
}

// fprobeHandler is called by ftrace from a function: it hooks the call's return if a hook is
// free, and calls the entry handler. Context: preemption off.
func (fp *Fprobe) fprobeHandler(x kapi.Context, _ arch.Addr, regs *arch.Regs) {
	a, mem, within := fp.p.d.Text.Arch(), x.Memory(), &fp.within[x.CPU()]
	if within.ReadOnce(x) {
		kapi.Plus(&fp.nmissed, x, 1)
		return
	}
	within.WriteOnce(x, true)
	if fp.exit != 0 {
		if fp.free.ReadOnce(x) == 0 {
			kapi.Plus(&fp.nmissed, x, 1)
			within.WriteOnce(x, false)
			return
		}
		kapi.Plus(&fp.free, x, -1)
	}
	if fp.entry != 0 {
		fp.p.run(x, fp.entry)
	}
	if fp.exit != 0 {
		frame := a.StackPointer(regs)
		to, _ := mem.Load(frame, a.Word)
		fp.p.hooks = append(fp.p.hooks, hook{fp, x.Task(), frame, arch.Addr(to)})
		mem.Store(frame, a.Word, uint64(fp.p.at))
	}
	within.WriteOnce(x, false)
}

// run calls a handler.
func (p *Probes) run(x kapi.Context, f arch.Addr) {
	x.Step("fprobe handler", 0)
	x.Call(f)
}

// returned is where a call returns to whose return is hooked: the exit handlers run, and it goes
// on where the call came from (rethook_trampoline_handler).
func (p *Probes) returned(x kapi.Context, regs *arch.Regs) {
	a, mem := p.d.Text.Arch(), x.Memory()
	frame := a.StackPointer(regs) - arch.Addr(a.Word)
	was := *regs
	x.PreemptDisable()
	to := arch.Addr(0)
	for to == 0 || to == p.at {
		h, ok := p.take(x.Task(), frame)
		if !ok {
			p.d.Traps.Bug(x, "a return goes to the trampoline of fprobes, and no call is under way")
			break
		}
		if to = h.to; h.fp.handler.ReadOnce(x) {
			p.run(x, h.fp.exit)
		}
		kapi.Plus(&h.fp.free, x, 1)
	}
	x.PreemptEnable()
	regs.R, regs.Flags = was.R, was.Flags&^a.IRQFlag|regs.Flags&a.IRQFlag
	mem.Store(frame, a.Word, uint64(to))
	regs.R[a.SP] = uint64(frame)
}

// take takes the newest hook of a frame.
func (p *Probes) take(task kapi.TaskID, frame arch.Addr) (h hook, ok bool) {
	for i := len(p.hooks) - 1; i >= 0; i-- {
		if h = p.hooks[i]; h.task == task && h.frame == frame {
			p.hooks = append(p.hooks[:i], p.hooks[i+1:]...)
			return h, true
		}
	}
	return hook{}, false
}
