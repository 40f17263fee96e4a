//go:build !race

package mutants_test

// slow is how much less a test does under the race detector.
const slow = 1
