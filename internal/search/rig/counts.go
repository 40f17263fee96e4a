package rig

import (
	"kpsim/engine"
	"kpsim/kprobes/kpev"
	"kpsim/smp"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// counts are how often the handlers of probes have begun, if an operation asks for it.
type counts struct {
	cell kapi.Var[int] // stored whenever one begins
	ran  [][2]int      // by probe: before the instruction, and after it; nil: nothing asks
}

// boot makes them.
func (c *counts) boot(cells *kapi.Cells, probes int) {
	c.cell.Init(cells, 0)
	c.ran = make([][2]int, probes)
}

// begin begins a run.
func (c *counts) begin() {
	if c.ran != nil {
		c.cell.Set(0)
		clear(c.ran)
	}
}

// add counts a handler that begins.
func (c *counts) add(x kapi.Context, h engine.Hit) {
	if h.Probe >= len(c.ran) {
		return
	}
	x.Mark(c.cell.ID(), kapi.Write)
	switch h.Which {
	case kpev.Pre, kpev.Entry:
		c.ran[h.Probe][0]++
	case kpev.Post, kpev.Return:
		c.ran[h.Probe][1]++
	}
}

// Hits compares how often a probe was hit.
func (p *program) Hits(x *smp.Ctx, i int) {
	op, pr := &p.ops[i], &p.r.probes
	probe, n := p.r.index(op.Target), 0
	pr.counts.cell.ReadOnce(x)
	ran := pr.counts.ran[probe]
	for which, want := range op.Counts {
		if want == 0 {
			continue
		}
		var is int
		if which < len(ran) {
			is = ran[which]
		} else {
			is = pr.wiring.engine.(engine.Reader).ReadMissed(x, probe)
		}
		p.got(x, i, n, smpev.CheckCount, uint64(which)<<smpev.CheckCountOf|uint64(is), uint64(pr.addrs[probe]))
		n++
	}
}
