package kprobes

import (
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// Steps are the named steps of the protocols, as values that are set once, when the
// engine is built. A mutant leaves a step out or wraps it (kprobes/mutants); the
// bodies have no switch. The function that Linux names documents the step.
type Steps struct {
	Register  RegisterSteps
	Arm       ArmSteps
	Optimizer OptimizerSteps
	Hit       HitSteps
	Copy      CopySteps
	Ret       RetSteps
	Jprobe    JprobeSteps
	Gone      GoneSteps
	Files     FilesSteps
}

// RegisterSteps are the steps of register_kprobe and unregister_kprobe.
type RegisterSteps struct {
	CheckKprobeRereg       func(e *Engine, x kapi.Context, p *Kprobe) error // is it registered already?
	KprobeAddr             func(e *Engine, p *Kprobe) (arch.Addr, error)
	TryModuleGet           func(e *Engine, x kapi.Context, addr arch.Addr) (*kapi.Module, error)
	InitFlags              func(e *Engine, p *Kprobe) Flags // the user's flags that registration keeps
	InitNmissed            func(p *Kprobe) int
	CheckJprobe            func(ap *Aggr, p *Kprobe) error // may a jprobe join?
	AddNewKprobe           func(e *Engine, x kapi.Context, ap *Aggr, p *Kprobe)
	AddTail                func(p *Kprobe) bool // does it run last?
	PublishProbes          func(x kapi.Context, ap *Aggr, list *probeList)
	Rollback               func(e *Engine, x kapi.Context, kps []*Kprobe) // register_kprobes, when one fails
	RegisterKprobes        func(e *Engine, x kapi.Context, kps []*Kprobe) error
	RecoverOptprobed       func(e *Engine, ap *Aggr) bool // are the bytes under its jump known?
	ArmFailed              func(err error) error          // what register_kprobe answers then
	SaveOpcode             func(x kapi.Context, ap *Aggr) // save the byte to restore, if it isn't the image's
	UnregisterKprobes      func(e *Engine, x kapi.Context, kps []*Kprobe) error
	ClearAddr              func(x kapi.Context, p *Kprobe)             // of a probe that isn't registered
	UnregisterWait         func(e *Engine, x kapi.Context, gone *Aggr) // gone: aggrs without probes, or nil
	UnregisterKprobeBottom func(e *Engine, x kapi.Context, gone *Aggr)
	Synchronize            func(e *Engine, x kapi.Context) // wait for handlers that have found a probe
	SynchronizeTasks       func(e *Engine, x kapi.Context) // wait for tasks in a detour whose jump was cancelled
	HideKprobe             func(e *Engine, x kapi.Context, ap *Aggr)
}

// ArmSteps are the steps of enable_kprobe, disable_kprobe, arm_kprobe, disarm_kprobe.
type ArmSteps struct {
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
	WriteProbe         func(e *Engine, x kapi.Context, at arch.Addr, b []byte) // a breakpoint, or what was there
}

// OptimizerSteps are the steps of kprobe_optimizer, and of the functions that queue work for it.
type OptimizerSteps struct {
	AllowOptimization        func(e *Engine) bool // kprobes_allow_optimization
	AllDisarmed              func(e *Engine) bool // kprobes_all_disarmed, as optimize_kprobe sees it
	HasPostHandler           func(ap *Aggr) bool
	ArchCheckOptimizedKprobe func(e *Engine, ap *Aggr) bool
	KeepsJumpAway            func(ap *Aggr) bool // does it keep a jump away from the region around it?
	PrepareOptimizedKprobe   func(e *Engine, x kapi.Context, ap *Aggr)
	CancelUnoptimize         func(e *Engine, x kapi.Context, ap *Aggr) // the aggr is needed again while its jump stands
	OptimizeBlocked          func(e *Engine, x kapi.Context, ap *Aggr) // optimize the aggrs that ap has blocked
	OptimizeBlockedLate      func(e *Engine, x kapi.Context, ap *Aggr) // the same, in the optimizer (after 6.19)
	KprobeOptimizer          func(e *Engine, x kapi.Context)
	DoUnoptimizeKprobes      func(e *Engine, x kapi.Context)
	FreedDisarmed            func(e *Engine, ap *Aggr) bool // does an aggr that has lost its jump lose its breakpoint?
	Quiesce                  func(e *Engine, x kapi.Context)
	DetourSpans              func(e *Engine, x kapi.Context)
	DoFreeCleanedKprobes     func(e *Engine, x kapi.Context)
	KickAgain                func(e *Engine, x kapi.Context)
	FreeOptinsnSlot          func(e *Engine, x kapi.Context, at arch.Addr, size int) // free a detour that can't be made
	ArchUnoptimizeKprobe     func(e *Engine, x kapi.Context, ap *Aggr)
	CopiedInsn               func(ap *Aggr) []byte // the bytes under the jump, after the first
	ClearOptimized           func(x kapi.Context, ap *Aggr)
	OptimizerQueued          func(e *Engine, x kapi.Context) int // the length of its lists
	FlushOptimizer           func(e *Engine, x kapi.Context)
}

// HitSteps are the steps of a hit, kprobe_int3_handler to its end, and of a detour, optimized_callback.
type HitSteps struct {
	KprobeInt3Handler func(e *Engine, x kapi.Context, regs *arch.Regs) (owner uint64)
	UserMode          func(e *Engine, x kapi.Context, regs *arch.Regs) bool
	Reentered         func(e *Engine, x kapi.Context) bool // KPROBE_REENTER
	AggrPreHandler    func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs, stop bool) bool
	AggrPostHandler   func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs)
	CallPreHandler    func(e *Engine, x kapi.Context, p *Kprobe, regs *arch.Regs) int
	// stop: the hit came by a breakpoint or ftrace, not through a detour
	KprobeDisabled       func(x kapi.Context, p *Kprobe, stop bool) bool
	DetourSkips          func(p *Kprobe) bool
	PostProbes           func(x kapi.Context, ap *Aggr, asked []*Kprobe) []*Kprobe // the probes whose post_handlers run
	OwesPost             func(asked *probeList) bool
	IncNmissed           func(x kapi.Context, probes []*Kprobe)
	SetupDetourExecution func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs, owes bool) bool
	PreemptDisable       func(x kapi.Context)
	PreemptEnable        func(x kapi.Context)
	OptimizedDisabled    func(x kapi.Context, ap *Aggr) bool
	KprobeRunning        func(e *Engine, x kapi.Context) bool
	AdjustSP             func(regs *arch.Regs, word int)
	StoreIP              func(x kapi.Context, at, ip arch.Addr) // of the probe, which emulate_step reads
	StoreRegs            func(e *Engine, x kapi.Context, ap *Aggr, image, sp arch.Addr, regs *arch.Regs)
}

// CopySteps are the steps of a copy: whether it is boosted, and what to correct after a step.
type CopySteps struct {
	StepsBoosted     func(e *Engine, x kapi.Context, ap *Aggr, owes bool) bool
	BoostEnabled     func(e *Engine) bool
	CanBoost         func(e *Engine, ap *Aggr) bool
	Unboost          func(e *Engine, x kapi.Context, ap *Aggr) error
	RunsAt           func(ap *Aggr, at arch.Addr) arch.Addr // the base of relative operands in a copy at at
	Emulate          func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs) (done bool)
	MoveFrame        func(e *Engine, x kapi.Context) // out of the way of what was emulated
	ResumeExecution  func(e *Engine, x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs)
	ResumeOpcode     func(ap *Aggr) (op, group int) // the opcode that was stepped
	RestoreFlags     func(kcb *kprobeCtlblk, regs *arch.Regs)
	FixPushedFlags   func(e *Engine, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory)
	FixReturnAddress func(e *Engine, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory)
	MaskIRQs         func(regs *arch.Regs)           // while a copy is stepped
	RewindIP         func(ap *Aggr, regs *arch.Regs) // after a copy has faulted
	ClearTF          func(regs *arch.Regs)           // after a copy has faulted
	CancelFlags      func(kcb *kprobeCtlblk, regs *arch.Regs)
}

// RetSteps are the steps of return probes.
type RetSteps struct {
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
	// LeaveCalls takes the newest calls of a task off its list, up to to.
	LeaveCalls     func(x kapi.Context, first *kapi.Var[*Instance], to *Instance)
	LeaveBucket    func(x kapi.Context, calls *kapi.List[*Instance], ri *Instance)
	ObjpoolPop     func(x kapi.Context, slot *ObjpoolSlot) *Instance
	ObjpoolPublish func(x kapi.Context, slot *ObjpoolSlot, tail uint32) // an instance is at tail
	ObjpoolFilled  func(slot *ObjpoolSlot) uint32                       // up to where, when no CPU pushes
	TrampolineAggr func(e *Engine) *Aggr
}

// JprobeSteps are the steps of jprobes.
type JprobeSteps struct {
	JprobeStack         func(e *Engine, x kapi.Context, regs *arch.Regs) int // bytes of the stack that are kept
	JprobeRegs          func(regs, saved *arch.Regs)
	LongjmpBreakHandler func(e *Engine, x kapi.Context, at arch.Addr, regs *arch.Regs) bool
}

// GoneSteps are the steps for modules and ftrace.
type GoneSteps struct {
	InTable             func(e *Engine, ap *Aggr) bool
	KillKprobe          func(e *Engine, x kapi.Context, ap *Aggr)
	KillUnused          func(e *Engine, x kapi.Context, ap *Aggr)
	DisarmKprobeFtrace  func(e *Engine, x kapi.Context, ap *Aggr)
	SyncFtrace          func(e *Engine, x kapi.Context) // wait until no CPU is on its way to an unregistered client
	ArmedIPModify       func(e *Engine, ap *Aggr) bool  // was it armed with kprobe_ipmodify_ops?
	KprobeFtraceHandler func(e *Engine, x kapi.Context, ip arch.Addr, regs *arch.Regs)
}

// FilesSteps are the steps of the interface files.
type FilesSteps struct {
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
	// ShowKprobeAddr shows a chain of the table to a reader.
	ShowKprobeAddr func(e *Engine, x kapi.Context, chain int, show Show)
	ReadEnabled    func(e *Engine) bool
}

// Linux are the steps of the repaired algorithm.
func Linux() *Steps { s := linux; return &s }

var linux = Steps{
	Register: RegisterSteps{
		CheckKprobeRereg: func(_ *Engine, _ kapi.Context, p *Kprobe) error { return notRegistered(p) },
		KprobeAddr:       func(e *Engine, p *Kprobe) (arch.Addr, error) { return e.text.kprobeAddr(p) },
		TryModuleGet: func(e *Engine, x kapi.Context, addr arch.Addr) (*kapi.Module, error) {
			return e.modules.tryModuleGet(x, addr)
		},
		InitFlags: func(e *Engine, p *Kprobe) Flags {
			if !e.s.Batches { // the flag is of the same age
				return 0
			}
			return p.Flags & FlagDisabled
		},
		InitNmissed: func(*Kprobe) int { return 0 },
		ArmFailed:   func(err error) error { return err },
		CheckJprobe: func(ap *Aggr, p *Kprobe) error {
			if p.jp != nil && ap.hasJprobe() {
				return EEXIST
			}
			return nil
		},
		AddNewKprobe: func(e *Engine, x kapi.Context, ap *Aggr, p *Kprobe) {
			e.Table.replaceProbes(x, ap, p, nil)
		},
		AddTail: func(p *Kprobe) bool { return p.jp != nil },
		PublishProbes: func(x kapi.Context, ap *Aggr, list *probeList) {
			ap.probes.StoreRelease(x, probesPublish, list)
		},
		Rollback:               func(e *Engine, x kapi.Context, kps []*Kprobe) { _ = e.unregisterKprobes(x, kps) },
		RegisterKprobes:        (*Engine).registerKprobes,
		RecoverOptprobed:       func(*Engine, *Aggr) bool { return true },
		SaveOpcode:             func(kapi.Context, *Aggr) {},
		UnregisterKprobes:      (*Engine).unregisterKprobes,
		ClearAddr:              func(_ kapi.Context, p *Kprobe) { p.Addr = 0 },
		UnregisterWait:         func(e *Engine, x kapi.Context, _ *Aggr) { e.do.Register.Synchronize(e, x) },
		UnregisterKprobeBottom: (*Engine).unregisterKprobeBottom,
		Synchronize:            func(e *Engine, x kapi.Context) { e.d.RCU.Synchronize(x, kapi.QuiesceRCU) },
		SynchronizeTasks:       func(e *Engine, x kapi.Context) { e.d.RCU.Synchronize(x, kapi.QuiesceTasks) },
		HideKprobe:             func(e *Engine, x kapi.Context, ap *Aggr) { e.Table.probes.Del(x, ap.addr) },
	},
	Arm: ArmSteps{
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
		RestoreOpcode:      (*Engine).restoreOpcode,
		WriteProbe:         (*Engine).writeProbe,
		GetOptimizedKprobe: func(e *Engine, addr arch.Addr) *Aggr { return e.Table.getOptimizedKprobe(addr) },
		LockText:           func(e *Engine, x kapi.Context) { e.locks.lockText(x) },
		LockSites:          func(e *Engine, x kapi.Context) { e.locks.lockSites(x) },
	},
	Optimizer: OptimizerSteps{
		AllowOptimization:        func(e *Engine) bool { return e.Optimizer.kprobesAllowOptimization },
		AllDisarmed:              func(e *Engine) bool { return e.Files.kprobesAllDisarmed },
		HasPostHandler:           (*Aggr).post,
		ArchCheckOptimizedKprobe: func(e *Engine, ap *Aggr) bool { return e.Optimizer.archCheckOptimizedKprobe(ap) },
		KeepsJumpAway:            (*Aggr).Armed,
		PrepareOptimizedKprobe: func(e *Engine, x kapi.Context, ap *Aggr) {
			e.Optimizer.prepareOptimizedKprobe(x, ap)
		},
		CancelUnoptimize:    func(e *Engine, x kapi.Context, ap *Aggr) { e.Optimizer.enlist(x, ap, nil) },
		OptimizeBlocked:     func(e *Engine, x kapi.Context, ap *Aggr) { e.Optimizer.optimizeBlocked(x, ap) },
		OptimizeBlockedLate: func(e *Engine, x kapi.Context, ap *Aggr) { e.do.Optimizer.OptimizeBlocked(e, x, ap) },
		KprobeOptimizer:     func(e *Engine, x kapi.Context) { e.Optimizer.kprobeOptimizer(x) },
		DoUnoptimizeKprobes: func(e *Engine, x kapi.Context) { e.Optimizer.doUnoptimizeKprobes(x) },
		FreedDisarmed: func(e *Engine, ap *Aggr) bool {
			return !e.do.Arm.AggrEnabled(ap) || e.Files.kprobesAllDisarmed
		},
		Quiesce:              func(e *Engine, x kapi.Context) { e.Optimizer.quiesce(x) },
		DetourSpans:          func(e *Engine, x kapi.Context) { e.Optimizer.detourSpans(x) },
		DoFreeCleanedKprobes: func(e *Engine, x kapi.Context) { e.Optimizer.doFreeCleanedKprobes(x) },
		KickAgain:            func(e *Engine, x kapi.Context) { e.Optimizer.kickAgain(x) },
		FreeOptinsnSlot: func(e *Engine, x kapi.Context, at arch.Addr, size int) {
			e.d.Exec.Free(x, at, size, kpev.DetourMem)
		},
		ArchUnoptimizeKprobe: func(e *Engine, x kapi.Context, ap *Aggr) { e.Optimizer.archUnoptimizeKprobe(x, ap) },
		CopiedInsn:           func(ap *Aggr) []byte { return ap.orig[1:jumpSize] },
		ClearOptimized:       func(x kapi.Context, ap *Aggr) { ap.optimized.WriteOnce(x, false) },
		OptimizerQueued: func(e *Engine, x kapi.Context) int {
			return e.Optimizer.optimizingList.Len(x) + e.Optimizer.unoptimizingList.Len(x) + e.Optimizer.freeingList.Len(x)
		},
		FlushOptimizer: func(e *Engine, x kapi.Context) { e.Optimizer.optimizingWork.Flush(x) },
	},
	Hit: HitSteps{
		KprobeInt3Handler: func(e *Engine, x kapi.Context, regs *arch.Regs) uint64 {
			return e.Hits.kprobeInt3Handler(x, regs)
		},
		UserMode:  func(e *Engine, x kapi.Context, _ *arch.Regs) bool { return e.d.Traps.FromUser(x) },
		Reentered: func(e *Engine, x kapi.Context) bool { return e.Hits.reentered(x) },
		AggrPreHandler: func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs, stop bool) bool {
			return e.Hits.aggrPreHandler(x, ap, regs, stop)
		},
		AggrPostHandler: func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs) {
			e.Hits.aggrPostHandler(x, ap, regs)
		},
		CallPreHandler: func(e *Engine, x kapi.Context, p *Kprobe, regs *arch.Regs) int {
			return e.Hits.callPreHandler(x, p, regs)
		},
		KprobeDisabled: func(x kapi.Context, p *Kprobe, _ bool) bool { return p.disabled.ReadOnce(x) },
		DetourSkips:    func(p *Kprobe) bool { return p.Post != nil || p.jp != nil },
		PostProbes:     func(_ kapi.Context, _ *Aggr, asked []*Kprobe) []*Kprobe { return asked },
		OwesPost:       (*probeList).owesPost,
		IncNmissed:     incNmissed,
		SetupDetourExecution: func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs, owes bool) bool {
			return e.Hits.setupDetourExecution(x, ap, regs, owes)
		},
		PreemptDisable:    kapi.Context.PreemptDisable,
		PreemptEnable:     kapi.Context.PreemptEnable,
		OptimizedDisabled: func(x kapi.Context, ap *Aggr) bool { return !ap.runs(x) },
		KprobeRunning:     func(e *Engine, x kapi.Context) bool { return e.Hits.kcb.This(x).current != nil },
		AdjustSP:          adjustSP,
		StoreIP:           func(x kapi.Context, at, ip arch.Addr) { x.Memory().Store(at, 8, uint64(ip)) },
		StoreRegs: func(e *Engine, x kapi.Context, a1 *Aggr, image arch.Addr, a3 arch.Addr, regs *arch.Regs) {
			e.Hits.storeRegs(x, a1, image, a3, regs)
		},
	},
	Copy: CopySteps{
		StepsBoosted: func(e *Engine, x kapi.Context, ap *Aggr, owes bool) bool {
			return e.slots.stepsAll(x, ap, owes)
		},
		BoostEnabled: func(e *Engine) bool { return e.s.Boost != era.BoostNever && !e.s.Kernel.Preemption },
		CanBoost:     func(e *Engine, ap *Aggr) bool { return e.text.looked.judge.JumpsBack(&ap.verdict) },
		Unboost:      func(e *Engine, x kapi.Context, ap *Aggr) error { return e.slots.unboost(x, ap) },
		RunsAt:       func(_ *Aggr, at arch.Addr) arch.Addr { return at },
		Emulate: func(e *Engine, x kapi.Context, ap *Aggr, regs *arch.Regs) bool {
			return e.Hits.emulate(x, ap, regs)
		},
		MoveFrame: func(e *Engine, x kapi.Context) { e.d.Traps.Stepped(x) },
		ResumeExecution: func(e *Engine, x kapi.Context, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs) {
			e.row.resume(&e.Hits, x, kcb, ap, regs)
		},
		ResumeOpcode: resumeOpcode,
		RestoreFlags: func(kcb *kprobeCtlblk, regs *arch.Regs) { regs.Flags |= kcb.savedFlags },
		FixPushedFlags: func(e *Engine, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory) {
			e.Hits.fixPushedFlags(kcb, ap, regs, m)
		},
		FixReturnAddress: func(e *Engine, kcb *kprobeCtlblk, ap *Aggr, regs *arch.Regs, m arch.Memory) {
			e.Hits.fixReturnAddress(kcb, ap, regs, m)
		},
		MaskIRQs:    func(regs *arch.Regs) { regs.Flags &^= arch.IRQ },
		RewindIP:    func(ap *Aggr, regs *arch.Regs) { regs.IP = ap.addr },
		ClearTF:     func(regs *arch.Regs) { regs.Flags &^= arch.Step },
		CancelFlags: func(kcb *kprobeCtlblk, regs *arch.Regs) { regs.Flags |= kcb.oldFlags },
	},
	Ret: RetSteps{
		CheckKretprobeRereg:  func(rp *Kretprobe) error { return notRegistered(&rp.Kprobe) },
		OnFuncEntry:          func(at, entry arch.Addr) bool { return at == entry },
		KretprobeBlacklisted: rules.KretprobeBlacklisted,
		AllocRethook:         func(e *Engine, x kapi.Context, rp *Kretprobe) { e.Kretprobes.newHolder(x, rp) },
		InitInstance:         func(*Kretprobe, *Instance) {},
		HolderOwnRefs:        func() int { return 1 },
		PreHandlerKretprobe: func(e *Engine, x kapi.Context, p *Kprobe, regs *arch.Regs) int {
			return e.Rethook.preHandlerKretprobe(x, p, regs)
		},
		InNMI: kapi.Context.InNMI,
		CallEntryHandler: func(x kapi.Context, rp *Kretprobe, ri *Instance, regs *arch.Regs) int {
			return rp.Entry(x, ri, regs)
		},
		RefuseCall:    func(e *Engine, x kapi.Context, ri *Instance) { e.Rethook.refuseCall(x, ri) },
		ReplaceReturn: func(e *Engine, x kapi.Context, regs *arch.Regs) { e.Rethook.replaceReturn(x, regs) },
		SameFrame:     func(of, frame arch.Addr) bool { return of == frame },
		KretprobeRethookHandler: func(e *Engine, x kapi.Context, ri *Instance, to arch.Addr, regs *arch.Regs) {
			e.Rethook.kretprobeRethookHandler(x, ri, to, regs)
		},
		SetRetAddr:     func(_ *Engine, ri *Instance, to arch.Addr) { ri.RetAddr = to },
		ReturnLost:     func(e *Engine, x kapi.Context) { e.Rethook.lost(x) },
		FlushTask:      func(e *Engine, x kapi.Context) { e.Rethook.flushTask(x) },
		FreeFlushed:    freeAll,
		LeaveCalls:     func(x kapi.Context, first *kapi.Var[*Instance], to *Instance) { first.WriteOnce(x, to) },
		LeaveBucket:    func(x kapi.Context, calls *kapi.List[*Instance], ri *Instance) { calls.Del(x, ri) },
		ObjpoolPop:     func(x kapi.Context, slot *ObjpoolSlot) *Instance { return slot.pop(x) },
		ObjpoolPublish: func(kapi.Context, *ObjpoolSlot, uint32) {},
		ObjpoolFilled:  func(slot *ObjpoolSlot) uint32 { return slot.tail.Owned() },
		TrampolineAggr: func(e *Engine) *Aggr { return e.Rethook.trampolineAggr() },
	},
	Jprobe: JprobeSteps{
		JprobeStack: func(e *Engine, x kapi.Context, regs *arch.Regs) int {
			return int(min(arch.Addr(e.row.keeps), e.d.Tasks.StackTop(x)-e.cpu.StackPointer(regs)))
		},
		JprobeRegs: func(regs, saved *arch.Regs) { *regs = *saved },
		LongjmpBreakHandler: func(e *Engine, x kapi.Context, at arch.Addr, regs *arch.Regs) bool {
			return e.Jprobes.longjmpBreakHandler(x, at, regs)
		},
	},
	Gone: GoneSteps{
		InTable: func(e *Engine, ap *Aggr) bool {
			q, ok := e.Table.probes.Owned(ap.addr)
			return ok && q == ap
		},
		KillKprobe:         func(e *Engine, x kapi.Context, ap *Aggr) { e.modules.killKprobe(x, ap) },
		KillUnused:         func(e *Engine, x kapi.Context, ap *Aggr) { e.modules.killUnused(x, ap) },
		DisarmKprobeFtrace: func(e *Engine, x kapi.Context, ap *Aggr) { e.Ftrace.disarmKprobeFtrace(x, ap) },
		SyncFtrace:         func(e *Engine, x kapi.Context) { e.d.RCU.Synchronize(x, kapi.QuiesceSched) },
		ArmedIPModify:      func(e *Engine, ap *Aggr) bool { return ap.client == &e.Ftrace.kprobeIpmodifyOps },
		KprobeFtraceHandler: func(e *Engine, x kapi.Context, ip arch.Addr, regs *arch.Regs) {
			e.Ftrace.callFtraceHandlers(x, ip, regs)
		},
	},
	Files: FilesSteps{
		InitKprobes:      func(e *Engine) { e.Optimizer.kprobesAllowOptimization = true },
		SetAllDisarmed:   func(e *Engine, on bool) { e.Files.kprobesAllDisarmed = on },
		ArmAllKprobes:    func(e *Engine, x kapi.Context) (int, int) { return e.Files.armAllKprobes(x) },
		DisarmAllKprobes: func(e *Engine, x kapi.Context) { e.Files.disarmAllKprobes(x) },
		ParseEnabled:     func(e *Engine, s string) (bool, bool) { return e.Files.parseEnabled(s) },
		SysctlRange:      func(n uint64) bool { return n <= 1 },
		ShowKprobes:      func(e *Engine, buf []byte, ap *Aggr) []byte { return e.Files.showKprobes(buf, ap) },
		ProbeType:        probeType,
		ListedModule:     func(name string) string { return name },
		ListedFlags:      func(_ *Engine, ap *Aggr, p *Kprobe) Flags { return p.flagsAt(ap) },
		ShowKprobeAddr: func(e *Engine, x kapi.Context, chain int, show Show) {
			x.PreemptDisable()
			e.Files.WalkChain(x, chain, show)
			x.PreemptEnable()
		},
		ReadEnabled: func(e *Engine) bool { return !e.Files.kprobesAllDisarmed },
	},
}

// probesPublish is the order of a probe and the list that it is found in.
var probesPublish = kapi.DefineBarrier("kprobe: publish the probes of an address", kapi.OrderRelease,
	"add_new_kprobe, kernel/kprobes.c: list_add_rcu(); register_aggr_kprobe: hlist_replace_rcu()")

// notRegistered returns EINVAL for a probe that is registered.
func notRegistered(p *Kprobe) error {
	if p.aggr != nil {
		return EINVAL
	}
	return nil
}
