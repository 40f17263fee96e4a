package fuzz

// An arm is a way to make a program.
type arm uint8

// The arms.
const (
	fresh     arm = iota // from a seed of its own
	part                 // one part is drawn anew
	parts                // several are
	plainer              // some are drawn as plainly as can be
	splice               // all parts of one sort are another program's
	schedules            // the same with other schedules
	arms
	again // it was kept by another session: not chosen
)

// A bandit is what an arm has earned lately, and what that has cost.
type bandit struct{ news, cost uint64 }

const (
	setup      = 10_000  // what building a program costs, in points
	forgotten  = 1 << 23 // points after which half of an arm's past is forgotten
	unit       = 1 << 20 // of the rates by which arms are chosen
	leastShare = 24      // of all programs, one in so many is at least of each arm
)

// earned notes what an arm's program has shown that is new, and how many points it took.
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

// choose draws an arm: the more new features it has shown a point, the more often by far,
// but none is given up.
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
