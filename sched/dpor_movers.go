package sched

import (
	"fmt"
	"math/bits"

	"kpsim/sim"
)

// numbers returns a set of movers as numbers.
func (f *Full) numbers(moves *sim.Moves) (set uint64) {
	for w, m := range moves {
		for ; m != 0; m &= m - 1 {
			set |= 1 << f.numberOf(sim.Mover(w*sim.MaxCPUs+bits.TrailingZeros64(m)))
		}
	}
	return set
}

// Crowded reports whether more than 64 CPUs, interrupts and sources have moved or could
// move. Then the search has ended incomplete.
func (f *Full) Crowded() bool { return f.crowded }

// crowd notes that one of moves, or mv, has no number. From then on all questions get
// the default answer.
func (f *Full) crowd(moves *sim.Moves, mv sim.Mover) bool {
	if f.crowded {
		return true
	}
	more := 0
	if moves == nil {
		more = b2i(f.number[mv] == 0)
	} else if *moves != f.moves {
		for w, m := range moves {
			for ; m != 0; m &= m - 1 {
				more += b2i(f.number[w*sim.MaxCPUs+bits.TrailingZeros64(m)] == 0)
			}
		}
	}
	f.crowded = more > 0 && len(f.movers)+more > MostMovers
	return f.crowded
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// numberOf numbers movers from 0, in the order in which they are first seen.
func (f *Full) numberOf(mv sim.Mover) uint8 {
	if i := f.number[mv]; i != 0 {
		return i - 1
	}
	if len(f.movers) == MostMovers {
		sim.Bug("full: more than 64 movers")
	}
	f.movers = append(f.movers, mv)
	f.interrupts = f.interrupts || interrupts(mv)
	f.last = append(f.last, -1)
	f.learned = append(f.learned, footprint{})
	f.number[mv] = uint8(len(f.movers))
	if len(f.movers) > f.width {
		f.widen()
	}
	return f.number[mv] - 1
}

// interrupts reports whether a mover is an IPI that is taken, or a source. A store that
// takes effect is none: it is the step of a thread of its own, which a store starts and a
// fence stops.
func interrupts(mv sim.Mover) bool { return mv >= sim.MoverIPI && mv < sim.MoverDrain }

// holdsStores answers whether CPUs hold stores, in an exhaustive search: yes. The runs in which
// they don't are those in which each store takes effect right after it was made. The
// answer is no deviation.
const holdsStores = 1

// know makes room for the facts about each object.
func (f *Full) know() {
	for len(f.access) < len(f.objects.list) {
		f.access = append(f.access, nil)
		f.raced = append(f.raced, 0)
	}
}

// enough ends a run, or waits until that is possible.
func enough(p *sim.Point) int {
	if p.Kind != sim.Step {
		return 0
	}
	return sim.Enough
}

// has reports whether a mover is among the alternatives.
func has(p *sim.Point, mv sim.Mover) bool {
	return p.Moves[mv/sim.MaxCPUs]>>(mv%sim.MaxCPUs)&1 != 0
}

// alternative returns the number of the alternative that is mv.
func alternative(p *sim.Point, mv sim.Mover) int {
	if !has(p, mv) {
		sim.Bug("%v can't move at question %d", fmt.Sprint(mv), p.Seq)
	}
	return p.Pick(mv)
}
