package fuzz

// An arm is a way to make a program.
type arm uint8

// The arms.
const (
	fresh     arm = iota // from a new seed
	part                 // one part is drawn again
	parts                // several parts are drawn again
	plainer              // some parts are drawn as plainly as possible
	splice               // all parts of one kind come from another program
	schedules            // the same program with other schedules
	arms
	again // kept by another session; never chosen
)

// A bandit holds an arm's recent new features and their cost.
type bandit struct{ news, cost uint64 }

const (
	setup      = 10_000  // cost of building a program, in points
	forgotten  = 1 << 23 // points after which half of an arm's past is forgotten
	unit       = 1 << 20 // scale of the rates by which arms are chosen
	leastShare = 24      // each arm makes at least one in this many programs
)

// earned records the number of new features that an arm's program has shown, and its cost in
// points.
func (s *state) earned(how arm, news, points uint64) {
	if how >= arms {
		return
	}
	b := &s.arms[how]
	b.news, b.cost = b.news+news, b.cost+points+setup
	if b.cost > forgotten {
		b.news, b.cost = b.news/2, b.cost/2
	}
}

// choose draws an arm. Arms with more new features per point are drawn far more often, but every
// arm is drawn sometimes.
func (s *state) choose() arm {
	var weights [arms]uint64
	sum := uint64(0)
	for i := range weights {
		b := s.arms[i]
		rate := (b.news + 1) * unit / (b.cost + setup)
		weights[i] = rate * rate
		sum += weights[i]
	}
	all := sum
	for i := range weights {
		weights[i] += sum/leastShare + 1
	}
	all += uint64(len(weights)) * (sum/leastShare + 1)
	at := s.rand.Uint64() % all
	for i := range weights {
		if at < weights[i] {
			return arm(i)
		}
		at -= weights[i]
	}
	return fresh
}
