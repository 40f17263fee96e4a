//go:build !race

package proctest

// Race says that the race detector makes all some ten times slower: the tests, and the
// program under test.
const Race = false
