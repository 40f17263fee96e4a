package harness

import (
	"kpsim/kprobes"
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
}

// seen is what happened to a probe, in any run.
type seen struct {
	addr                                isa.Addr
	registered, refused, hit, optimized bool
}

// A census listens to a rig's runs. It judges nothing.
type census struct{ probes []seen }

var censusKinds = []traces.Kind{kpev.ApiReturn, kpev.Handler, kpev.Optimized}

func (c *census) begin(probes []kprobes.Kprobe) {
	for i := range probes {
		c.probes[i].addr = probes[i].Addr
	}
}

// Event implements traces.Sink.
func (c *census) Event(e *traces.Event) *traces.Finding {
	switch {
	case e.Kind == kpev.Handler:
		c.probes[e.A].hit = true
	case e.Kind == kpev.Optimized:
		for i := range c.probes {
			if c.probes[i].addr == isa.Addr(e.A) {
				c.probes[i].optimized = true
			}
		}
	case e.A == kpev.Register && e.C == 0:
		c.probes[e.B].registered = true
	case e.A == kpev.Register:
		c.probes[e.B].refused = true
	}
	return nil
}

// add joins what another rig's runs have shown.
func (c *census) add(d []seen) {
	if c.probes == nil {
		c.probes = make([]seen, len(d))
	}
	for i := range d {
		p := &c.probes[i]
		p.registered = p.registered || d[i].registered
		p.refused = p.refused || d[i].refused
		p.hit = p.hit || d[i].hit
		p.optimized = p.optimized || d[i].optimized
	}
}

func (c *census) count() Census {
	n := Census{Probes: len(c.probes)}
	for i := range c.probes {
		p := &c.probes[i]
		n.Registered += int(b2u(p.registered))
		n.Refused += int(b2u(p.refused))
		n.Hit += int(b2u(p.hit))
		n.Optimized += int(b2u(p.optimized))
	}
	return n
}
