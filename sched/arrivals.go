package sched

import (
	"math/bits"

	"kpsim/sim"
)

// arrivals draws when interrupt sources fire. Each source fires as often as it may, each time at a boundary drawn in
// advance. A coin at each boundary instead would fire nearly all interrupts within the first boundaries of a run.
//
// In half of the runs the boundary is one at which the CPU is before watched text, where an interrupt can do harm. In
// a quarter it is any at which the CPU goes on, and in a quarter any at all: a CPU may stand still for long, and the
// time of an interrupt matters there too. A source that interrupts no CPU (delayed work) fires a drawn number of
// questions after it was armed, up to the length of a run or Params.Delay: about half of the time by itself,
// otherwise when the default schedule fires it.
//
// If its source can't fire, an arrival stays due. An arrival beyond the end of a shorter run is lost.
type arrivals struct {
	shape    *Shape
	length   int
	delay    int
	unbiased bool
	mine     uint64 // the sources that interrupt a CPU

	at      uint64    // the last Step question seen
	who     sim.Mover // the mover of its alternative 0
	able    uint64    // the sources that could fire at it
	drawn   uint64    // sources whose next arrival is drawn
	inText  uint64    // those of drawn that wait for watched text
	anyTime uint64    // those of drawn that count every question
	spent   uint64    // sources with no arrival left
	quiet   uint64    // no arrival is due before this question, if the sources that can fire stay the same
	next    [sim.MaxCPUs]int
	left    [sim.MaxCPUs]int
	passed  [sim.MaxCPUs + 1]int // boundaries so far of each CPU, and of all other movers together
	watched [sim.MaxCPUs]int     // for each CPU, those before watched text
}

func newArrivals(p Params) arrivals {
	a := arrivals{shape: p.Shape, length: int(p.Length), delay: int(p.Delay), unbiased: p.Unbiased}
	if p.Shape != nil {
		for s := range p.Shape.Sources {
			if a.cpu(s) != sim.NoMover {
				a.mine |= 1 << s
			}
		}
	}
	return a
}

// begin forgets the last run.
func (a *arrivals) begin() {
	a.at, a.who, a.able = 0, sim.NoMover, 0
	a.drawn, a.inText, a.anyTime, a.spent, a.quiet = 0, 0, 0, 0, 0
	clear(a.passed[:])
	clear(a.watched[:])
}

// see notes Step question number at. All questions between it and the last one seen
// were held, and so equal to that one.
func (a *arrivals) see(r *sim.Rand, p *sim.Point, at uint64) {
	a.passed[min(a.who, sim.MaxCPUs)] += int(at - a.at)
	a.at, a.who = at, p.First
	if p.Watched {
		a.watched[p.First]++
	}
	if p.Moves[2] != a.able {
		a.seeSources(r, p.Moves[2])
	}
}

// seeSources notes the sources that can fire.
func (a *arrivals) seeSources(r *sim.Rand, able uint64) {
	if set := able &^ a.able &^ a.spent; set != 0 {
		a.draw(r, set)
	}
	a.able, a.quiet = able, 0
}

// draw draws the next arrivals of the sources of the set that have none pending, and
// draws again for delayed work that was armed.
func (a *arrivals) draw(r *sim.Rand, set uint64) {
	for ; set != 0; set &= set - 1 {
		s := bits.TrailingZeros64(set)
		bit := uint64(1) << s
		if a.cpu(s) == sim.NoMover {
			a.drawn |= bit
			a.anyTime |= bit
			a.next[s] = int(a.at) + r.N(a.delay)
			continue
		}
		if a.drawn&bit != 0 {
			continue
		}
		a.left[s] = max(a.shape.Sources[s].Most, 1)
		a.drawn |= bit
		if c := &a.shape.CPUs[a.cpu(s)]; !a.unbiased && c.Watched > 0 && r.Uint64()>>63 != 0 {
			a.inText |= bit
		} else if r.Uint64()>>63 != 0 {
			a.anyTime |= bit
		}
		a.next[s] = a.after(r, s, 0)
	}
}

// mostDraws bounds the cost of an arrival of a source that may fire very often.
const mostDraws = 16

// after draws the first of a source's remaining arrivals, all at boundary from or
// later: the minimum of that many uniform draws.
func (a *arrivals) after(r *sim.Rand, s, from int) int {
	c := &a.shape.CPUs[a.cpu(s)]
	end := c.Boundaries
	if a.inText>>s&1 != 0 {
		end = c.Watched
	} else if a.anyTime>>s&1 != 0 {
		end = a.length
	}
	n := max(end-from, 1)
	least := n
	for range min(a.left[s], mostDraws) {
		least = min(least, r.N(n))
	}
	return from + least
}

// cpu returns the CPU that a source interrupts.
func (a *arrivals) cpu(s int) sim.Mover {
	if a.shape == nil || s >= len(a.shape.Sources) {
		return sim.NoMover
	}
	return a.shape.Sources[s].CPU
}

// past returns how many of the boundaries that a source's arrival counts have passed,
// including the present one.
func (a *arrivals) past(s int) int {
	if a.anyTime>>(s&63)&1 != 0 {
		return int(a.at) + 1
	}
	c := a.cpu(s)
	if a.inText>>s&1 != 0 {
		return a.watched[c]
	}
	n := a.passed[c]
	if a.who == c {
		n++
	}
	return n
}

// take notes that the source fires, and draws its next arrival.
func (a *arrivals) take(r *sim.Rand, m sim.Mover) {
	s := int(m - sim.MoverSource)
	bit := uint64(1) << s
	if a.cpu(s) == sim.NoMover {
		a.drawn &^= bit
		a.able &^= bit // when armed again, it is drawn again
		return
	}
	if a.left[s]--; a.left[s] <= 0 {
		a.drawn &^= bit
		a.spent |= bit
		return
	}
	a.next[s] = a.after(r, s, a.past(s))
}

// wait returns the source to fire now: the first with an arrival due. If it is NoMover,
// no arrival can become due before question until, counted from the present one, at
// least 1, if nothing changes.
func (a *arrivals) wait(p *sim.Point) (m sim.Mover, until int) {
	until = forever
	for set := p.Moves[2] & a.drawn; set != 0; set &= set - 1 {
		s := bits.TrailingZeros64(set)
		left := a.next[s] - a.past(s)
		if left < 0 {
			return sim.MoverSource + sim.Mover(s), 0
		}
		if a.inText>>(s&63)&1 == 0 && (a.anyTime>>(s&63)&1 != 0 || a.cpu(s) == a.who) {
			until = min(until, left+1)
		}
	}
	return sim.NoMover, until
}

// due returns the source to fire now, as wait does, for a strategy that asks at each
// question.
func (a *arrivals) due(p *sim.Point) sim.Mover {
	if a.at < a.quiet {
		return sim.NoMover
	}
	least := forever
	for set := p.Moves[2] & a.drawn; set != 0; set &= set - 1 {
		s := bits.TrailingZeros64(set)
		left := a.next[s] - a.past(s) // decreases by at most one a question
		if left < 0 {
			return sim.MoverSource + sim.Mover(s)
		}
		least = min(least, left)
	}
	a.quiet = a.at + uint64(least) + 1
	return sim.NoMover
}

// outlasts returns what may be added to a hold. It is less if arrivals count the
// boundaries of one CPU or may be drawn so later, or if they count watched text.
func (a *arrivals) outlasts() int {
	switch {
	case a.mine&^a.spent&^(a.drawn&(a.anyTime|a.inText)) != 0:
		return 0
	case a.drawn&a.inText != 0:
		return sim.Steady
	}
	return sim.Steady + sim.Through
}
