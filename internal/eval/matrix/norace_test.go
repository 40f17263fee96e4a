//go:build !race

package matrix

// slow is how much less a test does under the race detector.
const slow = 1
