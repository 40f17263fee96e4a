package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A RetHandler of a return probe runs when a call of its function begins (Entry) or has
// returned (Handler), with the instance of that call. The caller sees its changes of regs
// (spec 2.6). Only the entry_handler's result matters (2.4). Context: preemption off,
// interrupts too where 1.10 says so; it may not sleep.
type RetHandler func(x kapi.Context, ri *Instance, regs *arch.Regs) int

// A Kretprobe is a return probe that a user registers. Kprobe names the function, and
// identifies the probe in events; the handlers in it are the engine's own.
type Kretprobe struct {
	Kprobe  Kprobe     // its place; handlers that the user sets in it are dropped
	Handler RetHandler `state:"boot"` // runs at the return; nil: none
	// runs at the call; if it returns non-zero, the call isn't followed (4.15 and later); nil: none
	Entry     RetHandler `state:"boot"`
	Maxactive int        // calls in flight that can be followed; set at registration if it is 0 or less
	DataSize  int        // bytes of Instance.Data (4.15 and later)

	nmissed kapi.Var[int]
	holder  *holder // owned by the task that registers or unregisters; goes with nmissed: nil while it isn't registered
	_       struct{}
}

// Missed returns how many calls found no free instance (spec 2.3).
func (rp *Kretprobe) Missed() int { return rp.nmissed.Peek() }

// An Instance is one call of a function with a return probe. Its user may look at
// it in a handler of that call.
type Instance struct {
	ID      uint64      // set at registration: among all of the run, from 1
	Rp      *Kretprobe  // owned by its task: its return probe
	RetAddr arch.Addr   // owned by its task: where the call returns to
	Task    kapi.TaskID // owned by its task: the task that called
	Data    []byte      // set at registration: its handlers' own

	holder *holder             // set at registration
	frame  arch.Addr           // owned by its task: where the return address lies on the stack
	below  *Instance           // owned by its task: the call that this one is nested in
	gone   bool                // owned by the lock of its bucket: its return probe is unregistered
	next   kapi.Var[*Instance] // in the lock-free list
	refs   kapi.Var[uint32]    // how many CPUs look at it in that list
	freed  bool                // owned by the code that frees it
	_      struct{}
}

// A holder owns the instances of a return probe. It outlives the return probe while calls are
// in flight (kretprobe_holder, struct rethook).
type holder struct {
	id    uint64              // set at registration: numbered with the instances
	probe uint64              // set at registration: the return probe's ID
	rp    *Kretprobe          // set at registration
	all   []*Instance         // set at registration
	live  kapi.Var[bool]      // its handlers may run: cleared by unregister
	refs  kapi.Var[int]       // instances, and one for the return probe itself
	head  kapi.Var[*Instance] // the lock-free list of free ones
	rings []ObjpoolSlot       // set at registration: or a ring of free ones a CPU
	do    *Steps              `state:"boot"` // set at registration: the engine's
	lock  kapi.Spinlock       `state:"boot"` // set at registration: or a list under a lock
	free  kapi.List[*Instance]
	used  kapi.List[*Instance] // the others, where one lock covers all
	freed bool                 // owned by the code that drops the last reference
}

// Kretprobes are an engine's return probes, and the instances that are free.
type Kretprobes struct {
	*env    `state:"boot"` // set at New
	onEntry PreHandler     `state:"boot"` // set at New
	// owned by kprobe_mutex: memory of a run, taken in order
	instances  []*Instance `state:"skip: those that count are their holders'"`
	nInstances int         // owned by kprobe_mutex: how many are in use
	// owned by kprobe_mutex: memory of a run, taken in order
	holders  []*holder `state:"skip: those that count are their return probes', or their instances' in flight"`
	nHolders int       // owned by kprobe_mutex: how many are in use
	memories uint64    // owned by kprobe_mutex: the last number given to an instance or a holder
}

// Rethook is the trampoline, and the calls in flight that return through it.
type Rethook struct {
	*env       `state:"boot"`        // set at New
	trampoline arch.Addr             // set at New: what return addresses are replaced with
	bug        arch.Addr             // set at New: where a return continues when its address is lost
	onTramp    kapi.Routine          `state:"boot"` // set at New
	onNop      PreHandler            `state:"boot"` // set at New
	onExit     func(x kapi.Context)  `state:"boot"` // set at New
	onUnwind   kapi.Unwind           `state:"boot"` // set at New
	code       []byte                `state:"boot"` // set at New: the trampoline's
	busyAggr   Aggr                  // set at New: the current aggr of a CPU that is busy without a probe
	regs       []retRegs             // owned by its CPU: the registers that return handlers get
	calls      []kapi.Var[*Instance] // by task: its calls in flight, newest first
	buckets    []bucket              // set at New: calls in flight, by task
	global     kapi.Spinlock         `state:"boot"` // set at New: kretprobe_lock
	nop        Kprobe                // owned by kprobe_mutex: the probe on the trampoline (2.6)
	// owned by kprobe_mutex: the aggr of the trampoline's probe, not one of the engine's
	nopAggr Aggr
	ready   kapi.Var[bool] // cells are made, the trampoline is probed: tasks that exit look
}

// maxRetNest is how deep trampolines can interrupt each other on a CPU: a task, a
// softirq, a hard interrupt, an NMI, and as much again.
const maxRetNest = 8

// retRegs is a CPU's registers of the trampolines it is in.
type retRegs struct {
	depth int                   // owned by its CPU
	regs  [maxRetNest]arch.Regs // owned by its CPU
}

// Register registers a return probe (spec 2.1, 2.2). Context: may sleep.
func (k *Kretprobes) Register(x kapi.Context, rp *Kretprobe) error {
	k.e.kprobeMutex.Lock(x)
	err := k.registerKretprobe(x, rp)
	k.e.kprobeMutex.Unlock(x)
	return err
}

// RegisterAll registers return probes. If one can't be registered, none is, and the error of
// that one is returned (spec 6.4). Context: may sleep.
func (k *Kretprobes) RegisterAll(x kapi.Context, rps []*Kretprobe) error {
	if !k.s.Batches {
		return EOPNOTSUPP
	}
	if len(rps) == 0 {
		return EINVAL
	}
	for i, rp := range rps {
		if err := k.Register(x, rp); err != nil {
			if i > 0 {
				k.UnregisterAll(x, rps[:i])
			}
			return err
		}
	}
	return nil
}

// registerKretprobe is Register with kprobe_mutex held. It refuses a return probe that is already registered before
// it changes any of its fields (R54).
func (k *Kretprobes) registerKretprobe(x kapi.Context, rp *Kretprobe) error {
	if k.s.Return == era.ReturnGlobal && (rp.Entry != nil || rp.DataSize != 0) {
		return EOPNOTSUPP
	}
	if err := k.e.text.kprobeOnFuncEntry(x, &rp.Kprobe); err != nil {
		return err
	}
	if err := k.do.Ret.CheckKretprobeRereg(rp); err != nil {
		return err
	}
	if k.s.DataMax > 0 && rp.DataSize > k.s.DataMax {
		return E2BIG
	}
	k.e.Rethook.readyReturns(x)
	if rp.Maxactive <= 0 {
		rp.Maxactive = k.defaultMaxactive()
	}
	rp.nmissed.Init(k.d.Cells, 0)
	p := &rp.Kprobe
	p.Pre, p.Post, p.ret = k.onEntry, nil, rp
	k.do.Ret.AllocRethook(k.e, x, rp)
	rph := rp.holder
	if err := k.e.registerKprobe(x, p); err != nil {
		k.rethookFree(x, rph)
		k.cleanupRpInst(x, rph)
		if rp.holder == rph { // else another task has registered it at the same time, which nothing forbade before R54
			rp.holder = nil
		}
		return err
	}
	return nil
}

// defaultMaxactive returns the maxactive of a return probe whose user sets none (spec 2.2).
func (k *Kretprobes) defaultMaxactive() int {
	if k.s.MaxactiveAll || k.s.Kernel.Preemption {
		return max(10, 2*k.d.CPUs)
	}
	return k.d.CPUs
}

// kprobeOnFuncEntry returns an error if a return probe can't be at p's address. It must be at
// the beginning of a function that ends on the stack it began on (spec 2.9).
func (pt *probedText) kprobeOnFuncEntry(x kapi.Context, p *Kprobe) error {
	at, err := pt.kprobeAddr(p)
	if err != nil {
		return err
	}
	f, ok := pt.d.Symbols.Lookup(at)
	switch {
	case ok:
	case pt.s.Kernel.Edition == rules.Edition26:
		return EINVAL
	default:
		return ENOENT
	}
	if !pt.do.Ret.OnFuncEntry(at, f.Addr) {
		to, _ := pt.archAdjustKprobeAddr(x, f.Addr)
		if _, entry := pt.archAdjustKprobeAddr(x, at); at != to && !entry {
			return EINVAL
		}
	}
	if pt.kretprobeBlacklisted(&f) {
		return EINVAL
	}
	return nil
}

// kretprobeBlacklisted reports whether a function switches stacks.
func (pt *probedText) kretprobeBlacklisted(f *kapi.Function) bool {
	return pt.do.Ret.KretprobeBlacklisted(f.Name)
}

// Unregister removes a return probe. After it has returned, none of the probe's handlers runs,
// even if calls are in flight. Their instances are freed when the calls return (spec 6.7).
// Context: may sleep.
func (k *Kretprobes) Unregister(x kapi.Context, rp *Kretprobe) error {
	one := [1]*Kretprobe{rp}
	return k.unregisterKretprobes(x, one[:])
}

// UnregisterAll unregisters several return probes, with one grace period for all.
// Context: may sleep.
func (k *Kretprobes) UnregisterAll(x kapi.Context, rps []*Kretprobe) error {
	if !k.s.Batches {
		return EOPNOTSUPP
	}
	return k.unregisterKretprobes(x, rps)
}

func (k *Kretprobes) unregisterKretprobes(x kapi.Context, rps []*Kretprobe) error {
	var some [4]*Kprobe
	kps := some[:0]
	for _, rp := range rps {
		kps = append(kps, &rp.Kprobe)
	}
	return k.e.unregisterKprobes(x, kps) // rethookFree before it waits, cleanupRpInst after
}

// newHolder makes a return probe's instances, all of them free. Context:
// kprobe_mutex held.
func (k *Kretprobes) newHolder(x kapi.Context, rp *Kretprobe) {
	if k.nHolders == len(k.holders) {
		k.holders = append(k.holders, new(holder))
	}
	rph := k.holders[k.nHolders]
	k.nHolders++
	k.memories++
	*rph = holder{id: k.memories, probe: rp.Kprobe.ID, rp: rp, all: rph.all[:0], rings: rph.rings[:0], free: rph.free,
		used: rph.used, do: k.do}
	rph.live.Init(k.d.Cells, true)
	for range rp.Maxactive {
		ri := k.newInstance(rph, rp.DataSize)
		k.do.Ret.InitInstance(rp, ri)
		rph.all = append(rph.all, ri)
		x.Emit(kpev.InstanceNew, ri.ID, rph.probe, rph.id)
	}
	k.fillPool(rph)
	rp.holder = rph
}

func (k *Kretprobes) newInstance(rph *holder, size int) *Instance {
	if k.nInstances == len(k.instances) {
		k.instances = append(k.instances, new(Instance))
	}
	ri := k.instances[k.nInstances]
	k.nInstances++
	k.memories++
	data := ri.Data
	if cap(data) < size {
		data = make([]byte, size)
	}
	data = data[:size]
	clear(data)
	*ri = Instance{ID: k.memories, Data: data, holder: rph}
	return ri
}

// PoolLock returns the lock of the list of free instances that an instance belongs to (2.6.28 to 5.10).
func (ri *Instance) PoolLock() kapi.Spinlock { return ri.holder.lock }
