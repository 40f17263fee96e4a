package kprobes

import (
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
)

// Deps are the kernel services that the engine stands on.
type Deps struct {
	CPUs    int
	Cells   *kapi.Cells
	Text    kapi.Text
	Patch   kapi.Patcher // how a jump is written over live text
	Sync    kapi.Sync
	RCU     kapi.RCU
	Locks   kapi.Locks
	Work    kapi.Workqueue
	Exec    kapi.Exec
	Traps   kapi.Traps
	Bind    kapi.Binder
	Symbols kapi.Symbols
	_       struct{}
}

// Settings are what the engine's configuration and edition decide.
type Settings struct {
	Quiesce     kapi.Flavour // what the optimizer waits for (spec 4.6)
	Optprobes   bool         // CONFIG_OPTPROBES
	Breakpoint  bool         // unoptimize by breakpoint and syncs (5.6 and later), else by the patcher
	RemovedInt3 bool         // a breakpoint that is no longer there is handled (until 6.2)

	// IndirectJumps lets a function that has one be optimized: kernels built
	// with retpolines or IBT have no jump tables that could lead into a region.
	IndirectJumps bool
	Mutants       Mutants
	_             struct{}
}

// An Engine is the kprobes of one machine, for one run.
type Engine struct {
	d     Deps     // set at New
	s     Settings // set at New
	mutex kapi.Mutex
	table kapi.Table[isa.Addr, *point] // read by the trap handlers under RCU
	kcb   kapi.PerCPU[kcb]

	code         []byte   // owned by kprobe_mutex: what recover returns
	points       []*point // owned by kprobe_mutex: every point of the run, by id-1
	optimizing   kapi.List[*point]
	unoptimizing kapi.List[*point]
	freeing      kapi.List[*point]
	work         kapi.DelayedWork // set at New
	callback     isa.Addr         // set at New: what detours call
}

// New builds the engine and hooks it to the kernel.
func New(d Deps, s Settings) *Engine {
	e := &Engine{d: d, s: s}
	e.mutex = d.Locks.NewMutex("kprobe_mutex")
	e.kcb.Init(d.CPUs)
	e.table.Init(d.Cells)
	e.optimizing.Init(d.Cells)
	e.unoptimizing.Init(d.Cells)
	e.freeing.Init(d.Cells)
	e.work = d.Work.NewDelayedWork("kprobe_optimizer", e.optimizer)
	e.callback = d.Bind.Bind("optimized_callback", e.optimizedCallback)
	d.Traps.OnBreakpoint(e.breakpoint)
	return e
}

// Settled reports whether the optimizer has nothing left to do.
func (e *Engine) Settled() bool {
	return len(e.optimizing.Peek())+len(e.unoptimizing.Peek())+len(e.freeing.Peek()) == 0
}
