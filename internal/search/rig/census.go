package rig

import (
	"cmp"
	"slices"

	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A Census counts a scenario's probes by what happened to them in any run of an exploration.
type Census struct {
	Probes     int // probes in the scenario
	Registered int
	Refused    int // register returned an errno
	Errno      int // the errno of the first refused probe; 0: none
	Hit        int // a handler ran
	Optimized  int // a jump was written at its place

	During uint64 // runs in which a jump was written in a function during a task's call of that function
}

// Probed records what happened to a probe, in any run.
type Probed struct {
	Registered bool `json:"registered"`
	Refused    bool `json:"refused"`
	Errno      int  `json:"errno,omitempty"` // the largest that register has returned, positive
	Hit        bool `json:"hit"`
	Optimized  bool `json:"optimized"`

	// The fields below count runs.
	HitIn       uint64 `json:"hit_in"`       // a handler of it ran
	OptimizedIn uint64 `json:"optimized_in"` // a jump was written at its place
	DisarmedIn  uint64 `json:"disarmed_in"`  // its breakpoint was removed
}

// A head is the bytes at a probe's place that a jump there would cover: as linked, and now.
type head struct {
	arch        *arch.Arch
	linked, now uint64 // as arch.Word has them
	armed       bool   // a breakpoint or a jump was written there and remains
	asked       bool   // registered or being registered; if not, the patch is another probe's
	before      uint8  // what had happened to the probe before
	registered  bool   // the probe was registered in this run
}

// jump reports whether a jump stands there that wasn't linked.
func (h *head) jump() bool { return h.arch.IsJump.Match(h.now) && h.now != h.linked }

// bare reports whether the first instruction is the linked one, as its first bytes tell. Another probe may be after it.
func (h *head) bare() bool { return (h.now^h.linked)<<(64-8*h.arch.Align) == 0 && !h.jump() }

// The constants say what happened to a probe in a run.
const (
	wasHit uint8 = 1 << iota
	wasOptimized
	wasDisarmed
)

// A census counts what happens to probes in a rig's runs. It judges nothing.
type census struct {
	probes []Probed
	was    []uint8     // by probe: what happened to it in this run
	at     []arch.Addr // where the probes are, in this run
	in     []called    // by program: the function that its task is calling
	stood  []called    // in, when the machine was last stopped: no CPU moves while text is written then
	during bool        // in this run a jump was written in a function during a task's call of that function

	// stopped says that jumps are written while the machine is stopped. silent says that the
	// engine doesn't report that it has written a jump or removed a breakpoint; the census then
	// reads the text.
	stopped, silent bool
	heads           []head // by probe, if silent is set

	// The last bytes were written at tail; over says whether a task was in a call there.
	tail    arch.Addr
	over    bool
	jumpLen arch.Addr // bytes of a jump
}

var censusKinds = []traces.Kind{kpev.ApiReturn, kpev.Handler, kpev.JprobeEnter, kpev.Disarm, kpev.Optimized,
	smpev.StopStart, smpev.TextStore}

// prepare makes room for n probes.
func (c *census) prepare(n int, stopped bool, a *arch.Arch) {
	c.jumpLen = arch.Addr(a.BranchLen)
	c.probes, c.at, c.was, c.stopped = make([]Probed, n), make([]arch.Addr, n), make([]uint8, n), stopped
}

// add adds a probe at a place.
func (c *census) add(at arch.Addr) {
	c.probes, c.at, c.was = append(c.probes, Probed{}), append(c.at, at), append(c.was, 0)
}

func (c *census) begin(placed []arch.Addr) {
	copy(c.at, placed)
	c.during, c.tail, c.over = false, 0, false
	clear(c.in)
	clear(c.stood)
	clear(c.was)
	for i := range c.heads {
		c.heads[i] = head{arch: c.heads[i].arch, linked: c.heads[i].linked, now: c.heads[i].linked}
	}
}

// Ended adds the probe results of the run that has ended to what Probed returns.
func (c *census) Ended() {
	for i, was := range c.was {
		p := &c.probes[i]
		p.HitIn += uint64(was & wasHit)
		p.OptimizedIn += uint64(was & wasOptimized / wasOptimized)
		p.DisarmedIn += uint64(was & wasDisarmed / wasDisarmed)
	}
}

// Probed returns what has happened to the probes in the runs so far.
func (c *census) Probed() []Probed { return slices.Clone(c.probes) }

// here records what happened to each probe at an address.
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
		if a := arch.Addr(e.A); e.C > 1 { // one byte is a breakpoint, or the original byte
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

// readText makes the census take from the text what an engine doesn't report. heads are the
// linked bytes at probes' places.
func (c *census) readText(heads []head) { c.silent, c.heads = true, heads }

// heads returns the linked bytes at probes' places.
func (r *Rig) heads() []head {
	list := make([]head, len(r.probes.addrs))
	for i, at := range r.probes.addrs {
		list[i].arch = r.arch
		for k := range r.Scenario.Texts {
			if t := &r.Scenario.Texts[k]; at-t.At < arch.Addr(len(t.Code)) {
				code := r.Code(t)[at-t.At:]
				list[i].linked = arch.Word(code[:min(len(code), r.arch.BranchLen)])
			}
		}
	}
	return list
}

// optimized records that a jump is at a. Its tail was written before its first byte, or all at
// once.
func (c *census) optimized(a arch.Addr) {
	c.during = c.during || c.called(a) || c.over && c.tail-a < c.jumpLen
	for i := range c.probes {
		if c.at[i] == a {
			c.probes[i].Optimized = true
		}
	}
	c.here(a, wasOptimized)
}

// wrote checks what a store has left at probes' places: a jump, or the linked bytes.
func (c *census) wrote(e *traces.Event) {
	for i := range c.heads {
		h := &c.heads[i]
		jump := h.jump()
		for k := range h.arch.BranchLen {
			if off := uint64(c.at[i]) + uint64(k) - e.A; c.at[i] != 0 && off < e.C {
				h.now = h.now&^(0xff<<(8*k)) | e.B>>(8*off)&0xff<<(8*k)
			}
		}
		n := uint64(h.arch.BreakLen(h.now))
		switch {
		case h.jump() && !jump:
			if h.armed = true; c.askedAt(c.at[i]) {
				c.optimized(c.at[i])
			}
		case e.A-uint64(c.at[i]) < n && e.C <= n: // of a breakpoint
			h.armed = true
		case h.bare() && h.armed:
			if h.armed = false; c.askedAt(c.at[i]) {
				c.was[i] |= wasDisarmed
			}
		}
	}
}

// askedAt reports whether a probe at a is registered or being registered.
func (c *census) askedAt(a arch.Addr) bool {
	for i := range c.heads {
		if c.at[i] == a && c.heads[i].asked {
			return true
		}
	}
	return false
}

// JoinProbed adds to all the results of other runs of the same scenario. all is nil at first.
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

// CensusOf counts probes by what happened to them. It leaves During to the caller.
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

// called is the function that a task is calling, the zero value while it calls none.
type called struct{ from, to arch.Addr }

// enter records that the task of a program calls f.
func (c *census) enter(program int, f called) {
	for len(c.in) <= program {
		c.in = append(c.in, called{})
	}
	c.in[program] = f
}
