package vet

import (
	"cmp"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/kprobes/survey"
	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// Image returns the scenario's functions as its kernel has them at the start of a run.
func Image(s *scenario.Scenario) *image.Module {
	var funcs []image.Func
	at := make(map[string]arch.Addr)
	for i := range s.Texts {
		t := &s.Texts[i]
		funcs = append(funcs, image.Func{Name: t.Name, Addr: t.At, Code: t.Code, Extable: t.Extable})
		at[t.Name] = t.At
	}
	var sites []image.Site
	add := func(kind image.SiteKind, function string, offset, n int) {
		sites = append(sites, image.Site{Addr: at[function] + arch.Addr(offset), Len: n, Kind: kind})
	}
	s.Patched(func(t scenario.Patched) {
		if t.Kind == image.SiteFentry { // ftrace's site begins behind what boot writes there
			if f, ok := s.SiteForm(); ok {
				t.Offset, t.Len = t.Offset+len(f.Before), t.Len-len(f.Before)
			}
		}
		if !t.Trampoline && t.Kind != image.SiteAlternative {
			add(t.Kind, t.Func, t.Offset, t.Len)
		}
	})
	for _, r := range s.Reserved {
		if r.By != scenario.ReservedBlacklist {
			add(scenario.ReasonKinds[r.By], r.Func, r.Offset, r.Size)
		}
	}
	m := image.Assembled(s.Name, funcs, sites)
	for i := range m.Symbols {
		b := &m.Symbols[i]
		base, _, _ := strings.Cut(b.Name, ".") // parts split off a function refuse probes too
		for _, name := range [...]string{b.Name, base} {
			b.Blacklisted = b.Blacklisted ||
				slices.Contains(s.Reserved, scenario.Reserved{Func: name, By: scenario.ReservedBlacklist})
		}
		if survey.IsThunk(b.Name) {
			m.Imports = append(m.Imports, *b)
		}
	}
	for _, x := range s.Missing {
		m.Imports = append(m.Imports, image.Symbol{Name: x.Name, Addr: x.At, Size: x.Size, Nth: 1})
	}
	slices.SortFunc(m.Imports, func(a, b image.Symbol) int { return cmp.Compare(a.Addr, b.Addr) })
	return m
}

// Survey returns the scenario's functions as judged by the kernel of its machine.
func Survey(s *scenario.Scenario) *survey.Survey {
	v := survey.New(Image(s), s.Machine.Kprobes().Kernel)
	v.Arch = s.Machine.Processor()
	v.NeverBoosts = s.Machine.Boost == era.BoostNever
	v.OneCPU = true // for lock prefixes that come and go
	v.AnyByte, v.EachBoundary = s.Machine.AnyByte, !s.Machine.AnyByte
	return v
}

// Refusal returns the errno, above 0, with which the rules refuse a probe at an address, and the
// reason. 0: the rules accept it; a refusal then has another reason.
func Refusal(s *scenario.Scenario, at arch.Addr) (errno uint64, why string) {
	v := Survey(s)
	f, ok := v.Module.SymbolAt(at)
	if !ok {
		return 0, ""
	}
	r := v.Row(f, int(at-f.Addr))
	return uint64(-r.Errno), r.Why.In(f.Name)
}

// Thunk reports whether a missing symbol is a thunk for indirect jumps or returns.
func Thunk(m *scenario.Missing) bool { return survey.IsThunk(m.Name) }
