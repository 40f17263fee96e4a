package rig

import (
	"kpsim/engine"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/plug"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

// newEngine builds the engine for a run, with probes that aren't registered.
func (r *Rig) newEngine() {
	switch {
	case r.engine == nil:
		r.unregistered()
		r.wire()
		r.engine = r.row.New(&r.config)
	case r.mutant != nil || !r.Scenario.Machine.SyncArm: // the kernel was reset: it is broken anew
		r.wire()
		fallthrough
	default:
		r.engine.Renew(&r.config)
	}
	r.newTracer()
	if r.behind {
		front := 0
		for _, p := range r.programs {
			front += int(b2u(!p.behind))
		}
		r.front.Init(&r.Machine.Cells, front)
	}
}

// wire tells the engine what it is built on, and applies the mutant if there is one.
func (r *Rig) wire() {
	k, mc, d := r.Kernel, &r.Scenario.Machine, &r.config.Deps
	*d = engine.Deps{
		CPUs: mc.CPUs, Cells: &r.Machine.Cells, Text: &k.Text, Sync: &k.Sync, RCU: &k.RCU, Locks: &k.Locks,
		Work: &k.Work, Exec: &k.Exec, Traps: &k.Traps, Bind: k, Symbols: &k.Symbols, Tasks: &k.Tasks,
		Hotplug: &k.Hotplug,
		Stacks:  &k.Stacks, Modules: &k.Modules, ModuleMutex: k.Modules.Mutex(), LabelMutex: r.labels.Mutex(),
		Ftrace: r.Ftrace.Tracer(), Guest: &k.Guest, Debugger: r.brk, Labels: r.labels, Calls: r.calls, Sites: r.Ftrace,
		Tell: func(x kapi.Context, kind traces.Kind, a, b, c uint64) { x.(*smp.Ctx).Tell(kind, a, b, c) },
	}
	switch mc.Patch {
	case era.PatchBreakpoint:
		d.Patch = &k.Poke
	case era.PatchStopMachine:
		d.Patch = kernel.PokeStopped{K: k}
	default:
		d.Patch = kernel.PokeNaive{K: k, TailFirst: mc.Patch == era.PatchTailFirst}
	}
	r.config.Settings = r.settings()
	if s, ok := r.config.Settings.(*plug.Settings); ok {
		r.breakIt(&mutants.Wiring{Kernel: k, Ftrace: r.Ftrace, Klp: r.Patches, Debugger: r.Debugger, Uprobes: r.Uprobes,
			Fprobes: r.fprobes, Deps: d, Engine: &s.Settings})
	}
	r.patch = d.Patch
	if r.plain = r.patch; mc.Patch == era.PatchBreakpoint {
		r.plain = nil
	}
}

// breakIt applies the mutant's change to the wiring.
func (r *Rig) breakIt(w *mutants.Wiring) {
	mc := &r.Scenario.Machine
	if !mc.SyncArm {
		mutants.SkipSync(kpev.SyncArm)(w)
	}
	if r.mutant == nil {
		return
	}
	w.Edition = mc.Edition
	r.mutant.Apply(w)
}
