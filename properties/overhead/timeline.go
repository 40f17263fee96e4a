package overhead

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"

	"kpsim/properties/harness"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A timeline is the time of a run that all of its CPUs share. What a CPU has spent doesn't
// say when; its clock does, but goes on with who lets it go on only, not with each cell.
//
// A step begins when its CPU is done with the one before, takes what it spends, and goes
// to memory at one instant: as it ends if it switches tasks, else as it begins. It waits
// until that isn't before the instant of any step that it depends on, which comes before
// it in the run: one that has stored to what it goes to, or has looked at what it stores
// to. Nor does an interrupt begin before its IPI was sent, or a switch before the task was
// woken; and who has sent one goes on when all have answered.
//
// It is a chooser, too: whose CPU is done earliest goes next, which is the run as it is
// if no CPU ever stands still for nothing. Each CPU begins at a time that is drawn.
// Under another chooser a CPU that isn't chosen stands still, as under a hypervisor, and
// whoever waits for it waits as long.
type timeline struct {
	m    *smp.Machine
	told func(e *traces.Event, at sim.Time) // of events, when the step that they belong to is over

	done        [sim.MaxCPUs]sim.Time // with its last step
	sent        [sim.MaxCPUs]sim.Time // the last IPI to it
	woken       [sim.MaxCPUs]sim.Time // the last task on it
	asked       [sim.MaxCPUs]uint64   // by the last sync_core: those that haven't answered
	answered    [sim.MaxCPUs]sim.Time // the last that has, since
	calling     uint64                // who is in the handler of a sync_core's IPI
	spent       sim.Time              // by all CPUs until the last step's end
	wrote, read map[sim.Object]sim.Time
	under       []emitted // by the step under way
}

type emitted struct {
	e     traces.Event
	after sim.Time // the step's beginning
}

func newTimeline(m *smp.Machine, told func(e *traces.Event, at sim.Time)) *timeline {
	return &timeline{m: m, told: told, wrote: make(map[sim.Object]sim.Time), read: make(map[sim.Object]sim.Time)}
}

// begin begins a run.
func (l *timeline) begin(at phases, seed, run uint64) {
	l.spent, l.under = 0, l.under[:0]
	clear(l.sent[:])
	clear(l.woken[:])
	clear(l.asked[:])
	clear(l.answered[:])
	l.calling = 0
	clear(l.wrote)
	clear(l.read)
	rng := rand.New(rand.NewPCG(seed, run))
	for c := range l.done {
		l.done[c] = sim.Time(at.from * cycles.Unit)
		if at.within > 0 {
			l.done[c] += sim.Time(rng.Uint64N(at.within * cycles.Unit))
		}
	}
	l.done[0] = sim.Time(at.first * cycles.Unit)
}

// phases say when CPUs begin, in cycles: CPU 0, and the others, drawn.
type phases struct{ first, from, within uint64 }

// since returns what was spent since the last step ended. One CPU alone has.
func (l *timeline) since() (t sim.Time) {
	for c := range l.m.CPUs() {
		t += l.m.Spent(c)
	}
	return t - l.spent
}

// cpu returns the CPU of a mover, -1 if it is a source that interrupts none.
func (l *timeline) cpu(mv sim.Mover) int {
	switch {
	case mv < sim.MoverIPI:
		return int(mv)
	case mv < sim.MoverSource:
		return int(mv - sim.MoverIPI)
	}
	if c := l.m.Sources()[mv-sim.MoverSource].CPU(); c != sim.NoMover {
		return int(c)
	}
	return -1
}

// Event implements traces.Sink.
func (l *timeline) Event(e *traces.Event) *traces.Finding {
	l.under = append(l.under, emitted{*e, l.since()})
	return nil
}

// Stepped implements sim.Observer.
func (l *timeline) Stepped(mv sim.Mover, touched []sim.Touch) {
	var begins sim.Time
	c, late := l.cpu(mv), false
	if c >= 0 {
		begins = l.done[c]
	}
	if mv >= sim.MoverIPI && mv < sim.MoverSource {
		begins = max(begins, l.sent[c])
	}
	if c >= 0 && l.asked[c] == 0 {
		begins = max(begins, l.answered[c])
	}
	for i := range l.under {
		if e := &l.under[i].e; e.Kind == smpev.Gives && e.A != e.B {
			begins, late = max(begins, l.woken[e.CPU]), true
		}
	}
	took := l.since()
	l.spent += took
	begins = l.place(begins, took, late, touched)
	if c >= 0 {
		l.done[c] = begins + took
	}
	for i := range l.under {
		l.tell(&l.under[i].e, begins+l.under[i].after)
	}
	l.under = l.under[:0]
}

// place returns when a step begins that doesn't before begins: late says that it goes to
// memory as it ends.
func (l *timeline) place(begins, took sim.Time, late bool, touched []sim.Touch) sim.Time {
	instant := begins
	if late {
		instant += took
	}
	for _, t := range touched {
		instant = max(instant, l.wrote[t.Object])
		if t.Write {
			instant = max(instant, l.read[t.Object])
		}
	}
	for _, t := range touched {
		if t.Write {
			l.wrote[t.Object] = instant
		} else {
			l.read[t.Object] = max(l.read[t.Object], instant)
		}
	}
	if late {
		return instant - took
	}
	return instant
}

// timelineKinds are what a timeline is to be told of, besides what told is.
var timelineKinds = []traces.Kind{smpev.SendIPI, smpev.Wake, smpev.Gives, smpev.Trap, smpev.Serialise, smpev.Return}

func (l *timeline) tell(e *traces.Event, at sim.Time) {
	switch e.Kind {
	case smpev.SendIPI:
		for set := e.A; set != 0; set &= set - 1 {
			l.sent[bits.TrailingZeros64(set)] = at
		}
		if e.B == uint64(smp.IPICall) {
			l.asked[e.CPU], l.answered[e.CPU] = e.A, 0
		}
	case smpev.Wake: // may send one
		l.sent[e.CPU], l.woken[e.CPU] = at, at
	case smpev.Trap, smpev.Return:
		if bit := uint64(1) << e.CPU; e.A == smpev.VecCall {
			if l.calling |= bit; e.Kind == smpev.Return {
				l.calling &^= bit
			}
		}
	case smpev.Serialise:
		for c := range l.m.CPUs() {
			if bit := uint64(1) << e.CPU; l.calling&l.asked[c]&bit != 0 {
				l.asked[c] &^= bit
				l.answered[c] = max(l.answered[c], at)
			}
		}
	}
	l.told(e, at)
}

// Choose implements sim.Chooser. An IPI is taken before its CPU goes on; delayed work is
// due at once, for a jiffy is longer than all of a run.
func (l *timeline) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		return 0, 0
	}
	least, sort := sim.Time(math.MaxUint64), 0
	for i := range p.N {
		mv := p.Mover(i)
		at, s := sim.Time(0), 0
		if c := l.cpu(mv); c >= 0 {
			at = l.done[c]
			if mv < sim.MoverIPI {
				s = 1
			} else if mv < sim.MoverSource {
				at = max(at, l.sent[c])
			}
		}
		if at < least || at == least && s < sort {
			pick, least, sort = i, at, s
		}
	}
	return pick, 0
}

// How schedules are drawn.
const (
	// Timed: no CPU stands still for nothing; what is drawn is when each begins.
	Timed = "timed"

	// Sticky: sched.Sticky draws who goes on, so CPUs stand still for long, as those of a
	// virtual machine do.
	Sticky = "sticky"
)

// working: the others are at work when CPU 0 begins. They are drawn from more than what
// they do between two places where they give the CPU up.
var working = phases{first: 1 << 12, within: 1 << 12}

// elsewhere is what tasks do besides that nobody probes, other how much a CPU's does of
// it: if all did the same they would go in step as soon as an IPI has made them.
var elsewhere = fmt.Sprintf("w = text(\"w\", hex = %q)\n", strings.Repeat("90 ", 61)+"c3")

func other(cpu int) string { return strings.Repeat("call(w), ", 1+cpu%7) }

// draws are a rig's runs under schedules of one sort. Run i is a function of the seed and
// i.
type draws struct {
	rig    *harness.Rig
	line   *timeline
	seed   uint64
	sticky *sched.Sticky // nil: timed
}

// newDraws has told told of events of the kinds, and of timelineKinds.
func newDraws(rig *harness.Rig, schedule string, p sched.Params, told func(e *traces.Event, at sim.Time), kinds ...traces.Kind) (*draws, error) {
	d := &draws{rig: rig, line: newTimeline(rig.Machine, told), seed: p.Seed}
	switch schedule {
	case Timed:
	case Sticky:
		d.sticky = sched.NewSticky(p)
	default:
		return nil, fmt.Errorf("no schedules are called %q; there are %s, %s", schedule, Timed, Sticky)
	}
	rig.Log.Subscribe(d.line, append(kinds, timelineKinds...)...)
	rig.Machine.ObserveAfresh(d.line, false) // not the rig: what monitors remember takes nobody's time
	return d, nil
}

func (d *draws) run(i uint64) error {
	var ch sim.Chooser = d.line
	if d.sticky != nil {
		d.line.begin(phases{}, d.seed, i)
		d.sticky.Begin(i)
		ch = d.sticky
	} else {
		d.line.begin(working, d.seed, i)
	}
	if r := d.rig.Run(ch); r.Outcome != smp.Passed {
		return fmt.Errorf("%s: run %d of seed %d ended as %v: %v", d.rig.Scenario.Name, i, d.seed, r.Outcome, r.Err)
	}
	return nil
}
