package pages

import (
	"bytes"
	"strings"
	"testing"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
)

// Each pause is in its row, in µs of the machine, and one that didn't occur is
// in none.
func TestPausesTable(t *testing.T) {
	of := func(n float64) overhead.Spread {
		return overhead.Spread{N: 3, Mean: 1000 * n, SD: 10 * n, P50: 1100 * n, P90: 1200 * n, P99: 1300 * n,
			Max: 1400 * n}
	}
	q := &overhead.Pauses{PauseConfig: overhead.PauseConfig{CPUs: 2, Patch: "breakpoint", Preempt: "none"},
		StopArrives: of(1), Stopped: of(2), StopEnds: of(3), Sync: of(4), Register: of(6), Optimizer: of(7)}
	var out bytes.Buffer
	c := Pauses{drawn: drawn{Runs: 1, Schedule: overhead.Timed}}
	c.print(cli.New(&out, &out),
		&pricedMachine{UserProfile: &overhead.UserProfile{Name: "Mine", Arch: "x86_64", MHz: 1000}, by: "profile"},
		[]*overhead.Pauses{q})
	for _, want := range []string{
		"stop_machine arrives  breakpoint  none        2  3  1.000  0.010  1.100  1.200  1.300  1.400         1000",
		"stop_machine stopped  breakpoint  none        2  3  2.000  0.020  ",
		"stop_machine in all   breakpoint  none        2  3  3.000  ",
		"sync_core in all      breakpoint  none        2  3  4.000  ",
		"register to jump      breakpoint  none        2  3  6.000  ",
		"optimizer to jump     breakpoint  none        2  3  7.000  ",
	} {
		if !strings.Contains(out.String(), "\n"+want) {
			t.Errorf("no row is %q", want)
		}
	}
	if strings.Contains(out.String(), "sync_core interrupt") {
		t.Error("there is a row of nothing")
	}
}

// Each share is in the row of its edition and tasks, and the column of its maxactive.
func TestMaxactiveTable(t *testing.T) {
	var overlaps []*overhead.Overlap
	for tasks := 1; tasks <= 2; tasks++ {
		for m := 1; m <= 3; m++ {
			of := overhead.OverlapConfig{Edition: "6.9", Tasks: tasks, Maxactive: m}
			overlaps = append(overlaps, &overhead.Overlap{OverlapConfig: of, Called: 100 * tasks,
				Share: float64(10*tasks+m) / 1000})
		}
	}
	var out bytes.Buffer
	(&Maxactive{drawn: drawn{Schedule: overhead.Timed}}).print(cli.New(&out, &out), overlaps, 3)
	if want := "\nedition  tasks  calls    1    2    3\n6.9          1    100  1.1  1.2  1.3\n6.9          2    200  2.1  2.2  2.3\n\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%s", &out)
	}
}
