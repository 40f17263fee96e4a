package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// Steps are the named steps of the protocols, as values that are set once, when the
// engine is built. A mutant leaves a step out or wraps it (kprobes/mutants); the
// bodies have no switch. What a step does is said at the function that Linux names.
type Steps struct {
	// register_kprobe and unregister_kprobe.
	CheckKprobeRereg       func(e *Engine, x kapi.Context, k *Kprobe) error // is it registered already?
	KprobeAddr             func(e *Engine, k *Kprobe) (arch.Addr, error)
	TryModuleGet           func(e *Engine, x kapi.Context, addr arch.Addr) (*kapi.Module, error)
	InitFlags              func(e *Engine, k *Kprobe) Flags // those that are kept of its user's
	InitNmissed            func(k *Kprobe) int
	CheckJprobe            func(p *Aggr, k *Kprobe) error // may a jprobe join?
	AddNewKprobe           func(e *Engine, x kapi.Context, p *Aggr, k *Kprobe)
	AddTail                func(k *Kprobe) bool // does it run last?
	PublishProbes          func(x kapi.Context, p *Aggr, list *probeList)
	Rollback               func(e *Engine, x kapi.Context, ks []*Kprobe) // register_kprobes, when one fails
	UnregisterKprobes      func(e *Engine, x kapi.Context, ks []*Kprobe) error
	ClearAddr              func(k *Kprobe)                             // of what isn't registered
	UnregisterWait         func(e *Engine, x kapi.Context, gone *Aggr) // gone: aggrs whose last probe goes, nil: none
	UnregisterKprobeBottom func(e *Engine, x kapi.Context, gone *Aggr)
	Synchronize            func(e *Engine, x kapi.Context) // wait for handlers that have found something
	SynchronizeTasks       func(e *Engine, x kapi.Context) // wait for tasks in a detour that was cancelled
	HideKprobe             func(e *Engine, x kapi.Context, p *Aggr)

	// enable_kprobe, disable_kprobe, arm_kprobe, disarm_kprobe.
	EnableKprobe       func(e *Engine, x kapi.Context, k *Kprobe) error
	DisableKprobe      func(e *Engine, x kapi.Context, k *Kprobe) error
	EnableAggr         func(e *Engine, x kapi.Context, p *Aggr, k *Kprobe) error
	SetDisabled        func(x kapi.Context, k *Kprobe, on bool)
	AggrEnabled        func(p *Aggr) bool
	DisarmDisabled     func(e *Engine, x kapi.Context, p *Aggr)
	ArmKprobe          func(e *Engine, x kapi.Context, p *Aggr) error
	ArmKprobeNow       func(e *Engine, x kapi.Context, p *Aggr) error
	ArchArmKprobe      func(e *Engine, x kapi.Context, p *Aggr) // the breakpoint, and a sync
	DisarmKprobe       func(e *Engine, x kapi.Context, p *Aggr) bool
	RestoreOpcode      func(e *Engine, x kapi.Context, p *Aggr) // the original byte
	GetOptimizedKprobe func(e *Engine, addr arch.Addr) *Aggr
	LockText           func(e *Engine, x kapi.Context)
	LockSites          func(e *Engine, x kapi.Context)

	// The optimizer.
	AllowOptimization        func(e *Engine) bool // kprobes_allow_optimization
	AllDisarmed              func(e *Engine) bool // kprobes_all_disarmed, as optimize_kprobe sees it
	HasPostHandler           func(p *Aggr) bool
	ArchCheckOptimizedKprobe func(e *Engine, p *Aggr) bool
	PrepareOptimizedKprobe   func(e *Engine, x kapi.Context, p *Aggr)
	CancelUnoptimize         func(e *Engine, x kapi.Context, p *Aggr) // it is wanted again before its jump is gone
	OptimizeBlocked          func(e *Engine, x kapi.Context, p *Aggr) // those that p has blocked
	OptimizeBlockedLate      func(e *Engine, x kapi.Context, p *Aggr) // the same, by the optimizer (after 6.19)
	KprobeOptimizer          func(e *Engine, x kapi.Context)
	DoUnoptimizeKprobes      func(e *Engine, x kapi.Context)
	FreedDisarmed            func(e *Engine, p *Aggr) bool // does what has lost its jump lose its breakpoint?
	Quiesce                  func(e *Engine, x kapi.Context)
	DetourSpans              func(e *Engine, x kapi.Context)
	DoFreeCleanedKprobes     func(e *Engine, x kapi.Context)
	KickAgain                func(e *Engine, x kapi.Context)
	ArchUnoptimizeKprobe     func(e *Engine, x kapi.Context, p *Aggr)
	CopiedInsn               func(p *Aggr) []byte // what stood under the jump, after its first byte
	ClearOptimized           func(x kapi.Context, p *Aggr)
	OptimizerQueued          func(e *Engine, x kapi.Context) int // how many are on its lists
	FlushOptimizer           func(e *Engine, x kapi.Context)

	// A hit: kprobe_int3_handler to its end.
	KprobeInt3Handler    func(e *Engine, x kapi.Context, regs *arch.Regs) (owner uint64)
	Reentered            func(e *Engine, x kapi.Context) bool // KPROBE_REENTER
	AggrPreHandler       func(e *Engine, x kapi.Context, p *Aggr, regs *arch.Regs, stop bool) bool
	AggrPostHandler      func(e *Engine, x kapi.Context, p *Aggr, regs *arch.Regs)
	CallPreHandler       func(e *Engine, x kapi.Context, k *Kprobe, regs *arch.Regs) int
	KprobeDisabled       func(x kapi.Context, k *Kprobe, stop bool) bool // stop: by a breakpoint or ftrace, not in a detour
	DetourSkips          func(k *Kprobe) bool
	PostProbes           func(x kapi.Context, p *Aggr, asked []*Kprobe) []*Kprobe // whose post_handlers run
	OwesPost             func(asked *probeList) bool
	IncNmissed           func(x kapi.Context, probes []*Kprobe)
	SetupDetourExecution func(e *Engine, x kapi.Context, p *Aggr, regs *arch.Regs, owes bool) bool
	StepsBoosted         func(e *Engine, x kapi.Context, p *Aggr, owes bool) bool
	BoostEnabled         func(e *Engine) bool
	CanBoost             func(e *Engine, p *Aggr) bool
	Unboost              func(e *Engine, x kapi.Context, p *Aggr) error
	RunsAt               func(p *Aggr, at arch.Addr) arch.Addr // for what in a copy at at is relative
	Emulate              func(e *Engine, x kapi.Context, p *Aggr, regs *arch.Regs)
	RestoreFlags         func(b *kprobeCtlblk, regs *arch.Regs)
	FixPushedFlags       func(b *kprobeCtlblk, p *Aggr, regs *arch.Regs, m arch.Memory)
	FixReturnAddress     func(b *kprobeCtlblk, p *Aggr, regs *arch.Regs, m arch.Memory)
	RewindIP             func(p *Aggr, regs *arch.Regs) // a copy has faulted
	ClearTF              func(regs *arch.Regs)          // likewise

	// A detour: optimized_callback.
	PreemptDisable    func(x kapi.Context)
	PreemptEnable     func(x kapi.Context)
	OptimizedDisabled func(x kapi.Context, p *Aggr) bool
	KprobeRunning     func(e *Engine, x kapi.Context) bool
	AdjustSP          func(regs *arch.Regs)
	StoreRegs         func(x kapi.Context, p *Aggr, cpu, regs *arch.Regs)

	// Return probes.
	CheckKretprobeRereg     func(r *Kretprobe) error
	OnFuncEntry             func(at, entry arch.Addr) bool
	KretprobeBlacklisted    func(name string) bool
	AllocRethook            func(e *Engine, x kapi.Context, r *Kretprobe)
	InitInstance            func(r *Kretprobe, ri *Instance)
	HolderOwnRefs           func() int // references of the return probe itself to its holder
	PreHandlerKretprobe     func(e *Engine, x kapi.Context, k *Kprobe, regs *arch.Regs) int
	InNMI                   func(x kapi.Context) bool
	CallEntryHandler        func(x kapi.Context, r *Kretprobe, ri *Instance, regs *arch.Regs) int
	ReplaceReturn           func(e *Engine, x kapi.Context, regs *arch.Regs)
	SameFrame               func(of, frame arch.Addr) bool
	KretprobeRethookHandler func(e *Engine, x kapi.Context, ri *Instance, to arch.Addr, regs *arch.Regs)
	SetRetAddr              func(e *Engine, ri *Instance, to arch.Addr)
	ReturnLost              func(e *Engine, x kapi.Context)
	FlushTask               func(e *Engine, x kapi.Context)
	FreeFlushed             func(x kapi.Context, ri *Instance)
	ObjpoolPop              func(x kapi.Context, r *ObjpoolSlot) *Instance
	ObjpoolPublish          func(x kapi.Context, r *ObjpoolSlot, tail uint32) // an instance is at tail
	ObjpoolFilled           func(r *ObjpoolSlot) uint32                       // up to where, when no CPU pushes
	TrampolineAggr          func(e *Engine) *Aggr

	// Jprobes.
	JprobeStack         func(e *Engine, x kapi.Context, regs *arch.Regs) int // bytes of the stack that are kept
	JprobeRegs          func(regs, saved *arch.Regs)
	LongjmpBreakHandler func(e *Engine, x kapi.Context, at arch.Addr, regs *arch.Regs) bool

	// Modules and ftrace.
	InTable             func(e *Engine, p *Aggr) bool
	KillKprobe          func(e *Engine, x kapi.Context, p *Aggr)
	DisarmKprobeFtrace  func(e *Engine, x kapi.Context, p *Aggr)
	ArmedIPModify       func(e *Engine, p *Aggr) bool // with kprobe_ipmodify_ops
	KprobeFtraceHandler func(e *Engine, x kapi.Context, ip arch.Addr, regs *arch.Regs)

	// Files.
	InitKprobes      func(e *Engine)
	SetAllDisarmed   func(e *Engine, on bool)
	ArmAllKprobes    func(e *Engine, x kapi.Context)
	DisarmAllKprobes func(e *Engine, x kapi.Context)
	ParseEnabled     func(e *Engine, s string) (on, ok bool)
	SysctlRange      func(n uint64) bool
	ShowKprobes      func(e *Engine, buf []byte, p *Aggr) []byte
	ProbeType        func(k *Kprobe) byte
	ListedModule     func(name string) string
	ListedFlags      func(e *Engine, p *Aggr, k *Kprobe) Flags
}

// Linux are the steps of the repaired algorithm.
func Linux() *Steps { s := linux; return &s }

var linux = Steps{
	CheckKprobeRereg: func(_ *Engine, _ kapi.Context, k *Kprobe) error { return notRegistered(k) },
	KprobeAddr:       (*Engine).kprobeAddr,
	TryModuleGet:     (*Engine).tryModuleGet,
	InitFlags: func(e *Engine, k *Kprobe) Flags {
		if !e.s.Batches { // the flag is of the same age
			return 0
		}
		return k.Flags & FlagDisabled
	},
	InitNmissed: func(*Kprobe) int { return 0 },
	CheckJprobe: func(p *Aggr, k *Kprobe) error {
		if k.jp != nil && p.hasJprobe() {
			return EEXIST
		}
		return nil
	},
	AddNewKprobe:           func(e *Engine, x kapi.Context, p *Aggr, k *Kprobe) { e.replaceProbes(x, p, k, nil) },
	AddTail:                func(k *Kprobe) bool { return k.jp != nil },
	PublishProbes:          func(x kapi.Context, p *Aggr, list *probeList) { p.probes.Store(x, list) },
	Rollback:               func(e *Engine, x kapi.Context, ks []*Kprobe) { _ = e.unregisterKprobes(x, ks) },
	UnregisterKprobes:      (*Engine).unregisterKprobes,
	ClearAddr:              func(k *Kprobe) { k.Addr = 0 },
	UnregisterWait:         func(e *Engine, x kapi.Context, _ *Aggr) { e.do.Synchronize(e, x) },
	UnregisterKprobeBottom: (*Engine).unregisterKprobeBottom,
	Synchronize:            func(e *Engine, x kapi.Context) { e.d.RCU.Synchronize(x, kapi.QuiesceRCU) },
	SynchronizeTasks:       func(e *Engine, x kapi.Context) { e.d.RCU.Synchronize(x, kapi.QuiesceTasks) },
	HideKprobe:             func(e *Engine, x kapi.Context, p *Aggr) { e.table.Del(x, p.addr) },

	EnableKprobe:       (*Engine).enableKprobe,
	DisableKprobe:      (*Engine).disableKprobe,
	EnableAggr:         (*Engine).enableAggr,
	SetDisabled:        func(x kapi.Context, k *Kprobe, on bool) { k.disabled.Store(x, on) },
	AggrEnabled:        (*Aggr).enabled,
	DisarmDisabled:     (*Engine).disarmDisabled,
	ArmKprobe:          (*Engine).armKprobe,
	ArmKprobeNow:       (*Engine).armKprobeNow,
	ArchArmKprobe:      (*Engine).archArmKprobe,
	DisarmKprobe:       (*Engine).disarmKprobe,
	RestoreOpcode:      func(e *Engine, x kapi.Context, p *Aggr) { e.d.Text.Poke(x, p.addr, p.orig[:1]) },
	GetOptimizedKprobe: (*Engine).getOptimizedKprobe,
	LockText:           (*Engine).lockText,
	LockSites:          (*Engine).lockSites,

	AllowOptimization:        func(e *Engine) bool { return e.allowed },
	AllDisarmed:              func(e *Engine) bool { return e.disarmed },
	HasPostHandler:           (*Aggr).post,
	ArchCheckOptimizedKprobe: (*Engine).archCheckOptimizedKprobe,
	PrepareOptimizedKprobe:   (*Engine).prepareOptimizedKprobe,
	CancelUnoptimize:         func(e *Engine, x kapi.Context, p *Aggr) { e.enlist(x, p, nil) },
	OptimizeBlocked:          (*Engine).optimizeBlocked,
	OptimizeBlockedLate:      func(e *Engine, x kapi.Context, p *Aggr) { e.do.OptimizeBlocked(e, x, p) },
	KprobeOptimizer:          (*Engine).kprobeOptimizer,
	DoUnoptimizeKprobes:      (*Engine).doUnoptimizeKprobes,
	FreedDisarmed:            func(e *Engine, p *Aggr) bool { return !e.do.AggrEnabled(p) || e.disarmed },
	Quiesce:                  (*Engine).quiesce,
	DetourSpans:              (*Engine).detourSpans,
	DoFreeCleanedKprobes:     (*Engine).doFreeCleanedKprobes,
	KickAgain:                (*Engine).kickAgain,
	ArchUnoptimizeKprobe:     (*Engine).archUnoptimizeKprobe,
	CopiedInsn:               func(p *Aggr) []byte { return p.orig[1:jumpSize] },
	ClearOptimized:           func(x kapi.Context, p *Aggr) { p.optimized.Store(x, false) },
	OptimizerQueued: func(e *Engine, x kapi.Context) int {
		return e.optimizing.Len(x) + e.unoptimizing.Len(x) + e.freeing.Len(x)
	},
	FlushOptimizer: func(e *Engine, x kapi.Context) { e.work.Flush(x) },

	KprobeInt3Handler: (*Engine).kprobeInt3Handler,
	Reentered:         func(e *Engine, x kapi.Context) bool { return e.kcb.This(x).status == kprobeReenter },
	AggrPreHandler:    (*Engine).aggrPreHandler,
	AggrPostHandler:   (*Engine).aggrPostHandler,
	CallPreHandler:    (*Engine).callPreHandler,
	KprobeDisabled:    func(x kapi.Context, k *Kprobe, _ bool) bool { return k.disabled.Load(x) },
	DetourSkips:       func(k *Kprobe) bool { return k.Post != nil || k.jp != nil },
	PostProbes:        func(_ kapi.Context, _ *Aggr, asked []*Kprobe) []*Kprobe { return asked },
	OwesPost:          (*probeList).posts,
	IncNmissed:        incNmissed,
	SetupDetourExecution: func(_ *Engine, x kapi.Context, p *Aggr, regs *arch.Regs, owes bool) bool {
		if !p.optimized.Load(x) || owes {
			return false
		}
		regs.IP = p.detour.copyAt() // queued or done: the detour's copy, without its call (4.5)
		return true
	},
	StepsBoosted:     (*Engine).stepsAll,
	BoostEnabled:     func(e *Engine) bool { return e.s.Boost != era.BoostNever && !e.s.Kernel.Preemption },
	CanBoost:         func(e *Engine, p *Aggr) bool { return e.looked.judge.JumpsBack(&p.verdict) },
	Unboost:          (*Engine).unboost,
	RunsAt:           func(_ *Aggr, at arch.Addr) arch.Addr { return at },
	Emulate:          (*Engine).emulate,
	RestoreFlags:     func(b *kprobeCtlblk, regs *arch.Regs) { regs.Flags |= b.saved },
	FixPushedFlags:   fixPushedFlags,
	FixReturnAddress: fixReturnAddress,
	RewindIP:         func(p *Aggr, regs *arch.Regs) { regs.IP = p.addr },
	ClearTF:          func(regs *arch.Regs) { regs.Flags &^= x86.TF },

	PreemptDisable:    kapi.Context.PreemptDisable,
	PreemptEnable:     kapi.Context.PreemptEnable,
	OptimizedDisabled: func(x kapi.Context, p *Aggr) bool { return !p.runs(x) },
	KprobeRunning:     func(e *Engine, x kapi.Context) bool { return e.kcb.This(x).current != nil },
	AdjustSP:          adjustSP,
	StoreRegs:         storeRegs,

	CheckKretprobeRereg:  func(r *Kretprobe) error { return notRegistered(&r.Kprobe) },
	OnFuncEntry:          func(at, entry arch.Addr) bool { return at == entry },
	KretprobeBlacklisted: func(name string) bool { return name == "__switch_to" },
	AllocRethook:         (*Engine).newHolder,
	InitInstance:         func(*Kretprobe, *Instance) {},
	HolderOwnRefs:        func() int { return 1 },
	PreHandlerKretprobe:  (*Engine).preHandlerKretprobe,
	InNMI:                kapi.Context.InNMI,
	CallEntryHandler: func(x kapi.Context, r *Kretprobe, ri *Instance, regs *arch.Regs) int {
		return r.Entry(x, ri, regs)
	},
	ReplaceReturn:           (*Engine).replaceReturn,
	SameFrame:               func(of, frame arch.Addr) bool { return of == frame },
	KretprobeRethookHandler: (*Engine).kretprobeRethookHandler,
	SetRetAddr:              func(_ *Engine, ri *Instance, to arch.Addr) { ri.RetAddr = to },
	ReturnLost:              (*Engine).lost,
	FlushTask:               (*Engine).flushTask,
	FreeFlushed:             freeAll,
	ObjpoolPop:              func(x kapi.Context, r *ObjpoolSlot) *Instance { return r.pop(x) },
	ObjpoolPublish:          func(kapi.Context, *ObjpoolSlot, uint32) {},
	ObjpoolFilled:           func(r *ObjpoolSlot) uint32 { return r.tail.Peek() },
	TrampolineAggr:          (*Engine).trampolineAggr,

	JprobeStack: func(e *Engine, x kapi.Context, regs *arch.Regs) int {
		return int(min(stackCopy, e.d.Tasks.StackTop(x)-x86.SP(regs)))
	},
	JprobeRegs:          func(regs, saved *arch.Regs) { *regs = *saved },
	LongjmpBreakHandler: (*Engine).longjmpBreakHandler,

	InTable: func(e *Engine, p *Aggr) bool {
		q, ok := e.table.Peek(p.addr)
		return ok && q == p
	},
	KillKprobe:          (*Engine).killKprobe,
	DisarmKprobeFtrace:  (*Engine).disarmKprobeFtrace,
	ArmedIPModify:       func(e *Engine, p *Aggr) bool { return p.client == &e.kprobeIpmodifyOps },
	KprobeFtraceHandler: (*Engine).callFtraceHandlers,

	InitKprobes:      func(e *Engine) { e.allowed = true },
	SetAllDisarmed:   func(e *Engine, on bool) { e.disarmed = on },
	ArmAllKprobes:    (*Engine).armAllKprobes,
	DisarmAllKprobes: (*Engine).disarmAllKprobes,
	ParseEnabled:     (*Engine).parseEnabled,
	SysctlRange:      func(n uint64) bool { return n <= 1 },
	ShowKprobes:      (*Engine).showKprobes,
	ProbeType:        probeType,
	ListedModule:     func(name string) string { return name },
	ListedFlags:      func(e *Engine, _ *Aggr, k *Kprobe) Flags { return e.FlagsOf(k) },
}

// notRegistered is EINVAL of a probe that is registered.
func notRegistered(k *Kprobe) error {
	if k.aggr != nil {
		return EINVAL
	}
	return nil
}

// archArmKprobe writes the breakpoint.
func (e *Engine) archArmKprobe(x kapi.Context, p *Aggr) {
	e.d.Text.Poke(x, p.addr, int3[:])
	e.d.Sync.Core(x, kpev.SyncArm)
}
