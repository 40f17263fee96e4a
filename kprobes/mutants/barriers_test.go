package mutants_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/kprobes/mutants"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

// ordered is a place of this test's own.
var ordered = kapi.DefineBarrier("a_test: the word, (then) THE flag", kapi.OrderRelease, "smp_store_release in a test")

// TestBarriers: each place that keeps an order has a mutant that drops it, found by a name
// of its own that no other mutant has.
func TestBarriers(t *testing.T) {
	all := mutants.Barriers()
	require.Len(t, all, len(kapi.Places())-int(kapi.FirstPlace))
	known := map[string]bool{}
	for _, name := range mutants.Names() {
		known[name] = true
	}
	for _, m := range all {
		assert.Regexp(t, `^drop-[a-z0-9]+(-[a-z0-9]+)*$`, m.Name)
		assert.False(t, known[m.Name], "two mutants are called %s", m.Name)
		known[m.Name] = true
		found, ok := mutants.ByName(m.Name)
		require.True(t, ok, m.Name)
		assert.Equal(t, m.Barrier, found.Barrier)
		assert.NotEmpty(t, m.Source, m.Name)
		assert.NotEqual(t, kapi.OrderNone, m.Barrier.Order(), m.Name)
	}
	m, ok := mutants.ByName("drop-a-test-the-word-then-the-flag")
	require.True(t, ok)
	assert.Equal(t, ordered, m.Barrier)
	_, ok = mutants.ByName("drop-nothing")
	assert.False(t, ok)
}

// chance answers by chance.
type chance struct{ sim.Rand }

// Choose implements sim.Chooser.
func (c *chance) Choose(p *sim.Point) (pick, hold int) { return c.N(p.N), 0 }

// TestBarrierDropped: a message that is published by a release is whole, but under its mutant.
func TestBarrierDropped(t *testing.T) {
	for _, drop := range []bool{false, true} {
		m, err := smp.New(smp.Config{Arch: x86.AMD64, CPUs: 2, Memory: smp.LKMM, Budget: 1000}, new(traces.Log))
		require.NoError(t, err)
		t.Cleanup(m.Close)
		if drop {
			mu, _ := mutants.ByName(mutants.BarrierName(ordered.Place()))
			mu.Apply(&mutants.Wiring{Kernel: &kernel.Kernel{M: m}})
		}
		var word, flag kapi.Var[int]
		word.Init(&m.Cells, 0)
		flag.Init(&m.Cells, 0)
		torn := 0
		m.Tasks().AddProgram("writes", 0, func(x *smp.Ctx) {
			word.WriteOnce(x, 1)
			flag.StoreRelease(x, ordered, 1)
		})
		m.Tasks().AddProgram("reads", 1, func(x *smp.Ctx) {
			if flag.Deref(x) == 1 && word.ReadOnce(x) == 0 {
				torn++
			}
		})
		m.Freeze()
		strategy := new(chance)
		for seed := range uint64(300) {
			strategy.Seed(seed, 0)
			m.Reset(strategy)
			word.Set(0)
			flag.Set(0)
			m.Run()
		}
		assert.Equal(t, drop, torn > 0, "%d of 300", torn)
	}
}
