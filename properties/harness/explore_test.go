package harness

import (
	"fmt"
	"testing"
	"time"

	"kpsim/properties/scenario"
)

func TestExploreAll(t *testing.T) {
	for _, sc := range scenario.Builtin() {
		start := time.Now()
		res, err := Explore(Spec{Scenario: sc, Runs: 20000, Workers: 1})
		if err != nil {
			t.Errorf("%s: %v", sc.Name, err)
			continue
		}
		el := time.Since(start)
		fmt.Printf("%-30s %d/%d %v complete %d(%d) points/run %d instr/run %d sw/run %d  %.0f runs/s\n", sc.Name, res.Violations, res.Runs, res.Broken, res.Complete, res.Schedules, res.Points/res.Runs, res.Counts.Instructions/res.Runs, res.Counts.Switches/res.Runs, float64(res.Runs)/el.Seconds())
		if w := res.Witness; w != nil {
			fmt.Printf("    %s %s %s\n", w.Property.Name, w.Place, w.Message)
			for _, d := range w.Schedule {
				fmt.Println("       ", d)
			}
		}
	}
}
