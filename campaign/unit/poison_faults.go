//go:build faults

package unit

import (
	"os"
	"strings"

	"kpsim/campaign/plan"
)

// poison fails at the unit that the environment's KPSIM_POISON names, KEY=panic, exit or hang. Package faults builds
// workers with it.
func poison(u *plan.Unit) {
	key, how, _ := strings.Cut(os.Getenv("KPSIM_POISON"), "=")
	if key != u.Key() {
		return
	}
	switch how {
	case "panic":
		panic("poisoned")
	case "exit":
		os.Exit(9)
	case "hang":
		select {}
	}
}
