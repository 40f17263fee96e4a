package sched

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
)

// point returns a Step question of CPUs, CPUs with an IPI, and sources.
func stepPoint(clocks *sim.Clocks, cpus, ipis, sources uint64, first sim.Mover) *sim.Point {
	p := &sim.Point{Kind: sim.Step, First: first, Moves: sim.Moves{cpus, ipis, sources}, Clocks: clocks}
	for _, m := range p.Moves {
		for ; m != 0; m &= m - 1 {
			p.N++
		}
	}
	return p
}

func TestTimed(t *testing.T) {
	clocks := &sim.Clocks{50, 20, 30, 10}
	s := NewTimed(Params{Seed: 1, Mean: 1000})
	require.True(t, s.Begin(0))
	for _, c := range []struct {
		cpus, ipis uint64
		want       sim.Mover
	}{
		{0b0111, 0, 1},
		{0b1111, 0, 3},
		{0b0101, 0, 2},
		{0b0111, 0b0010, sim.MoverIPI + 1}, // before its CPU's own step
		{0b0101, 0b1000, sim.MoverIPI + 3}, // of an idle CPU
		{0b0111, 0b0001, 1},                // not its turn yet
	} {
		for first := range sim.Mover(4) {
			if c.cpus>>first&1 == 0 {
				continue
			}
			p := stepPoint(clocks, c.cpus, c.ipis, 0, first)
			pick, hold := s.Choose(p)
			require.Zero(t, hold)
			require.Equal(t, c.want, p.Mover(pick), "%b %b %d", c.cpus, c.ipis, first)
		}
	}
	clocks[sim.MoverIPI+1] = 25 // CPU 1, at 20, goes on until then
	for ipis, want := range map[uint64]sim.Mover{0b0111: 1, 0b0101: sim.MoverIPI + 1} {
		p := stepPoint(clocks, ipis, 0b0010, 0, 0)
		pick, _ := s.Choose(p)
		require.Equal(t, want, p.Mover(pick))
	}
	for _, k := range []sim.Kind{sim.Task, sim.Fetch, sim.Cost} {
		pick, _ := s.Choose(&sim.Point{Kind: k, N: 3, Clocks: clocks})
		require.Zero(t, pick)
	}
}

// TestTimedSources: a source fires when the last of the CPUs has reached the time that
// was drawn for it, on average every Mean; if no CPU can move, at once.
func TestTimedSources(t *testing.T) {
	const mean, steps = 1000, 200_000
	var clocks sim.Clocks
	s := NewTimed(Params{Seed: 1, Mean: mean})
	fired := func(i uint64) (n int) {
		clocks = sim.Clocks{}
		s.Begin(i)
		for range steps {
			p := stepPoint(&clocks, 0b11, 0, 1, 0)
			pick, _ := s.Choose(p)
			if mv := p.Mover(pick); mv == sim.MoverSource {
				n++
			} else {
				clocks[mv] += 10
			}
		}
		return n
	}
	a := fired(0)
	require.InDelta(t, float64(steps)*5/mean, a, 60) // two CPUs: 5 a step
	require.Equal(t, a, fired(0))
	require.NotEqual(t, a, fired(1))

	p := stepPoint(&clocks, 0, 0, 0b110, sim.MoverSource+1)
	pick, _ := s.Choose(p)
	require.GreaterOrEqual(t, p.Mover(pick), sim.MoverSource)
}
