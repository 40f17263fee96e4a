//go:build !race

package sched

// slow is how much less a test does under the race detector.
const slow = 1
