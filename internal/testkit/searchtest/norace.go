//go:build !race

package searchtest

// Slow is how much less a test does under the race detector.
const Slow = 1
