package proof

import "sync"

// claims are states that were reached, by whichever worker. They are used by all at once.
type claims [64]struct {
	mu   sync.Mutex
	seen map[[2]uint64]struct{}
}

func newClaims() func(hi, lo uint64) bool {
	c := new(claims)
	for i := range c {
		c[i].seen = make(map[[2]uint64]struct{})
	}
	return c.claim
}

// claim notes that a state was reached, and reports whether that is new.
func (c *claims) claim(hi, lo uint64) bool {
	p, k := &c[lo%uint64(len(c))], [2]uint64{hi, lo}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, again := p.seen[k]; again {
		return false
	}
	p.seen[k] = struct{}{}
	return true
}
