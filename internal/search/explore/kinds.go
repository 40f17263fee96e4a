package explore

import (
	"slices"

	"kpsim/internal/scenario"
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
	touches scenario.Touches // by its operations, and what else has the same effect
	cpus    int

	probes, handlers, siblings, jumps bool
	labels, sources, nested, skips    bool
	stop, quiesce, breakpoint         bool
	ret, jprobe                       bool // there are return probes, jprobes
	entry, handler, refuses           bool // of return probes: handlers, and those that refuse calls
	holders                           bool // of 5.11 and later
	tells                             bool // contexts are told
	slots                             bool // probes have slots
	own                               bool // the kernel has a probe of its own, on the trampoline of 2.6
	sites                             bool // probes use sites of ftrace
	caches, boosts                    bool // slots are the kernel's; they may be boosted
	pages                             bool // data comes in during a run
	plugs, goes                       bool // CPUs go or come; they go
	leaves, comes                     bool // they stop being active, or begin to be
	stops, fails                      bool // the machine is stopped for it; a step fails
	holds                             bool // CPUs hold stores
	detours                           bool // a detour may be made ready, be there a jump or not
}

var reaches = []reach{
	{smpev.Image, func(h *has) bool { return h.optimizes() || h.has(scenario.TouchFlip) || h.own || h.sites }},
	{smpev.TextStore, (*has).patches},
	{smpev.Exec, func(h *has) bool {
		return h.has(scenario.TouchCall) && (h.probes || h.labels || h.has(scenario.TouchDebugger))
	}},
	{smpev.Trap, (*has).traps},
	{smpev.Claim, (*has).breakpoints},
	{smpev.Return, (*has).traps},
	{smpev.Switch, always},
	{smpev.Wake, always},
	{smpev.Exit, always},
	{smpev.Serialise, (*has).traps},
	{smpev.SendIPI, func(h *has) bool { return h.cpus > 1 && h.patches() }},
	{smpev.Fire, func(h *has) bool { return h.sources || h.pages || h.has(scenario.TouchWork) || h.optimizes() }},
	{smpev.Alloc, func(h *has) bool { return h.has(scenario.TouchRegister) && h.slots || h.has(scenario.TouchLoad) }},
	{smpev.Free, func(h *has) bool {
		return h.has(scenario.TouchRegister) && h.slots && h.has(scenario.TouchUndo) || h.has(scenario.TouchLoad)
	}},
	{smpev.Retire, func(h *has) bool {
		return h.caches && h.has(scenario.TouchRegister) && h.slots && h.has(scenario.TouchUndo) &&
			(h.boosts || h.detours) || h.has(scenario.TouchLoad)
	}},
	{smpev.Lock, (*has).patches},
	{smpev.Unlock, (*has).patches},
	{smpev.MightSleep, func(h *has) bool { return h.has(scenario.TouchWork) || h.patches() }},
	{smpev.GPStart, (*has).waits},
	{smpev.GPEnd, (*has).waits},
	{smpev.StopStart, func(h *has) bool { return h.stops || h.stop && h.patches() }},
	{smpev.StopEnd, func(h *has) bool { return h.stops || h.stop && h.patches() }},
	{smpev.Held, func(h *has) bool { return h.holds }},
	{smpev.Commit, func(h *has) bool { return h.holds }},
	{smpev.CPUState, func(h *has) bool { return h.plugs }},
	{smpev.CPUActive, func(h *has) bool { return h.leaves || h.plugs && h.comes }},
	{smpev.CPUFails, func(h *has) bool { return h.fails }},
	{smpev.Debugger, func(h *has) bool { return h.has(scenario.TouchDebugger) }},
	{smpev.LivePatch, func(h *has) bool { return h.has(scenario.TouchLive) }},
	{smpev.LiveSwitch, func(h *has) bool { return h.has(scenario.TouchLive) }},
	{smpev.LiveCall, func(h *has) bool { return h.has(scenario.TouchLive) && h.has(scenario.TouchCall) }},
	{smpev.Fprobe, func(h *has) bool { return h.has(scenario.TouchFprobe) }},
	{smpev.Uprobe, func(h *has) bool { return h.has(scenario.TouchUprobe) }},
	{smpev.CallEnd, func(h *has) bool { return h.has(scenario.TouchCall) }},
	{smpev.Got, func(h *has) bool { return h.has(scenario.TouchCheck) }},
	{kpev.ApiEnter, func(h *has) bool { return h.has(scenario.TouchAPI) }},
	{kpev.ApiReturn, func(h *has) bool { return h.has(scenario.TouchAPI) }},
	{kpev.Handler, func(h *has) bool {
		return h.has(scenario.TouchRegister) && h.handlers && h.has(scenario.TouchCall)
	}},
	{kpev.Missed, func(h *has) bool { return h.has(scenario.TouchRegister) && h.has(scenario.TouchCall) && h.nested }},
	{kpev.Skipped, func(h *has) bool {
		return h.has(scenario.TouchRegister) && h.siblings && h.skips && h.has(scenario.TouchCall)
	}},
	{kpev.Arm, func(h *has) bool { return h.has(scenario.TouchRegister) && h.slots }},
	{kpev.Disarm, func(h *has) bool { return h.has(scenario.TouchRegister) && h.slots && h.has(scenario.TouchRemove) }},
	{kpev.Optimizing, (*has).optimizes},
	{kpev.Optimized, (*has).optimizes},
	{kpev.Unoptimizing, func(h *has) bool { return h.optimizes() && h.has(scenario.TouchUndo) }},
	{kpev.Unoptimized, func(h *has) bool { return h.optimizes() && h.has(scenario.TouchUndo) }},
	{kpev.Sysctl, func(h *has) bool { return h.has(scenario.TouchSysctl) }},
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
	{kpev.Context, func(h *has) bool {
		return h.tells && h.has(scenario.TouchRegister) && h.handlers && h.has(scenario.TouchCall)
	}},
	{kpev.RetEntry, func(h *has) bool { return h.called() && h.entry }},
	{kpev.RetLeft, func(h *has) bool { return h.called() && h.refuses }},
	{kpev.RetReturn, func(h *has) bool { return h.called() && h.handler }},
	{kpev.Enabled, func(h *has) bool { return h.has(scenario.TouchEnabled) }},
	{kpev.Printk, func(h *has) bool { return h.has(scenario.TouchSysctl) || h.has(scenario.TouchEnabled) }},
}

// returns: there are return probes, and called: their functions are run.
func (h *has) returns() bool { return h.ret && h.has(scenario.TouchRegister) }
func (h *has) called() bool  { return h.returns() && h.has(scenario.TouchCall) }
func (h *has) jprobes() bool {
	return h.jprobe && h.has(scenario.TouchRegister) && h.has(scenario.TouchCall)
}

func always(*has) bool { return true }

// has reports whether the scenario has what an operation touches.
func (h *has) has(t scenario.Touches) bool { return h.touches&t != 0 }

// bit is t if it is so, else nothing.
func bit(is bool, t scenario.Touches) scenario.Touches {
	if !is {
		return 0
	}
	return t
}

// patches: text is written.
func (h *has) patches() bool {
	return h.has(scenario.TouchRegister) || h.has(scenario.TouchFlip) || h.has(scenario.TouchLoad) ||
		h.has(scenario.TouchDebugger)
}

// optimizes: a breakpoint may become a jump. One with a post handler doesn't.
func (h *has) optimizes() bool { return h.has(scenario.TouchRegister) && h.jumps }

// traps: something interrupts a CPU.
func (h *has) traps() bool { return h.sources || h.patches() }

// breakpoints: a CPU may come upon an int3.
func (h *has) breakpoints() bool {
	return h.has(scenario.TouchCall) && (h.has(scenario.TouchRegister) || h.has(scenario.TouchDebugger) ||
		h.has(scenario.TouchFlip) && h.breakpoint)
}

// waits: there are grace periods.
func (h *has) waits() bool {
	return h.has(scenario.TouchRegister) && (h.quiesce || h.has(scenario.TouchRemove)) || h.has(scenario.TouchLoad) ||
		h.has(scenario.TouchTrace)
}

// reachable lists the kinds of event that a scenario may see.
func reachable(sc *scenario.Scenario) (list []traces.Kind) {
	h := has{
		cpus: sc.Machine.CPUs, probes: len(sc.Probes) > 0,
		labels:     len(sc.Labels)+len(sc.Locked)+len(sc.Alternatives)+len(sc.Sites)+len(sc.Calls)+len(sc.Modules) > 0,
		sources:    len(sc.Sources) > 0,
		stop:       sc.Machine.Patch == era.PatchStopMachine || sc.Machine.Quiesce == kapi.QuiesceStackCheck,
		quiesce:    sc.Machine.Quiesce != kapi.QuiesceNone,
		breakpoint: sc.Machine.Patch == era.PatchBreakpoint, tells: sc.Machine.Edition != rules.EditionNone,
		caches: sc.Machine.InsnSlot() > 0, boosts: sc.Machine.Boost != era.BoostNever && !sc.Machine.Preempt.Built(),
	}
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
	h.touches |= bit(h.siblings, scenario.TouchUndo) // a second probe at a place undoes the first one's jump
	for i := range sc.Datas {
		h.pages = h.pages || sc.Datas[i].Away
	}
	for i := range sc.Sources {
		s := &sc.Sources[i]
		h.touches |= bit(s.Run != "", scenario.TouchCall)
		h.nested = h.nested || s.Run != "" && s.Kind.Nests
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

// ofOwnEngine lists the events that only kpsim's own engine reports. A kernel's engine is guest
// code, and writes text without reporting it.
var ofOwnEngine = []traces.Kind{
	kpev.Arm, kpev.Disarm, kpev.Optimizing, kpev.Optimized, kpev.Unoptimizing, kpev.Unoptimized,
	kpev.HolderDrop, kpev.HolderFree,
}

// traced reports whether a probe is at a site of ftrace and uses it.
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
	h.nested = h.nested || p.AnyStep(scenario.StepRuns)
	h.skips = h.skips || p.Kind == scenario.ProbeKprobe && p.AnyStep(scenario.StepReturns1)
	h.touches |= bit(p.AnyStep(scenario.StepAPI), scenario.TouchAPI)
	switch p.Kind {
	case scenario.ProbeKretprobe:
		h.holders = sc.Machine.Return < era.ReturnHashed
		h.ret, h.entry, h.handler = true, h.entry || p.Pre != nil, h.handler || p.Post != nil
		h.refuses = h.refuses || scenario.AnyStep(p.Pre, scenario.StepReturns1)
		h.nested = h.nested || sc.Machine.Return >= era.ReturnHashed // a probe on what runs under the lock
	case scenario.ProbeJprobe:
		h.jprobe = true
	}
}

func (h *has) op(op *scenario.Op) {
	if h.touches |= op.Kind.Touches; op.Checked {
		h.touches |= scenario.TouchCheck
	}
	done := op.Fails == smpev.CPUStepNone
	h.fails = h.fails || !done
	switch {
	case op.Kind.Has(scenario.ParamDownFails):
		h.goes, h.leaves = h.goes || done, true
		h.stops = h.stops || done || op.Fails == smpev.CPUStepTeardown
	case op.Kind.Has(scenario.ParamUpFails):
		h.comes = h.comes || done
		h.stops = h.stops || !done && op.Fails != smpev.CPUStepBringup
	}
}
