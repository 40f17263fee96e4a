package pairs

import (
	"slices"

	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// wants reports whether a client of all sites is registered and wants one.
func (s *situation) wants(c ftrace.Client, site arch.Addr) bool {
	return c != nil && site != 0 && c.Wants(site)
}

func (s *situation) tracerOn(site arch.Addr) bool { return s.wants(s.t.Clients().Tracer, site) }

func (s *situation) liveOn(site arch.Addr) bool { return s.wants(s.t.Clients().Live, site) }

// directly and hooked report whether a site has a direct call, or an fprobe.
func (s *situation) directly(site arch.Addr) bool {
	return s.attachedAt(site, smpev.SubjectDirect, smpev.SubjectPatch)
}
func (s *situation) hooked(site arch.Addr) bool {
	return s.attachedAt(site, smpev.SubjectFprobe, smpev.SubjectDirect)
}

// onSite reports whether some site of ftrace is as asked.
func (s *situation) onSite(is func(site arch.Addr) bool) bool {
	f := s.t.Clients().Ftrace
	for i := range f.Sites() {
		if is(f.Record(i).At) {
			return true
		}
	}
	return false
}

// ofSites reports whether one of the object's sites is as asked.
func (s *situation) ofSites(is func(site arch.Addr) bool) bool {
	return s.of.site != 0 && is(s.of.site) || slices.ContainsFunc(s.of.sites, is)
}

// claimed reports whether a site has a client that is no probe.
func (s *situation) claimed(site arch.Addr) bool {
	n, _, _ := s.patchesOf(site)
	return n > 0 || s.tracerOn(site) || s.liveOn(site) || s.attachedAt(site, smpev.SubjectFprobe, smpev.SubjectPatch)
}

// registered reports whether an fprobe is.
func (s *situation) registered(number int) bool {
	return slices.ContainsFunc(s.leads, func(l lead) bool {
		return l.attached && l.subject == smpev.SubjectFprobe+uint64(number)
	})
}

// siteIn returns whether a site of ftrace is in a module in that state.
func siteIn(want kapi.ModuleState) func(s *situation) bool {
	return func(s *situation) bool {
		for _, site := range s.rig.Scenario.Sites {
			of := s.function(site.Func)
			if of.module != "" && s.t.Module(of.module).Now() == want {
				return true
			}
		}
		return false
	}
}
