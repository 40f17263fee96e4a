package rig

import (
	"cmp"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
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

	// stopped says that jumps are written while the machine is stopped: set by the rig.
	stopped bool

	// Bytes were written last at tail, and whether a task was in a call there.
	tail arch.Addr
	over bool
}

var censusKinds = []traces.Kind{kpev.ApiReturn, kpev.Handler, kpev.JprobeEnter, kpev.Disarm, kpev.Optimized, smpev.StopStart, smpev.TextStore}

func (c *census) begin(placed []arch.Addr) {
	copy(c.at, placed)
	c.during, c.tail, c.over = false, 0, false
	clear(c.in)
	clear(c.stood)
	clear(c.was)
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
	case e.Kind == kpev.Optimized: // the tail was written, then the first byte; or all at once
		a := arch.Addr(e.A)
		c.during = c.during || c.called(a) || c.over && c.tail-a < arch.Addr(target.Arch.BranchLen)
		for i := range c.probes {
			if c.at[i] == a {
				c.probes[i].Optimized = true
			}
		}
		c.here(a, wasOptimized)
	case e.A == kpev.Register && e.C == 0:
		c.probes[e.B].Registered = true
	case e.A == kpev.Register:
		p := &c.probes[e.B]
		p.Refused, p.Errno = true, max(p.Errno, int(e.C))
	}
	return nil
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
