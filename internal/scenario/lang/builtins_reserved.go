package lang

import (
	"bytes"
	"cmp"
	"slices"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// doReserved makes a reserved place.
func (l *loader) doReserved(c *call) (starlark.Value, error) {
	var at starlark.Value
	var by string
	size := -1
	if err := c.unpack("at", &at, "by", &by, "size?", &size); err != nil {
		return nil, err
	}
	f, err := function("at", at)
	if err != nil {
		return nil, err
	}
	r := scenario.Reserved{Func: f.name, Offset: int(f.off), Size: size}
	if r.By, err = nearest.Lookup[scenario.Reason]("by", by, scenario.ReasonWords); err != nil {
		return nil, err
	}
	if size < 0 {
		r.Size = scenario.ReasonSizes[r.By]
	}
	l.position[scenario.PartOf(scenario.TheReserved, len(l.s.Reserved))] = c.at
	l.s.Reserved = append(l.s.Reserved, r)
	return starlark.None, nil
}

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
			if off+x.Len > len(t.Code) || taken(s, t.Name, off) {
				continue
			}
			if x.Kind == image.SiteFentry {
				if traced && (off == 0 || off == scenario.EndbrLen) && bytes.HasPrefix(t.Code[off:], x86.Nop5[:]) {
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

// taken reports whether the program names the owner of a place in a function.
func taken(s *scenario.Scenario, function string, off int) bool {
	here := func(x scenario.Site) bool { return x.Func == function && x.Offset == off }
	return slices.ContainsFunc(s.Sites, here) ||
		slices.ContainsFunc(s.Labels, func(x scenario.Label) bool { return x.Func == function && x.Offset == off }) ||
		slices.ContainsFunc(s.Calls, func(x scenario.StaticCall) bool {
			return slices.ContainsFunc(x.Sites, func(x scenario.CallSite) bool {
				return x.Func == function && x.Offset == off
			})
		}) ||
		slices.ContainsFunc(s.Reserved, func(x scenario.Reserved) bool {
			return x.By != scenario.ReservedBlacklist && x.Func == function && x.Offset == off
		})
}
