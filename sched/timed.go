package sched

import (
	"math/bits"
	"slices"

	"kpsim/sim"
)

// Timed lets the mover with the least clock go next, as CPUs of equal speed would. It
// doesn't search, it measures. An IPI is taken before its CPU's next step. A source
// fires at drawn times, when the last of the CPUs that can move has reached the time;
// if no CPU can move, at once. A fetch is fresh, a cost nominal, and a task the next
// one in its queue.
//
// It is for machines that have costs of events (smp.Machine.Costs).
type Timed struct {
	seed uint64
	mean int // between two firings of a source, in the units of the clocks
	rand sim.Rand
	due  [sim.MaxCPUs]sim.Time // by source, plus 1; 0: not drawn yet
}

// timedMean is the default mean: a millisecond at 1 GHz, in units of 1/256 cycle.
const timedMean = 256 * 1_000_000

// NewTimed returns a Timed. Params.Mean is in units of the clocks. Its runs may be
// taken in any order.
func NewTimed(p Params) *Timed {
	t := &Timed{seed: p.Seed, mean: p.Mean}
	if t.mean == 0 {
		t.mean = timedMean
	}
	return t
}

// Begin implements Strategy: there is always another run.
func (t *Timed) Begin(i uint64) bool {
	t.rand.Seed(t.seed, i)
	clear(t.due[:])
	return true
}

// End implements Strategy.
func (t *Timed) End(uint64) {}

func (t *Timed) String() string { return "timed" }

// Choose implements sim.Chooser. It never holds.
func (t *Timed) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		return 0, 0
	}
	next, now := sim.NoMover, ^sim.Time(0)
	for set := p.Moves[1]; set != 0; set &= set - 1 {
		ipi := sim.MoverIPI + sim.Mover(bits.TrailingZeros64(set))
		if at := max(p.Clocks[ipi], p.Clocks[ipi-sim.MoverIPI]); at < now {
			next, now = ipi, at
		}
	}
	for set := p.Moves[0]; set != 0; set &= set - 1 {
		if cpu := sim.Mover(bits.TrailingZeros64(set)); p.Clocks[cpu] < now {
			next, now = cpu, p.Clocks[cpu]
		}
	}
	if s := t.source(p, now, next == sim.NoMover); s != sim.NoMover {
		next = s
	}
	return p.Pick(next), 0
}

// source returns the source that is due now, the earliest first; must: one must fire.
// Other sources that can fire get a time.
func (t *Timed) source(p *sim.Point, now sim.Time, must bool) (next sim.Mover) {
	next = sim.NoMover
	first := now
	if must {
		first, now = ^sim.Time(0), slices.Max(p.Clocks[:sim.MaxCPUs])
	}
	for set := p.Moves[2]; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if t.due[i] == 0 {
			t.due[i] = now + 1 + sim.Time(t.rand.Gap(t.mean))
		}
		if at := t.due[i] - 1; at <= first {
			next, first = sim.MoverSource+sim.Mover(i), at
		}
	}
	if next != sim.NoMover {
		t.due[next-sim.MoverSource] = 0
	}
	return next
}
