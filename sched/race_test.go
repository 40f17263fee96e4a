//go:build race

package sched

import "flag"

// slow is how much less a test does under the race detector.
const slow = 10

// Each rapid.Check draws fewer programs, too; the command line may ask for more.
func init() {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
}
