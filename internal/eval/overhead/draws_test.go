package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// In any schedule time goes on on each CPU, an IPI isn't taken before it was
// sent, no CPU switches to a task before that was woken, a task that waits for
// other CPUs to serialise goes on when they have, text isn't stored to before
// the old one was fetched, nor fetched before it was stored, and no CPU has
// spent more than there was time for.
func TestClocksAgree(t *testing.T) {
	var at, sent, woken [sim.MaxCPUs]sim.Time
	var calling [sim.MaxCPUs]bool
	var answered sim.Time
	stored, fetched := make(map[uint64]sim.Time), make(map[uint64]sim.Time)
	checks := make(map[string]int)
	check := func(what string, e *traces.Event, now, least sim.Time) {
		if checks[what]++; now < least {
			t.Errorf("%s: cpu%d at %d, before %d", what, e.CPU, now, least)
		}
	}
	told := func(e *traces.Event, now sim.Time) {
		if e.Kind != smpev.Wake { // a Wake is reported for the CPU that the task will get
			check("clock", e, now, at[e.CPU])
			at[e.CPU] = now
		}
		switch e.Kind {
		case smpev.Exec:
			check("fetch", e, now, stored[e.A])
			fetched[e.A] = max(fetched[e.A], now)
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
			check("store", e, now, max(answered, fetched[e.A]))
			stored[e.A] = now
		case smpev.Wake:
			if at[e.CPU] != 0 { // else it is of the boot
				woken[e.CPU] = now
			}
		case smpev.Gives:
			if e.A != e.B && e.C&smpev.GiveRests != 0 {
				check("switch", e, now, woken[e.CPU]+sim.Time(cycles.Nominal()[cycles.Switch]))
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
		rig, err := rig.New(sc, "")
		require.NoError(t, err)
		defer rig.Close()
		rig.Machine.Clocks().Costs(nil)
		for _, schedule := range []string{Sticky, Timed} {
			d, err := newDraws(rig, schedule, sched.Params{Seed: 1, Mean: 20}, told,
				append(gaugeKinds, smpev.Exec, smpev.TextStore)...)
			require.NoError(t, err)
			for i := range uint64(10) {
				answered = 0
				clear(at[:])
				clear(sent[:])
				clear(woken[:])
				clear(stored)
				clear(fetched)
				require.NoError(t, d.run(i))
				for c := range rig.Machine.CPUs() {
					require.LessOrEqual(t, rig.Machine.Clocks().Spent(c), rig.Machine.Clocks().Of(c))
				}
			}
			rig.Log.Unsubscribe(d)
		}
	}
	for _, what := range []string{"clock", "IPI", "store", "fetch", "switch"} {
		require.Greater(t, checks[what], 100, what)
	}
}

// Timed, no CPU is ahead of one that could have gone on by more than a step.
func TestTimedIsFair(t *testing.T) {
	sc, err := (&OverlapConfig{Tasks: 2, Maxactive: 4, Calls: 100, Edition: "6.9"}).Scenario()
	require.NoError(t, err)
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	rig.Machine.Clocks().Costs(nil)
	worst, n := sim.Time(0), 0
	d, err := newDraws(rig, Timed, sched.Params{Seed: 1}, func(e *traces.Event, _ sim.Time) {
		if n++; n > 20 && n < 150 {
			a, b := rig.Machine.Clocks().Of(0), rig.Machine.Clocks().Of(1)
			worst = max(worst, max(a, b)-min(a, b))
		}
	}, smpev.CallEnd)
	require.NoError(t, err)
	require.NoError(t, d.run(1))
	require.Greater(t, n, 150)
	require.NotZero(t, worst)
	require.LessOrEqual(t, worst, 2*sim.Time(cycles.Nominal()[cycles.Switch])) // and lines that it brings
}
