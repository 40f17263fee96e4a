//go:build race

package properties

// slow is how much less a test does under the race detector.
const slow = 10
