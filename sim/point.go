package sim

import "math/bits"

// Time counts cycles of a simulated CPU's clock.
type Time uint64

// Clocks are what the CPUs' clocks show, by their movers; and, by the movers of IPIs, when
// the last one to a CPU was sent.
type Clocks [2 * MaxCPUs]Time

// A Chooser answers one question: which of p.N alternatives is next? It must
// return 0 <= pick < p.N. A hold > 0, allowed only with pick 0, answers 0 in
// advance for that many further Step questions, or until the set of moves or
// the mover of alternative 0 changes, or that mover comes to watched text, unless
// Steady or Through are added to it; it saves calls and changes nothing that can
// be observed.
//
// It is the only source of nondeterminism there is.
type Chooser interface {
	Choose(p *Point) (pick, hold int)
}

// What a strategy adds to a hold to which less matters.
const (
	Steady  = 1 << 30 // of the moves only the sources; not First
	Through = 1 << 29 // watched text doesn't

	Forever = 1<<29 - 1 // the longest hold
)

// Enough is the answer that ends a run.
const Enough = -1

// Kind says what a question is about.
type Kind uint8

// The kinds of question. Alternative 0 is the boring one in each.
const (
	Step  Kind = iota // who moves: a CPU goes on, takes its IPI, or a source fires
	Task              // which runnable task a CPU switches to
	Fetch             // which version of text a CPU sees, 0 the freshest
	Cost              // what an event costs, 0 the nominal
)

var kindNames = [...]string{"step", "task", "fetch", "cost"}

func (k Kind) String() string { return kindNames[k] }

// MaxCPUs is the largest number of CPUs of one machine, and of sources.
const MaxCPUs = 64

// A Mover is what can move at a boundary: [0,64) CPU i goes on, [64,128) CPU i
// takes the IPI pending on it, [128,192) source i fires.
type Mover uint8

// The first mover of each sort but the CPUs, which start at 0.
const (
	MoverIPI    Mover = MaxCPUs
	MoverSource Mover = 2 * MaxCPUs
	NoMover     Mover = 255
)

// A Point is a question put to a Chooser. It is owned and reused by the
// machine: a strategy doesn't keep it, and doesn't change it.
type Point struct {
	Kind   Kind
	N      int       // alternatives, at least 2: a question with one answer is never asked
	First  Mover     // Step: the mover of alternative 0. Else: the CPU that asks
	Moves  [3]uint64 // Step: bit i: CPU i goes on | CPU i takes its IPI | source i fires
	Clocks *Clocks   // for the strategy that follows time
	Seq    uint64    // ordinal of the question in this run, from 0, held ones counted

	// Ahead is what the next step of each CPU begins with touching; Object 0:
	// nothing that others see, or it isn't known. It is there, and true, only
	// while the machine has an Observer that is a Planner, in Step questions.
	Ahead *[MaxCPUs]Touch

	// Step: First is a CPU that stands before text which is written to while it
	// is run. Only a hold with Through holds such a question.
	Watched bool
}

// Mover returns the mover that alternative pick of a Step question names:
// First for 0, then the others of Moves in the order of their numbers.
func (p *Point) Mover(pick int) Mover {
	if pick == 0 {
		return p.First
	}
	base := Mover(0)
	for w := range p.Moves {
		set := p.Moves[w]
		if p.First-base < MaxCPUs {
			set &^= 1 << (p.First - base)
		}
		if n := bits.OnesCount64(set); pick > n {
			pick -= n
		} else {
			return base + nth(set, pick-1)
		}
		base += MaxCPUs
	}
	panic("sim: no such alternative")
}

// nth returns the number of bit k, from 0, of those set.
func nth(set uint64, k int) Mover {
	if set < uint64(len(nthOf)) && k < 8 {
		return nthOf[set][k]
	}
	for ; k > 0; k-- {
		set &= set - 1
	}
	return Mover(bits.TrailingZeros64(set))
}

// nthOf is nth of the sets of a small machine's CPUs. How often a loop goes
// round for a random pick no processor can predict, and all else waits for it.
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

// Sources returns how many of the alternatives are sources that fire. They
// are the last ones, unless First is one of them.
func (p *Point) Sources() int { return bits.OnesCount64(p.Moves[2]) }

// Always0 is the Chooser of the default run: it never deviates.
type Always0 struct{}

// Choose implements Chooser.
func (Always0) Choose(*Point) (pick, hold int) { return 0, Forever + Steady + Through }
