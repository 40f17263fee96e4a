package livepatch

import (
	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Deps are the kernel services that livepatch stands on.
type Deps struct {
	Boot   kapi.Boot
	Cells  *kapi.Cells
	Ftrace func() ftrace.Tracer // nil: there is no site
	Stacks kapi.Stacks
	_      struct{}
}

// The errnos that livepatch answers with, beside those of ftrace.
const EINVAL = ftrace.EINVAL // there is no site, or nothing to take away

// Patches are the live patches of one kernel.
type Patches struct {
	d     Deps       `state:"boot"`                             // set at boot
	mutex kapi.Mutex `state:"address: it is among the mutexes"` // klp_mutex; set at boot, nil: no function is ever patched
	funcs []*ops     // set at boot: the functions that are patched some time, in the order in which they were added

	NoWait bool // owned by the boot of a run: who takes a patch away doesn't wait until no task is in the new function: a mutant
}

// ops are what a patched function has with ftrace (klp_ops).
type ops struct {
	p      *Patches             `state:"boot"` // set at boot
	old    arch.Addr            // set at boot: the function
	site   arch.Addr            // set at boot: where it calls ftrace; 0: nowhere
	client ftrace.Client        `state:"boot"` // set at the boot of a run
	stack  kapi.List[arch.Addr] // the functions that calls are to go on in; the first is
	onCall ftrace.Handler       `state:"boot"`                                       // set at boot
	spans  [1]kapi.Span         `state:"skip: follows from what its maker has read"` // owned by klp_mutex
}

// New returns the live patches of a kernel: none.
func New(d Deps) *Patches {
	p := &Patches{d: d}
	d.Boot.OnReset(func() { p.NoWait = false })
	return p
}

// AddFunc says, at boot, that a function may be patched. site is where it calls ftrace, 0
// if it doesn't.
func (p *Patches) AddFunc(old, site arch.Addr) {
	if p.mutex == nil {
		p.mutex = p.d.Boot.BootMutex("klp_mutex")
	}
	o := &ops{p: p, old: old, site: site}
	o.onCall = o.klpFtraceHandler
	p.funcs = append(p.funcs, o)
}

// Any reports whether a function is patched some time.
func (p *Patches) Any() bool { return len(p.funcs) > 0 }

// Begin makes the clients of ftrace, at the boot of a run. A kernel makes one where a
// function is patched first.
func (p *Patches) Begin() {
	for _, o := range p.funcs {
		o.stack.Init(p.d.Cells)
		if t := p.d.Ftrace(); t != nil {
			o.client = t.NewOps("klp_ops", o.onCall, ftrace.Dynamic|ftrace.Modifies)
		}
	}
}

// klpFtraceHandler is called by ftrace from a patched function: it goes on in the newest
// function that is to be called instead. There is none where the last patch was taken away
// meanwhile.
func (o *ops) klpFtraceHandler(x kapi.Context, _ arch.Addr, regs *arch.Regs) {
	if list := o.stack.All(x); len(list) > 0 {
		regs.IP = list[0]
	}
}

func (p *Patches) find(old arch.Addr) *ops {
	for _, o := range p.funcs {
		if o.old == old {
			return o
		}
	}
	return nil
}

// Patch has calls of a function go on in another one (klp_patch_func). The function that
// was patched in before stays under it. errno 0, EINVAL where there is no site, or ftrace's:
// EBUSY where another client changes the path there. Context: may sleep; takes klp_mutex.
func (p *Patches) Patch(x kapi.Context, old, to arch.Addr) (errno int) {
	o := p.find(old)
	if o == nil || o.site == 0 {
		return EINVAL
	}
	p.mutex.Lock(x)
	first := len(o.stack.Owned()) == 0
	o.stack.Push(x, to)
	if first {
		if errno = o.client.Filter(x, o.site, true); errno == 0 {
			if errno = o.client.Register(x); errno != 0 {
				o.client.Filter(x, o.site, false)
			}
		}
		if errno != 0 {
			o.stack.Del(x, to)
		}
	}
	p.mutex.Unlock(x)
	return errno
}

// Unpatch takes the newest patch of a function away (klp_unpatch_func), and returns when no
// task is in the function that was patched in, or will return into it: its module may go.
// A kernel looks at the tasks' stacks first (klp_try_complete_transition), and takes the
// patch away then. errno 0, or EINVAL if there is none. Context: may sleep; takes klp_mutex.
func (p *Patches) Unpatch(x kapi.Context, old arch.Addr, size func(arch.Addr) int) (errno int) {
	o := p.find(old)
	if o == nil || o.site == 0 {
		return EINVAL
	}
	p.mutex.Lock(x)
	list := o.stack.Owned()
	if len(list) == 0 {
		p.mutex.Unlock(x)
		return EINVAL
	}
	to := list[0]
	if len(list) == 1 {
		o.client.Unregister(x)
		o.client.Filter(x, o.site, false)
	}
	o.stack.Del(x, to)
	if !p.NoWait {
		o.spans[0] = kapi.Span{From: to, To: to + arch.Addr(size(to))}
		p.d.Stacks.Quiesce(x, o.spans[:])
	}
	p.mutex.Unlock(x)
	return 0
}
