package pairs

import (
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A scene is what the events of a run say about points, CPUs, breakpoints, and clients of sites.
type scene struct {
	points  []point
	breaks  []arch.Addr // of the debugger
	offline uint64      // set of CPUs
	leaving uint64      // set of CPUs that are online and not active
	leads   []lead
	patches []patch
	users   []arch.Addr // of the uprobe, by their handlers
	calls   int         // of the function at the uprobe, where some user has a return handler
}

// A point is what the engine holds of an address: bits of kpev.State.
type point struct {
	at   arch.Addr
	bits uint64
}

// A lead is a subject of smpev.Attach at a site.
type lead struct {
	subject  uint64
	site     arch.Addr
	attached bool
}

// A patch is a live patch whose transition has begun and that isn't removed.
type patch struct {
	number  uint64
	patched bool // the state that its transition ends in, or has ended in
	done    bool // no transition is under way
}

// sceneKinds are the kinds that a scene is made of.
var sceneKinds = []traces.Kind{kpev.State, kpev.Carries, smpev.Debugger, smpev.CPUState, smpev.CPUActive,
	smpev.Leads, smpev.Attach, smpev.Attached, smpev.LivePatch, smpev.Uprobe}

func (s *scene) begin(absent uint64) {
	s.points, s.breaks, s.leads, s.patches = s.points[:0], s.breaks[:0], s.leads[:0], s.patches[:0]
	s.users = s.users[:0]
	s.offline, s.leaving, s.calls = absent, 0, 0
}

// Event implements traces.Sink.
func (s *scene) Event(e *traces.Event) *traces.Finding {
	switch e.Kind {
	case kpev.Carries:
		if e.C != 0 { // a report of all points begins
			s.points = s.points[:0]
		}
	case kpev.State:
		s.points = append(s.points, point{arch.Addr(e.A), e.B})
	case smpev.Debugger:
		i := slices.Index(s.breaks, arch.Addr(e.A))
		switch {
		case e.B != 0 && i < 0:
			s.breaks = append(s.breaks, arch.Addr(e.A))
		case e.B == 0 && i >= 0:
			s.breaks = slices.Delete(s.breaks, i, i+1)
		}
	case smpev.CPUState:
		s.offline |= 1 << e.A
		if s.leaving &^= 1 << e.A; e.B != 0 {
			s.offline &^= 1 << e.A
		}
	case smpev.CPUActive:
		s.leaving |= 1 << e.A
		if e.B != 0 {
			s.leaving &^= 1 << e.A
		}
	case smpev.Leads:
		if e.A != 0 && e.B != 0 {
			s.leads = append(s.leads, lead{subject: e.A, site: arch.Addr(e.B)})
		}
	case smpev.Attached:
		s.attached(e)
	case smpev.LivePatch:
		s.patching(e)
	case smpev.Uprobe:
		s.uprobed(e)
	}
	return nil
}

// uprobed takes what becomes of a uprobe's users, and of calls whose return may be hooked.
func (s *scene) uprobed(e *traces.Event) {
	i := slices.Index(s.users, arch.Addr(e.C))
	switch e.B {
	case smpev.UprobeAdded:
		if i < 0 {
			s.users = append(s.users, arch.Addr(e.C))
		}
	case smpev.UprobeRemoved:
		if i >= 0 {
			s.users = slices.Delete(s.users, i, i+1)
		}
	case smpev.UprobeCalls:
		s.calls++
	case smpev.UprobeBack, smpev.UprobeLeaves:
		s.calls--
	}
}

// attached takes the end of a call that attaches an fprobe or a direct call, or detaches it.
func (s *scene) attached(e *traces.Event) {
	if e.C != 0 || e.B != smpev.AttachRegister && e.B != smpev.AttachUnregister {
		return
	}
	for i := range s.leads {
		if l := &s.leads[i]; l.subject == e.A && l.subject < smpev.SubjectPatch {
			l.attached = e.B == smpev.AttachRegister
		}
	}
}

// patching takes a step of a live patch's transition.
func (s *scene) patching(e *traces.Event) {
	i := slices.IndexFunc(s.patches, func(p patch) bool { return p.number == e.A })
	if i < 0 {
		i = len(s.patches)
		s.patches = append(s.patches, patch{number: e.A})
	}
	s.patches[i].patched, s.patches[i].done = e.C != 0, e.B == smpev.LiveComplete
	if e.B == smpev.LiveComplete && e.C == 0 {
		s.patches = slices.Delete(s.patches, i, i+1)
	}
}

// at returns what the engine holds of an address.
func (s *scene) at(a arch.Addr) (bits uint64) {
	for i := range s.points {
		if s.points[i].at == a {
			return s.points[i].bits
		}
	}
	return 0
}

// any reports whether the engine holds any of some bits of an address from the first on to below
// the last.
func (s *scene) any(bits uint64, from, to arch.Addr) bool {
	return slices.ContainsFunc(s.points, func(p point) bool { return p.at >= from && p.at < to && p.bits&bits != 0 })
}

// attachedAt reports whether a subject of these, of the numbers from the first on to below the
// last, is attached to a site.
func (s *scene) attachedAt(site arch.Addr, from, to uint64) bool {
	return slices.ContainsFunc(s.leads, func(l lead) bool {
		return l.attached && l.site == site && l.subject >= from && l.subject < to
	})
}

// patchesOf returns how many live patches there are of the function with a site, and whether one
// is in transition, and where to.
func (s *scene) patchesOf(site arch.Addr) (n int, comes, goes bool) {
	for _, p := range s.patches {
		if !slices.ContainsFunc(s.leads, func(l lead) bool {
			return l.subject == smpev.SubjectPatch+p.number && l.site == site
		}) {
			continue
		}
		n++
		comes, goes = comes || !p.done && p.patched, goes || !p.done && !p.patched
	}
	return n, comes, goes
}

// breakIn reports whether a debugger's breakpoint is set at an address from the first on to below
// the last.
func (s *scene) breakIn(from, to arch.Addr) bool {
	return slices.ContainsFunc(s.breaks, func(a arch.Addr) bool { return a >= from && a < to })
}
