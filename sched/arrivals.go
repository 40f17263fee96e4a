package sched

import (
	"math/bits"

	"kpsim/sim"
)

// arrivals draws when interrupt sources fire: each source as often as it may,
// each time at a boundary drawn ahead. A coin per boundary instead would
// deliver nearly everything a scenario has within the first boundaries of a
// run.
//
// It is one of the boundaries at which its CPU stands before watched text, in half
// of the runs, for there an interrupt can do harm; else any of those at which the
// CPU goes on, or any at all, in as many runs each: a CPU may stand still for long,
// and when it is interrupted there matters, too. A source that interrupts no CPU (delayed work) fires
// so many questions after it was armed, up to the length of a run or Params.Delay: about half
// of the time by itself, else when the default schedule has it.
//
// An arrival that finds its source unable to fire stays due. One drawn beyond
// the end of a shorter run is lost.
type arrivals struct {
	shape    *Shape
	length   int
	delay    int
	unbiased bool
	mine     uint64 // the sources of CPUs

	at      uint64    // the Step question seen last
	who     sim.Mover // and the mover of its alternative 0
	able    uint64    // the sources that could fire at it
	drawn   uint64    // sources whose next arrival is drawn
	inText  uint64    // those of them that wait for watched text
	anyTime uint64    // and those for any question
	spent   uint64    // sources with no arrival left
	quiet   uint64    // before this question none can be due, if the sources that can fire stay the same
	next    [sim.MaxCPUs]int
	left    [sim.MaxCPUs]int
	passed  [sim.MaxCPUs + 1]int // boundaries so far of each CPU, and of all other movers
	watched [sim.MaxCPUs]int     // of each CPU, those before watched text
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

// see takes note of Step question number at. All between it and the one seen
// last were held, and so like that one.
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

// seeSources takes note of the sources that can fire.
func (a *arrivals) seeSources(r *sim.Rand, able uint64) {
	if set := able &^ a.able &^ a.spent; set != 0 {
		a.draw(r, set)
	}
	a.able, a.quiet = able, 0
}

// draw draws the next arrivals of those sources of the set that have none
// coming, and anew those of delayed work, which has been armed.
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

// mostDraws bounds what a source's arrival costs that may fire very often.
const mostDraws = 16

// after draws the first of what is left of a source's arrivals, all from
// boundary from on: the least of so many uniform draws.
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

// past returns how many boundaries a source's arrival has seen pass, the
// present one included, of those it counts.
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

// take takes note that the source fires, and draws its next arrival.
func (a *arrivals) take(r *sim.Rand, m sim.Mover) {
	s := int(m - sim.MoverSource)
	bit := uint64(1) << s
	if a.cpu(s) == sim.NoMover {
		a.drawn &^= bit
		a.able &^= bit // armed again, it is armed anew
		return
	}
	if a.left[s]--; a.left[s] <= 0 {
		a.drawn &^= bit
		a.spent |= bit
		return
	}
	a.next[s] = a.after(r, s, a.past(s))
}

// wait returns the source that is to fire now: of those with an arrival due, the
// first. If it is NoMover no arrival can come due before question until from the
// present one on, at least 1, if nothing changes.
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

// due is wait for who asks at each question: the source that is to fire now.
func (a *arrivals) due(p *sim.Point) sim.Mover {
	if a.at < a.quiet {
		return sim.NoMover
	}
	least := forever
	for set := p.Moves[2] & a.drawn; set != 0; set &= set - 1 {
		s := bits.TrailingZeros64(set)
		left := a.next[s] - a.past(s) // less by one a question, at most
		if left < 0 {
			return sim.MoverSource + sim.Mover(s)
		}
		least = min(least, left)
	}
	a.quiet = a.at + uint64(least) + 1
	return sim.NoMover
}

// outlasts returns what may be added to a hold: whether it matters which CPU goes
// on, for arrivals count boundaries of one or may yet be drawn to; and whether it
// matters that one stands before watched text.
func (a *arrivals) outlasts() int {
	switch {
	case a.mine&^a.spent&^(a.drawn&(a.anyTime|a.inText)) != 0:
		return 0
	case a.drawn&a.inText != 0:
		return sim.Steady
	}
	return sim.Steady + sim.Through
}
