package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// Steps are the named steps of the protocols, as values that are set once, when the
// engine is built. A mutant leaves a step out or wraps it (kprobes/mutants); the
// bodies have no switch. What a step does is said at the function that Linux names.
type Steps struct {
	// register_kprobe and unregister_kprobe.
	CheckKprobeRereg       func(e *Engine, x kapi.Context, p *Kprobe) error // is it registered already?
	KprobeAddr             func(e *Engine, p *Kprobe) (arch.Addr, error)
	TryModuleGet           func(e *Engine, x kapi.Context, addr arch.Addr) (*kapi.Module, error)
	InitFlags              func(e *Engine, p *Kprobe) Flags // those that are kept of its user's
	InitNmissed            func(p *Kprobe) int
	CheckJprobe            func(ap *Aggr, p *Kprobe) error // may a jprobe join?
	AddNewKprobe           func(e *Engine, x kapi.Context, ap *Aggr, p *Kprobe)
	AddTail                func(p *Kprobe) bool // does it run last?
	PublishProbes          func(x kapi.Context, ap *Aggr, list *probeList)
	Rollback               func(e *Engine, x kapi.Context, kps []*Kprobe) // register_kprobes, when one fails
	RegisterKprobes        func(e *Engine, x kapi.Context, kps []*Kprobe) error
	RecoverOptprobed       func(e *Engine, ap *Aggr) bool // are the bytes under its jump known?
	SaveOpcode             func(x kapi.Context, ap *Aggr) // what disarming puts back, if it isn't what the image had
	UnregisterKprobes      func(e *Engine, x kapi.Context, kps []*Kprobe) error
	ClearAddr              func(x kapi.Context, p *Kprobe)             // of what isn't registered
	UnregisterWait         func(e *Engine, x kapi.Context, gone *Aggr) // gone: aggrs whose last probe goes, nil: none
	UnregisterKprobeBottom func(e *Engine, x kapi.Context, gone *Aggr)
	Synchronize            func(e *Engine, x kapi.Context) // wait for handlers that have found something
	SynchronizeTasks       func(e *Engine, x kapi.Context) // wait for tasks in a detour that was cancelled
	HideKprobe             func(e *Engine, x kapi.Context, ap *Aggr)

	// enable_kprobe, disable_kprobe, arm_kprobe, disarm_kprobe.
	EnableKprobe       func(e *Engine, x kapi.Context, p *Kprobe) error
	DisableKprobe      func(e *Engine, x kapi.Context, p *Kprobe) error
	EnableAggr         func(e *Engine, x kapi.Context, ap *Aggr, p *Kprobe) error
	SetDisabled        func(x kapi.Context, p *Kprobe, on bool)
	AggrEnabled        func(ap *Aggr) bool
	DisarmDisabled     func(e *Engine, x kapi.Context, ap *Aggr)
	ArmKprobe          func(e *Engine, x kapi.Context, ap *Aggr) error
	ArmKprobeNow       func(e *Engine, x kapi.Context, ap *Aggr) error
	ArchArmKprobe      func(e *Engine, x kapi.Context, ap *Aggr) // the breakpoint, and a sync
	DisarmKprobe       func(e *Engine, x kapi.Context, ap *Aggr) bool
	RestoreOpcode      func(e *Engine, x kapi.Context, ap *Aggr) // the original byte
	GetOptimizedKprobe func(e *Engine, addr arch.Addr) *Aggr
	LockText           func(e *Engine, x kapi.Context)
	LockSites          func(e *Engine, x kapi.Context)

	// The optimizer.
	AllowOptimization        func(e *Engine) bool // kprobes_allow_optimization
	AllDisarmed              func(e *Engine) bool // kprobes_all_disarmed, as optimize_kprobe sees it
	HasPostHandler           func(ap *Aggr) bool
	ArchCheckOptimizedKprobe func(e *Engine, ap *Aggr) bool
	KeepsJumpAway            func(ap *Aggr) bool // from a region that it stands in
	PrepareOptimizedKprobe   func(e *Engine, x kapi.Context, ap *Aggr)
	CancelUnoptimize         func(e *Engine, x kapi.Context, ap *Aggr) // it is wanted again before its jump is gone
	OptimizeBlocked          func(e *Engine, x kapi.Context, ap *Aggr) // those that ap has blocked
	OptimizeBlockedLate      func(e *Engine, x kapi.Context, ap *Aggr) // the same, by the optimizer (after 6.19)
	KprobeOptimizer          func(e *Engine, x kapi.Context)
	DoUnoptimizeKprobes      func(e *Engine, x kapi.Context)
	FreedDisarmed            func(e *Engine, ap *Aggr) bool // does what has lost its jump lose its breakpoint?
	Quiesce                  func(e *Engine, x kapi.Context)
	DetourSpans              func(e *Engine, x kapi.Context)
	DoFreeCleanedKprobes     func(e *Engine, x kapi.Context)
	KickAgain                func(e *Engine, x kapi.Context)
	FreeOptinsnSlot          func(e *Engine, x kapi.Context, at arch.Addr, size int) // of a detour that can't be made
	ArchUnoptimizeKprobe     func(e *Engine, x kapi.Context, ap *Aggr)
	CopiedInsn               func(ap *Aggr) []byte // what stood under the jump, after its first byte
	ClearOptimized           func(x kapi.Context, ap *Aggr)
	OptimizerQueued          func(e *Engine, x kapi.Context) int // how many are on its lists
	FlushOptimizer           func(e *Engine, x kapi.Context)

	// A hit: kprobe_int3_handler to its end.
	KprobeInt3Handler    func(e *Engine, x kapi.Context, regs *arch.Regs) (owner uint64)
	UserMode             func(e *Engine, x kapi.Context, regs *arch.Regs) bool
	Reentered            func(e *Engine, x kapi.Context) bool // KPROBE_REENTER
	AggrPreHandler       func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs, stop bool) bool
	AggrPostHandler      func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs)
	CallPreHandler       func(e *Engine, x kapi.Context, p *Kprobe, regs *arch.Regs) int
	KprobeDisabled       func(x kapi.Context, p *Kprobe, stop bool) bool // stop: by a breakpoint or ftrace, not in a detour
	DetourSkips          func(p *Kprobe) bool
	PostProbes           func(x kapi.Context, ap *Aggr, asked []*Kprobe) []*Kprobe // whose post_handlers run
	OwesPost             func(asked *probeList) bool
	IncNmissed           func(x kapi.Context, probes []*Kprobe)
	SetupDetourExecution func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs, owes bool) bool
	StepsBoosted         func(e *Engine, x kapi.Context, ap *Aggr, owes bool) bool
	BoostEnabled         func(e *Engine) bool
	CanBoost             func(e *Engine, ap *Aggr) bool
	Unboost              func(e *Engine, x kapi.Context, ap *Aggr) error
	RunsAt               func(ap *Aggr, at arch.Addr) arch.Addr // for what in a copy at at is relative
	Emulate              func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs)
	ResumeExecution      func(e *Engine, x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs)
	ResumeOpcode         func(ap *Aggr) (op, group int) // what was stepped
	RestoreFlags         func(kcb *kprobeCtlblk, regs *arch.Regs)
	FixPushedFlags       func(e *Engine, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory)
	FixReturnAddress     func(e *Engine, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory)
	RewindIP             func(ap *Aggr, regs *arch.Regs) // a copy has faulted
	ClearTF              func(regs *arch.Regs)           // likewise

	// A detour: optimized_callback.
	PreemptDisable    func(x kapi.Context)
	PreemptEnable     func(x kapi.Context)
	OptimizedDisabled func(x kapi.Context, ap *Aggr) bool
	KprobeRunning     func(e *Engine, x kapi.Context) bool
	AdjustSP          func(regs *arch.Regs, word int)
	StoreRegs         func(e *Engine, x kapi.Context, ap *Aggr, image, sp arch.Addr, regs *arch.Regs)

	// Return probes.
	CheckKretprobeRereg     func(rp *Kretprobe) error
	OnFuncEntry             func(at, entry arch.Addr) bool
	KretprobeBlacklisted    func(name string) bool
	AllocRethook            func(e *Engine, x kapi.Context, rp *Kretprobe)
	InitInstance            func(rp *Kretprobe, ri *Instance)
	HolderOwnRefs           func() int // references of the return probe itself to its holder
	PreHandlerKretprobe     func(e *Engine, x kapi.Context, p *Kprobe, regs *arch.Regs) int
	InNMI                   func(x kapi.Context) bool
	CallEntryHandler        func(x kapi.Context, rp *Kretprobe, ri *Instance, regs *arch.Regs) int
	RefuseCall              func(e *Engine, x kapi.Context, ri *Instance) // 2.6.28 to 5.10
	ReplaceReturn           func(e *Engine, x kapi.Context, regs *arch.Regs)
	SameFrame               func(of, frame arch.Addr) bool
	KretprobeRethookHandler func(e *Engine, x kapi.Context, ri *Instance, to arch.Addr, regs *arch.Regs)
	SetRetAddr              func(e *Engine, ri *Instance, to arch.Addr)
	ReturnLost              func(e *Engine, x kapi.Context)
	FlushTask               func(e *Engine, x kapi.Context)
	FreeFlushed             func(x kapi.Context, ri *Instance)
	LeaveCalls              func(x kapi.Context, first *kapi.Var[*Instance], to *Instance) // the newest calls of a task, up to one
	LeaveBucket             func(x kapi.Context, calls *kapi.List[*Instance], ri *Instance)
	ObjpoolPop              func(x kapi.Context, slot *ObjpoolSlot) *Instance
	ObjpoolPublish          func(x kapi.Context, slot *ObjpoolSlot, tail uint32) // an instance is at tail
	ObjpoolFilled           func(slot *ObjpoolSlot) uint32                       // up to where, when no CPU pushes
	TrampolineAggr          func(e *Engine) *Aggr

	// Jprobes.
	JprobeStack         func(e *Engine, x kapi.Context, regs *arch.Regs) int // bytes of the stack that are kept
	JprobeRegs          func(regs, saved *arch.Regs)
	LongjmpBreakHandler func(e *Engine, x kapi.Context, at arch.Addr, regs *arch.Regs) bool

	// Modules and ftrace.
	InTable             func(e *Engine, ap *Aggr) bool
	KillKprobe          func(e *Engine, x kapi.Context, ap *Aggr)
	KillUnused          func(e *Engine, x kapi.Context, ap *Aggr)
	DisarmKprobeFtrace  func(e *Engine, x kapi.Context, ap *Aggr)
	SyncFtrace          func(e *Engine, x kapi.Context) // until no CPU is on its way to a client that was unregistered
	ArmedIPModify       func(e *Engine, ap *Aggr) bool  // with kprobe_ipmodify_ops
	KprobeFtraceHandler func(e *Engine, x kapi.Context, ip arch.Addr, regs *arch.Regs)

	// Files.
	InitKprobes      func(e *Engine)
	SetAllDisarmed   func(e *Engine, on bool)
	ArmAllKprobes    func(e *Engine, x kapi.Context) (failed, all int)
	DisarmAllKprobes func(e *Engine, x kapi.Context)
	ParseEnabled     func(e *Engine, s string) (on, ok bool)
	SysctlRange      func(n uint64) bool
	ShowKprobes      func(e *Engine, buf []byte, ap *Aggr) []byte
	ProbeType        func(p *Kprobe) byte
	ListedModule     func(name string) string
	ListedFlags      func(e *Engine, ap *Aggr, p *Kprobe) Flags
}

// Linux are the steps of the repaired algorithm.
func Linux() *Steps { s := linux; return &s }

var linux = Steps{
	CheckKprobeRereg: func(_ *Engine, _ kapi.Context, p *Kprobe) error { return notRegistered(p) },
	KprobeAddr:       (*Engine).kprobeAddr,
	TryModuleGet:     (*Engine).tryModuleGet,
	InitFlags: func(e *Engine, p *Kprobe) Flags {
		if !e.s.Batches { // the flag is of the same age
			return 0
		}
		return p.Flags & FlagDisabled
	},
	InitNmissed: func(*Kprobe) int { return 0 },
	CheckJprobe: func(ap *Aggr, p *Kprobe) error {
		if p.jp != nil && ap.hasJprobe() {
			return EEXIST
		}
		return nil
	},
	AddNewKprobe:           func(e *Engine, x kapi.Context, ap *Aggr, p *Kprobe) { e.replaceProbes(x, ap, p, nil) },
	AddTail:                func(p *Kprobe) bool { return p.jp != nil },
	PublishProbes:          func(x kapi.Context, ap *Aggr, list *probeList) { ap.probes.StoreRelease(x, probesPublish, list) },
	Rollback:               func(e *Engine, x kapi.Context, kps []*Kprobe) { _ = e.unregisterKprobes(x, kps) },
	RegisterKprobes:        (*Engine).registerKprobes,
	RecoverOptprobed:       func(*Engine, *Aggr) bool { return true },
	SaveOpcode:             func(kapi.Context, *Aggr) {},
	UnregisterKprobes:      (*Engine).unregisterKprobes,
	ClearAddr:              func(_ kapi.Context, p *Kprobe) { p.Addr = 0 },
	UnregisterWait:         func(e *Engine, x kapi.Context, _ *Aggr) { e.do.Synchronize(e, x) },
	UnregisterKprobeBottom: (*Engine).unregisterKprobeBottom,
	Synchronize:            func(e *Engine, x kapi.Context) { e.d.RCU.Synchronize(x, kapi.QuiesceRCU) },
	SynchronizeTasks:       func(e *Engine, x kapi.Context) { e.d.RCU.Synchronize(x, kapi.QuiesceTasks) },
	HideKprobe:             func(e *Engine, x kapi.Context, ap *Aggr) { e.kprobeTable.Del(x, ap.addr) },

	EnableKprobe:       (*Engine).enableKprobe,
	DisableKprobe:      (*Engine).disableKprobe,
	EnableAggr:         (*Engine).enableAggr,
	SetDisabled:        func(x kapi.Context, p *Kprobe, on bool) { p.disabled.WriteOnce(x, on) },
	AggrEnabled:        (*Aggr).enabled,
	DisarmDisabled:     (*Engine).disarmDisabled,
	ArmKprobe:          (*Engine).armKprobe,
	ArmKprobeNow:       (*Engine).armKprobeNow,
	ArchArmKprobe:      (*Engine).archArmKprobe,
	DisarmKprobe:       (*Engine).disarmKprobe,
	RestoreOpcode:      func(e *Engine, x kapi.Context, ap *Aggr) { e.d.Text.Poke(x, ap.addr, ap.orig[:1]) },
	GetOptimizedKprobe: (*Engine).getOptimizedKprobe,
	LockText:           (*Engine).lockText,
	LockSites:          (*Engine).lockSites,

	AllowOptimization:        func(e *Engine) bool { return e.kprobesAllowOptimization },
	AllDisarmed:              func(e *Engine) bool { return e.kprobesAllDisarmed },
	HasPostHandler:           (*Aggr).post,
	ArchCheckOptimizedKprobe: (*Engine).archCheckOptimizedKprobe,
	KeepsJumpAway:            (*Aggr).Armed,
	PrepareOptimizedKprobe:   (*Engine).prepareOptimizedKprobe,
	CancelUnoptimize:         func(e *Engine, x kapi.Context, ap *Aggr) { e.enlist(x, ap, nil) },
	OptimizeBlocked:          (*Engine).optimizeBlocked,
	OptimizeBlockedLate:      func(e *Engine, x kapi.Context, ap *Aggr) { e.do.OptimizeBlocked(e, x, ap) },
	KprobeOptimizer:          (*Engine).kprobeOptimizer,
	DoUnoptimizeKprobes:      (*Engine).doUnoptimizeKprobes,
	FreedDisarmed:            func(e *Engine, ap *Aggr) bool { return !e.do.AggrEnabled(ap) || e.kprobesAllDisarmed },
	Quiesce:                  (*Engine).quiesce,
	DetourSpans:              (*Engine).detourSpans,
	DoFreeCleanedKprobes:     (*Engine).doFreeCleanedKprobes,
	KickAgain:                (*Engine).kickAgain,
	FreeOptinsnSlot:          func(e *Engine, x kapi.Context, at arch.Addr, size int) { e.d.Exec.Free(x, at, size, kpev.DetourMem) },
	ArchUnoptimizeKprobe:     (*Engine).archUnoptimizeKprobe,
	CopiedInsn:               func(ap *Aggr) []byte { return ap.orig[1:jumpSize] },
	ClearOptimized:           func(x kapi.Context, ap *Aggr) { ap.optimized.WriteOnce(x, false) },
	OptimizerQueued: func(e *Engine, x kapi.Context) int {
		return e.optimizingList.Len(x) + e.unoptimizingList.Len(x) + e.freeingList.Len(x)
	},
	FlushOptimizer: func(e *Engine, x kapi.Context) { e.optimizingWork.Flush(x) },

	KprobeInt3Handler:    (*Engine).kprobeInt3Handler,
	UserMode:             func(e *Engine, x kapi.Context, _ *arch.Regs) bool { return e.d.Traps.FromUser(x) },
	Reentered:            func(e *Engine, x kapi.Context) bool { return e.kcb.This(x).status == kprobeReenter },
	AggrPreHandler:       (*Engine).aggrPreHandler,
	AggrPostHandler:      (*Engine).aggrPostHandler,
	CallPreHandler:       (*Engine).callPreHandler,
	KprobeDisabled:       func(x kapi.Context, p *Kprobe, _ bool) bool { return p.disabled.ReadOnce(x) },
	DetourSkips:          func(p *Kprobe) bool { return p.Post != nil || p.jp != nil },
	PostProbes:           func(_ kapi.Context, _ *Aggr, asked []*Kprobe) []*Kprobe { return asked },
	OwesPost:             (*probeList).owesPost,
	IncNmissed:           incNmissed,
	SetupDetourExecution: (*Engine).setupDetourExecution,
	StepsBoosted:         (*Engine).stepsAll,
	BoostEnabled:         func(e *Engine) bool { return e.s.Boost != era.BoostNever && !e.s.Kernel.Preemption },
	CanBoost:             func(e *Engine, ap *Aggr) bool { return e.looked.judge.JumpsBack(&ap.verdict) },
	Unboost:              (*Engine).unboost,
	RunsAt:               func(_ *Aggr, at arch.Addr) arch.Addr { return at },
	Emulate:              (*Engine).emulate,
	ResumeExecution:      (*Engine).resumeExecution,
	ResumeOpcode:         resumeOpcode,
	RestoreFlags:         func(kcb *kprobeCtlblk, regs *arch.Regs) { regs.Flags |= kcb.savedFlags },
	FixPushedFlags:       (*Engine).fixPushedFlags,
	FixReturnAddress:     (*Engine).fixReturnAddress,
	RewindIP:             func(ap *Aggr, regs *arch.Regs) { regs.IP = ap.addr },
	ClearTF:              func(regs *arch.Regs) { regs.Flags &^= x86.TF },

	PreemptDisable:    kapi.Context.PreemptDisable,
	PreemptEnable:     kapi.Context.PreemptEnable,
	OptimizedDisabled: func(x kapi.Context, ap *Aggr) bool { return !ap.runs(x) },
	KprobeRunning:     func(e *Engine, x kapi.Context) bool { return e.kcb.This(x).current != nil },
	AdjustSP:          adjustSP,
	StoreRegs:         (*Engine).storeRegs,

	CheckKretprobeRereg:  func(rp *Kretprobe) error { return notRegistered(&rp.Kprobe) },
	OnFuncEntry:          func(at, entry arch.Addr) bool { return at == entry },
	KretprobeBlacklisted: rules.KretprobeBlacklisted,
	AllocRethook:         (*Engine).newHolder,
	InitInstance:         func(*Kretprobe, *Instance) {},
	HolderOwnRefs:        func() int { return 1 },
	PreHandlerKretprobe:  (*Engine).preHandlerKretprobe,
	InNMI:                kapi.Context.InNMI,
	CallEntryHandler: func(x kapi.Context, rp *Kretprobe, ri *Instance, regs *arch.Regs) int {
		return rp.Entry(x, ri, regs)
	},
	RefuseCall:              (*Engine).refuseCall,
	ReplaceReturn:           (*Engine).replaceReturn,
	SameFrame:               func(of, frame arch.Addr) bool { return of == frame },
	KretprobeRethookHandler: (*Engine).kretprobeRethookHandler,
	SetRetAddr:              func(_ *Engine, ri *Instance, to arch.Addr) { ri.RetAddr = to },
	ReturnLost:              (*Engine).lost,
	FlushTask:               (*Engine).flushTask,
	FreeFlushed:             freeAll,
	LeaveCalls:              func(x kapi.Context, first *kapi.Var[*Instance], to *Instance) { first.WriteOnce(x, to) },
	LeaveBucket:             func(x kapi.Context, calls *kapi.List[*Instance], ri *Instance) { calls.Del(x, ri) },
	ObjpoolPop:              func(x kapi.Context, slot *ObjpoolSlot) *Instance { return slot.pop(x) },
	ObjpoolPublish:          func(kapi.Context, *ObjpoolSlot, uint32) {},
	ObjpoolFilled:           func(slot *ObjpoolSlot) uint32 { return slot.tail.Owned() },
	TrampolineAggr:          (*Engine).trampolineAggr,

	JprobeStack: func(e *Engine, x kapi.Context, regs *arch.Regs) int {
		return int(min(stackCopy, e.d.Tasks.StackTop(x)-x86.SP(regs)))
	},
	JprobeRegs:          func(regs, saved *arch.Regs) { *regs = *saved },
	LongjmpBreakHandler: (*Engine).longjmpBreakHandler,

	InTable: func(e *Engine, ap *Aggr) bool {
		q, ok := e.kprobeTable.Owned(ap.addr)
		return ok && q == ap
	},
	KillKprobe:          (*Engine).killKprobe,
	KillUnused:          (*Engine).killUnused,
	DisarmKprobeFtrace:  (*Engine).disarmKprobeFtrace,
	SyncFtrace:          func(e *Engine, x kapi.Context) { e.d.RCU.Synchronize(x, kapi.QuiesceSched) },
	ArmedIPModify:       func(e *Engine, ap *Aggr) bool { return ap.client == &e.kprobeIpmodifyOps },
	KprobeFtraceHandler: (*Engine).callFtraceHandlers,

	InitKprobes:      func(e *Engine) { e.kprobesAllowOptimization = true },
	SetAllDisarmed:   func(e *Engine, on bool) { e.kprobesAllDisarmed = on },
	ArmAllKprobes:    (*Engine).armAllKprobes,
	DisarmAllKprobes: (*Engine).disarmAllKprobes,
	ParseEnabled:     (*Engine).parseEnabled,
	SysctlRange:      func(n uint64) bool { return n <= 1 },
	ShowKprobes:      (*Engine).showKprobes,
	ProbeType:        probeType,
	ListedModule:     func(name string) string { return name },
	ListedFlags:      func(e *Engine, _ *Aggr, p *Kprobe) Flags { return e.FlagsOf(p) },
}

// probesPublish is the order of a probe and the list that it is found in.
var probesPublish = kapi.DefineBarrier("kprobe: publish the probes of an address", kapi.OrderRelease,
	"add_new_kprobe, kernel/kprobes.c: list_add_rcu(); register_aggr_kprobe: hlist_replace_rcu()")

// notRegistered is EINVAL of a probe that is registered.
func notRegistered(p *Kprobe) error {
	if p.aggr != nil {
		return EINVAL
	}
	return nil
}
