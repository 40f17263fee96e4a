package sched

import "math"

type odds float64 // want float

type strategy struct {
	p    odds    // want float
	rate float32 // want float
	gap  int
}

const often = 0.5 // want float

func (s *strategy) draw(n int) int {
	r := math.Sqrt(4)         // want float
	_ = r                     // want float
	return int(1e3) + n/s.gap // want float
}
