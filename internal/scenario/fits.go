package scenario

import (
	"slices"
	"strings"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
)

// An Answer is what registering an unregistered probe answers.
type Answer struct {
	Known bool // only the answers below are right
	Errno int  // 0: it succeeds
	Or    int  // another right answer, depending on what else is registered; 0: none
	Jump  bool // the probe must be a jump when all work is done, unless another probe prevents it
}

// The constants are errnos that register answers.
const (
	enoent = 2
	eexist = 17
	einval = 22
	eilseq = 84

	eopnotsupp = 95 // X2 checks more about an instruction that is stepped although it can't be
)

// Answers returns, for each probe, the right answer to registering it alone while it isn't
// registered, as far as the scenario alone decides that.
//
// A probe is registered if it is a kprobe, or a return probe or a jprobe at a function's first
// byte. Its text must always be there, nothing else may write to the text, and no table of the
// kernel may name it. The rules must allow probes at its instruction, and every edition must
// step the instruction. If a function has several jprobes, all but one are refused (spec 3.2).
//
// Whatever the rules refuse at a byte is refused with that errno. So are a return probe after
// the entry, and any probe in __switch_to (2.9). So is a probe that gives its place both by
// address and by name, in neither way, by a name that doesn't exist, or after the function's
// end (6.1). The rules are those that the engine asks, but the engine decides what comes
// before and after them. Nothing is known for a kernel's own engine.
func (s *Scenario) Answers() []Answer {
	answers := make([]Answer, len(s.Probes))
	if s.Machine.Engine != "" {
		return answers
	}
	var taken []string // functions that others write to, that are loaded and unloaded, or that aren't examined here
	for i := range s.Modules {
		taken = append(append(taken, s.Modules[i].Core...), s.Modules[i].Init...)
	}
	for i := range s.Calls {
		taken = append(taken, s.Calls[i].Target)
	}
	s.Patched(func(t Patched) {
		if !t.Trampoline {
			taken = append(taken, t.Func)
		}
	})
	together := make(map[string]bool)
	for i := range s.Tasks {
		for _, op := range s.Tasks[i].Ops {
			if op.Kind.Has(ParamParts) && op.Kind.Touches&TouchRegister != 0 {
				for _, name := range op.Targets {
					together[name] = true
				}
			}
			if op.Kind.Has(ParamInsn) {
				taken = append(taken, op.Target)
			}
		}
	}
	judge := new(rules.Judge)
	for i := range s.Probes {
		p := &s.Probes[i]
		if together[p.Name] {
			continue
		}
		answers[i] = s.askedFor(p)
		f, ok := s.Place(p)
		if t := s.Text(f); !answers[i].Known && ok && t != nil && len(t.Extable) == 0 && len(s.Reserved) == 0 &&
			!slices.Contains(taken, f) && !s.Stored(f) {
			answers[i] = s.answer(judge, p, t)
		}
	}
	return answers
}

// askedFor returns the answer to the way in which a kprobe names its place.
func (s *Scenario) askedFor(p *Probe) Answer {
	_, known := s.Place(p)
	switch {
	case p.Kind != ProbeKprobe:
	case (p.Func == "") == (p.Symbol == ""):
		return Answer{Known: true, Errno: einval}
	case p.Func != "" || known || strings.Contains(p.Symbol, ":") || s.Reserved != nil || len(s.Modules) > 0:
	// after its end; later editions look it up first (cc66bb914578)
	case s.Text(p.Symbol) != nil && s.Machine.Kernel.Edition < rules.Edition514:
		return Answer{Known: true, Errno: einval}
	case s.Machine.Kernel.Edition == rules.Edition26:
		return Answer{Known: true, Errno: einval}
	default:
		return Answer{Known: true, Errno: enoent}
	}
	return Answer{}
}

// answer returns the rules' answer to a probe in a function that nothing else affects.
func (s *Scenario) answer(judge *rules.Judge, p *Probe, t *Text) Answer {
	// 2.6 refuses it before it looks at the place
	newer := p.Kind == ProbeKretprobe && (p.Pre != nil || p.DataSize != 0)
	if rules.KretprobeBlacklisted(t.Name) && !(newer && s.Machine.Return == era.ReturnGlobal) {
		return Answer{Known: true, Errno: einval}
	}
	if p.Kind == ProbeKretprobe && p.Offset > len(endbr64) && !newer {
		return Answer{Known: true, Errno: einval}
	}
	plain := p.Kind == ProbeKprobe || p.Offset == 0 && (p.Kind == ProbeKretprobe && p.Maxactive >= 0 && !newer ||
		p.Kind == ProbeJprobe && s.Machine.Jprobes)
	if !plain || p.Offset >= len(t.Code) {
		return Answer{}
	}
	judge.Load(&s.Machine.Kernel, &rules.Function{Name: t.Name, Addr: t.At, Size: len(t.Code), Code: t.Code,
		Thunks: s.thunks()})
	at := p.Offset + s.Entry(p)
	v, rest := judge.At(at), t.Code[min(at, len(t.Code)):]
	switch {
	// it may be read from the middle of an instruction
	case s.Machine.AnyByte && (v.Errno != 0 || !judge.Boundary(p.Offset)):
		return Answer{}
	case v.Errno != 0:
		return Answer{Known: p.Kind == ProbeKprobe && v.Errno != -eopnotsupp, Errno: -v.Errno}
	case !judge.Boundary(p.Offset):
		return Answer{Known: p.Kind == ProbeKprobe, Errno: eilseq}
	case !s.Machine.stepped(rest):
		return Answer{}
	case p.Kind == ProbeJprobe && !s.onlyJprobe(p):
		return Answer{Known: true, Or: eexist}
	}
	// A region that ends after the function has an instruction that isn't whole here, so it isn't
	// decoded.
	jump := s.Machine.Optimizes() && v.Optimizable() && s.Machine.moves(rest[:min(v.Region, len(rest))]) &&
		(p.Kind == ProbeKprobe && p.Post == nil || p.Kind == ProbeKretprobe) && !s.DoesAny(Modifies)
	return Answer{Known: true, Jump: jump}
}

// thunks returns the places of the scenario's thunks for indirect jumps.
func (s *Scenario) thunks() []rules.Span {
	return s.Machine.Kernel.Thunks(nil, func(name string) (rules.Span, bool) {
		t := s.Text(name)
		if t == nil {
			return rules.Span{}, false
		}
		return rules.Span{Start: t.At, End: t.At + arch.Addr(len(t.Code))}, true
	})
}

// onlyJprobe reports whether a jprobe is the only one of its function: another is refused.
func (s *Scenario) onlyJprobe(p *Probe) bool {
	for i := range s.Probes {
		if q := &s.Probes[i]; q != p && q.Kind == ProbeJprobe && (q.Func == p.Func || q.Symbol != "") {
			return false
		}
	}
	return true
}

// moves reports whether instructions can be moved anywhere. Memory that they address relative
// to themselves may be out of reach from there.
func (m *Machine) moves(code []byte) bool {
	for len(code) > 0 {
		in, err := m.Processor().Decode(code, 0)
		if err != nil || !m.stepped(code) {
			return false
		}
		code = code[in.Size():]
	}
	return true
}

// stepped reports whether each edition steps or emulates an instruction, wherever its copy is.
// Memory that it addresses relative to itself may be out of reach from there.
func (m *Machine) stepped(code []byte) bool {
	in, err := m.Processor().Decode(code, 0)
	if err != nil || in.Size() == m.Processor().MaxLen {
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
