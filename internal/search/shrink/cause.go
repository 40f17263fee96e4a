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
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A cause is what must agree for two violating runs to be the same violation. CPUs, tasks, times
// and addresses of allocated memory don't matter.
type cause struct {
	property *properties.Property
	event    string // kind of the violating event, or how the run ended if no event violated
	label    string // the place: victim+0x1, an offset in a detour or slot, or what is waited for
	// state of the probe or label concerned: the engine's claim and its text; "" if none is
	// concerned
	site string
}

// An ear listens to a rig's runs and determines their cause. It receives each event last, so a
// finding that it sees belongs to that event.
type ear struct {
	rig    *rig.Rig
	sites  []earSite
	allocs []earAlloc
	calls  [256]int // by task: the site of its current API call, from 1
	kind   traces.Kind
	heard  bool // the finding was seen: the other fields are as they were then
}

// An earSite is the place of a probe or label.
type earSite struct {
	addr  arch.Addr
	claim traces.Kind       // the engine's last claim, 0 if there is none
	orig  [x86.JumpLen]byte // as linked
	mem   [x86.JumpLen]byte // current text
}

// An earAlloc is executable memory allocated for a site.
type earAlloc struct {
	addr, size, what uint64
	site             int // from 1; 0: unknown
}

// listen attaches an ear to a rig permanently.
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
		for _, s := range r.Scenario.Labels[i].Sites {
			add(s.Func, s.Offset)
		}
	}
	for k := traces.Kind(0); k < traces.KprobesBlock+64; k++ {
		if k.String() != "" {
			r.Log.Subscribe(h, k)
		}
	}
	return h
}

// site returns the number, from 1, of the site at an address, or 0 if there is none.
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

// cause returns the cause of the run that ended last.
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
	for i := range h.sites { // or the site whose region contains it; the next below, if there are several
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

// maxRegion is the maximum number of bytes that a jump can replace, in whole instructions: 4
// bytes and the longest instruction.
const maxRegion = x86.JumpLen - 1 + 15

// state describes the engine's claim about the site and the text there: as linked, with a
// breakpoint, or with more written, such as a jump or part of one. Which part of the jump was
// written, and whether the engine already claims a jump, doesn't count: the next step would
// change it.
func (s *earSite) state() string {
	claim, holds := "unprobed", "written"
	if s.claim != 0 {
		claim = s.claim.String()
	}
	if [x86.JumpLen - 1]byte(s.mem[1:]) == [x86.JumpLen - 1]byte(s.orig[1:]) {
		switch s.mem[0] {
		case s.orig[0]:
			holds = "as linked"
		case x86.Int3:
			holds = "breakpoint"
		}
	}
	if holds == "written" && s.claim == kpev.Optimizing {
		claim = kpev.Optimized.String()
	}
	return claim + ", " + holds
}
