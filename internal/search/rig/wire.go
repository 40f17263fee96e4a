package rig

import (
	"kpsim/internal/scenario"
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/mutants"
	"kpsim/smp/kernel"
)

// newEngine builds the engine for a run, and the probes that it is to be given.
func (r *Rig) newEngine() {
	switch {
	case r.engine == nil:
		r.wire()
		r.engine = kprobes.New(r.deps, r.settings)
		r.unregistered()
	case r.mutant != nil || r.Scenario.Machine.NoSyncArm: // the kernel was reset: it is broken anew
		r.wire()
		fallthrough
	default:
		r.engine.Renew(r.deps, r.settings)
	}
	r.renewProbes()
	if r.behind {
		front := 0
		for _, p := range r.programs {
			front += int(b2u(!p.behind))
		}
		r.front.Init(&r.Machine.Cells, front)
	}
}

// wire says what the engine stands on, and breaks it if there is a mutant.
func (r *Rig) wire() {
	k, mc := r.Kernel, &r.Scenario.Machine
	r.deps = kprobes.Deps{
		CPUs: mc.CPUs, Cells: &r.Machine.Cells, Text: &k.Text, Sync: &k.Sync, RCU: &k.RCU, Locks: &k.Locks,
		Work: &k.Work, Exec: &k.Exec, Traps: &k.Traps, Bind: k, Symbols: &k.Symbols, Tasks: &k.Tasks, Hotplug: &k.Hotplug, Stacks: &k.Stacks, Modules: &k.Modules, ModuleMutex: k.Modules.Mutex(), LabelMutex: r.labels.Mutex(), Ftrace: r.ftrace.Tracer(),
	}
	switch mc.Patch {
	case scenario.PatchBreakpoint:
		r.deps.Patch = &k.Poke
	case scenario.PatchStopMachine:
		r.deps.Patch = kernel.PokeStopped{K: k}
	default:
		r.deps.Patch = kernel.PokeNaive{K: k, TailFirst: mc.Patch == scenario.PatchTailFirst}
	}
	r.settings = mc.Engine()
	if mc.NoSyncArm {
		mutants.SkipSync(kpev.SyncArm)(&mutants.Wiring{Kernel: k, Ftrace: r.ftrace, Deps: &r.deps, Engine: &r.settings})
	}
	if r.mutant != nil {
		w := mutants.Wiring{Kernel: k, Ftrace: r.ftrace, Deps: &r.deps, Engine: &r.settings}
		if mc.Edition != scenario.EditionNone {
			w.Edition = mc.Edition.Document()
		}
		r.mutant.Apply(&w)
	}
	r.patch = r.deps.Patch
	if r.plain = r.patch; mc.Patch == scenario.PatchBreakpoint {
		r.plain = nil
	}
	if !r.twin {
		r.audit.watch(r)
	}
}
