package kprobes

import (
	"cmp"

	"kpsim/engine"
	"kpsim/engine/ftrace"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Deps are the kernel services that the engine stands on.
type Deps = engine.Deps

// Settings are what an engine is made with: its configuration and edition, and
// what is broken on purpose.
type Settings struct {
	era.Settings
	Steps *Steps // nil: Linux; mutants wrap some
	_     struct{}
}

// An Engine is the kprobes of one machine, for one run.
type Engine struct {
	d           Deps              `state:"boot"` // set at New
	do          *Steps            `state:"boot"` // set at New
	s           Settings          `state:"boot"` // set at New
	row         *row              `state:"boot"` // set at New: of the processor
	kprobeMutex kapi.Mutex        `state:"boot"` // set at New
	kprobeTable kapi.Table[*Aggr] // read by the trap handlers under RCU
	kcb         kapi.PerCPU[kprobeCtlblk]

	code                     []byte          `state:"skip: the routine that has recovered it has read the text"` // owned by kprobe_mutex: what recoverProbedInstruction returns
	insn                     [maxDetour]byte // owned by text_mutex: what is about to be written
	aggrs                    []*Aggr         // owned by kprobe_mutex: every aggr of the run, by id-1
	optimizingList           kapi.List[*Aggr]
	unoptimizingList         kapi.List[*Aggr]
	freeingList              kapi.List[*Aggr]
	optimizingWork           kapi.DelayedWork `state:"boot"` // set at New
	callback                 arch.Addr        // set at New: what detours call
	kprobeSysctlMutex        kapi.Mutex       `state:"boot"` // set at New: one writer of the sysctl at a time
	kprobesAllowOptimization bool             // owned by kprobe_mutex: the sysctl, true until it is written
	kprobesAllDisarmed       bool             // owned by kprobe_mutex: the file enabled says 0
	held                     bool             // owned by kprobe_mutex: the module of what is being registered is held, or was found
	kprobeFtraceOps          client           // owned by kprobe_mutex: of ftrace, for aggrs without a post_handler
	kprobeIpmodifyOps        client           // owned by kprobe_mutex: and for those with one

	ret retState
	jp  jprobeState

	memory
}

// memory is what Renew keeps of an engine: places for its objects, which are
// taken in order and zeroed when they are, and its routines as values.
type memory struct {
	looked     looked       `state:"skip: a copy of text and what follows from it, made anew if the text is another"` // owned by kprobe_mutex
	aggrPlaces []*Aggr      `state:"skip: those in use are among points"`                                             // owned by kprobe_mutex
	listPlaces []*probeList `state:"skip: those in use are their points'"`                                            // owned by kprobe_mutex
	lists      int          // owned by kprobe_mutex: how many places are taken
	spans      []kapi.Span  `state:"skip: made anew for each look"` // owned by kprobe_mutex: what spansOf returns

	onWork  func(x kapi.Context) `state:"boot"` // set at New
	onCall  kapi.Routine         `state:"boot"` // set at New
	onBreak kapi.TrapHandler     `state:"boot"` // set at New
	onDebug kapi.TrapHandler     `state:"boot"` // set at New
	onFault kapi.FaultHandler    `state:"boot"` // set at New
	onSteps func(cpu int) bool   `state:"boot"` // set at New

	onModule kapi.ModuleNotifier `state:"boot"` // set at New
	onFtrace ftrace.Handler      `state:"boot"` // set at New
}

// looked is the function that the rules have looked at last.
type looked struct {
	judge   rules.Judge                  // owned by kprobe_mutex
	kernel  rules.Kernel                 // owned by kprobe_mutex
	of      kapi.Function                // owned by kprobe_mutex
	code    []byte                       // owned by kprobe_mutex: its bytes, and some after it
	plain   bool                         // owned by kprobe_mutex: there are no sites and no exception table
	found   []kapi.Site                  // owned by kprobe_mutex
	sites   []rules.Site                 // owned by kprobe_mutex
	extable []int                        // owned by kprobe_mutex
	thunks  [rules.MostThunks]rules.Span // owned by kprobe_mutex
	breaks  []int                        // owned by kprobe_mutex: where a debugger's breakpoints stand
}

// New builds the engine and hooks it to the kernel.
func New(d Deps, s Settings) *Engine {
	e := new(Engine)
	e.newReturns()
	e.onWork = func(x kapi.Context) { e.do.KprobeOptimizer(e, x) }
	e.onBreak = func(x kapi.Context, regs *arch.Regs) uint64 { return e.do.KprobeInt3Handler(e, x, regs) }
	e.onCall = e.optimizedCallback
	e.onModule, e.onFtrace = e.kprobesModuleCallback, e.kprobeFtraceHandler
	e.onDebug, e.onFault = e.kprobeDebugHandler, e.kprobeFaultHandler
	e.onSteps = func(cpu int) bool {
		kcb := e.kcb.Of(cpu)
		return kcb.stepping() || kcb.current != nil && kcb.status&kprobeFaulted != 0
	}
	e.Renew(d, s)
	return e
}

// Renew makes e what New would return, in the memory that e has: the next run
// allocates nothing. Nothing is left of what e was.
func (e *Engine) Renew(d Deps, s Settings) {
	*e = Engine{
		d: d, do: cmp.Or(s.Steps, &linux), s: s, row: rowOf(d.Text.Arch()), memory: e.memory, ret: e.ret, jp: e.jp, code: e.code[:0], aggrs: e.aggrs[:0],
		kprobeTable: e.kprobeTable, kcb: e.kcb, optimizingList: e.optimizingList, unoptimizingList: e.unoptimizingList, freeingList: e.freeingList, // Init empties them
	}
	if d.Tell == nil { // there are no monitors
		e.d.Tell = func(kapi.Context, traces.Kind, uint64, uint64, uint64) {}
	}
	e.lists = 0
	e.kprobeMutex = d.Locks.NewMutex("kprobe_mutex")
	e.kcb.Init(d.CPUs)
	e.kprobeTable.Init(d.Cells, golden(s.Kernel.Edition))
	e.optimizingList.Init(d.Cells)
	e.unoptimizingList.Init(d.Cells)
	e.freeingList.Init(d.Cells)
	e.optimizingWork = d.Work.NewDelayedWork("kprobe_optimizer", e.onWork)
	e.callback = d.Bind.Bind("optimized_callback", e.onCall)
	e.renewReturns()
	e.kprobeSysctlMutex = d.Locks.NewMutex("kprobe_sysctl_mutex")
	e.do.InitKprobes(e)
	d.Traps.OnBreakpoint(e.onBreak)
	d.Traps.OnDebug(e.onDebug)
	d.Traps.OnFault(e.onFault)
	d.Traps.OnStepping(e.onSteps)
	if d.Modules != nil {
		d.Modules.OnChange(e.onModule)
	}
	e.initFtraceOps()
}

// golden returns the factor of the hash table's function. Until 4.6 it is a prime with
// few bits set, which spreads addresses 4096 bytes apart badly; since 4.7 it is the
// golden ratio (GOLDEN_RATIO_PRIME_64, GOLDEN_RATIO_64 of include/linux/hash.h).
func golden(e rules.Edition) uint64 {
	if e == rules.Edition26 {
		return 0x9e37fffffffc0001
	}
	return 0x61c8864680b583eb
}

// newAggr returns the aggr that is to be the next of e.aggrs, if it comes
// to that. Context: kprobe_mutex held.
func (e *Engine) newAggr(addr arch.Addr) *Aggr {
	n := len(e.aggrs)
	if n == len(e.aggrPlaces) {
		e.aggrPlaces = append(e.aggrPlaces, new(Aggr))
	}
	ap := e.aggrPlaces[n]
	*ap = Aggr{id: uint64(n + 1), addr: addr}
	return ap
}

// AddAggr makes an aggr of an address that is none. Context: kprobe_mutex held.
func (e *Engine) AddAggr(addr arch.Addr) *Aggr {
	ap := e.newAggr(addr)
	e.aggrs = append(e.aggrs, ap)
	return ap
}

// newList returns an empty list. Context: kprobe_mutex held.
func (e *Engine) newList() *probeList {
	if e.lists == len(e.listPlaces) {
		e.listPlaces = append(e.listPlaces, new(probeList))
	}
	c := e.listPlaces[e.lists]
	e.lists++
	*c = probeList{probes: c.probes[:0]}
	return c
}

// Settled reports whether the optimizer has nothing left to do.
func (e *Engine) Settled() bool {
	return len(e.optimizingList.Owned())+len(e.unoptimizingList.Owned())+len(e.freeingList.Owned()) == 0
}

// Unoptimizing reports whether an aggr is queued to lose its jump. Context:
// kprobe_mutex held.
func (e *Engine) Unoptimizing(ap *Aggr) bool { return ap.list == &e.unoptimizingList }

// Dequeue takes an aggr off the optimizer's lists. Context: kprobe_mutex held.
func (e *Engine) Dequeue(x kapi.Context, ap *Aggr) { e.enlist(x, ap, nil) }

// Stepping reports whether the CPU has been sent to a copy to come back from it.
func (e *Engine) Stepping(x kapi.Context) bool { return e.kcb.This(x).stepping() }

// InPostHandler reports whether the CPU runs post_handlers (KPROBE_HIT_SSDONE).
func (e *Engine) InPostHandler(x kapi.Context) bool {
	kcb := e.kcb.This(x)
	return kcb.current != nil && kcb.status == kprobeHitSSDone
}

// Find returns the aggr of an address, nil if there is none. Context: a trap's.
func (e *Engine) Find(x kapi.Context, at arch.Addr) *Aggr {
	ap, _ := e.kprobeTable.Get(x, at)
	return ap
}

// PoolLock is the lock of the free instances among which an instance belongs (2.6.28 to 5.10).
func (ri *Instance) PoolLock() kapi.Spinlock { return ri.holder.lock }

// Mutex is kprobe_mutex.
func (e *Engine) Mutex() kapi.Mutex { return e.kprobeMutex }

// Disarmed reports whether the file enabled says 0. Context: kprobe_mutex held.
func (e *Engine) Disarmed() bool { return e.kprobesAllDisarmed }

// Trampoline is where the text begins that return addresses are replaced with.
func (e *Engine) Trampoline() arch.Addr { return e.ret.trampoline }

// Points returns how many aggrs the run has had. Context: as StateOf.
func (e *Engine) Points() int { return len(e.aggrs) }

// StateOf returns the words of a State event of aggr i, of 0 to Points()-1: where
// it is, bits, where its detour is. ok false: it is freed, or taken out and about to
// be, so that what stands there is another's. Context: kprobe_mutex held, or nothing
// running.
func (e *Engine) StateOf(i int) (addr, bits, detour uint64, ok bool) {
	ap := e.aggrs[i]
	if ap.freed || ap.list == nil && ap.Unused() && !ap.armed.Owned() {
		return 0, 0, 0, false
	}
	flag := func(bit uint64, on bool) {
		if on {
			bits |= bit
		}
	}
	flag(kpev.StateArmed, ap.armed.Owned())
	flag(kpev.StateJumped, ap.jumped)
	flag(kpev.StateOptimized, ap.optimized.Owned())
	flag(kpev.StateOptimizing, ap.list == &e.optimizingList)
	flag(kpev.StateUnoptimizing, ap.list == &e.unoptimizingList)
	flag(kpev.StateFreeing, ap.list == &e.freeingList)
	flag(kpev.StateGone, ap.gone)
	flag(kpev.StateFtrace, ap.verdict.Ftrace)
	flag(kpev.StateCalled, ap.verdict.Ftrace && e.calledFrom(ap.addr))
	return uint64(ap.addr), bits, uint64(ap.detour.addr), true
}

// ProbesOf returns the probes of aggr i, if that is what is found at its address, and they
// aren't the kernel's own. Context: as StateOf.
func (e *Engine) ProbesOf(i int) []*Kprobe {
	ap := e.aggrs[i]
	if q, ok := e.kprobeTable.Owned(ap.addr); !ok || q != ap || ap.addr == e.ret.trampoline {
		return nil
	}
	return ap.List()
}

// Registered reports whether a probe is registered. Context: as StateOf.
func (p *Kprobe) Registered() bool { return p.aggr != nil }

// Unneeded returns where there is an aggr without probes: in the table, or not freed.
// ok false: there is none.
func (e *Engine) Unneeded() (at arch.Addr, ok bool) {
	for _, ap := range e.aggrs {
		q, listed := e.kprobeTable.Owned(ap.addr)
		if ap.Unused() && (!ap.freed || listed && q == ap) {
			return ap.addr, true
		}
	}
	return 0, false
}

// CalledInVain returns an address that ftrace calls the engine from, and that no aggr in
// the table stands for. ok false: there is none.
func (e *Engine) CalledInVain() (at arch.Addr, ok bool) {
	for _, ap := range e.aggrs {
		if !ap.verdict.Ftrace || !e.calledFrom(ap.addr) {
			continue
		}
		if q, listed := e.kprobeTable.Owned(ap.addr); !listed || q.Unused() {
			return ap.addr, true
		}
	}
	return 0, false
}

// Busy returns a CPU that is still with a probe it has hit, and where that is. ok false:
// there is none.
func (e *Engine) Busy() (cpu int, at arch.Addr, ok bool) {
	for cpu := range e.d.CPUs {
		kcb := e.kcb.Of(cpu)
		for _, ap := range [...]*Aggr{kcb.current, kcb.prevKprobe.current} {
			if ap != nil {
				return cpu, ap.addr, true
			}
		}
	}
	return 0, 0, false
}

// InFlight returns an instance that is in a list of calls in flight. ok false: there is
// none.
func (e *Engine) InFlight() (ri *Instance, ok bool) {
	t := &e.ret
	for i := range t.buckets {
		if calls := t.buckets[i].calls.Owned(); len(calls) > 0 {
			return calls[0], true
		}
	}
	if !t.ready.Owned() || !e.listed() {
		return nil, false
	}
	for i := range t.calls {
		if ri := t.calls[i].Owned(); ri != nil {
			return ri, true
		}
	}
	return nil, false
}
