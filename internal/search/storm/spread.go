package storm

import "math/bits"

// A Spread says how numbers lie: how many there are in each of 16 equal parts of
// an octave, so that it has one size, and what it tells is at most a 16th too low.
type Spread struct {
	least uint64
	n     uint64
	parts [spreadParts * 65]uint64
}

const spreadParts = 16

// Add adds a number.
func (s *Spread) Add(v uint64) {
	if s.n == 0 || v < s.least {
		s.least = v
	}
	s.n++
	s.parts[spreadPart(v)]++
}

// spreadPart returns the part that a number is in: those below 16 have one each.
func spreadPart(v uint64) int {
	if v < spreadParts {
		return int(v)
	}
	shift := bits.Len64(v) - 5
	return (shift+1)*spreadParts + int(v>>shift) - spreadParts
}

// spreadLow returns the least number of a part.
func spreadLow(i int) uint64 {
	if i < spreadParts {
		return uint64(i)
	}
	return uint64(spreadParts+i%spreadParts) << (i/spreadParts - 1)
}

// Join adds the numbers of another.
func (s *Spread) Join(o *Spread) {
	if o.n > 0 && (s.n == 0 || o.least < s.least) {
		s.least = o.least
	}
	s.n += o.n
	for i, n := range o.parts {
		s.parts[i] += n
	}
}

// Least returns the least of the numbers, 0 of none.
func (s *Spread) Least() uint64 { return s.least }

// Percent returns the number that p in a hundred are below, 0 of none: 50 is the median.
func (s *Spread) Percent(p uint64) uint64 {
	before := uint64(0)
	for i, n := range s.parts {
		if before += n; n > 0 && 100*before > p*s.n {
			return max(spreadLow(i), s.least)
		}
	}
	for i := len(s.parts) - 1; i >= 0; i-- { // p is 100
		if s.parts[i] > 0 {
			return max(spreadLow(i), s.least)
		}
	}
	return 0
}
