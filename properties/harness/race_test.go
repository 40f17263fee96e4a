//go:build race

package harness

// slow is how much less a test does under the race detector.
const slow = 10
