//go:build !race

package mutantsearch

// slow is how much less a test does under the race detector.
const slow = 1
