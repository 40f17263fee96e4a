//go:build !race

package mutant_test

// slow is how much less a test does under the race detector.
const slow = 1
