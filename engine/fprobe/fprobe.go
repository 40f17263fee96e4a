package fprobe

import (
	"math/bits"

	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Deps are the kernel services that fprobes stand on.
type Deps struct {
	Boot   kapi.Boot
	Cells  *kapi.Cells
	Text   kapi.Text
	Ftrace func() ftrace.Tracer // nil: there are no sites
	Traps  kapi.Traps
	Tasks  kapi.Tasks
	CPUs   int
	// Hooks tells monitors what fprobe number n does with a call of the function with the site at, as in smpev.Hooks.
	Hooks func(x kapi.Context, n int, what uint64, at arch.Addr)
	_     struct{}
}

// The errnos of fprobes, besides those of ftrace.
const (
	EBUSY  = ftrace.EBUSY  // it is registered
	EINVAL = ftrace.EINVAL // there is no site, or it isn't registered
)

// hookLost is a mutant's fault.
var hookLost = kapi.DefineFault("fprobe-hook-lost", "a call that an fprobe follows doesn't return to its trampoline",
	"rethook_hook")

// Probes are the fprobes of one kernel.
type Probes struct {
	d     Deps      `state:"boot"` // set at boot
	at    arch.Addr // set at boot: the trampoline that calls return to, 0: there is no fprobe
	list  []*Fprobe // set at boot
	hooks []hook    // owned by their tasks: of calls under way, each task's oldest first

	onUnwind kapi.Unwind `state:"boot"` // set at New

	Owner Owner `state:"skip: the engine"` // owned by the boot of a run: has these fprobes in its place; nil: none has

	StopLate bool // owned by the boot of a run: exit handlers are stopped only after the wait: a mutant
	KeepLock bool // owned by the boot of a run: a call without a free hook keeps the lock against recursion: a mutant
}

// An Owner has the fprobes in the place of Probes, by their numbers: a kernel's own engine. Context: as for
// Fprobe.Register.
type Owner interface {
	RegisterFprobe(x kapi.Context, n int) (errno int)
	UnregisterFprobe(x kapi.Context, n int) (errno int)
}

// An Fprobe has a handler called from functions' sites of ftrace, and one where their calls
// have returned.
type Fprobe struct {
	p           *Probes        `state:"boot"` // set at boot
	number      int            // set at boot: its index
	sites       []arch.Addr    // set at boot
	h           Handlers       // set at boot
	onCall      ftrace.Handler `state:"boot"` // set at boot
	ops         ftrace.Client  `state:"boot"` // set at the boot of a run
	registered  bool           // owned by the task that registers and unregisters it
	registering bool           // owned by the task that registers it: another task's call is refused
	life        int            // owned by the task that registers and unregisters it: how often it was registered
	// the life whose calls are hooked, and whose exit handlers run; 0: none (rethook.handler)
	handler kapi.Var[int]
	nmissed kapi.Var[int]    // calls that no handler has seen
	within  []kapi.Var[bool] // by CPU: a handler runs there (ftrace_test_recursion_trylock)
	free    kapi.Var[pool]   // hooks that no call has (rethook.pool)
}

// Handlers are what an fprobe calls, and how many calls it follows at a time.
type Handlers struct {
	Entry, Exit arch.Addr // functions; 0: none
	// Skips says that the result of the entry handler counts: if it isn't 0, the call isn't followed, and the exit
	// handler isn't called (since 6.3).
	Skips bool
	Nodes int // how many calls are followed at a time, 1 to MostNodes (nr_maxactive, since 6.3)
	// Data is memory of which each call that is followed has a part of Size bytes, to which the fifth argument of
	// both handlers points (entry_data_size, since 6.3); Size 0: none.
	Data arch.Addr
	Size int
}

// MostNodes is the most calls that an fprobe may follow at a time.
const MostNodes = 64

// A pool is the hooks of one life of an fprobe. Each registration allocates its own (rethook_alloc); hooks of calls
// that are still under way go with the previous one.
type pool struct {
	life int    // owned by the cell that holds it: of the fprobe
	used uint64 // owned by the cell that holds it: a bit for each hook
}

// A hook is the return of a call that is under way.
type hook struct {
	fp    *Fprobe
	life  int // of the fprobe
	node  int // its number in the pool
	task  kapi.TaskID
	of    arch.Addr // the function's site
	frame arch.Addr // address of the return address on the stack, or where it is in a register the stack pointer
	to    arch.Addr // the original return address
}

// Nodes is how many calls are followed at a time, for an fprobe that doesn't say it. A kernel has some for each
// CPU and function (fprobe_init_rethook); here they are few, so that calls are missed.
const Nodes = 4

// New returns the fprobes of a kernel: none.
func New(d Deps) *Probes {
	p := &Probes{d: d}
	p.onUnwind = p.findRetAddr
	d.Boot.OnReset(func() { p.StopLate, p.KeepLock, p.Owner = false, false, nil })
	return p
}

// Any reports whether there is an fprobe.
func (p *Probes) Any() bool { return len(p.list) > 0 }

// All returns the fprobes, by number.
func (p *Probes) All() []*Fprobe { return p.list }

// Sites returns the sites of its functions, and Handlers what it calls.
func (fp *Fprobe) Sites() []arch.Addr { return fp.sites }
func (fp *Fprobe) Handlers() Handlers { return fp.h } // see Sites

// Add makes an fprobe of functions' sites, at boot.
func (p *Probes) Add(sites []arch.Addr, h Handlers) *Fprobe {
	if p.at == 0 {
		p.at = p.d.Boot.BootBind("fprobe_return", p.returned)
	}
	fp := &Fprobe{p: p, number: len(p.list), sites: sites, h: h,
		within: make([]kapi.Var[bool], p.d.CPUs)}
	fp.onCall = fp.fprobeHandler
	p.list = append(p.list, fp)
	return fp
}

// Begin sets up the state at the beginning of a run.
func (p *Probes) Begin() {
	p.hooks = p.hooks[:0]
	if p.Any() && p.Owner == nil {
		p.d.Tasks.OnUnwind(p.onUnwind)
	}
	for _, fp := range p.list {
		fp.registered, fp.registering, fp.life = false, false, 0
		fp.handler.Init(p.d.Cells, 0)
		fp.nmissed.Init(p.d.Cells, 0)
		fp.free.Init(p.d.Cells, pool{})
		for c := range fp.within {
			fp.within[c].Init(p.d.Cells, false)
		}
		if t := p.d.Ftrace(); t != nil && p.Owner == nil {
			fp.ops = t.NewOps("fprobe", fp.onCall, ftrace.Dynamic)
		}
	}
}

// Register begins calling the handlers at all its functions (register_fprobe_ips), or at none if any of these isn't
// there. Context: may sleep; takes ftrace_lock.
func (fp *Fprobe) Register(x kapi.Context) (errno int) {
	switch {
	case fp.p.Owner != nil:
		return fp.p.Owner.RegisterFprobe(x, fp.number)
	case fp.registered, fp.registering:
		return EBUSY
	case fp.ops == nil:
		return EINVAL
	}
	fp.registering = true
	for i, at := range fp.sites {
		if errno := fp.ops.Filter(x, at, true); errno != 0 {
			fp.leave(x, i)
			fp.registering = false
			return errno
		}
	}
	fp.registered, fp.registering = true, false
	fp.life++
	fp.handler.WriteOnce(x, fp.life)
	fp.free.Put(x, pool{life: fp.life})
	errno = fp.ops.Register(x) // it changes no path, so no other client conflicts
	fp.emit(x, smpev.FprobeSet)
	return errno
}

// emit emits the fprobe's new state for all its functions.
func (fp *Fprobe) emit(x kapi.Context, what uint64) {
	x.Emit(smpev.Fprobe, uint64(fp.sites[0]), what, uint64(len(fp.sites)))
}

// leave takes the first n of its sites out of the filter.
func (fp *Fprobe) leave(x kapi.Context, n int) {
	for _, at := range fp.sites[:n] {
		fp.ops.Filter(x, at, false)
	}
}

// Unregister undoes Register (unregister_fprobe):
//
//	step 1: from now on no exit handler begins, of calls that are under way (rethook_stop)
//	step 2: the client of ftrace is removed, which waits until no CPU is in a handler
//
// So no handler runs when it has returned, and their memory may be freed. Hooks of calls under way stay until these
// return. Context: as Register.
func (fp *Fprobe) Unregister(x kapi.Context) (errno int) {
	if fp.p.Owner != nil {
		return fp.p.Owner.UnregisterFprobe(x, fp.number)
	}
	if !fp.registered {
		return EINVAL
	}
	if !fp.p.StopLate {
		fp.handler.WriteOnce(x, 0)
		fp.emit(x, smpev.FprobeStop)
	}

	errno = fp.ops.Unregister(x)
	if fp.p.StopLate {
		fp.handler.WriteOnce(x, 0)
		fp.emit(x, smpev.FprobeStop)
	}
	fp.leave(x, len(fp.sites))
	fp.registered = false
	fp.emit(x, smpev.FprobeGone)
	return errno
}

// fprobeHandler is called by ftrace from a function: it hooks the call's return if a hook is
// free, and calls the entry handler. Context: preemption off.
func (fp *Fprobe) fprobeHandler(x kapi.Context, ip arch.Addr, regs *arch.Regs) {
	a, mem, within := fp.p.d.Text.Arch(), x.Memory(), &fp.within[x.CPU()]
	if within.ReadOnce(x) {
		fp.p.d.Hooks(x, fp.number, smpev.HookRecursion, ip)
		kapi.Plus(&fp.nmissed, x, 1)
		x.Emit(smpev.Fprobe, uint64(ip), smpev.FprobeMiss, 0)
		return
	}
	within.WriteOnce(x, true)
	fp.p.d.Hooks(x, fp.number, smpev.HookTakes, ip)
	life, node := 0, 0
	if fp.h.Exit != 0 {
		life, node = fp.get(x)
	}
	if fp.h.Exit != 0 && life == 0 {
		fp.p.d.Hooks(x, fp.number, smpev.HookNone, ip)
		kapi.Plus(&fp.nmissed, x, 1)
		x.Emit(smpev.Fprobe, uint64(ip), smpev.FprobeMiss, 0)
		if !fp.p.KeepLock {
			fp.leaves(x, within, ip)
		}
		return
	}
	fp.p.d.Hooks(x, fp.number, smpev.HookFollows, ip)
	result := uint32(0)
	if fp.h.Entry != 0 {
		x.Step("fprobe_handler", 1)
		x.Emit(smpev.Fprobe, uint64(ip), smpev.FprobeEntry, uint64(fp.h.Entry))
		result = uint32(fp.call(x, fp.h.Entry, node)) // an int
	}
	switch h := (hook{fp, life, node, x.Task(), ip, a.StackPointer(regs), fp.p.at}); {
	case fp.h.Exit == 0:
	case result != 0 && fp.h.Skips:
		h.put(x)
		fp.p.d.Hooks(x, fp.number, smpev.HookSkips, ip)
	default:
		to, _ := a.Caller(mem, regs)
		fp.p.hooks = append(fp.p.hooks, hook{fp, life, node, h.task, ip, h.frame, to})
		if !fp.p.d.Boot.Planted(hookLost) {
			a.SetCaller(mem, regs, fp.p.at)
		}
	}
	fp.p.d.Hooks(x, fp.number, smpev.HookEntered, ip)
	fp.leaves(x, within, ip)
}

// call calls a handler for a call that has a hook. The other arguments aren't simulated.
func (fp *Fprobe) call(x kapi.Context, f arch.Addr, node int) uint64 {
	const nth = 4 // of fprobe, entry_ip, ret_ip, regs, entry_data
	if a := fp.p.d.Text.Arch(); fp.h.Size > 0 && nth < len(a.Args) {
		x.Regs().R[a.Args[nth]] = uint64(fp.h.Data) + uint64(node*fp.h.Size)
	}
	return x.Call(f)
}

// leaves lets the CPU handle calls again.
func (fp *Fprobe) leaves(x kapi.Context, within *kapi.Var[bool], ip arch.Addr) {
	within.WriteOnce(x, false)
	fp.p.d.Hooks(x, fp.number, smpev.HookLeaves, ip)
}

// get takes a hook of the current life, if one is free and the fprobe isn't being unregistered (rethook_try_get). 0:
// there is none.
func (fp *Fprobe) get(x kapi.Context) (life, node int) {
	if life = fp.handler.ReadOnce(x); life == 0 {
		return 0, 0
	}
	p := fp.free.RMW(x, kapi.Once)
	if node = bits.TrailingZeros64(^p.used); p.life != life || node >= fp.h.Nodes {
		return 0, 0
	}
	p.used |= 1 << node
	return life, node
}

// put gives back a hook. The pool of an earlier life is gone, except for its hooks in use (rethook_recycle).
func (h *hook) put(x kapi.Context) {
	if p := h.fp.free.RMW(x, kapi.Once); p.life == h.life {
		p.used &^= 1 << h.node
	}
}

// returned is where a hooked call returns to: the exit handlers run, and control continues at the original return
// address (rethook_trampoline_handler). The registers are written before preemption is enabled again: then the task
// may move to another CPU, and regs are this CPU's.
func (p *Probes) returned(x kapi.Context, regs *arch.Regs) {
	a, mem := p.d.Text.Arch(), x.Memory()
	frame := a.StackPointer(regs) - arch.Addr(a.Pushed)
	was := *regs
	x.PreemptDisable()
	to := arch.Addr(0)
	for to == 0 || to == p.at {
		h, ok := p.take(x.Task(), frame)
		if !ok {
			p.d.Traps.Bug(x, "a return goes to the trampoline of fprobes, and no call is under way")
			break
		}
		left := uint64(smpev.HookStopped)
		if to = h.to; h.fp.handler.ReadOnce(x) == h.life {
			x.Step("fprobe_exit_handler", 1)
			x.Emit(smpev.Fprobe, uint64(h.of), smpev.FprobeExit, uint64(h.fp.h.Exit))
			p.d.Hooks(x, h.fp.number, smpev.HookExit, h.of)
			h.fp.call(x, h.fp.h.Exit, h.node)
			left = smpev.HookExited
		}
		h.put(x)
		p.d.Hooks(x, h.fp.number, left, h.of)
	}
	regs.R, regs.Flags = was.R, was.Flags&^arch.IRQ|regs.Flags&arch.IRQ
	if a.Pushed == 0 {
		regs.IP, regs.R[a.Link] = to, uint64(to) // arch_rethook_fixup_return
	} else {
		mem.Store(frame, a.Word, uint64(to))
		regs.R[a.SP] = uint64(frame)
	}
	x.PreemptEnable()
}

// findRetAddr finds the return address that a hook has replaced in a word of a task's stack, as kernels with fprobes
// do (rethook_find_ret_addr).
func (p *Probes) findRetAddr(_ kapi.Context, t kapi.TaskID, slot, word arch.Addr) (to arch.Addr, ok bool) {
	if word != p.at {
		return word, true
	}
	for i := len(p.hooks) - 1; i >= 0; i-- {
		if h := &p.hooks[i]; h.task == t && h.frame == slot && h.to != p.at {
			return h.to, true
		}
	}
	return word, false
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
