package kpsimtest_test // yours

import (
	"context"
	"testing"
	"time"

	"kpsim/kpsimtest"
)

// mine is a scenario of your own: put it here, or into a file mine.star beside the test.
const mine = `
scenario("mine", says = "A probe on my function, on a kernel without preemption.")
machine(cpus = 2, quiesce = "sched")

f = text("f", "55 48 89 e5 53 5b 5d c3")   # or: elf("mine.o").f
k = kprobe("k", at = f)

task("prober", cpu = 0, ops = [register(k), wait_optimized(), unregister(k)])
task("caller", cpu = 1, ops = [call(f), schedule(), call(f)])
timer(cpu = 1)

never(canary = "no-quiesce")   # a fault that the same search has to find
`

// A test to copy: no schedule breaks a property, and the search isn't blind.
func TestMine(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // then it fails, and says how far it came
	defer cancel()
	kpsimtest.Never(t, mine, kpsimtest.Context(ctx))
}

// Every schedule of at most one deviation, in two editions.
func TestMineProved(t *testing.T) {
	for _, edition := range []string{"4.15", "6.9"} {
		kpsimtest.Never(t, mine, kpsimtest.Edition(edition), kpsimtest.Deviations(1))
	}
}

// Without the wait for all CPUs to schedule the jump is unsafe.
func TestMineNeedsTheWait(t *testing.T) {
	kpsimtest.Sometimes(t, mine, "no-start-inside", kpsimtest.Mutant("no-quiesce"))
}
