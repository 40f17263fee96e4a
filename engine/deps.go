package engine

import (
	"kpsim/engine/fprobe"
	"kpsim/engine/ftrace"
	"kpsim/engine/jumplabel"
	"kpsim/engine/staticcall"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Deps are the kernel services that an engine stands on.
type Deps struct {
	CPUs        int
	Cells       *kapi.Cells
	Text        kapi.Text
	Patch       kapi.Patcher // how a jump is written over live text
	Sync        kapi.Sync
	Stop        kapi.Stopper
	RCU         kapi.RCU
	Locks       kapi.Locks
	Work        kapi.Workqueue
	Exec        kapi.Exec
	Traps       kapi.Traps
	Bind        kapi.Binder
	Symbols     kapi.Symbols
	Tasks       kapi.Tasks
	Hotplug     kapi.CPUs
	ModuleMutex kapi.Mutex    // nil: there are no modules
	LabelMutex  kapi.Mutex    // jump_label_mutex; nil: there are no jump labels
	Stacks      kapi.Stacks   // for QuiesceStackCheck
	Modules     kapi.Modules  // nil: there are no modules
	Ftrace      ftrace.Tracer // nil: no function has a site
	Guest       kapi.Guest    // for an engine that is guest code

	// Debugger reports whether a debugger's breakpoint stands at an address, while
	// text_mutex keeps it from coming and going (kgdb_has_hit_break); nil: there is no
	// debugger.
	Debugger func(x kapi.Context, at arch.Addr) bool

	Clients

	// Tell reports to monitors only: it is no part of a run, and no digest has it.
	Tell func(x kapi.Context, k traces.Kind, a, b, c uint64)
	_    struct{}
}

// Clients are the other clients of text patching, nil if there are none: for a Patcher.
type Clients struct {
	Labels  *jumplabel.Labels
	Calls   *staticcall.Calls
	Sites   *ftrace.Ftrace
	Fprobes *fprobe.Probes
}
