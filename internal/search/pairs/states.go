package pairs

import (
	"slices"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A sort is a sort of object, and the states that one can be in.
type sort struct {
	object scenario.Object
	name   string
	kind   func(sc *scenario.Scenario, name string) bool // whether it has that object; nil: it has all
	states []state
}

// A state is one that the object of an operation can be in when the operation begins.
type state struct {
	name string
	is   func(s *situation) bool
	of   func(k *scenario.Operation) bool // which operations have it; nil: all of that object
}

// sorts are the sorts of objects. One object may have several: probes of each kind.
var sorts = []*sort{
	{scenario.AProbe, "kprobe", ofKind(scenario.ProbeKprobe), join(probe, optimized, shared, modular, beside, each)},
	{scenario.AProbe, "return probe", ofKind(scenario.ProbeKretprobe),
		join(probe, optimized, shared, modular, beside, each)},
	{scenario.AProbe, "jprobe", ofKind(scenario.ProbeJprobe), join(probe, shared, each)},
	{scenario.AFunction, "function", nil, join(probed, clients, called, alike, each)},
	{scenario.AUprobe, "uprobe", nil, join(uprobes, probed, both, each)},
	{scenario.AWork, "work", nil, join(work, probed, both, each)},
	{scenario.TheOptimizer, "optimizer", nil, join(waiting, switches, alike, each)},
	{scenario.TheSysctl, "sysctl", nil, join(waiting, switches, api, both, each)},
	{scenario.TheFile, "file enabled", nil, join(waiting, everywhere, switches, api, both, each)},
	{scenario.ALabel, "jump label", nil, join(label, within, both, each)},
	{scenario.AStaticCall, "static call", nil, join(static, within, both, each)},
	{scenario.LockPrefixes, "lock prefixes", nil, join(prefixes, both, each)},
	{scenario.AllAlternatives, "alternatives", nil, alternatives},
	{scenario.AModule, "module", nil, join(module, both, each)},
	{scenario.TheTracer, "tracer", nil, join(tracer, onSites, both, each)},
	{scenario.TheLivepatch, "client that changes paths", nil, join(livepatch, onSites, both, each)},
	{scenario.APatch, "live patch", nil, join(patches, clients, running, both, each)},
	{scenario.ADirect, "direct call", nil, join(direct, clients, running, both, other, each)},
	{scenario.AnFprobe, "fprobe", nil, join(fprobes, clients, running, both, each)},
	{scenario.ABpf, "BPF program", nil, join(programs, clients, running, both, each)},
	{scenario.ADispatcher, "BPF dispatcher", nil, join(dispatchers, running, both, each)},
	{scenario.ATailCall, "BPF tail call", nil, join(tails, running, both, each)},
	{scenario.ABreakpoint, "breakpoint", nil, join(breakpoint, within, running, both, each)},
	{scenario.TextByHand, "text by hand", nil, join(probed, alike, each)},
	{scenario.AMemory, "memory for code", nil, join(memory, called, both, each)},
	{scenario.ACPU, "CPU", nil, join(cpu, waiting, api, both)},
	{scenario.TheCPUs, "hotplug lock", nil, join(waiting, api, alike, each)},
}

// sortsOf returns the sorts of an object.
func sortsOf(o scenario.Object) (list []*sort) {
	for _, s := range sorts {
		if s.object == o {
			list = append(list, s)
		}
	}
	return list
}

func ofKind(k scenario.ProbeKind) func(*scenario.Scenario, string) bool {
	return func(sc *scenario.Scenario, name string) bool { return sc.Probe(name).Kind == k }
}

func join(lists ...[]state) []state { return slices.Concat(lists...) }

// Operations of other tasks.
var (
	alike = []state{{name: "the same under way in another task", is: func(s *situation) bool {
		return s.underWay(func(op *scenario.Op) bool { return op.Kind.Like(s.op.op.Kind) && s.value(op) })
	}}}
	both = append(slices.Clone(alike), state{name: "the inverse under way in another task", of: undone,
		is: func(s *situation) bool {
			return s.underWay(func(op *scenario.Op) bool {
				k := s.op.op.Kind
				return k.Undoes(op.Kind) || k == op.Kind && k.Inverse == "" && !s.value(op)
			})
		}})
	other = []state{{name: "another change of it under way", is: func(s *situation) bool {
		return s.underWay(func(op *scenario.Op) bool {
			k := s.op.op.Kind
			return !k.Like(op.Kind) && !k.Undoes(op.Kind)
		})
	}}}
	each = []state{{name: "a CPU offline", is: func(s *situation) bool { return s.offline != 0 }}}
	api  = []state{{name: "a probe's call under way", is: func(s *situation) bool {
		return s.during(scenario.AProbe, func(*subject) bool { return true })
	}}}
)

// undone reports whether something undoes an operation: another one, or itself with another value.
func undone(k *scenario.Operation) bool {
	return k.Inverse != "" || k.Has(scenario.ParamOn, scenario.ParamCallee)
}

// Probes.
var (
	probe = []state{
		{name: "absent", is: func(s *situation) bool { return !s.status().Registered && s.loaded() }},
		{name: "disabled", is: func(s *situation) bool { return s.status().Registered && s.status().Disabled }},
		{name: "armed by a breakpoint", is: func(s *situation) bool {
			return s.status().Registered && s.is(kpev.StateArmed) && !s.is(kpev.StateJumped|kpev.StateFtrace)
		}},
		{name: "joined", is: func(s *situation) bool {
			return s.probes(func(_ int, st engine.Status) bool { return st.Registered && st.Addr == s.of.at })
		}},
		{name: "kprobes switched off", is: func(s *situation) bool { return !s.t.Engine().Switched(engine.Armed) }},
	}
	optimized = []state{
		{name: "armed by a jump", is: func(s *situation) bool { return s.is(kpev.StateJumped) }},
		{name: "waiting to be optimized", is: func(s *situation) bool { return s.is(kpev.StateOptimizing) }},
		{name: "waiting to be unoptimized", is: func(s *situation) bool { return s.is(kpev.StateUnoptimizing) }},
		{name: "waiting to be freed", is: func(s *situation) bool { return s.is(kpev.StateFreeing) }},
		{name: "optimization switched off",
			is: func(s *situation) bool { return !s.t.Engine().Switched(engine.Optimization) }},
	}
	shared = join(both, other)
	// modular are the states of a probe in a module.
	modular = []state{
		{name: "gone with its module", is: func(s *situation) bool { return s.is(kpev.StateGone) }},
		{name: "its module not loaded", is: inModule(kapi.ModuleUnformed)},
		{name: "its module coming", is: inModule(kapi.ModuleComing)},
		{name: "its module going", is: inModule(kapi.ModuleGoing)},
	}
	// beside are those of a probe among others' text.
	beside = []state{
		{name: "at a site of ftrace", is: func(s *situation) bool { return s.of.at != 0 && s.of.at == s.of.site }},
		{name: "another client at its site", is: func(s *situation) bool {
			return s.of.at != 0 && s.of.at == s.of.site && s.claimed(s.of.site)
		}},
		{name: "inside another's jump", is: func(s *situation) bool {
			return s.any(kpev.StateJumped|kpev.StateOptimizing, s.of.at-s.jump()+1, s.of.at)
		}},
		{name: "another inside its jump", is: func(s *situation) bool {
			return s.any(kpev.StateArmed, s.of.at+1, s.of.at+s.jump())
		}},
		{name: "a call of its function under way", is: func(s *situation) bool { return s.called() }},
	}
)

func (s *situation) status() engine.Status { return s.t.Engine().Status(s.of.number) }

// is reports whether the engine holds any of these bits of the object's address.
func (s *situation) is(bits uint64) bool { return s.of.at != 0 && s.at(s.of.at)&bits != 0 }

// probes reports whether another probe is as asked.
func (s *situation) probes(is func(i int, st engine.Status) bool) bool {
	for i := range s.rig.Scenario.Probes {
		if i != s.of.number && is(i, s.t.Engine().Status(i)) {
			return true
		}
	}
	return false
}

// loaded reports whether the object's text is there.
func (s *situation) loaded() bool {
	is, in := s.module()
	return !in || is != kapi.ModuleUnformed
}

func inModule(want kapi.ModuleState) func(s *situation) bool {
	return func(s *situation) bool {
		is, in := s.module()
		return in && is == want
	}
}

// called reports whether another task is in a call of the object's function.
func (s *situation) called() bool {
	return s.during(scenario.AFunction, func(as *subject) bool { return as.in == s.of.in })
}

// Functions.
var (
	// within are the states of something in a function that probes stand in.
	within = []state{
		{name: "a breakpoint of a probe in its function",
			is: holds(kpev.StateArmed, kpev.StateJumped|kpev.StateFtrace)},
		{name: "a jump of a probe in its function", is: holds(kpev.StateJumped, 0)},
	}
	// probed are those of a function that runs.
	probed = join(within, []state{
		{name: "a probe in it waiting to be optimized", is: holds(kpev.StateOptimizing, 0)},
		{name: "a probe in it waiting to be unoptimized", is: holds(kpev.StateUnoptimizing, 0)},
		{name: "a probe in it waiting to be freed", is: holds(kpev.StateFreeing, 0)},
		{name: "a disabled probe in it", is: func(s *situation) bool {
			return s.has(func(i int, st engine.Status) bool { return st.Registered && st.Disabled })
		}},
		{name: "a return probe of it", is: func(s *situation) bool {
			return s.has(func(i int, st engine.Status) bool {
				return st.Registered && s.rig.Scenario.Probes[i].Kind == scenario.ProbeKretprobe
			})
		}},
		{name: "a probe's call in it under way", is: func(s *situation) bool {
			return s.during(scenario.AProbe, func(as *subject) bool { return as.in == s.of.in })
		}},
	})
	called = []state{
		{name: "in a module", is: func(s *situation) bool { return s.of.module != "" }},
		{name: "a breakpoint of a debugger in it",
			is: func(s *situation) bool { return s.breakIn(s.of.span[0], s.of.span[1]) }},
		{name: "a label in it being flipped", is: func(s *situation) bool {
			return s.during(scenario.ALabel, func(as *subject) bool { return as.in == s.of.in })
		}},
		{name: "a static call in it being changed", is: func(s *situation) bool {
			return s.during(scenario.AStaticCall, func(as *subject) bool { return as.in == s.of.in })
		}},
		{name: "its site being changed", is: func(s *situation) bool {
			is := func(as *subject) bool {
				return s.of.site != 0 && (as.site == s.of.site || as.in == "" && len(as.sites) == 0 ||
					slices.Contains(as.sites, s.of.site))
			}
			return s.during(scenario.APatch, is) || s.during(scenario.ADirect, is) ||
				s.during(scenario.TheTracer, is) || s.during(scenario.AnFprobe, is)
		}},
	}
	running = []state{{name: "a call of its function under way", is: func(s *situation) bool {
		return s.during(scenario.AFunction, func(as *subject) bool {
			return as.in == s.of.in || as.site != 0 && slices.Contains(s.of.sites, as.site)
		})
	}}}
)

// holds returns whether the engine holds any of some bits, and none of others, of a point in the object's function.
func holds(bits, none uint64) func(s *situation) bool {
	return func(s *situation) bool {
		return slices.ContainsFunc(s.points, func(p point) bool {
			return p.at >= s.of.span[0] && p.at < s.of.span[1] && p.bits&bits != 0 && p.bits&none == 0
		})
	}
}

// has reports whether a probe in the object's function is as asked.
func (s *situation) has(is func(i int, st engine.Status) bool) bool {
	return s.probes(func(i int, st engine.Status) bool {
		return st.Addr >= s.of.span[0] && st.Addr < s.of.span[1] && is(i, st)
	})
}

// Works, and what the kernel's files switch.
var (
	work = []state{
		{name: "idle", is: func(s *situation) bool { p, r := s.work(); return !p && !r }},
		{name: "queued", is: func(s *situation) bool { p, _ := s.work(); return p }},
		{name: "running", is: func(s *situation) bool { _, r := s.work(); return r }},
	}
	waiting = []state{
		{name: "a probe waiting to be optimized", is: anyPoint(kpev.StateOptimizing)},
		{name: "a probe waiting to be unoptimized", is: anyPoint(kpev.StateUnoptimizing)},
		{name: "a probe waiting to be freed", is: anyPoint(kpev.StateFreeing)},
		{name: "a probe armed by a jump", is: anyPoint(kpev.StateJumped)},
	}
	// everywhere are further ones, for what goes through all probes.
	everywhere = []state{
		{name: "a probe at a site of ftrace", is: anyPoint(kpev.StateFtrace)},
		{name: "a probe gone with its module", is: anyPoint(kpev.StateGone)},
		{name: "a disabled probe", is: func(s *situation) bool {
			return s.probes(func(_ int, st engine.Status) bool { return st.Registered && st.Disabled })
		}},
	}
	switches = []state{
		{name: "kprobes on", is: func(s *situation) bool { return s.t.Engine().Switched(engine.Armed) }},
		{name: "kprobes off", is: func(s *situation) bool { return !s.t.Engine().Switched(engine.Armed) }},
		{name: "optimization on", is: func(s *situation) bool { return s.t.Engine().Switched(engine.Optimization) }},
		{name: "optimization off", is: func(s *situation) bool { return !s.t.Engine().Switched(engine.Optimization) }},
	}
)

func (s *situation) work() (queued, running bool) { return s.t.Clients().Work[s.of.name].Now() }

func anyPoint(bits uint64) func(s *situation) bool {
	return func(s *situation) bool { return s.any(bits, 0, ^arch.Addr(0)) }
}

// The other patchers of text.
var (
	label = []state{
		{name: "off", is: func(s *situation) bool { return !s.on[s.of.number] }},
		{name: "on", is: func(s *situation) bool { return s.on[s.of.number] }},
	}
	static = []state{
		{name: "calling that already", is: func(s *situation) bool { return s.calls[s.of.number] == s.callee() }},
		{name: "calling another", is: func(s *situation) bool {
			to := s.calls[s.of.number]
			return to != 0 && to != s.callee()
		}},
		{name: "calling nothing", is: func(s *situation) bool { return s.calls[s.of.number] == 0 }},
	}
	prefixes = []state{
		{name: "written", is: func(s *situation) bool { return s.locks }},
		{name: "removed", is: func(s *situation) bool { return !s.locks }},
	}
	alternatives = []state{
		{name: "not applied", is: func(s *situation) bool { return !s.done }},
		{name: "applied", is: func(s *situation) bool { return s.done }},
	}
	memory = []state{{name: "not executable", is: func(s *situation) bool {
		return !s.t.Clients().Hand.Code(s.of.span[0]).Executable()
	}}}
	breakpoint = []state{
		{name: "absent", is: func(s *situation) bool { return !s.breakIn(s.of.at, s.of.at+1) }},
		{name: "set", is: func(s *situation) bool { return s.breakIn(s.of.at, s.of.at+1) }},
		{name: "text being written by another task", is: func(s *situation) bool {
			return s.during(scenario.AProbe, func(*subject) bool { return true }) ||
				s.during(scenario.ALabel, func(*subject) bool { return true })
		}},
	}
)

func (s *situation) callee() arch.Addr {
	if len(s.op.op.Targets) == 0 {
		return 0
	}
	return s.t.Func(s.op.op.Targets[0])
}

// Modules and CPUs.
var (
	module = []state{
		{name: "not loaded", is: inModule(kapi.ModuleUnformed)},
		{name: "coming", is: inModule(kapi.ModuleComing)},
		{name: "live", is: inModule(kapi.ModuleLive)},
		{name: "going", is: inModule(kapi.ModuleGoing)},
		{name: "held", is: func(s *situation) bool { return s.t.Module(s.of.module).Holds() > 0 }},
		{name: "an armed probe in it", is: func(s *situation) bool { return s.inside(kpev.StateArmed) }},
		{name: "a jump of a probe in it", is: func(s *situation) bool { return s.inside(kpev.StateJumped) }},
		{name: "a probe in it gone", is: func(s *situation) bool { return s.inside(kpev.StateGone) }},
		{name: "a probe at a site of ftrace in it", is: func(s *situation) bool { return s.inside(kpev.StateFtrace) }},
		{name: "a disabled probe in it", is: func(s *situation) bool {
			return s.probes(func(i int, st engine.Status) bool {
				return st.Registered && st.Disabled && s.covers(st.Addr)
			})
		}},
		{name: "a probe's call in it under way", is: func(s *situation) bool {
			return s.during(scenario.AProbe, func(as *subject) bool { return as.module == s.of.module })
		}},
		{name: "a call of its text under way", is: func(s *situation) bool {
			return s.during(scenario.AFunction, func(as *subject) bool { return as.module == s.of.module })
		}},
		{name: "a tracer on", is: func(s *situation) bool {
			for _, f := range s.rig.Scenario.Sites {
				if of := s.function(f.Func); of.module == s.of.module && s.wants(s.t.Clients().Tracer, of.site) {
					return true
				}
			}
			return false
		}},
	}
	cpu = []state{
		{name: "online", is: func(s *situation) bool { return (s.offline|s.leaving)>>s.of.number&1 == 0 }},
		{name: "offline", is: func(s *situation) bool { return s.offline>>s.of.number&1 != 0 }},
		{name: "online, not active", is: func(s *situation) bool { return s.leaving>>s.of.number&1 != 0 }},
	}
)

// inside reports whether the engine holds any of these bits of an address in the module.
func (s *situation) inside(bits uint64) bool {
	return slices.ContainsFunc(s.points, func(p point) bool { return p.bits&bits != 0 && s.covers(p.at) })
}

// covers reports whether an address is in the module.
func (s *situation) covers(at arch.Addr) bool {
	m := s.t.Module(s.of.module)
	return m.Core.Has(at) || m.Init.Has(at)
}

// Clients of sites of ftrace.
var (
	tracer = []state{
		{name: "off", is: func(s *situation) bool { return !s.onSite(s.tracerOn) }},
		{name: "on", is: func(s *situation) bool { return s.onSite(s.tracerOn) }},
		{name: "the client that changes paths on", is: func(s *situation) bool { return s.onSite(s.liveOn) }},
	}
	livepatch = []state{
		{name: "off", is: func(s *situation) bool { return !s.onSite(s.liveOn) }},
		{name: "on", is: func(s *situation) bool { return s.onSite(s.liveOn) }},
		{name: "a tracer on", is: func(s *situation) bool { return s.onSite(s.tracerOn) }},
	}
	// onSites are the states of a client of all sites.
	onSites = []state{
		{name: "a probe at a site", is: anyPoint(kpev.StateFtrace)},
		{name: "a live patch at a site", is: func(s *situation) bool { return len(s.patches) > 0 }},
		{name: "a direct call at a site", is: func(s *situation) bool { return s.onSite(s.directly) }},
		{name: "an fprobe at a site", is: func(s *situation) bool { return s.onSite(s.hooked) }},
		{name: "a site's module not loaded", is: siteIn(kapi.ModuleUnformed)},
		{name: "a site's module coming", is: siteIn(kapi.ModuleComing)},
		{name: "a site's module going", is: siteIn(kapi.ModuleGoing)},
	}
	// clients are the states of one function's site.
	clients = []state{
		{name: "a tracer at its site", is: func(s *situation) bool { return s.ofSites(s.tracerOn) }},
		{name: "a client that changes paths at its site", is: func(s *situation) bool { return s.ofSites(s.liveOn) }},
		{name: "a probe at its site", is: func(s *situation) bool {
			return s.ofSites(func(a arch.Addr) bool { return s.at(a)&kpev.StateFtrace != 0 })
		}},
		{name: "a live patch at its site", is: func(s *situation) bool {
			return s.ofSites(func(a arch.Addr) bool { n, _, _ := s.patchesOf(a); return n > 0 })
		}, of: isnt(scenario.APatch, scenario.ABpf)},
		{name: "a direct call at its site", is: func(s *situation) bool { return s.ofSites(s.directly) },
			of: isnt(scenario.ADirect, scenario.ABpf)},
		{name: "an fprobe at its site", is: func(s *situation) bool { return s.ofSites(s.hooked) },
			of: isnt(scenario.AnFprobe)},
	}
	patches = []state{
		{name: "absent", is: func(s *situation) bool { n, _, _ := s.patchesOf(s.of.site); return n == 0 }},
		{name: "patched", is: func(s *situation) bool { n, _, _ := s.patchesOf(s.of.site); return n == 1 }},
		{name: "patched over a patch", is: func(s *situation) bool { n, _, _ := s.patchesOf(s.of.site); return n > 1 }},
		{name: "in transition, coming", is: func(s *situation) bool { _, c, _ := s.patchesOf(s.of.site); return c }},
		{name: "in transition, going", is: func(s *situation) bool { _, _, g := s.patchesOf(s.of.site); return g }},
		{name: "a patch of another function in transition", is: func(s *situation) bool {
			_, c, g := s.patchesOf(s.of.site)
			return !c && !g && slices.ContainsFunc(s.patches, func(p patch) bool { return !p.done })
		}},
	}
	direct = []state{
		{name: "absent", is: func(s *situation) bool { return !s.directly(s.of.site) }},
		{name: "there", is: func(s *situation) bool { return s.directly(s.of.site) }},
	}
	programs = []state{
		{name: "attached", is: func(s *situation) bool { return s.t.Clients().Bpf[s.of.name].Attached() }},
		{name: "detached", is: func(s *situation) bool { return !s.t.Clients().Bpf[s.of.name].Attached() }},
		{name: "another program attached", is: func(s *situation) bool {
			return s.t.Clients().Bpf[s.of.name].Beside()
		}},
	}
	dispatchers = []state{
		{name: "without a program", is: func(s *situation) bool { return !s.t.Clients().Dispatcher[s.of.name].Knows() }},
		{name: "with a program", is: func(s *situation) bool { return s.t.Clients().Dispatcher[s.of.name].Knows() }},
	}
	tails = []state{
		{name: "without a program", is: func(s *situation) bool { return !s.t.Clients().Tail[s.of.name].Leads() }},
		{name: "with a program", is: func(s *situation) bool { return s.t.Clients().Tail[s.of.name].Leads() }},
	}
	uprobes = []state{
		{name: "absent", is: func(s *situation) bool { return len(s.users) == 0 }},
		{name: "its user registered", is: func(s *situation) bool { return slices.Contains(s.users, s.of.span[0]) }},
		{name: "another user registered", is: func(s *situation) bool {
			return slices.ContainsFunc(s.users, func(f arch.Addr) bool { return f != s.of.span[0] })
		}},
		{name: "a call under way", is: func(s *situation) bool { return s.scene.calls > 0 }},
	}
	fprobes = []state{
		{name: "absent", is: func(s *situation) bool { return !s.registered(s.of.number) }},
		{name: "registered", is: func(s *situation) bool { return s.registered(s.of.number) }},
		{name: "another fprobe at its site", is: func(s *situation) bool {
			return slices.ContainsFunc(s.leads, func(l lead) bool {
				return l.attached && slices.Contains(s.of.sites, l.site) && l.subject >= smpev.SubjectFprobe &&
					l.subject < smpev.SubjectDirect && l.subject != smpev.SubjectFprobe+uint64(s.of.number)
			})
		}},
	}
)

func isnt(o ...scenario.Object) func(k *scenario.Operation) bool {
	return func(k *scenario.Operation) bool { return !slices.Contains(o, k.Object) }
}
