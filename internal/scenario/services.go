package scenario

import (
	"cmp"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch/target"
)

// What needs a service of a kernel that it has on some processors only: parts, and operations by what
// they are about. Anything else runs on all of them.
var (
	partNeeds = map[*List]target.Service{
		TheProbes: target.Kprobes, TheLabels: target.Labels, TheCalls: target.Keys, TheLocked: target.Keys,
		TheAlternatives: target.Keys, TheSites: target.Sites, TheFprobes: target.Fprobes, TheBpfs: target.Fprobes,
		TheModules: target.Modules,
	}
	objectNeeds = map[Object]target.Service{
		AProbe: target.Kprobes, TheOptimizer: target.Jumps, TheSysctl: target.Jumps, TheFile: target.Kprobes,
		ALabel: target.Labels, AStaticCall: target.Keys, LockPrefixes: target.Keys, AllAlternatives: target.Keys,
		AModule: target.Modules, TheTracer: target.Sites, TheLivepatch: target.Sites, APatch: target.Sites,
		ADirect: target.Sites, AnFprobe: target.Fprobes, ABpf: target.Fprobes, ADispatcher: target.Fprobes,
		ATailCall: target.Fprobes, ABreakpoint: target.Debugger, AUprobe: target.Uprobes,
	}
)

// ownNeeds are the services of kernels' own engines in the place of kpsim's.
var ownNeeds = map[target.Service]target.Service{target.Kprobes: target.OwnEngine, target.Sites: target.OwnSites}

// served checks that the kernel has on its processor what the scenario uses.
func served(c checker) error {
	s, on := c.s, c.s.Machine.Arch
	has := func(need target.Service) bool {
		if s.Machine.Engine != "" {
			need = cmp.Or(ownNeeds[need], need)
		}
		return on.Serves(need)
	}
	switch m := &s.Machine; {
	case m.Engine != "" && !on.Serves(target.OwnEngine):
		return Faultf(PartOf(TheMachine, 0), "engine = %q: kpsim runs no kernel's own engine on %s; leave engine out",
			m.Engine, on)
	case m.Patch != era.PatchStopMachine && (m.Patch == era.PatchWhole) == m.Processor().BreakpointFirst:
		return Faultf(PartOf(TheMachine, 0), "patch = %q isn't how %s patches text; leave it out, or take "+
			"\"stop_machine\"", m.Patch, on)
	case m.FRED && !on.Serves(target.ERETS):
		return Faultf(PartOf(TheMachine, 0), "fred = True is of x86-64; leave it out on %s", on)
	}
	if err := settingsServed(c); err != nil {
		return err
	}
	for _, l := range Lists {
		if l.Len(s) > 0 && !has(partNeeds[l]) {
			return Faultf(PartOf(l, 0), "kpsim has no %s on %s; leave it out, or take arch = %q", l.Many, on,
				target.X8664)
		}
	}
	for i := range s.Tasks {
		for j := range s.Tasks[i].Ops {
			if k := s.Tasks[i].Ops[j].Kind; k != nil && !has(objectNeeds[k.Object]) {
				return Faultf(PartOf(TheTasks, i), "task %q: operation %d: kpsim has nothing on %s that %s is about; "+
					"leave it out, or take arch = %q", s.Tasks[i].Name, j, on, k, target.X8664)
			}
		}
	}
	return nil
}

// settingsServed checks the settings that kprobes have on x86 alone, and that there are kprobes at all.
func settingsServed(c checker) error {
	m, p := &c.s.Machine, PartOf(TheMachine, 0)
	if m.Arch.Serves(target.Jprobes) {
		return nil
	}
	d, _ := rules.DecoderOf(m.Processor())
	preset := Machine{Arch: m.Arch, Preempt: m.Preempt, Edition: m.Edition, Engine: m.Engine}
	preset.Settle()
	for i := range era.Table {
		r := &era.Table[i]
		if r.Decided != nil && !r.Decided(d) && r.Get(&m.Settings) != r.Get(&preset.Settings) {
			return Faultf(p, "%s = %s is of kprobes on x86; leave it out on %s", r.Word, r.Value(r.Get(&m.Settings)),
				m.Arch)
		}
	}
	for i := range c.s.Probes {
		switch k := &c.s.Probes[i]; {
		case k.Kind == ProbeJprobe && !m.Jprobes:
			return Faultf(PartOf(TheProbes, i), "probe %q: there are no jprobes on %s; take a kprobe", k.Name, m.Arch)
		case m.Late:
			return Faultf(p, "late_int3 = True is of x86; leave it out on %s, or leave its probes out", m.Arch)
		case !m.Kernel.Decoder.Has(m.Edition):
			return Faultf(p, "edition = \"%v\" has no kprobes as kpsim knows them on %s; take \"5.14\", \"6.5\" or "+
				"\"6.9\"", m.Edition, m.Arch)
		case m.Kernel.Edition < rules.Edition514 && m.Kernel.Edition != m.Edition:
			return Faultf(p, "rules = \"%v\" are of x86; on %s take \"5.14\", \"6.5\" or \"6.9\"",
				m.Kernel.Edition, m.Arch)
		}
	}
	return nil
}
