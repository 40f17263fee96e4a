//go:build race

package docstest

// race says that the race detector makes all some ten times slower.
const race = true
