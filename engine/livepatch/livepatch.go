package livepatch

import (
	"slices"

	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Deps are the kernel services that livepatch stands on.
type Deps struct {
	Boot     kapi.Boot
	Cells    *kapi.Cells
	Text     kapi.Text
	Ftrace   func() ftrace.Tracer // nil: there are no sites
	RCU      kapi.RCU
	Tasks    kapi.Tasks
	Switches kapi.Switches
	Resched  bool // cond_resched switches its task (6.4 to 6.14)
	_        struct{}
}

// The errnos of livepatch, besides those of ftrace.
const (
	EINVAL = ftrace.EINVAL // there is no site, the patch is enabled, or there is nothing to remove
	EBUSY  = ftrace.EBUSY  // another patch's transition is under way
)

// A state is the version of the functions that a task calls while a patch is in transition (klp_target_state,
// patch_state).
type state uint8

const (
	undefined state = iota // no transition is under way
	unpatched
	patched
)

// Patches are the live patches of one kernel.
type Patches struct {
	d Deps `state:"boot"` // set at boot
	// klp_mutex; set at boot, nil: no function is ever patched
	mutex  kapi.Mutex `state:"address: it is among the mutexes"`
	funcs  []*ops     // set at boot: the functions that are patched some time, in the order in which they were added
	list   []*patch   // set at boot: the patches, likewise
	newest []*patch   // owned by klp_mutex: the enabled ones, the newest last

	transition *patch            // owned by klp_mutex: klp_transition_patch
	target     kapi.Var[state]   // klp_target_state
	states     []kapi.Var[state] // by task: patch_state
	pending    []kapi.Var[bool]  // by task: TIF_PATCH_PENDING
	spans      []kapi.Span       `state:"skip: follows from what its maker has read"` // owned by klp_mutex

	// owned by the boot of a run: a patch is removed without waiting for the tasks in the new functions: a mutant
	NoWait bool
	Forced bool // owned by the boot of a run: tasks are switched wherever they are (klp_force_transition): a mutant
	// owned by the boot of a run: a task that doesn't run is switched without a look at its stack: a mutant
	Unchecked bool
}

// ops are a patched function's data with ftrace (klp_ops).
type ops struct {
	p      *Patches       `state:"boot"` // set at boot
	old    kapi.Span      // set at boot: the function
	site   arch.Addr      // set at boot: where it calls ftrace; 0: nowhere
	next   arch.Addr      // set at boot: the instruction after the site
	client ftrace.Client  `state:"boot"` // set at the boot of a run
	stack  kapi.List[*fn] // the functions that calls continue in; the newest is first
	onCall ftrace.Handler `state:"boot"` // set at boot
}

// A fn is a patch's new version of a function (klp_func).
type fn struct {
	patch      *patch         `state:"address: it is among the patches"`   // set at boot
	ops        *ops           `state:"address: it is among the functions"` // set at boot
	to         kapi.Span      // set at boot
	transition kapi.Var[bool] // each task has its own version
}

// A patch redirects several functions to others (klp_patch). Making the same patch again returns
// the existing one.
type patch struct {
	number  uint64 // set at boot
	funcs   []*fn  // set at boot
	enabled bool   // owned by klp_mutex
}

// A Func is one function of a patch: calls of Old continue in New.
type Func struct{ Old, New kapi.Span }

// New returns the live patches of a kernel: none.
func New(d Deps) *Patches {
	p := &Patches{d: d}
	d.Boot.OnReset(func() { p.NoWait, p.Forced, p.Unchecked = false, false, false })
	return p
}

// AddFunc declares, at boot, that a function may be patched. site is where it calls ftrace, 0 if it doesn't.
func (p *Patches) AddFunc(old kapi.Span, site arch.Addr) {
	if p.mutex == nil {
		p.mutex = p.d.Boot.BootMutex("klp_mutex")
		resched := p.schedTrySwitch
		if !p.d.Resched {
			resched = nil
		}
		p.d.Switches.BootOn(p.updatePatchState, resched)
	}
	o := &ops{p: p, old: old, site: site}
	if call, ok := p.d.Text.Arch().Call(site, site); ok {
		o.next = site + arch.Addr(len(call.Bytes()))
	}
	o.onCall = o.klpFtraceHandler
	p.funcs = append(p.funcs, o)
}

// Add makes a patch, at boot. Its functions have been added before.
func (p *Patches) Add(funcs ...Func) {
	if p.find(funcs) != nil {
		return
	}
	k := &patch{number: uint64(len(p.list) + 1)}
	for _, f := range funcs {
		k.funcs = append(k.funcs, &fn{patch: k, ops: p.funcAt(f.Old.From), to: f.New})
	}
	p.list = append(p.list, k)
}

// find returns the patch that has these functions and no other, nil if there is none.
func (p *Patches) find(funcs []Func) *patch {
	for _, k := range p.list {
		if slices.EqualFunc(k.funcs, funcs, func(a *fn, b Func) bool {
			return a.ops.old.From == b.Old.From && a.to.From == b.New.From
		}) {
			return k
		}
	}
	return nil
}

// Number returns the number of the patch that has these functions and no other, from 1, or 0 if there is none.
func (p *Patches) Number(funcs ...Func) uint64 {
	if k := p.find(funcs); k != nil {
		return k.number
	}
	return 0
}

func (p *Patches) funcAt(old arch.Addr) *ops {
	for _, o := range p.funcs {
		if o.old.From == old {
			return o
		}
	}
	return nil
}

// Any reports whether a function is patched some time.
func (p *Patches) Any() bool { return len(p.funcs) > 0 }

// Begin makes the clients of ftrace, at the boot of a run. A kernel makes one where a
// function is patched first.
func (p *Patches) Begin() {
	if !p.Any() {
		return
	}
	cells := p.d.Cells
	if n := p.d.Tasks.Count(); len(p.states) != n {
		p.states, p.pending = make([]kapi.Var[state], n), make([]kapi.Var[bool], n)
	}
	p.newest, p.transition = p.newest[:0], nil
	p.target.Init(cells, undefined)
	for t := range p.states {
		p.states[t].Init(cells, undefined)
		p.pending[t].Init(cells, false)
	}
	for _, o := range p.funcs {
		o.stack.Init(cells)
		if t := p.d.Ftrace(); t != nil {
			o.client = t.NewOps("klp_ops", o.onCall, ftrace.Dynamic|ftrace.Modifies|ftrace.Plain)
		}
	}
	for _, k := range p.list {
		k.enabled = false
		for _, f := range k.funcs {
			f.transition.Init(cells, false)
		}
	}
}

// klpFtraceHandler is called by ftrace from a patched function: control continues in the newest version. While that
// version's patch is in transition, a task that hasn't been switched continues in the previous version or, if there
// is none, in the function itself. The list is empty if the last patch was removed meanwhile. Context: preemption
// off.
func (o *ops) klpFtraceHandler(x kapi.Context, _ arch.Addr, regs *arch.Regs) {
	p, list := o.p, o.stack.All(x)
	if len(list) == 0 {
		return
	}
	f, to := list[0], list[0].to
	x.Fence(readFunc)
	if f.transition.ReadOnce(x) {
		x.Fence(readState)
		if p.states[x.Task()].ReadOnce(x) == unpatched {
			to = o.before(list, 0)
		}
	}
	x.Emit(smpev.LiveCall, uint64(o.old.From), uint64(to.From),
		p.mixed(x, f, to == f.to, p.d.Text.Arch().StackPointer(regs)))
	if to != o.old {
		regs.IP = to.From
		if entry := p.d.Text.Arch().Entry; entry != 0 { // livepatch_handler, arch/powerpc/kernel/trace/ftrace_entry.S
			regs.R[entry] = uint64(to.From)
		}
	}
}

// beneathIgnored is a mutant's fault.
var beneathIgnored = kapi.DefineFault("beneath-ignored",
	"a task that hasn't gone over to a live patch calls the original function, although another patch is beneath",
	"klp_ftrace_handler: list_entry_rcu(func->stack_node.next)")

// before returns the version under element i of a function's stack.
func (o *ops) before(list []*fn, i int) kapi.Span {
	if i+1 < len(list) && !o.p.d.Boot.Planted(beneathIgnored) {
		return list[i+1].to
	}
	return o.old
}

// mixed returns an address on the task's stack that is in another version of a function of f's patch than the one
// that the task is about to call, 0 if there is none: the task would see both in one call chain. A call that an
// interrupt finds before its site, or in ftrace, has no version yet. It is a check for monitors, not part of a kernel.
func (p *Patches) mixed(x kapi.Context, f *fn, isNew bool, sp arch.Addr) uint64 {
	a, mem, top := p.d.Text.Arch(), x.Memory(), p.d.Tasks.StackTop(x)
	for ; sp < top; sp += arch.Addr(a.Word) {
		v, ok := mem.Load(sp, a.Word)
		if !ok {
			break
		}
		to, _ := p.d.Tasks.Unwind(x, x.Task(), sp, arch.Addr(v))
		for _, g := range f.patch.funcs {
			if to > g.ops.old.From && to <= g.ops.next {
				continue
			}
			other := g.to
			if isNew {
				x.Mark(g.ops.stack.ID(), kapi.Read)
				list := g.ops.stack.Peek()
				other = g.ops.before(list, slices.Index(list, g))
			}
			if to > other.From && to < other.To { // their calls begin at the same address
				return uint64(to)
			}
		}
	}
	return 0
}

// Patch redirects calls of functions to others (klp_enable_patch). It returns when each task has
// moved to the new functions, or another call has reversed the transition. Versions that were
// patched in before stay under them. errno 0; EINVAL where a function has no site, or the patch
// is enabled; EBUSY where another patch is in transition; or ftrace's: EBUSY where another client
// changes the path. Context: may sleep; takes klp_mutex.
func (p *Patches) Patch(x kapi.Context, funcs ...Func) (errno int) {
	k := p.find(funcs)
	if k == nil || slices.ContainsFunc(k.funcs, func(f *fn) bool { return f.ops.site == 0 }) {
		return EINVAL
	}
	p.mutex.Lock(x)
	switch {
	case p.transition == k && p.target.Owned() == unpatched:
		p.reverseTransition(x)
	case k.enabled:
		errno = EINVAL
	case p.transition != nil:
		errno = EBUSY
	default:
		errno = p.enablePatch(x, k)
	}
	p.finish(x, k, errno)
	return errno
}

// Unpatch removes the newest patch of a function, with all its functions (klp_disable_patch). It returns when each
// task has left the patch, so that its module may go, or another call has reversed the transition. If that patch is
// in transition, the transition is reversed. errno is 0; EINVAL if there is none; EBUSY if another patch is in
// transition. Context: may sleep; takes klp_mutex.
func (p *Patches) Unpatch(x kapi.Context, old arch.Addr) (errno int) {
	o := p.funcAt(old)
	if o == nil || o.site == 0 {
		return EINVAL
	}
	p.mutex.Lock(x)
	k := p.newestOf(o)
	switch {
	case k == nil:
		errno = EINVAL
	case p.transition == k:
		p.reverseTransition(x)
	case p.transition != nil:
		errno = EBUSY
	default:
		p.disablePatch(x, k)
	}
	p.finish(x, k, errno)
	return errno
}

// newestOf returns the newest patch of a function that is enabled, nil if there is none.
// Context: klp_mutex held.
func (p *Patches) newestOf(o *ops) *patch {
	for _, k := range slices.Backward(p.newest) {
		if slices.ContainsFunc(k.funcs, func(f *fn) bool { return f.ops == o }) {
			return k
		}
	}
	return nil
}

// enablePatch begins to patch (__klp_enable_patch):
//
//	step 1: each task is unpatched, then each function is in transition
//	step 2: ftrace calls go through the handler, which finds the new functions
//	step 3: tasks may be switched
//
// Context: klp_mutex held.
func (p *Patches) enablePatch(x kapi.Context, k *patch) (errno int) {
	p.initTransition(x, k, patched)

	x.Fence(writeTransition)
	for i, f := range k.funcs {
		if errno = f.patchFunc(x); errno != 0 {
			p.target.WriteOnce(x, unpatched) // klp_cancel_transition
			p.completeTransition(x, k.funcs[:i])
			return errno
		}
	}

	p.startTransition(x)
	k.enabled = true
	p.newest = append(p.newest, k)
	return 0
}

// disablePatch begins to take a patch away (__klp_disable_patch). Context: klp_mutex held.
func (p *Patches) disablePatch(x kapi.Context, k *patch) {
	p.initTransition(x, k, unpatched)
	x.Fence(writeTransition)
	p.startTransition(x)
	p.left(k)
}

// left records that a patch isn't enabled any more. Context: klp_mutex held.
func (p *Patches) left(k *patch) {
	k.enabled = false
	p.newest = slices.DeleteFunc(p.newest, func(o *patch) bool { return o == k })
}

// patchFunc puts a new version over a function's others (klp_patch_func).
func (f *fn) patchFunc(x kapi.Context) (errno int) {
	o := f.ops
	first := len(o.stack.Owned()) == 0
	o.stack.Push(x, f)
	if !first {
		return 0
	}
	if errno = o.client.Filter(x, o.site, true); errno == 0 {
		if errno = o.client.Register(x); errno != 0 {
			o.client.Filter(x, o.site, false)
		}
	}
	if errno != 0 {
		o.stack.Del(x, f)
	}
	return errno
}

// unpatchFunc removes f from its site (klp_unpatch_func).
func (f *fn) unpatchFunc(x kapi.Context) {
	o := f.ops
	if len(o.stack.Owned()) == 1 {
		o.client.Unregister(x)
		o.client.Filter(x, o.site, false)
	}
	o.stack.Del(x, f)
}
