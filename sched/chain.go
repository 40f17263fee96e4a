package sched

import (
	"kpsim/sim"
	"kpsim/traces"
)

// A Chain replays anchors one after another. The Occ of each counts from the deviation
// before it: it matches the Occ-th later question at which its mover stands at its
// place, or the first one after that which has its alternative. So when a deviation is
// removed or moved, those after it follow; in Anchored they stay where they are,
// because they count from the start.
type Chain struct {
	links []traces.Deviation
	loc   Locator
	pos   int // the next link
	times int // how often its mover was at its place
}

// NewChain returns a strategy of one run.
func NewChain(links []traces.Deviation, l Locator) *Chain { return &Chain{links: links, loc: l} }

// Met returns how many of the links were met in the run that ended last.
func (c *Chain) Met() int { return c.pos }

func (c *Chain) String() string { return "chain" }

// Begin implements Strategy.
func (c *Chain) Begin(i uint64) bool {
	c.pos, c.times = 0, 0
	return i == 0
}

// End implements Strategy.
func (c *Chain) End(uint64) {}

// Choose implements sim.Chooser.
func (c *Chain) Choose(p *sim.Point) (pick, hold int) {
	if c.pos == len(c.links) {
		return 0, holdStep(p, forever)
	}
	l := &c.links[c.pos]
	if name, off, text := c.loc.Where(p.First); l.Kind != p.Kind || l.Off != off || l.Text != text || l.Name != name ||
		l.Mover != moverName(c.loc, p) {
		return 0, 0
	}
	if c.times++; c.times < l.Occ {
		return 0, 0
	}
	for k := 1; k < p.N; k++ {
		if c.loc.Alternative(p, k) == l.Alt {
			c.pos, c.times = c.pos+1, 0
			return k, 0
		}
	}
	return 0, 0
}
