package sched

import "sync"

// claims are states that were reached, by whichever goroutine.
type claims struct {
	parts [64]struct {
		mu   sync.Mutex
		seen map[lanes]struct{}
	}
}

func newClaims() *claims {
	c := new(claims)
	for i := range c.parts {
		c.parts[i].seen = make(map[lanes]struct{})
	}
	return c
}

// claim notes that a state was reached, and reports whether that is new.
func (c *claims) claim(k lanes) bool {
	p := &c.parts[k.lo%uint64(len(c.parts))]
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, again := p.seen[k]; again {
		return false
	}
	p.seen[k] = struct{}{}
	return true
}
