package twoengines_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain draws the same programs each time, unless a seed is given: a rare difference is
// a find to be looked at, and no chance that turns an unchanged commit red. The command
// line may ask for more.
func TestMain(m *testing.M) {
	for _, f := range [][2]string{{"rapid.seed", "1"}, {"rapid.checks", "40"}} {
		if err := flag.Set(f[0], f[1]); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}
