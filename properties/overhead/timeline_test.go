package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/properties/harness"
	"kpsim/properties/scenario"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// What a step waits for, by hand: steps of 10, each of a CPU that is done at the time
// given, one after the other in the run.
func TestTimelinePlace(t *testing.T) {
	type step struct {
		begins sim.Time
		late   bool
		o      sim.Object
		write  bool
		want   sim.Time
	}
	for name, steps := range map[string][]step{
		"who looks waits for who has stored":      {{100, false, 1, true, 100}, {20, false, 1, false, 100}},
		"but not if it is later anyway":           {{100, false, 1, true, 100}, {120, false, 1, false, 120}},
		"nor for another object":                  {{100, false, 1, true, 100}, {20, false, 2, false, 20}},
		"nor for who has looked":                  {{100, false, 1, false, 100}, {20, false, 1, false, 20}},
		"who stores does":                         {{100, false, 1, false, 100}, {20, false, 1, true, 100}},
		"the latest of several":                   {{100, false, 1, false, 100}, {50, false, 1, false, 50}, {20, false, 1, true, 100}},
		"who switches stores as it ends":          {{100, true, 1, true, 100}, {20, false, 1, false, 110}},
		"and what it spends overlaps the other's": {{100, false, 1, true, 100}, {20, true, 1, true, 90}},
		"so many that store to one cell take no longer": {
			{100, true, 1, true, 100}, {100, true, 1, true, 100}, {100, true, 1, true, 100}, {0, false, 1, false, 110}},
	} {
		l := newTimeline(nil, nil)
		for i, s := range steps {
			require.Equal(t, s.want, l.place(s.begins, 10, s.late, []sim.Touch{{Object: s.o, Write: s.write}}), "%s: step %d", name, i)
		}
	}
}

func observed(t *testing.T, program string, told func(*traces.Event, sim.Time), kinds ...traces.Kind) (*harness.Rig, *timeline) {
	t.Helper()
	sc, err := scenario.Load("timeline.star", []byte(program), nil)
	require.NoError(t, err)
	rig, err := harness.New(sc, "")
	require.NoError(t, err)
	l := newTimeline(rig.Machine, told)
	rig.Log.Subscribe(l, append(kinds, timelineKinds...)...)
	rig.Machine.ObserveAfresh(l, false)
	return rig, l
}

// One CPU waits for nobody: its time is its clock. So is that of CPUs that have nothing
// to do with each other, whoever goes first.
func TestTimelineOfTheUnrelated(t *testing.T) {
	k, err := Probes(true)[0].Scenario(8, true)
	require.NoError(t, err)
	for name, program := range map[string]string{
		"one": k.String(),
		"two": `scenario("two", says = "two CPUs")
machine(cpus = 2, fetch = "coherent")
f = text("f", hex = "55 4889e5 53 5b 5d c3")
g = text("g", hex = "55 4889e5 53 5b 5d c3")
task("t", cpu = 0, ops = [call(f)], repeat = 8)
task("u", cpu = 1, ops = [call(g)], repeat = 8)
never()`,
	} {
		rig, l := observed(t, program, func(*traces.Event, sim.Time) {})
		defer rig.Close()
		s := sched.NewSticky(sched.Params{Seed: 1, Mean: 4})
		for i := range uint64(20) {
			s.Begin(i)
			l.begin(phases{}, 1, i)
			rig.Run(s)
			for c := range rig.Machine.CPUs() {
				require.NotZero(t, rig.Machine.Clock(c))
				require.Equal(t, rig.Machine.Clock(c), l.done[c], "%s: cpu%d", name, c)
			}
		}
	}
}

// In any schedule time goes on on each CPU, an IPI isn't taken before it was sent, no
// idle CPU switches to a task before that was woken, who waits for other CPUs to serialise
// goes on when they have, and nobody has spent more than there was time for.
func TestTimelineGoesOn(t *testing.T) {
	var at, sent, woken [sim.MaxCPUs]sim.Time
	var calling [sim.MaxCPUs]bool
	var answered sim.Time
	checks := make(map[string]int)
	check := func(what string, e *traces.Event, now, least sim.Time) {
		if checks[what]++; now < least {
			t.Errorf("%s: cpu%d at %d, before %d", what, e.CPU, now, least)
		}
	}
	told := func(e *traces.Event, now sim.Time) {
		if e.Kind != smpev.Wake { // it is told of the CPU that is to be given
			check("clock", e, now, at[e.CPU])
			at[e.CPU] = now
		}
		switch e.Kind {
		case smpev.SendIPI:
			for c := range sent {
				if e.A>>c&1 != 0 {
					sent[c] = now
				}
			}
		case smpev.Trap:
			if e.A == smpev.VecCall {
				check("IPI", e, now, sent[e.CPU])
				calling[e.CPU] = true
			}
		case smpev.Return:
			calling[e.CPU] = calling[e.CPU] && e.A != smpev.VecCall
		case smpev.Serialise:
			if calling[e.CPU] {
				answered = max(answered, now)
			}
		case smpev.TextStore:
			check("store", e, now, answered)
		case smpev.Wake:
			woken[e.CPU] = now
		case smpev.Gives:
			if e.A != e.B && e.C&smpev.GiveRests != 0 {
				check("switch", e, now, woken[e.CPU]+sim.Time(cycles.Nominal[cycles.Switch]))
				woken[e.CPU] = 0
			}
		}
	}
	for _, c := range []PauseConfig{
		{CPUs: 3, Patch: "stop_machine", Preempt: "full", Calls: 2},
		{CPUs: 3, Patch: "breakpoint", Preempt: "none", Calls: 2},
	} {
		sc, err := c.Scenario()
		require.NoError(t, err)
		rig, l := observed(t, sc.String(), told, smpev.Exec, smpev.TextStore)
		defer rig.Close()
		s := sched.NewSticky(sched.Params{Seed: 1, Mean: 20})
		for i := range uint64(10) {
			for _, ch := range []sim.Chooser{s, l} {
				answered = 0
				clear(at[:])
				clear(sent[:])
				clear(woken[:])
				s.Begin(i)
				l.begin(phases{}, 1, i)
				rig.Run(ch)
				for c := range rig.Machine.CPUs() {
					require.LessOrEqual(t, rig.Machine.Spent(c), l.done[c])
				}
			}
		}
	}
	for _, what := range []string{"clock", "IPI", "store", "switch"} {
		require.Greater(t, checks[what], 100, what)
	}
}

// Timed, no CPU is ahead of one that could have gone on by more than a step.
func TestTimedIsFair(t *testing.T) {
	rig, l := observed(t, `scenario("two", says = "two CPUs")
machine(cpus = 2, fetch = "coherent")
f = text("f", hex = "55 4889e5 53 5b 5d c3")
task("t", cpu = 0, ops = [call(f)], repeat = 100)
task("u", cpu = 1, ops = [call(f)], repeat = 100)
never()`, nil)
	defer rig.Close()
	worst := sim.Time(0)
	l.told = func(e *traces.Event, now sim.Time) {
		if e.Kind == smpev.CallEnd && e.B > 0 && e.B < 99 {
			worst = max(worst, max(l.done[0], l.done[1])-min(l.done[0], l.done[1]))
		}
	}
	rig.Log.Subscribe(l, smpev.CallEnd)
	l.begin(phases{}, 1, 1)
	rig.Run(l)
	require.NotZero(t, worst)
	require.LessOrEqual(t, worst, sim.Time(cycles.Nominal[cycles.Switch]))
}
