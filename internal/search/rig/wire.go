package rig

import (
	"cmp"
	"fmt"

	"kpsim/engine"
	"kpsim/engine/fprobe"
	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/mutants"
	"kpsim/kprobes/plug"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

// wiring is the engine and what it is made from.
type wiring struct {
	*Plan
	patchers *patchers
	mutant   *mutants.Mutant
	settings any
	config   engine.Config
	engine   engine.Engine
	patch    kapi.Patcher
}

// choose chooses the engine's settings, and the mutant of that name.
func (w *wiring) choose(p *Plan, mutantName string) (err error) {
	w.Plan = p
	if mutantName != "" && p.row.Boot == nil {
		if w.mutant, err = mutantOf(p.Scenario, mutantName); err != nil {
			return err
		}
	}
	w.settings, err = settingsOf(p.Scenario, mutantName)
	return err
}

// mutantOf returns the mutant of that name, and an error if it isn't one of the scenario's
// engine and edition.
func mutantOf(sc *scenario.Scenario, name string) (*mutants.Mutant, error) {
	mu, ok := mutants.ByName(name)
	switch {
	case !ok:
		return nil, fmt.Errorf("no mutant is called %q; %s", name,
			cmp.Or(nearest.DidYouMean(name, mutants.Known()), "kpsim list prints those that there are"))
	case sc.Machine.Engine != "":
		return nil, fmt.Errorf("%s: mutants are of kprobes; engine %s has none", sc.Name, sc.Machine.Engine)
	case name != mutants.AsShipped:
		return mu, nil
	case sc.Machine.Edition == rules.EditionNone:
		return nil, fmt.Errorf("%s: %s: the scenario is of no edition; say machine(edition = "+
			"\"4.15\"), or another", sc.Name, name)
	}
	if err := mutants.CheckShipped(sc.Machine.Edition); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", sc.Name, name, err)
	}
	return mu, nil
}

// renew makes the engine for a run, with probes that aren't registered.
func (w *wiring) renew() {
	if w.engine == nil {
		w.wire()
		w.engine = w.row.New(&w.config)
		return
	}
	if w.mutant != nil || !w.Scenario.Machine.SyncArm { // the kernel was reset: it is broken anew
		w.wire()
	}
	w.engine.Renew(&w.config)
}

// wire tells the engine what it is built on, and applies the mutant if there is one.
func (w *wiring) wire() {
	k, ps, mc, d := w.Kernel, w.patchers, &w.Scenario.Machine, &w.config.Deps
	*d = engine.Deps{
		CPUs: mc.CPUs, Cells: &w.Machine.Cells, Text: &k.Text, Sync: &k.Sync, Stop: &k.Stop, RCU: &k.RCU,
		Locks: &k.Locks, Work: &k.Work, Exec: &k.Exec, Traps: &k.Traps, Bind: k, Symbols: &k.Symbols, Tasks: &k.Tasks,
		Hotplug: &k.Hotplug,
		Stacks:  &k.Stacks, Modules: &k.Modules, ModuleMutex: k.Modules.Mutex(), LabelMutex: ps.labels.Mutex(),
		Ftrace: ps.Observed.Of(ps.Ftrace.Tracer()), Guest: &k.Guest, Debugger: ps.hasHitBreak,
		Clients: engine.Clients{Labels: ps.labels, Calls: ps.calls, Sites: ps.Ftrace, Fprobes: ps.fprobes},
		Tell:    func(x kapi.Context, kind traces.Kind, a, b, c uint64) { x.(*smp.Ctx).Tell(kind, a, b, c) },
	}
	switch mc.Patch {
	case era.PatchBreakpoint:
		d.Patch = &k.Poke
	case era.PatchStopMachine:
		d.Patch = kernel.PokeStopped{K: k}
	case era.PatchWhole:
		forms := w.Machine.Arch().Labels
		d.Patch = kernel.PokeWhole{K: k, Local: len(forms) > 0 && forms[0].Local}
	default:
		d.Patch = kernel.PokeNaive{K: k, TailFirst: mc.Patch == era.PatchTailFirst}
	}
	w.config.Settings = w.settings
	if s, ok := w.settings.(*plug.Settings); ok {
		own := *s // a mutant may change them
		w.config.Settings = &own
		w.breakIt(&mutants.Wiring{Kernel: k, Ftrace: ps.Ftrace, Klp: ps.Patches,
			Uprobes: ps.Uprobes, Fprobes: ps.fprobes, Deps: d, Engine: &own.Settings, Edition: mc.Edition})
	}
	w.patch = d.Patch
}

// breakIt applies the mutant's change to the wiring.
func (w *wiring) breakIt(to *mutants.Wiring) {
	if !w.Scenario.Machine.SyncArm {
		mutants.SkipSync(kpev.SyncArm)(to)
	}
	if w.mutant != nil {
		w.mutant.Apply(to)
	}
}

// unguarded returns the way to patch text if that isn't text_poke_bp, nil if it is.
func (w *wiring) unguarded() kapi.Patcher {
	if w.Scenario.Machine.Patch == era.PatchBreakpoint {
		return nil
	}
	return w.patch
}

// patcher returns the engine if it also patches for the other clients, and nil if it doesn't: on x86 a scenario
// may have them patch in another way.
func (w *wiring) patcher() engine.Patcher {
	p, ok := w.engine.(engine.Patcher)
	if !ok || w.twin || w.unguarded() != nil && w.Machine.Arch().BreakpointFirst {
		return nil
	}
	return p
}

// owner returns the engine if it has the fprobes, and nil if it doesn't.
func (w *wiring) owner() fprobe.Owner {
	if p, ok := w.engine.(engine.Patcher); ok {
		return p.Fprobes()
	}
	return nil
}
