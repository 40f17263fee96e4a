package sim

import "math/bits"

// Time counts cycles of a simulated CPU's clock.
type Time uint64

// Clocks has the clock of each CPU, at the index of its mover, and, at the index of a
// CPU's IPI mover, the time at which the last IPI to that CPU was sent.
type Clocks [2 * MaxCPUs]Time

// A Chooser answers one question: which of p.N alternatives is next? It must return 0
// <= pick < p.N. It is the only source of nondeterminism.
//
// A hold > 0, allowed only with pick 0, answers 0 in advance for that many further Step
// questions. It ends early when the set of moves or the mover of alternative 0 changes,
// or when that mover reaches watched text, unless Steady or Through are added to it, and
// when a store is issued that a CPU may hold, unless Drains is. A hold saves calls and
// changes nothing observable.
type Chooser interface {
	Choose(p *Point) (pick, hold int)
}

// Flags that a strategy adds to a hold so that fewer changes end it.
const (
	Steady  = 1 << 30 // only a change of the sources ends it early, among the moves; a change of First doesn't
	Through = 1 << 29 // watched text doesn't end it
	Drains  = 1 << 28 // a store that takes effect doesn't end it either

	Forever = 1<<28 - 1 // the longest hold
)

// Enough is the answer that ends a run at once.
const Enough = -1

// Kind is what a question decides.
type Kind uint8

// The kinds of question. In each, alternative 0 is the uneventful one.
const (
	Step    Kind = iota // which mover steps: a CPU continues, takes its IPI, or a source fires
	Task                // which runnable task a CPU switches to
	Fetch               // which version of text a CPU sees, 0 the freshest
	Cost                // the cost of an event, 0 the nominal one
	Buffer              // whether CPUs buffer stores in this run, 0 no: asked first, where the memory model allows it
	Version             // which of a cell's values a load reads or a store precedes, 0 the newest

	Kinds // the number of kinds
)

var kindNames = [...]string{"step", "task", "fetch", "cost", "buffer", "version"}

func (k Kind) String() string { return kindNames[k] }

// MaxCPUs is the largest number of CPUs of one machine, and of its interrupt sources.
const MaxCPUs = 64

// A Mover is something that can move at a boundary: in [0,64) CPU i continues, in [64,128) CPU i-64 takes its pending
// IPI, in [128,192) source i-128 fires, in [192,255) the oldest store in CPU i-192's buffer takes effect.
type Mover uint8

// The first mover of each sort except the CPUs, which start at 0.
const (
	MoverIPI    Mover = MaxCPUs
	MoverSource Mover = 2 * MaxCPUs
	MoverDrain  Mover = 3 * MaxCPUs
	NoMover     Mover = 255
)

// Movers is how many numbers movers can have.
const Movers = 4 * MaxCPUs

// Moves are sets of movers: bit i: CPU i continues
//
//	CPU i takes its IPI
//	source i fires
//	a store of CPU i takes effect.
type Moves [Movers / MaxCPUs]uint64

// A Point is a question to a Chooser. The machine owns and reuses it: a strategy must
// neither keep nor change it.
type Point struct {
	Kind   Kind
	N      int     // alternatives, at least 2: a question with one answer is never asked
	First  Mover   // Step: the mover of alternative 0. Otherwise: the CPU that asks
	Moves  Moves   // Step: the possible movers
	Clocks *Clocks // for a strategy that follows time
	Seq    uint64  // ordinal of the question in this run, from 0, held questions included

	// Ahead is the first touch of each CPU's next step; Object 0 means that it touches
	// nothing shared, or that the touch isn't known. It is set only in Step questions,
	// and only while the machine has an Observer that is a Planner.
	Ahead *[MaxCPUs]Touch

	// Step: First is a CPU that stands before watched text, which is written while it
	// is executed. Only a hold with Through covers such a question.
	Watched bool
}

// alternatives are the sorts of mover in the order of alternatives.
var alternatives = [...]Mover{0, MoverIPI, MoverDrain, MoverSource}

// Pick returns the alternative of a Step question that is mover m. It is the inverse of
// Mover.
func (p *Point) Pick(m Mover) int {
	if m == p.First {
		return 0
	}
	bit := m % MaxCPUs
	n := 1 + bits.OnesCount64(p.Moves[m/MaxCPUs]&(1<<bit-1))
	for _, base := range alternatives {
		if base == m-bit {
			break
		}
		n += bits.OnesCount64(p.Moves[base/MaxCPUs])
	}
	if order(p.First) < order(m) {
		n--
	}
	return n
}

// order is a number for each mover, in the order of alternatives.
func order(m Mover) Mover { return m ^ m>>7<<6 }

// Mover returns the mover of alternative pick of a Step question: First for 0, then the
// others of Moves: CPUs, IPIs, stores that take effect, sources.
func (p *Point) Mover(pick int) Mover {
	if pick == 0 {
		return p.First
	}
	set := p.Moves[0] // mostly it is one of these
	if p.First < MaxCPUs {
		set &^= 1 << p.First
	}
	if n := bits.OnesCount64(set); pick > n {
		return p.other(pick - n)
	}
	return nth(set, pick-1)
}

// other returns the mover of alternative pick among those that aren't CPUs, from 1.
func (p *Point) other(pick int) Mover {
	for _, base := range alternatives[1:] {
		set := p.Moves[base/MaxCPUs]
		if p.First-base < MaxCPUs {
			set &^= 1 << (p.First - base)
		}
		if n := bits.OnesCount64(set); pick > n {
			pick -= n
		} else {
			return base + nth(set, pick-1)
		}
	}
	panic("sim: no such alternative")
}

// nth returns the number of the k-th set bit, from 0.
func nth(set uint64, k int) Mover {
	if set < uint64(len(nthOf)) && k < 8 {
		return nthOf[set][k]
	}
	for ; k > 0; k-- {
		set &= set - 1
	}
	return Mover(bits.TrailingZeros64(set))
}

// nthOf is a table of nth for small machines. A loop would run a random number of
// times, which no branch predictor can predict.
var nthOf = func() (t [256][8]Mover) {
	for set := range t {
		n := 0
		for i := range Mover(8) {
			if set>>i&1 != 0 {
				t[set][n] = i
				n++
			}
		}
	}
	return t
}()

// Sources returns how many of the alternatives are sources that fire. They are the last
// alternatives, unless First is one of them.
func (p *Point) Sources() int { return bits.OnesCount64(p.Moves[2]) }

// Always0 is the Chooser of the default run: it never deviates.
type Always0 struct{}

// Choose implements Chooser.
func (Always0) Choose(*Point) (pick, hold int) { return 0, Forever + Steady + Through + Drains }
