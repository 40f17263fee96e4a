package harness

import (
	"fmt"
	"os"
	"testing"
	"time"

	"kpsim/properties/mutant"
	"kpsim/properties/scenario"
)

func show(name string, res *Result, el time.Duration) {
	fmt.Printf("%-40s %d/%d first %d %v complete %d(%d) points/run %d longest %d %.0f runs/s\n", name, res.Violations, res.Runs, res.First, res.Broken, res.Complete, res.Schedules, res.Points/res.Runs, res.Longest, float64(res.Runs)/el.Seconds())
	if w := res.Witness; w != nil {
		fmt.Printf("    %s %s %s (found %d)\n", w.Property.Name, w.Place, w.Message, w.Found)
		for _, d := range w.Schedule {
			fmt.Println("       ", d)
		}
	}
}

func TestDbgScenarios(t *testing.T) {
	for _, sc := range scenario.Builtin() {
		if n := os.Getenv("ONLY"); n != "" && n != sc.Name {
			continue
		}
		start := time.Now()
		runs := uint64(60000)
		if sc.Machine.CPUs > 2 {
			runs = 3000
		}
		res, err := Explore(Spec{Scenario: sc, Runs: runs})
		if err != nil {
			t.Errorf("%s: %v", sc.Name, err)
			continue
		}
		show(sc.Name, res, time.Since(start))
	}
}

func TestDbgMutants(t *testing.T) {
	for _, mu := range mutant.All {
		if n := os.Getenv("ONLY"); n != "" && n != mu.Name {
			continue
		}
		sc, err := scenario.LoadBuiltin(mu.Scenario)
		if err != nil {
			t.Error(err)
			continue
		}
		start := time.Now()
		runs := uint64(30000)
		if sc.Machine.CPUs > 2 {
			runs = 3000
		}
		res, err := Explore(Spec{Scenario: sc, Runs: runs, Mutant: mu.Name})
		if err != nil {
			t.Errorf("%s: %v", sc.Name, err)
			continue
		}
		show(mu.Name+" in "+sc.Name+" want "+mu.Property, res, time.Since(start))
	}
}

func TestDbgDev(t *testing.T) {
	for _, sc := range scenario.Builtin() {
		if n := os.Getenv("ONLY"); n != "" && n != sc.Name || sc.Machine.CPUs > 2 {
			continue
		}
		start := time.Now()
		res, err := Explore(Spec{Scenario: sc, Runs: 400000, Strategy: "deviations"})
		if err != nil {
			t.Errorf("%s: %v", sc.Name, err)
			continue
		}
		show(sc.Name, res, time.Since(start))
	}
}
