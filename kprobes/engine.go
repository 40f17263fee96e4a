package kprobes

import (
	"cmp"

	"kpsim/engine"
	"kpsim/kprobes/era"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// Deps are the kernel services that the engine stands on.
type Deps = engine.Deps

// Settings are an engine's configuration and edition, and the steps that are broken on
// purpose.
type Settings struct {
	era.Settings
	Steps *Steps // nil: Linux; mutants wrap some of the steps
	_     struct{}
}

// An Engine is the kprobes of one machine, for one run. Each part owns the data that the kernel
// keeps in static variables of the same names. The engine's own methods are register_kprobe,
// unregister_kprobe, enable_kprobe, disable_kprobe, and their arming and disarming.
type Engine struct {
	env
	kprobeMutex kapi.Mutex `state:"boot"` // set at New

	// The parts, set at New. Each names the owners of its fields.
	Table      Table      // kprobe_table: the probes of an address
	Optimizer  Optimizer  // kprobe_optimizer
	Hits       Hits       // kprobe_int3_handler, optimized_callback
	Kretprobes Kretprobes // register_kretprobe, and the free instances
	Rethook    Rethook    // the trampoline, and the calls in flight
	Jprobes    Jprobes
	Ftrace     FtraceOps // kprobe_ftrace_ops
	Files      Files     // debugfs and the sysctl
	locks      textLocks
	slots      insnCache  // kprobe_insn_slots
	text       probedText // check_kprobe_address_safe, can_probe
	modules    modules    // kprobes_module_nb
}

// An env is shared by the parts of an engine.
type env struct {
	e   *Engine  `state:"boot"` // set at New
	d   Deps     `state:"boot"` // set at New
	do  *Steps   `state:"boot"` // set at New
	s   Settings `state:"boot"` // set at New
	row *row     `state:"boot"` // set at New: the processor's row
}

// wired returns an engine whose parts share its env, with nothing else set.
func wired() *Engine {
	e := new(Engine)
	v := &e.env
	v.e = e
	e.Table.env, e.Optimizer.env, e.Hits.env, e.Kretprobes.env, e.Rethook.env, e.Jprobes.env = v, v, v, v, v, v
	e.Ftrace.env, e.Files.env, e.locks.env, e.slots.env, e.text.env, e.modules.env = v, v, v, v, v, v
	return e
}

// New builds the engine and hooks it to the kernel.
func New(d Deps, s Settings) *Engine {
	e := wired()
	e.Optimizer.onWork = func(x kapi.Context) { e.do.Optimizer.KprobeOptimizer(e, x) }
	e.Hits.init()
	e.Kretprobes.onEntry = func(x kapi.Context, p *Kprobe, regs *arch.Regs) int {
		return e.do.Ret.PreHandlerKretprobe(e, x, p, regs)
	}
	e.Rethook.init()
	e.Jprobes.init()
	e.modules.onModule, e.Ftrace.onFtrace = e.modules.kprobesModuleCallback, e.Ftrace.kprobeFtraceHandler
	e.Renew(d, s)
	return e
}

// Renew resets e to what New would return, in e's own memory, so that the next run allocates
// nothing. No state of the previous run remains.
func (e *Engine) Renew(d Deps, s Settings) {
	e.d, e.do, e.s, e.row = d, cmp.Or(s.Steps, &linux), s, rowOf(d.Text.Arch())
	if d.Tell == nil { // there are no monitors
		e.d.Tell = func(kapi.Context, traces.Kind, uint64, uint64, uint64) {}
	}
	e.kprobeMutex = d.Locks.NewMutex("kprobe_mutex")
	e.Hits.kcb.Init(d.CPUs)
	e.Table.renew()
	e.Optimizer.renew()
	e.slots.insn, e.text.code, e.modules.held = [maxDetour]byte{}, e.text.code[:0], false
	e.Hits.callback = d.Bind.Bind("optimized_callback", e.Hits.onCall)
	e.Kretprobes.nInstances, e.Kretprobes.nHolders, e.Kretprobes.memories = 0, 0, 0
	e.Rethook.renew()
	e.Jprobes.renew()
	e.Files.kprobeSysctlMutex, e.Files.kprobesAllDisarmed = d.Locks.NewMutex("kprobe_sysctl_mutex"), false
	e.do.Files.InitKprobes(e)
	e.Hits.hook()
	if d.Modules != nil {
		d.Modules.OnChange(e.modules.onModule)
	}
	e.Ftrace.renew()
}

// Mutex returns kprobe_mutex.
func (e *Engine) Mutex() kapi.Mutex { return e.kprobeMutex }
