package search_test

import (
	"fmt"
	"os"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/search/replay"
	"kpsim/traces"
)

// The five lines: a scenario, many schedules, what was broken.
func Example() {
	sc, _ := library.Load("second-instruction")
	r, _ := explore.Run(explore.Spec{Scenario: sc, Runs: 2000, Seed: 1})
	fmt.Println(r.Violations, "of", r.Runs, "runs:", r.Broken)
	fmt.Println(r.Witness.Property.Name, "at", r.Witness.Place)
	fmt.Print(traces.FormatSchedule(r.Witness.Schedule))
	// Output:
	// 51 of 2000 runs: map[no-start-inside:51]
	// no-start-inside at victim+0x1
	// ipi@cpu1 in idle, 1st time: cpu1
	// cpu1 in int3 handler iret, 1st time: cpu0
	// cpu1 in call-function handler iret, 2nd time: cpu0
}

// A proof instead of a search: every schedule of at most two deviations.
func Example_proof() {
	sc, _ := library.Load("safe-none")
	v, err := proof.Verify(proof.Proof{Spec: explore.Spec{Scenario: sc}, Deviations: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Complete, v.Violations, "broken, of", v.Runs, "schedules")
	// Output:
	// true 0 broken, of 2264 schedules
}

// A trace is replayed: the same events, on every computer.
func Example_replay() {
	data, err := os.ReadFile("../../traces/corpus/T2-second-instruction.kps")
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := traces.Parse("T2-second-instruction.kps", data)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := replay.Play("T2-second-instruction.kps", file, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Rig.Close()
	fmt.Println(r.Same, r.Property.Name, "at", r.Place)
	// Output:
	// true no-start-inside at victim+0x1
}
