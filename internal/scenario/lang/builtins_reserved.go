package lang

import (
	"cmp"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
	"kpsim/smp/image"
)

// addSites makes what an object's tables say of its functions part of the scenario, as
// far as those functions are: the call of __fentry__ is a site of ftrace, on a machine
// where probes or traces use ftrace; a place is reserved unless the program itself
// names its owner.
func (l *loader) addSites() {
	s := &l.s
	traced := s.Machine.Kernel.Ftrace || s.Does(act.Tracer) || s.Does(act.Livepatch)
	for i := range s.Texts {
		t := &s.Texts[i]
		if l.blacklisted[t.At] {
			l.reserve(scenario.Reserved{Func: t.Name, By: scenario.ReservedBlacklist}, i)
		}
		from, _ := slices.BinarySearchFunc(l.sites, t.At, func(x image.Site, a arch.Addr) int {
			return cmp.Compare(x.Addr, a)
		})
		for _, x := range l.sites[from:] {
			off := int(x.Addr - t.At)
			if x.Addr >= t.At+arch.Addr(len(t.Code)) {
				break
			}
			if off+x.Len > len(t.Code) || ownerNamed(s, t.Name, off) {
				continue
			}
			if x.Kind == image.SiteFentry {
				if form, ok := s.SiteForm(); ok && traced && s.SiteAt(form, t, off) {
					l.position[scenario.PartOf(scenario.TheSites,
						len(s.Sites))] = l.position[scenario.PartOf(scenario.TheTexts, i)]
					s.Sites = append(s.Sites, scenario.Site{Func: t.Name, Offset: off})
				}
			} else if k := slices.Index(scenario.ReasonKinds[:scenario.ReservedBlacklist], x.Kind); k >= 0 {
				l.reserve(scenario.Reserved{Func: t.Name, Offset: off, By: scenario.Reason(k), Size: x.Len}, i)
			}
		}
	}
}

func (l *loader) reserve(r scenario.Reserved, text int) {
	if slices.Contains(l.s.Reserved, r) {
		return
	}
	l.position[scenario.PartOf(scenario.TheReserved, len(l.s.Reserved))] = l.position[scenario.PartOf(scenario.TheTexts,
		text)]
	l.s.Reserved = append(l.s.Reserved, r)
}

// ownerNamed reports whether the program names the owner of a place in a function.
func ownerNamed(s *scenario.Scenario, function string, off int) (is bool) {
	s.Patched(func(t scenario.Patched) {
		owned := !t.Trampoline && t.Kind != image.SiteLock && t.Kind != image.SiteAlternative
		is = is || owned && t.Func == function && t.Offset == off
	})
	return is || slices.ContainsFunc(s.Reserved, func(x scenario.Reserved) bool {
		return x.By != scenario.ReservedBlacklist && x.Func == function && x.Offset == off
	})
}
