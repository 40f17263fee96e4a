//go:build race

package harness

import "flag"

// slow is how much less a test does under the race detector.
const slow = 10

// Each rapid.Check draws fewer scenarios, too; the command line may ask for more.
func init() {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
}
