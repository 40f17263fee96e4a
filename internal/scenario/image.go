package scenario

import (
	"cmp"
	"slices"

	"kpsim/kprobes/survey"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// Image returns the scenario's functions as its kernel has them when a run begins.
func (s *Scenario) Image() *image.Module {
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
	for i := range s.Labels {
		add(image.SiteJumpLabel, s.Labels[i].Func, s.Labels[i].Offset, x86.JumpLen)
	}
	for i := range s.Calls {
		for _, c := range s.Calls[i].Sites {
			add(image.SiteStaticCall, c.Func, c.Offset, callLen)
		}
	}
	for i := range s.Sites {
		add(image.SiteFentry, s.Sites[i].Func, s.Sites[i].Offset, callLen)
	}
	for i := range s.Locked {
		add(image.SiteLock, s.Locked[i].Func, s.Locked[i].Offset, 1)
	}
	for _, r := range s.Reserved {
		if r.By != ReservedBlacklist {
			add(reasonKinds[r.By], r.Func, r.Offset, r.Size)
		}
	}
	m := image.Assembled(s.Name, funcs, sites)
	for i := range m.Symbols {
		b := &m.Symbols[i]
		b.Blacklisted = slices.Contains(s.Reserved, Reserved{Func: b.Name, By: ReservedBlacklist})
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

// Survey returns the scenario's functions as the kernel of its machine judges them.
func (s *Scenario) Survey() *survey.Survey {
	v := survey.New(s.Image(), s.Machine.Engine().Kernel)
	v.NeverBoosts = s.Machine.Boost == BoostNever
	v.OneCPU = true // lock prefixes that come and go are such
	v.AnyByte, v.EachBoundary = s.Machine.AnyByte, !s.Machine.AnyByte
	return v
}

// Refusal says what the rules have against a probe at an address: the errno, above 0,
// and why. 0: nothing, so that who is refused all the same was so for another reason.
func (s *Scenario) Refusal(at arch.Addr) (errno uint64, why string) {
	v := s.Survey()
	f, ok := v.Module.SymbolAt(at)
	if !ok {
		return 0, ""
	}
	r := v.Row(f, int(at-f.Addr))
	return uint64(-r.Errno), r.Why.In(f.Name)
}

// Where returns the address of a probe; not ok of one whose symbol is no function here.
func (s *Scenario) Where(k *Probe) (at arch.Addr, ok bool) {
	f, ok := s.Place(k)
	for i := range s.Texts {
		if s.Texts[i].Name == f && ok {
			return s.Texts[i].At + arch.Addr(k.Offset), true
		}
	}
	return 0, false
}
