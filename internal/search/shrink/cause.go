package shrink

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A cause is what two violating runs must agree on to be the same violation,
// whatever CPUs, tasks, times and addresses of allocated memory they have.
type cause struct {
	property *properties.Property
	event    string // the kind of the violating event; how the run ended, if no event did it
	label    string // where: victim+0x1, a detour or slot and how far in, or what is waited for
	site     string // what state the probe or label concerned is in, by what is claimed and by its text; "" if none is
}

// An ear listens to a rig's runs for their cause. It is the last to get an
// event, so a finding that it sees is that of this event.
type ear struct {
	rig    *rig.Rig
	sites  []earSite
	allocs []earAlloc
	calls  [256]int // by task: the site of the API call it is in, from 1
	kind   traces.Kind
	heard  bool // the finding has been seen: all else is as it was then
}

// An earSite is where a probe or label is.
type earSite struct {
	addr  arch.Addr
	claim traces.Kind       // the engine's last one, 0 if there is none
	orig  [x86.JumpLen]byte // linked text
	mem   [x86.JumpLen]byte // now
}

// An earAlloc is executable memory that was handed out for a site.
type earAlloc struct {
	addr, size, what uint64
	site             int // from 1; 0: not known
}

// listen puts an ear to a rig, for good.
func listen(r *rig.Rig) *ear {
	h := &ear{rig: r}
	add := func(name string, off int) {
		at, _ := r.Func(name)
		a := at + arch.Addr(off)
		if h.site(uint64(a)) == 0 {
			s := earSite{addr: a}
			copy(s.orig[:], r.Text(name).Code[off:])
			h.sites = append(h.sites, s)
		}
	}
	for i := range r.Scenario.Probes {
		if f, known := r.Scenario.Place(&r.Scenario.Probes[i]); known {
			add(f, r.Scenario.Probes[i].Offset)
		}
	}
	for i := range r.Scenario.Labels {
		add(r.Scenario.Labels[i].Func, r.Scenario.Labels[i].Offset)
	}
	for k := traces.Kind(0); k < traces.KprobesBlock+64; k++ {
		if k.String() != "" {
			r.Log.Subscribe(h, k)
		}
	}
	return h
}

// site returns the number, from 1, of the site at an address, 0 if there is none.
func (h *ear) site(a uint64) int {
	return 1 + slices.IndexFunc(h.sites, func(s earSite) bool { return uint64(s.addr) == a })
}

func (h *ear) reset() {
	for i := range h.sites {
		s := &h.sites[i]
		s.claim, s.mem = 0, s.orig
	}
	h.allocs = h.allocs[:0]
	clear(h.calls[:])
	h.heard, h.kind = false, 0
}

// Event implements traces.Sink.
func (h *ear) Event(e *traces.Event) *traces.Finding {
	if h.heard {
		return nil
	}
	switch e.Kind {
	case kpev.ApiEnter:
		h.calls[e.Task] = h.site(e.C)
	case kpev.ApiReturn:
		h.calls[e.Task] = 0
	case smpev.Alloc:
		h.allocs = append(h.allocs, earAlloc{e.A, e.B, e.C, h.calls[e.Task]})
	case smpev.TextStore:
		for i := range h.sites {
			s := &h.sites[i]
			for k := range s.mem {
				if off := uint64(s.addr) + uint64(k) - e.A; off < e.C {
					s.mem[k] = byte(e.B >> (8 * off))
				}
			}
		}
	default:
		if i := h.site(e.A); i > 0 && e.Kind.Spec().State != "" {
			h.sites[i-1].claim = e.Kind
		}
	}
	if f := h.rig.Log.Found; f != nil {
		h.heard, h.kind = true, e.Kind
	}
	return nil
}

// cause returns that of the run that ended last.
func (h *ear) cause(run rig.Run) cause {
	c := cause{property: run.Property, event: "the end"}
	switch {
	case run.Property == nil:
		return c
	case run.Outcome == smp.Stuck || run.Outcome == smp.Exhausted:
		waits := h.rig.Machine.Inspect().Waits()
		slices.Sort(waits)
		c.event, c.label = run.Outcome.String(), strings.Join(slices.Compact(waits), ", ")
		return c
	case h.heard:
		c.event = h.kind.String()
	}
	at := run.Finding.Place
	if at == 0 {
		return c
	}
	c.label = h.rig.Machine.Names().SymbolName(at)
	site := 0
	for i := len(h.allocs) - 1; i >= 0; i-- {
		if a := &h.allocs[i]; at-a.addr < a.size {
			what := "slot"
			if a.what == kpev.DetourMem {
				what = "detour"
			}
			c.label, site = fmt.Sprintf("%s+%#x", what, at-a.addr), a.site
			break
		}
	}
	for i := range h.sites { // or one whose region it is in; the next below, if there are several
		if off := at - uint64(h.sites[i].addr); off < maxRegion &&
			(site == 0 || h.sites[i].addr > h.sites[site-1].addr) {
			site = i + 1
		}
	}
	if site > 0 {
		c.site = h.sites[site-1].state()
	}
	return c
}

// maxRegion is how many bytes a jump can have replaced, whole instructions: 4
// and the longest.
const maxRegion = x86.JumpLen - 1 + 15

// state says what the engine claims of the site, and what its text holds: what
// was linked, a breakpoint in it, or more than that was written, a jump or part
// of one. Which part, and whether the engine calls it a jump yet, is no other
// cause: the next step would make it another.
func (s *earSite) state() string {
	claim, holds := "unprobed", "written"
	if s.claim != 0 {
		claim = s.claim.String()
	}
	if [x86.JumpLen - 1]byte(s.mem[1:]) == [x86.JumpLen - 1]byte(s.orig[1:]) {
		switch s.mem[0] {
		case s.orig[0]:
			holds = "as linked"
		case target.Arch.Breakpoint[0]:
			holds = "breakpoint"
		}
	}
	if holds == "written" && s.claim == kpev.Optimizing {
		claim = kpev.Optimized.String()
	}
	return claim + ", " + holds
}
