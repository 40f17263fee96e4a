//go:build race

package searchtest

import (
	"flag"

	_ "pgregory.net/rapid" // has the flag
)

// Slow is how much less a test does under the race detector.
const Slow = 10

// Each rapid.Check draws fewer scenarios, too; the command line may ask for more.
func init() {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
}
