package scenario

import (
	"kpsim/kprobes/era"
	"kpsim/smp/arch/target"
)

// What needs a service of a kernel that it has on some processors only: parts, and operations by what
// they are about. Anything else runs on all of them.
var (
	partNeeds = map[*List]target.Service{
		TheProbes: target.Kprobes, TheLabels: target.Labels, TheCalls: target.Keys, TheLocked: target.Keys,
		TheAlternatives: target.Keys, TheSites: target.Sites, TheFprobes: target.Sites, TheBpfs: target.Sites,
		TheModules: target.Modules,
	}
	objectNeeds = map[Object]target.Service{
		AProbe: target.Kprobes, TheOptimizer: target.Kprobes, TheSysctl: target.Kprobes, TheFile: target.Kprobes,
		ALabel: target.Labels, AStaticCall: target.Keys, LockPrefixes: target.Keys, AllAlternatives: target.Keys,
		AModule: target.Modules, TheTracer: target.Sites, TheLivepatch: target.Sites, APatch: target.Sites,
		ADirect: target.Sites, AnFprobe: target.Sites, ABpf: target.Sites, ADispatcher: target.Sites,
		ATailCall: target.Sites, ABreakpoint: target.Debugger, AUprobe: target.Uprobes,
	}
)

// served checks that the kernel has on its processor what the scenario uses.
func served(c checker) error {
	s, on := c.s, c.s.Machine.Arch
	switch m := &s.Machine; {
	case m.Engine != "" && !on.Serves(target.Kprobes):
		return Faultf(PartOf(TheMachine, 0), "engine = %q is of x86; on %s kpsim runs functions, patchers by hand and "+
			"jump labels, so leave engine out", m.Engine, on)
	case m.Patch != era.PatchStopMachine && (m.Patch == era.PatchWhole) == m.Processor().BreakpointFirst:
		return Faultf(PartOf(TheMachine, 0), "patch = %q isn't how %s patches text; leave it out, or take "+
			"\"stop_machine\"", m.Patch, on)
	case m.FRED && !on.Serves(target.ERETS):
		return Faultf(PartOf(TheMachine, 0), "fred = True is of x86-64; leave it out on %s", on)
	}
	for _, l := range Lists {
		if l.Len(s) > 0 && !on.Serves(partNeeds[l]) {
			return Faultf(PartOf(l, 0), "kpsim has no %s on %s; leave it out, or take arch = %q", l.Many, on,
				target.X8664)
		}
	}
	for i := range s.Tasks {
		for j := range s.Tasks[i].Ops {
			if k := s.Tasks[i].Ops[j].Kind; k != nil && !on.Serves(objectNeeds[k.Object]) {
				return Faultf(PartOf(TheTasks, i), "task %q: operation %d: kpsim has nothing on %s that %s is about; "+
					"leave it out, or take arch = %q", s.Tasks[i].Name, j, on, k, target.X8664)
			}
		}
	}
	return nil
}
