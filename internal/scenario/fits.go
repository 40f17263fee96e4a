package scenario

import (
	"slices"

	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// Fits says of each probe whether no answer but 0 is right where it is registered and
// isn't yet: a kprobe, or a return probe or the only jprobe at a function's first byte, in text that is always
// there, that nothing else writes to and no table of the kernel names, at an instruction that
// the rules let be probed and that every edition steps, and registered by itself. The rules
// are those that the engine asks, but it decides what comes after them. Of a kernel's own
// engine nothing is said.
func (s *Scenario) Fits() []bool {
	fits := make([]bool, len(s.Probes))
	if s.Machine.Engine != "" || len(s.Reserved) > 0 {
		return fits
	}
	var taken []string // functions that others write to, that come and go, or that aren't looked at here
	for i := range s.Modules {
		taken = append(append(taken, s.Modules[i].Core...), s.Modules[i].Init...)
	}
	for _, list := range [][]Site{s.Sites, s.Locked} {
		for _, site := range list {
			taken = append(taken, site.Func)
		}
	}
	for i := range s.Labels {
		taken = append(taken, s.Labels[i].Func)
	}
	for i := range s.Calls {
		taken = append(taken, s.Calls[i].Target)
		for _, site := range s.Calls[i].Sites {
			taken = append(taken, site.Func)
		}
	}
	together := make(map[string]bool)
	for i := range s.Tasks {
		for _, op := range s.Tasks[i].Ops {
			if op.Kind == OpRegisterAll {
				for _, name := range op.Targets {
					together[name] = true
				}
			}
		}
	}
	judge := new(rules.Judge)
	for i := range s.Probes {
		p := &s.Probes[i]
		t := s.Text(p.Func)
		plain := p.Kind == ProbeKprobe || p.Offset == 0 && (p.Kind == ProbeKretprobe && p.Maxactive >= 0 && p.Pre == nil && p.DataSize == 0 || s.onlyJprobe(p))
		if !plain || t == nil || p.Symbol != "" || len(t.Extable) > 0 || together[p.Name] || slices.Contains(taken, t.Name) || p.Offset >= len(t.Code) {
			continue
		}
		judge.Load(&s.Machine.Kernel, &rules.Function{Name: t.Name, Addr: t.At, Size: len(t.Code), Code: t.Code})
		v := judge.At(p.Offset)
		fits[i] = v.Errno == 0 && judge.Boundary(p.Offset) && stepped(t.Code[p.Offset:])
	}
	return fits
}

// onlyJprobe reports whether a probe is a jprobe, on a machine that has them, and the only one
// of its function: another is refused.
func (s *Scenario) onlyJprobe(p *Probe) bool {
	if p.Kind != ProbeJprobe || !s.Machine.Jprobes {
		return false
	}
	for i := range s.Probes {
		if q := &s.Probes[i]; q != p && q.Kind == ProbeJprobe && (q.Func == p.Func || q.Symbol != "") {
			return false
		}
	}
	return true
}

// stepped reports whether an instruction is one that each edition steps or emulates, wherever
// the copy is: what is read relative to the instruction may be too far from that.
func stepped(code []byte) bool {
	in, err := target.Decode(code, 0)
	if err != nil || in.Size() == target.Arch.MaxLen {
		return false
	}
	if x, ok := in.(interface{ RIPRelative() (int, bool) }); ok {
		if _, relative := x.RIPRelative(); relative {
			return false
		}
	}
	switch in.Flow() {
	case arch.FlowNext, arch.FlowCond, arch.FlowJump, arch.FlowCall, arch.FlowRet:
		return true
	}
	return false
}
