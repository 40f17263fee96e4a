package rig

import (
	"cmp"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Census is how many of a scenario's probes had what happen to them, in any
// run of an exploration.
type Census struct {
	Probes     int // that the scenario has
	Registered int
	Refused    int // register has returned an errno
	Errno      int // which; of the first of those probes; 0: none
	Hit        int // a handler ran
	Optimized  int // a jump was written at its place

	During uint64 // runs in which a jump was written in a function while a task was in a call of it
}

// Probed is what happened to a probe, in any run.
type Probed struct {
	Registered bool `json:"registered"`
	Refused    bool `json:"refused"`
	Errno      int  `json:"errno,omitempty"` // the largest that register has returned, positive
	Hit        bool `json:"hit"`
	Optimized  bool `json:"optimized"`

	// In how many runs.
	HitIn       uint64 `json:"hit_in"`       // a handler of it ran
	OptimizedIn uint64 `json:"optimized_in"` // a jump was written at its place
	DisarmedIn  uint64 `json:"disarmed_in"`  // its breakpoint was taken away
}

// A head is what stands at a probe's place, as far as a jump there goes: as linked, and now.
type head struct {
	linked, now [x86.JumpLen]byte
	armed       bool  // a breakpoint of one byte was written there, or a jump, and is there
	asked       bool  // the probe was registered, or is being registered: other breakpoints and jumps aren't its own
	before      uint8 // what had happened to it before
	registered  bool  // it was, in this run
}

// jump reports whether a jump stands there that wasn't linked.
func (h *head) jump() bool { return h.now[0] == target.Arch.JumpByte && h.now != h.linked }

// bare reports whether its first instruction is the linked one. Behind it another probe may be.
func (h *head) bare() bool { return h.now[0] == h.linked[0] && !h.jump() }

// What happened to a probe in a run.
const (
	wasHit uint8 = 1 << iota
	wasOptimized
	wasDisarmed
)

// A census listens to a rig's runs. It judges nothing.
type census struct {
	probes []Probed
	was    []uint8     // by probe: what happened to it in this run
	at     []arch.Addr // where the probes are, in this run
	in     []called    // by program: the function that its task is in a call of
	stood  []called    // likewise, when the machine was stopped last: no CPU moves while text is written then
	during bool        // in this run a jump was written in a function while a task was in a call of it

	// stopped says that jumps are written while the machine is stopped, and silent that the engine
	// doesn't say when it has written one or has taken a breakpoint away: then the text says it.
	// Set by the rig.
	stopped, silent bool
	heads           []head // if silent: of each probe

	// Bytes were written last at tail, and whether a task was in a call there.
	tail arch.Addr
	over bool
}

var censusKinds = []traces.Kind{kpev.ApiReturn, kpev.Handler, kpev.JprobeEnter, kpev.Disarm, kpev.Optimized,
	smpev.StopStart, smpev.TextStore}

func (c *census) begin(placed []arch.Addr) {
	copy(c.at, placed)
	c.during, c.tail, c.over = false, 0, false
	clear(c.in)
	clear(c.stood)
	clear(c.was)
	for i := range c.heads {
		c.heads[i] = head{linked: c.heads[i].linked, now: c.heads[i].linked}
	}
}

// ended adds what happened to the probes in a run to what did in all.
func (c *census) ended() {
	for i, was := range c.was {
		p := &c.probes[i]
		p.HitIn += uint64(was & wasHit)
		p.OptimizedIn += uint64(was & wasOptimized / wasOptimized)
		p.DisarmedIn += uint64(was & wasDisarmed / wasDisarmed)
	}
}

// Ended adds what happened to the probes in the run that has ended to what Probed returns.
func (r *Rig) Ended() { r.census.ended() }

// here notes what happens to each probe at an address.
func (c *census) here(a arch.Addr, was uint8) {
	for i := range c.was {
		if c.at[i] == a {
			c.was[i] |= was
		}
	}
}

// called reports whether a task is in a call of the function at a.
func (c *census) called(a arch.Addr) bool {
	in := c.in
	if c.stopped {
		in = c.stood
	}
	for _, f := range in {
		if a >= f.from && a < f.to {
			return true
		}
	}
	return false
}

// Event implements traces.Sink.
func (c *census) Event(e *traces.Event) *traces.Finding {
	switch {
	case e.Kind == kpev.Handler, e.Kind == kpev.JprobeEnter:
		c.probes[e.A].Hit = true
		c.was[e.A] |= wasHit
	case e.Kind == kpev.Disarm:
		c.here(arch.Addr(e.A), wasDisarmed)
	case e.Kind == smpev.StopStart:
		c.stood = append(c.stood[:0], c.in...)
	case e.Kind == smpev.TextStore:
		if a := arch.Addr(e.A); e.C > 1 { // one byte is a breakpoint, or what was there
			c.tail, c.over = a, c.called(a)
		}
		if c.silent {
			c.wrote(e)
		}
	case e.Kind == kpev.Optimized:
		c.optimized(arch.Addr(e.A))
	case e.Kind == kpev.ApiEnter:
		if e.A == kpev.Register && !c.heads[e.B].asked {
			c.heads[e.B].asked, c.heads[e.B].before = true, c.was[e.B]
		}
	case e.A == kpev.Register && e.C == 0:
		c.probes[e.B].Registered = true
		if c.silent {
			c.heads[e.B].registered = true
		}
	case e.A == kpev.Register:
		p := &c.probes[e.B]
		p.Refused, p.Errno = true, max(p.Errno, int(e.C))
		if c.silent && !c.heads[e.B].registered {
			c.heads[e.B].asked, c.was[e.B] = false, c.heads[e.B].before
		}
	}
	return nil
}

// readHeads has the text say what an engine of guest code doesn't.
func (r *Rig) readHeads() {
	if r.census.silent = r.row.Boot != nil && !r.twin; r.census.silent {
		r.census.heads = r.heads()
		r.Log.Subscribe(&r.census, kpev.ApiEnter)
	}
}

// heads are what is linked at probes' places.
func (r *Rig) heads() []head {
	list := make([]head, len(r.placed))
	for i, at := range r.placed {
		for k := range r.Scenario.Texts {
			if t := &r.Scenario.Texts[k]; at-t.At < arch.Addr(len(t.Code)) {
				copy(list[i].linked[:], r.Code(t)[at-t.At:])
			}
		}
	}
	return list
}

// optimized notes that a jump is at a. The tail was written, then the first byte; or all at once.
func (c *census) optimized(a arch.Addr) {
	c.during = c.during || c.called(a) || c.over && c.tail-a < arch.Addr(target.Arch.BranchLen)
	for i := range c.probes {
		if c.at[i] == a {
			c.probes[i].Optimized = true
		}
	}
	c.here(a, wasOptimized)
}

// wrote looks at what a store has left where probes are: a jump, or what was linked.
func (c *census) wrote(e *traces.Event) {
	for i := range c.heads {
		h := &c.heads[i]
		jump := h.jump()
		for k := range h.now {
			if off := uint64(c.at[i]) + uint64(k) - e.A; c.at[i] != 0 && off < e.C {
				h.now[k] = byte(e.B >> (8 * off))
			}
		}
		switch {
		case h.jump() && !jump:
			if h.armed = true; c.askedAt(c.at[i]) {
				c.optimized(c.at[i])
			}
		case e.A == uint64(c.at[i]) && e.C == 1 && target.Arch.IsBreakpoint(h.now[0]):
			h.armed = true
		case h.bare() && h.armed:
			if h.armed = false; c.askedAt(c.at[i]) {
				c.was[i] |= wasDisarmed
			}
		}
	}
}

// askedAt reports whether a probe at a was asked for.
func (c *census) askedAt(a arch.Addr) bool {
	for i := range c.heads {
		if c.at[i] == a && c.heads[i].asked {
			return true
		}
	}
	return false
}

// JoinProbed adds what other runs of the same scenario have shown to all, which is nil at first.
func JoinProbed(all, list []Probed) []Probed {
	if all == nil {
		all = make([]Probed, len(list))
	}
	for i := range min(len(list), len(all)) {
		p, q := &all[i], list[i]
		p.Registered = p.Registered || q.Registered
		p.Refused = p.Refused || q.Refused
		p.Errno = max(p.Errno, q.Errno)
		p.Hit = p.Hit || q.Hit
		p.Optimized = p.Optimized || q.Optimized
		p.HitIn += q.HitIn
		p.OptimizedIn += q.OptimizedIn
		p.DisarmedIn += q.DisarmedIn
	}
	return all
}

// CensusOf counts probes. It leaves During to the caller.
func CensusOf(list []Probed) Census {
	n := Census{Probes: len(list)}
	for _, p := range list {
		n.Registered += int(b2u(p.Registered))
		n.Refused += int(b2u(p.Refused))
		n.Errno = cmp.Or(n.Errno, p.Errno)
		n.Hit += int(b2u(p.Hit))
		n.Optimized += int(b2u(p.Optimized))
	}
	return n
}

// called is a function that a task calls, nothing while it calls none.
type called struct{ from, to arch.Addr }

// enter notes what the task of a program calls.
func (c *census) enter(program int, f called) {
	for len(c.in) <= program {
		c.in = append(c.in, called{})
	}
	c.in[program] = f
}
