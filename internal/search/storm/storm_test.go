package storm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/search/searchtest"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/sched"
)

// TestStorm: on every machine that storms are of none breaks a property, and where
// text is patched under running CPUs nineteen in twenty write a jump in a function that a
// task is in. A broken engine is noticed. kpsim storm makes many more runs.
func TestStorm(t *testing.T) {
	var runs, during uint64
	for _, m := range gen.Machines() {
		s := Storm{Machine: m, Seed: 1, Programs: max(8/searchtest.Slow, 1), Runs: 10}
		r, err := Run(s)
		require.NoError(t, err)
		require.Zero(t, r.Violations, "edition %v, preempt %v: %v, seeds %v", m.Edition, m.Preempt, r.Broken, r.Found)
		require.EqualValues(t, 10*s.Programs, r.Runs)
		if m.Kernel.Optprobes && m.Patch == era.PatchBreakpoint {
			runs, during = runs+r.Runs, during+r.During
		} else if !m.Kernel.Optprobes {
			require.Zero(t, r.During)
		}
	}
	t.Logf("of %d runs %d write a jump during a call", runs, during)
	require.Greater(t, 20*during, 19*runs, "of %d runs %d write a jump during a call", runs, during)
}

// TestStormSame: a storm's runs don't depend on the workers, and its exploration
// makes the same ones.
func TestStormSame(t *testing.T) {
	m := gen.Machines()[0]
	for _, m = range gen.Machines() {
		if m.Edition == rules.Edition69 && m.Preempt == scenario.PreemptNone {
			break
		}
	}
	s := Storm{Machine: m, Seed: 3, Programs: 4, Runs: 25, Mutant: "no-sync-disarm", Workers: 1}
	one, err := Run(s)
	require.NoError(t, err)
	require.NotEmpty(t, one.Found, "the mutant isn't found")
	s.Workers = 3
	three, err := Run(s)
	require.NoError(t, err)
	require.Equal(t, one, three)

	found := uint64(0)
	for seed := s.Seed; seed < s.Seed+uint64(s.Programs); seed++ {
		spec := s.Spec(seed)
		spec.Blind = true
		r, err := explore.Run(spec)
		require.NoError(t, err)
		found += r.Violations
	}
	require.Equal(t, one.Violations, found)
}

// TestStormJprobes: the entries of a storm's jprobes do run, those in text and those
// in Go, and some calls come upon one while another probe is at work.
func TestStormJprobes(t *testing.T) {
	m := scenario.Machine{Edition: rules.Edition26, Preempt: scenario.PreemptFull}
	m.Settle()
	const programs = 60
	text, handler, missed := 0, 0, 0
	for seed := range uint64(programs) {
		sc := gen.Storm(seed+1, m)
		rig, err := rig.New(sc, "")
		require.NoError(t, err)
		by, err := sched.New("random", sched.Params{Seed: seed})
		require.NoError(t, err)
		run, tally := rig.Once(by)
		require.Nil(t, run.Property)
		for i := range sc.Probes {
			if p := &sc.Probes[i]; p.Kind == scenario.ProbeJprobe {
				ran := min(tally.Entries(uint64(i)), 1)
				if p.Entry != "" {
					text += ran
				} else {
					handler += ran
				}
				n, _ := tally.Missed(uint64(i))
				missed += n
			}
		}
		rig.Close()
	}
	t.Logf("in %d storms the entries of %d jprobes in text and %d in Go ran; %d hits missed", programs, text, handler, missed)
	require.Greater(t, text, 10)
	require.Greater(t, handler, 10)
	require.NotZero(t, missed)
}

// TestStormDelay: where work isn't delayed for long, the runs that strategies go by
// are as short as theirs will be, else interrupts would be drawn for after their end.
func TestStormDelay(t *testing.T) {
	s := Storm{Any: true}
	any, soon, delayed := 0, 0, 0
	for seed := range uint64(60 / searchtest.Slow) {
		d := s.delay(seed)
		if d == 0 {
			continue
		}
		delayed++
		rig, err := rig.New(s.Scenario(seed), "")
		require.NoError(t, err)
		long, _ := rig.Survey(0)
		short, _ := rig.Survey(d)
		for c := range long.CPUs {
			any, soon = any+long.CPUs[c].Boundaries, soon+short.CPUs[c].Boundaries
		}
		rig.Close()
	}
	require.Greater(t, delayed, 30/searchtest.Slow)
	t.Logf("of %d programs, %d boundaries, %d with a delay", delayed, any, soon)
	require.Less(t, 20*soon, 19*any)
}
