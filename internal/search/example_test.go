package search_test

import (
	"fmt"
	"os"
	"testing"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search"
	"kpsim/traces"
)

// The five lines: a scenario, many schedules, what was broken.
func Example() {
	sc, _ := library.Load("second-instruction")
	r, _ := search.Explore(search.Spec{Scenario: sc, Runs: 2000, Seed: 1})
	fmt.Println(r.Violations, "of", r.Runs, "runs:", r.Broken)
	fmt.Println(r.Witness.Property.Name, "at", r.Witness.Place)
	fmt.Print(traces.FormatSchedule(r.Witness.Schedule))
	// Output:
	// 50 of 2000 runs: map[no-start-inside:50]
	// no-start-inside at victim+0x1
	// ipi@cpu1 in idle, 1st time: cpu1
	// cpu1 in int3 handler iret, 1st time: cpu0
	// cpu1 in call-function handler iret, 2nd time: cpu0
}

// A proof instead of a search: every schedule of at most two deviations.
func ExampleVerify() {
	sc, _ := library.Load("safe-none")
	v, err := search.Verify(search.Proof{Spec: search.Spec{Scenario: sc}, Deviations: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Complete, v.Violations, "broken, of", v.Runs, "schedules")
	// Output:
	// true 0 broken, of 2297 schedules
}

// A trace is replayed: the same events, on every computer.
func ExamplePlayFile() {
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
	r, err := search.PlayFile("T2-second-instruction.kps", file, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Rig.Close()
	fmt.Println(r.Same, r.Property.Name, "at", r.Place)
	// Output:
	// true no-start-inside at victim+0x1
}

// mine is what TestMine runs: put your own here, or read it from a file.
const mine = `
scenario(says = "A probe on my function, on a kernel without preemption.")
machine(cpus = 2, quiesce = "sched")

f = text("f", "55 48 89 e5 53 5b 5d c3")   # or: elf("mine.o").f
k = kprobe("k", at = f)

task("prober", cpu = 0, ops = [register(k), wait_optimized(), unregister(k)])
task("caller", cpu = 1, ops = [call(f), schedule(), call(f)])
timer(cpu = 1)
`

// TestMine is a test to copy: it searches a scenario of your own, fails if a property is
// broken, and leaves the witness where kpsim explain finds it. Then it makes sure that the
// search would have seen something: the same with a fault in the engine must fail.
func TestMine(t *testing.T) {
	sc, err := lang.Load("mine.star", []byte(mine), os.ReadFile) // elf() reads files by it
	if err != nil {
		t.Fatal(err)
	}
	r, err := search.Explore(search.Spec{Scenario: sc, Runs: 2000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Witnesses {
		if err := os.WriteFile(w.Property.Name+".kps", w.File.Marshal(), 0o644); err != nil {
			t.Error(err)
		}
		t.Errorf("%s at %s: %s; go run ./cmd/kpsim explain %s.kps", w.Property.Name, w.Place, w.Message, w.Property.Name)
	}

	canary, err := search.Explore(search.Spec{Scenario: sc, Mutant: "no-quiesce", Runs: 2000, Seed: 1, Blind: true})
	if err != nil {
		t.Fatal(err)
	}
	if canary.Violations == 0 {
		t.Errorf("the search is blind: without the wait nothing is broken in %d runs", canary.Runs)
	}
}
