package explore

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A reach says of a kind of event which scenarios may see it. Those that head
// each log, or end it, and Oops, which is a finding by itself, aren't counted.
type reach struct {
	kind traces.Kind
	in   func(h *has) bool
}

// has is what a scenario has, as far as it decides which events there can be.
type has struct {
	cpus                                      int
	probes, handlers, siblings, jumps         bool
	labels, sources, pages, nested, skips     bool // pages: data comes in during a run
	call, checked, api, register, undo, off   bool
	stop, quiesce, breakpoint, removes, flips bool
	ret, jprobe, entry, handler, refuses      bool // there are return probes, jprobes; the first have handlers, which refuse calls
	holders                                   bool // of 5.11 and later
	global, tells                             bool // kprobes/enabled is written; contexts are told
	loads, traces, slots, own, sites          bool // own: the kernel has a probe of its own, on the trampoline of 2.6; sites: of ftrace
	caches, boosts                            bool // slots are the kernel's; they may be boosted
	plugs, goes, leaves, comes, stops, fails  bool // CPUs go or come; they go; they stop being active, or begin to be; the machine is stopped for it; a step fails
	patched                                   bool // functions are patched live
	fprobes                                   bool // fprobes are registered
	holds                                     bool // CPUs hold stores
	works                                     bool // tasks queue works
	debugs, uprobes                           bool // a debugger's breakpoints come and go; tasks hit uprobes
	detours                                   bool // a detour may be made ready, be there a jump or not
}

var reaches = []reach{
	{smpev.Image, func(h *has) bool { return h.optimizes() || h.flips || h.own || h.sites }},
	{smpev.TextStore, (*has).patches},
	{smpev.Exec, func(h *has) bool { return h.call && (h.probes || h.labels || h.debugs) }},
	{smpev.Trap, (*has).traps},
	{smpev.Claim, (*has).breakpoints},
	{smpev.Return, (*has).traps},
	{smpev.Switch, always},
	{smpev.Wake, always},
	{smpev.Exit, always},
	{smpev.Serialise, (*has).traps},
	{smpev.SendIPI, func(h *has) bool { return h.cpus > 1 && h.patches() }},
	{smpev.Fire, func(h *has) bool { return h.sources || h.pages || h.works || h.optimizes() }},
	{smpev.Alloc, func(h *has) bool { return h.register && h.slots || h.loads }},
	{smpev.Free, func(h *has) bool { return h.register && h.slots && h.undo || h.loads }},
	{smpev.Retire, func(h *has) bool {
		return h.caches && h.register && h.slots && h.undo && (h.boosts || h.detours) || h.loads
	}},
	{smpev.Lock, (*has).patches},
	{smpev.Unlock, (*has).patches},
	{smpev.MightSleep, func(h *has) bool { return h.works || h.patches() }},
	{smpev.GPStart, (*has).waits},
	{smpev.GPEnd, (*has).waits},
	{smpev.StopStart, func(h *has) bool { return h.stops || h.stop && h.patches() }},
	{smpev.StopEnd, func(h *has) bool { return h.stops || h.stop && h.patches() }},
	{smpev.Held, func(h *has) bool { return h.holds }},
	{smpev.Commit, func(h *has) bool { return h.holds }},
	{smpev.CPUState, func(h *has) bool { return h.plugs }},
	{smpev.CPUActive, func(h *has) bool { return h.leaves || h.plugs && h.comes }},
	{smpev.CPUFails, func(h *has) bool { return h.fails }},
	{smpev.Debugger, func(h *has) bool { return h.debugs }},
	{smpev.LivePatch, func(h *has) bool { return h.patched }},
	{smpev.LiveSwitch, func(h *has) bool { return h.patched }},
	{smpev.LiveCall, func(h *has) bool { return h.patched && h.call }},
	{smpev.Fprobe, func(h *has) bool { return h.fprobes }},
	{smpev.Uprobe, func(h *has) bool { return h.uprobes }},
	{smpev.CallEnd, func(h *has) bool { return h.call }},
	{smpev.Got, func(h *has) bool { return h.checked }},
	{kpev.ApiEnter, func(h *has) bool { return h.api }},
	{kpev.ApiReturn, func(h *has) bool { return h.api }},
	{kpev.Handler, func(h *has) bool { return h.register && h.handlers && h.call }},
	{kpev.Missed, func(h *has) bool { return h.register && h.call && h.nested }},
	{kpev.Skipped, func(h *has) bool { return h.register && h.siblings && h.skips && h.call }},
	{kpev.Arm, func(h *has) bool { return h.register && h.slots }},
	{kpev.Disarm, func(h *has) bool { return h.register && h.slots && h.removes }},
	{kpev.Optimizing, (*has).optimizes},
	{kpev.Optimized, (*has).optimizes},
	{kpev.Unoptimizing, func(h *has) bool { return h.optimizes() && h.undo }},
	{kpev.Unoptimized, func(h *has) bool { return h.optimizes() && h.undo }},
	{kpev.Sysctl, func(h *has) bool { return h.off }},
	{kpev.InstanceNew, (*has).returns},
	{kpev.InstanceGet, (*has).returns},
	{kpev.InstancePut, (*has).returns},
	{kpev.InstanceFree, (*has).returns},
	{kpev.HolderDrop, func(h *has) bool { return h.returns() && h.holders }},
	{kpev.HolderFree, func(h *has) bool { return h.returns() && h.holders }},
	{kpev.Hooked, (*has).returns},
	{kpev.Trampoline, (*has).returns},
	{kpev.RetMissed, (*has).returns},
	{kpev.JprobeEnter, (*has).jprobes},
	{kpev.JprobeLeave, (*has).jprobes},
	{kpev.Context, func(h *has) bool { return h.tells && h.register && h.handlers && h.call }},
	{kpev.RetEntry, func(h *has) bool { return h.called() && h.entry }},
	{kpev.RetLeft, func(h *has) bool { return h.called() && h.refuses }},
	{kpev.RetReturn, func(h *has) bool { return h.called() && h.handler }},
	{kpev.Enabled, func(h *has) bool { return h.global }},
	{kpev.Printk, func(h *has) bool { return h.off || h.global }},
}

// returns: there are return probes, and called: their functions are run.
func (h *has) returns() bool { return h.ret && h.register }
func (h *has) called() bool  { return h.returns() && h.call }
func (h *has) jprobes() bool { return h.jprobe && h.register && h.call }

func always(*has) bool { return true }

// patches: text is written.
func (h *has) patches() bool { return h.register || h.flips || h.loads || h.debugs }

// optimizes: a breakpoint may become a jump. One with a post handler doesn't.
func (h *has) optimizes() bool { return h.register && h.jumps }

// traps: something interrupts a CPU.
func (h *has) traps() bool { return h.sources || h.patches() }

// breakpoints: a CPU may come upon an int3.
func (h *has) breakpoints() bool {
	return h.call && (h.register || h.debugs || h.flips && h.breakpoint)
}

// waits: there are grace periods.
func (h *has) waits() bool { return h.register && (h.quiesce || h.removes) || h.loads || h.traces }

// reachable lists the kinds of event that a scenario may see.
func reachable(sc *scenario.Scenario) (list []traces.Kind) {
	h := has{
		cpus: sc.Machine.CPUs, probes: len(sc.Probes) > 0, labels: len(sc.Labels)+len(sc.Locked)+len(sc.Alternatives)+len(sc.Sites)+len(sc.Calls)+len(sc.Modules) > 0, sources: len(sc.Sources) > 0,
		stop:       sc.Machine.Patch == era.PatchStopMachine || sc.Machine.Quiesce == kapi.QuiesceStackCheck,
		quiesce:    sc.Machine.Quiesce != kapi.QuiesceNone,
		breakpoint: sc.Machine.Patch == era.PatchBreakpoint, tells: sc.Machine.Edition != rules.EditionNone,
		caches: sc.Machine.InsnSlot() > 0, boosts: sc.Machine.Boost != era.BoostNever && !sc.Machine.Preempt.Built(),
	}
	h.patched, h.fprobes = sc.Does(act.PatchFunc), sc.Does(act.RegisterFprobe)
	h.own, h.holds = sc.Machine.NopTrampoline(), sc.Machine.Memory == smp.TSO
	for i := range sc.Probes {
		h.probe(sc, &sc.Probes[i])
		for k := range sc.Probes[:i] {
			p, q := &sc.Probes[i], &sc.Probes[k]
			pf, _ := sc.Place(p)
			qf, _ := sc.Place(q)
			h.siblings = h.siblings || pf == qf && p.Offset == q.Offset
		}
	}
	h.undo = h.siblings // a second probe at a place undoes the first one's jump
	for i := range sc.Datas {
		h.pages = h.pages || sc.Datas[i].Away
	}
	for i := range sc.Sources {
		s := &sc.Sources[i]
		h.call = h.call || s.Run != ""
		h.nested = h.nested || s.Run != "" && s.Kind == scenario.SourceNMI
	}
	for i := range sc.Tasks {
		for k := range sc.Tasks[i].Ops {
			h.op(&sc.Tasks[i].Ops[k])
		}
	}
	h.plugs = sc.Machine.Offline != 0 || h.goes
	guest := sc.Machine.Row().Boot != nil
	for _, r := range reaches {
		if r.in(&h) && !(guest && slices.Contains(ofOwnEngine, r.kind)) {
			list = append(list, r.kind)
		}
	}
	return list
}

// ofOwnEngine are the events that kpsim's own engine alone reports: a kernel's is guest code, and
// writes text without a word.
var ofOwnEngine = []traces.Kind{
	kpev.Arm, kpev.Disarm, kpev.Optimizing, kpev.Optimized, kpev.Unoptimizing, kpev.Unoptimized,
	kpev.HolderDrop, kpev.HolderFree,
}

// traced reports whether a probe is at a site of ftrace, and goes through it.
func traced(sc *scenario.Scenario, p *scenario.Probe) bool {
	f, _ := sc.Place(p)
	return sc.Machine.Kernel.Ftrace && slices.Contains(sc.Sites, scenario.Site{Func: f, Offset: p.Offset})
}

func (h *has) probe(sc *scenario.Scenario, p *scenario.Probe) {
	h.handlers = h.handlers || p.Pre != nil || p.Post != nil || p.Fault != nil
	h.tells = h.tells || p.Kind != scenario.ProbeKprobe || p.Disabled
	if traced(sc, p) {
		h.sites = true
	} else {
		h.slots = true
		h.detours = h.detours || sc.Machine.Kernel.Optprobes
		h.jumps = h.jumps || sc.Machine.Kernel.Optprobes && (p.Post == nil || p.Kind == scenario.ProbeKretprobe)
	}
	for _, s := range slices.Concat(p.Pre, p.Post, p.Fault) {
		h.nested = h.nested || s.Kind == scenario.StepCall
		h.skips = h.skips || (s.Kind == scenario.StepSetIP || s.Kind == scenario.StepNonzero) && p.Kind == scenario.ProbeKprobe
		h.api = h.api || s.Kind >= scenario.StepRegister
	}
	switch p.Kind {
	case scenario.ProbeKretprobe:
		h.holders = sc.Machine.Return < era.ReturnHashed
		h.ret, h.entry, h.handler = true, h.entry || p.Pre != nil, h.handler || p.Post != nil
		for _, s := range p.Pre {
			h.refuses = h.refuses || s.Kind == scenario.StepNonzero || s.Kind == scenario.StepSetIP
		}
		h.nested = h.nested || sc.Machine.Return >= era.ReturnHashed // a probe on what runs under the lock
	case scenario.ProbeJprobe:
		h.jprobe = true
	}
}

func (h *has) op(op *scenario.Op) {
	h.checked = h.checked || op.Checked || op.Kind == act.Expect
	done := op.Fails == smpev.CPUStepNone
	h.fails = h.fails || !done
	switch op.Kind {
	case act.Offline:
		h.goes, h.leaves = h.goes || done, true
		h.stops = h.stops || done || op.Fails == smpev.CPUStepTeardown
	case act.Online:
		h.comes = h.comes || done
		h.stops = h.stops || !done && op.Fails != smpev.CPUStepBringup
	case act.Call:
		h.call = true
	case act.Register, act.RegisterAll:
		h.api, h.register = true, true
	case act.Enabled:
		h.global, h.removes, h.undo = true, true, true
	case act.Unregister, act.Disable, act.UnregisterAll:
		h.api, h.removes, h.undo = true, true, true
	case act.Enable:
		h.api = true
	case act.Optimization:
		h.off, h.undo = true, true
	case act.EnableLabel, act.DisableLabel, act.SetCall, act.Locks, act.Alternatives:
		h.flips = true
	case act.Tracer, act.Livepatch, act.PatchFunc, act.UnpatchFunc, act.RegisterDirect, act.ModifyDirect, act.UnregisterDirect, act.RegisterFprobe, act.UnregisterFprobe:
		h.flips, h.traces = true, true
	case act.Load, act.Unload:
		h.loads = true
	case act.SetBreakpoint, act.ClearBreakpoint:
		h.debugs = true
	case act.QueueWork:
		h.works = true
	case act.HitUprobe:
		h.uprobes = true
	}
}
