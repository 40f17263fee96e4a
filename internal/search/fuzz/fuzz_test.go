package fuzz_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/smp"
	"kpsim/smp/arch/target"
)

// programs runs so many programs.
func programs(t *testing.T, s *fuzz.Session, n uint64) (list []*fuzz.Program) {
	t.Helper()
	for s.Programs < n {
		more, err := s.Batch(n - s.Programs)
		require.NoError(t, err)
		list = append(list, more...)
	}
	return list
}

func session(t *testing.T, spec fuzz.Spec) *fuzz.Session {
	t.Helper()
	s, err := fuzz.New(spec)
	require.NoError(t, err)
	return s
}

// TestRight: programs that are drawn, or made from others, break no property, whatever the
// machine. Of the runs on machines that make breakpoints jumps 6 in 20 write one in a
// function while a task is in a call of it; scenes of other owners of text do in few. kpsim fuzz makes many more.
func TestRight(t *testing.T) {
	s := session(t, fuzz.Spec{Seed: 1, Each: 4})
	var optimizing, during, made uint64
	editions := map[rules.Edition]int{}
	for _, p := range programs(t, s, uint64(max(thorough.Of(128, 512)/searchtest.Slow, 1))) {
		require.Zero(t, p.Violations, "%v in %s", p.Broken, p.Recipe.Marshal())
		require.NotZero(t, p.Points/p.Runs, "%s", p.Recipe.Marshal())
		editions[p.Edition]++
		if len(p.Recipe.Parts) > 0 {
			made++
		}
		if p.Optimizes {
			optimizing, during = optimizing+p.Runs, during+p.During
		}
	}
	if searchtest.Slow == 1 {
		require.Greater(t, 20*during, 6*optimizing, "of %d runs %d write a jump during a call", optimizing, during)
		require.Len(t, editions, len(rules.AllEditions())+1)
		require.Greater(t, made, s.Programs/thorough.Of[uint64](20, 16), "programs that are made from others")
	}
	c := s.Coverage()
	require.Greater(t, c.Features, uint64(1000))
	require.GreaterOrEqual(t, c.Estimated, c.Features)
}

// TestFinds: steps that are left out are found by the properties that they break, and the
// exploration of the program makes the same runs.
func TestFinds(t *testing.T) {
	for _, c := range []struct {
		mutant   string
		property *properties.Property
	}{{"no-sync-disarm", &properties.OwnedBreakpoint}, {"no-quiesce", &properties.NoUseAfterFree}}[thorough.Of(1, 0):] {
		s := session(t, fuzz.Spec{Seed: 1, Each: 5, Mutant: c.mutant})
		found := false
		for _, p := range programs(t, s, thorough.Of[uint64](120, 240)) {
			i := slices.IndexFunc(p.Broken, func(b fuzz.Broke) bool { return b.Property == c.property.Name })
			if i < 0 || found {
				continue
			}
			found = true
			spec, err := s.Explore(&p.Recipe, p.Broken[i].First+1)
			require.NoError(t, err)
			spec.Blind = true
			again, err := explore.Run(spec)
			require.NoError(t, err)
			require.NotZero(t, again.Broken[c.property.Name], "%s, %s", c.mutant, p.Recipe.Marshal())
		}
		require.True(t, found, c.mutant)
	}
}

// TestWorkers: how many programs are run at once changes nothing, and neither does how a
// session is divided into batches of whole size.
func TestWorkers(t *testing.T) {
	var lists [2][]*fuzz.Program
	for i := range lists {
		lists[i] = programs(t, session(t, fuzz.Spec{Seed: 5, Each: 3, Workers: 1 + 2*i}),
			thorough.Of[uint64](24, 96)/min(searchtest.Slow, 3))
	}
	require.Len(t, lists[1], len(lists[0]))
	for i, p := range lists[0] {
		q := lists[1][i]
		require.Equal(t, p.Recipe, q.Recipe)
		require.Equal(t, [3]uint64{p.Runs, p.Points, p.Violations}, [3]uint64{q.Runs, q.Points, q.Violations})
	}
}

// TestGuided: with the same number of runs, programs that are made from others show more
// than programs that are each drawn by themselves: else guidance is worth nothing.
func TestGuided(t *testing.T) {
	thorough.Only(t, "takes half a minute")
	features := func(fresh bool) uint64 {
		s := session(t, fuzz.Spec{Seed: 3, Each: 4, Fresh: fresh})
		for s.Runs < 24000 {
			programs(t, s, s.Programs+32)
		}
		return s.Coverage().Features
	}
	guided, alone := features(false), features(true)
	t.Logf("%d features guided, %d by programs that are drawn by themselves", guided, alone)
	require.Greater(t, guided, alone)
}

// TestRightHolding: the same where CPUs hold stores, on x86-64 and on i386.
func TestRightHolding(t *testing.T) {
	s := session(t, fuzz.Spec{Seed: 5, Each: 4, On: gen.On{Memory: smp.TSO}})
	processors := map[target.Processor]int{}
	for _, p := range programs(t, s, uint64(max(thorough.Of(24, 64)/searchtest.Slow, 1))) {
		require.Zero(t, p.Violations, "%v in %s", p.Broken, p.Recipe.Marshal())
		sc, _, err := s.Scenario(&p.Recipe)
		require.NoError(t, err)
		processors[sc.Machine.Arch]++
	}
	if searchtest.Slow == 1 {
		require.Len(t, processors, 2)
	}
}

// TestRightWords: programs of processors whose instructions are numbers break nothing either, and do where a mutant
// takes what the kernel does for them away.
func TestRightWords(t *testing.T) {
	for _, c := range []struct {
		processor target.Processor
		mutants   []string
	}{
		{target.RISCV64, []string{"break-long", "no-restore", "arm-unstopped"}},
		{target.ARM64, []string{"no-restore", "step-irqs-on"}},
		{target.PPC64LE, []string{"no-restore", "byte-first"}},
	} {
		t.Run(c.processor.String(), func(t *testing.T) {
			on := gen.On{Machines: gen.MachinesOf(c.processor)}
			n := uint64(max(thorough.Of(100, 1000)/searchtest.Slow, 1))
			for _, p := range programs(t, session(t, fuzz.Spec{Seed: 2, Each: 3, On: on}), n) {
				require.Zero(t, p.Violations, "%v in %s", p.Broken, p.Recipe.Marshal())
			}
			for _, mutant := range c.mutants {
				broken := uint64(0)
				for _, p := range programs(t, session(t, fuzz.Spec{Seed: 2, Each: 3, On: on, Mutant: mutant}), n) {
					broken += p.Violations
				}
				require.True(t, broken > 0 || searchtest.Slow > 1, mutant)
			}
		})
	}
}
