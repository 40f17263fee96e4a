package proof

import (
	"sync"

	"kpsim/sched"
)

// claims records the states that any worker has reached, and the movers that slept each time.
// All workers use it concurrently.
type claims [64]struct {
	mu   sync.Mutex
	seen map[[2]uint64]uint64
}

func newClaims() sched.Claim {
	c := new(claims)
	for i := range c {
		c[i].seen = make(map[[2]uint64]uint64)
	}
	return c.claim
}

// claim implements sched.Claim.
func (c *claims) claim(hi, lo, asleep uint64) (fresh bool, was uint64) {
	p, k := &c[lo%uint64(len(c))], [2]uint64{hi, lo}
	p.mu.Lock()
	defer p.mu.Unlock()
	was, again := p.seen[k]
	if !again {
		was = asleep
	}
	if was&asleep != was || !again {
		p.seen[k] = was & asleep
	}
	return !again, was
}
