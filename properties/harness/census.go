package harness

import (
	"kpsim/kprobes/kpev"
	"kpsim/smp/isa"
	"kpsim/traces"
)

// A Census is how many of a scenario's probes had what happen to them, in any
// run of an exploration.
type Census struct {
	Probes     int // that the scenario has
	Registered int
	Refused    int // register has returned an errno
	Hit        int // a handler ran
	Optimized  int // a jump was written at its place

	During uint64 // runs in which a jump was written in a function while a task was in a call of it
}

// Probed is what happened to a probe, in any run.
type Probed struct {
	Registered bool `json:"registered"`
	Refused    bool `json:"refused"`
	Hit        bool `json:"hit"`
	Optimized  bool `json:"optimized"`
}

// A census listens to a rig's runs. It judges nothing.
type census struct {
	probes []Probed
	at     []isa.Addr // where the probes are, in this run
	in     []called   // by task: the function that it is in a call of
	during bool       // in this run a jump was written in a function while a task was in a call of it
}

var censusKinds = []traces.Kind{kpev.ApiReturn, kpev.Handler, kpev.Optimized}

func (c *census) begin(placed []isa.Addr) {
	copy(c.at, placed)
	c.during = false
	clear(c.in)
}

// Event implements traces.Sink.
func (c *census) Event(e *traces.Event) *traces.Finding {
	switch {
	case e.Kind == kpev.Handler:
		c.probes[e.A].Hit = true
	case e.Kind == kpev.Optimized:
		for _, f := range c.in {
			c.during = c.during || e.A >= uint64(f.from) && e.A < uint64(f.to)
		}
		for i := range c.probes {
			if c.at[i] == isa.Addr(e.A) {
				c.probes[i].Optimized = true
			}
		}
	case e.A == kpev.Register && e.C == 0:
		c.probes[e.B].Registered = true
	case e.A == kpev.Register:
		c.probes[e.B].Refused = true
	}
	return nil
}

// add joins what another rig's runs have shown.
func (c *census) add(list []Probed) {
	if c.probes == nil {
		c.probes = make([]Probed, len(list))
	}
	for i := range min(len(list), len(c.probes)) {
		p, q := &c.probes[i], list[i]
		p.Registered = p.Registered || q.Registered
		p.Refused = p.Refused || q.Refused
		p.Hit = p.Hit || q.Hit
		p.Optimized = p.Optimized || q.Optimized
	}
}

func (c *census) count() Census {
	n := Census{Probes: len(c.probes)}
	for _, p := range c.probes {
		n.Registered += int(b2u(p.Registered))
		n.Refused += int(b2u(p.Refused))
		n.Hit += int(b2u(p.Hit))
		n.Optimized += int(b2u(p.Optimized))
	}
	return n
}

// called is a function that a task calls, nothing while it calls none.
type called struct{ from, to isa.Addr }

// enter notes what a task calls.
func (c *census) enter(task int, f called) {
	for len(c.in) <= task {
		c.in = append(c.in, called{})
	}
	c.in[task] = f
}
