package proof_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/testkit/thorough"
)

// crowded has more movers than are told apart: 64 CPUs, their IPIs and 63 sources.
const crowded = `machine(cpus = 64, preempt = "full")
v = text("v", "90 90 90 90 90 90 c3")
k = kprobe("k", at = v)
for i in range(63): task(cpu = i, ops = [call(v)])
task(cpu = 63, ops = [register(k), unregister(k)])
for i in range(63): nmi(cpu = i)
`

func TestVerifyManyMovers(t *testing.T) {
	sc, err := lang.Load("crowded.star", []byte(crowded), nil)
	require.NoError(t, err)
	for _, p := range []proof.Proof{{Full: true}, {Deviations: 1, Classes: true}} {
		p.Spec = explore.Spec{Scenario: sc, Runs: thorough.Of[uint64](12, 40), Seed: 1, Workers: 1}
		v, err := proof.Verify(p)
		require.NoError(t, err)
		require.False(t, v.Complete)
		require.NotZero(t, v.Runs)
	}
	_, err = proof.Verify(proof.Proof{Spec: explore.Spec{Scenario: sc, Runs: 40, Seed: 1}, Full: true, Classes: true})
	require.EqualError(t, err,
		"crowded: --full --by classes tells 64 CPUs, interrupts and sources apart at most; give --by states, or fewer cpus")
}

// At its bound a search stops with what it has, at the same run whatever the workers.
func TestVerifyMemory(t *testing.T) {
	sc, err := library.Load("safe-none")
	require.NoError(t, err)
	var runs []uint64
	for _, p := range []proof.Proof{
		{Full: true}, {Full: true}, {Deviations: 2, Classes: true}, {Deviations: 2, Classes: true},
	} {
		p.Spec, p.Memory = explore.Spec{Scenario: sc, Seed: 1, Workers: 1 + len(runs)%2}, 40<<10
		v, err := proof.Verify(p)
		require.NoError(t, err)
		require.True(t, v.Filled)
		require.False(t, v.Complete)
		require.Zero(t, v.Violations)
		runs = append(runs, v.Runs)
	}
	for i := 0; i < len(runs); i += 2 {
		require.Equal(t, runs[i], runs[i+1])
	}
}

// planted is a race of the first CPU and the last, whose five bytes are stored in two
// pieces, among more movers than are told apart: both CPUs, 40 NMIs, and the 40 idle CPUs
// that these interrupt.
const planted = `machine(cpus = 64, patch = "naive")
victim = text("victim", at = 0xffffffff81000100, size = 6, hex = "0f1f440000 c3")
on = text("on", at = 0xffffffff81000110, size = 6, hex = "b801000000 c3")
l = jump_label("l", at = victim, target = on)
task(name = "patcher", cpu = 0, ops = [label_on(l)])
task(name = "caller", cpu = 63, ops = [call(victim, changed = True)])
for i in range(40): nmi(cpu = 1 + i, idle = True)
`

// A race of two among many is found, though the others share what tells movers apart:
// of 64 CPUs the search is slow, and leaves nothing out.
func TestVerifyRaceOfACrowd(t *testing.T) {
	t.Parallel()
	thorough.Only(t, "5 s: a schedule of so many CPUs is slow")
	sc, err := lang.Load("planted.star", []byte(planted), nil)
	require.NoError(t, err)
	for deviations, breaks := range map[int]bool{1: false, 2: true} {
		v, err := proof.Verify(proof.Proof{Spec: explore.Spec{Scenario: sc, Seed: 1}, Deviations: deviations})
		require.NoError(t, err)
		require.Equal(t, breaks, v.Broken["whole-instructions"] > 0, "%d deviations, %d runs", deviations, v.Runs)
	}
}
