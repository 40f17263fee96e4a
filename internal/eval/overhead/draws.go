package overhead

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// How schedules are drawn.
const (
	// Timed: sched.Timed, so no CPU stands still for nothing; only the time at which each begins is drawn.
	Timed = "timed"

	// Sticky: sched.Sticky draws which CPU goes on, so CPUs stand still for
	// long, as those of a virtual machine do.
	Sticky = "sticky"
)

// apart is when CPU 0 begins, in cycles; the others begin before, at drawn times. It is more than their cycles
// between two places where they give up the CPU.
const apart = 1 << 12

// elsewhere is the work of tasks without a probe. other is how much of it a CPU's task does: with the same amount
// they would run in step from the first IPI on.
var elsewhere = fmt.Sprintf("w = text(\"w\", hex = %q)\n", strings.Repeat("90 ", 61)+"c3")

func other(cpu int) string { return strings.Repeat("call(w), ", 1+cpu%7) }

// draws are a rig's runs under schedules of one sort. Run i is a function of the seed and i.
// record gets each event, and the time on the clock of its CPU.
type draws struct {
	rig      *rig.Rig
	record   func(e *traces.Event, at sim.Time)
	seed     uint64
	strategy sched.Strategy
	timed    bool
	starts   [sim.MaxCPUs]sim.Time
}

// newDraws calls record for each event of the given kinds; schedule and p say how schedules are drawn. The machine's
// profile gives the costs of steps.
func newDraws(rig *rig.Rig, schedule string, p sched.Params, record func(e *traces.Event, at sim.Time),
	kinds ...traces.Kind) (*draws, error) {
	d := &draws{rig: rig, record: record, seed: p.Seed}
	switch schedule {
	case Timed:
		d.timed = true
		// delayed work is due at once: a jiffy is longer than all of a run
		d.strategy = sched.NewTimed(sched.Params{Seed: p.Seed, Mean: 1})
	case Sticky:
		d.strategy = sched.NewSticky(p)
	default:
		return nil, fmt.Errorf("no schedules are called %q; there are %s, %s", schedule, Timed, Sticky)
	}
	rig.Machine.Clocks().Start(&d.starts)
	rig.Log.Subscribe(d, kinds...)
	return d, nil
}

// Event implements traces.Sink. The event of a wake-up names the CPU of the task, and another CPU
// wakes it, so its time is the machine's.
func (d *draws) Event(e *traces.Event) *traces.Finding {
	at := d.rig.Machine.Clocks().Now()
	if c := int(e.CPU); e.Kind != smpev.Wake && c < d.rig.Machine.CPUs() {
		at = d.rig.Machine.Clocks().Of(c)
	}
	d.record(e, at)
	return nil
}

// begin draws when each CPU begins in run i.
func (d *draws) begin(i uint64) {
	if d.timed {
		rng := rand.New(rand.NewPCG(d.seed, i))
		for c := range d.starts {
			d.starts[c] = sim.Time(rng.Uint64N(apart * cycles.Unit))
		}
		d.starts[0] = apart * cycles.Unit
	}
	d.strategy.Begin(i)
}

func (d *draws) run(i uint64) error {
	d.begin(i)
	if r := d.rig.Run(d.strategy); r.Outcome != smp.Passed {
		return fmt.Errorf("%s: run %d of seed %d ended as %v: %v", d.rig.Scenario.Name, i, d.seed, r.Outcome, r.Err)
	}
	return nil
}
