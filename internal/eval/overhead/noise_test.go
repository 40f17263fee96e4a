package overhead

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"kpsim/kprobes"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

const testMHz = 2330

// stepped is a hit like that of a stepped kprobe.
func testHit() *Hit {
	h := &Hit{Cycles: 1864.25}
	h.Events[cycles.Breakpoint], h.Events[cycles.Debug] = 1, 1
	h.Events[cycles.Point] = 12
	h.Events[cycles.Work(kprobes.WorkLookup)], h.Events[cycles.Work(kapi.WorkNode)] = 1, 1
	return h
}

// Without noise a hit is the warm one, to the last bit.
func TestNoNoise(t *testing.T) {
	for _, detour := range []bool{false, true} {
		for _, p := range Probes(detour) {
			h, err := p.Measure(nil)
			require.NoError(t, err)
			for _, v := range new(Noise).Draw(&h, testMHz, 1, 2, 100) {
				require.Equal(t, h.Cycles, v, p.Name)
			}
			sum, err := Summarize(new(Noise).DrawRuns(&h, testMHz, 1, 3, 100))
			require.NoError(t, err)
			w := Measure{h.Cycles, Interval{h.Cycles, h.Cycles}}
			most := Measure{h.Cycles, Interval{h.Cycles, math.Inf(1)}} // 300 hits don't bound it
			require.Equal(t, &Summary{Runs: 3, HitsPerRun: 100, Mean: w, P50: w, P90: w, P99: most, P999: most,
				Max:    h.Cycles,
				Within: BatchMeans{Batches: 10, HitsOfEach: 10}}, sum, p.Name)
		}
	}
}

// What is drawn is that of any other machine.
func TestNoiseIsSeeded(t *testing.T) {
	all := NominalNoise
	all.SMIsPerSec = 1000
	digest := func(seed, run uint64) uint64 {
		h := fnv.New64a()
		var b [8]byte
		for _, v := range all.Draw(testHit(), testMHz, seed, run, 10000) {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
			h.Write(b[:])
		}
		return h.Sum64()
	}
	require.Equal(t, uint64(0x3c629cf406c05a2c), digest(7, 3))
	require.NotEqual(t, digest(7, 3), digest(7, 4))
	require.NotEqual(t, digest(7, 3), digest(8, 3))
}

// Each sort of noise alone has the mean and the variance that are worked out for it.
func TestNoiseMoments(t *testing.T) {
	h := testHit()
	sec := h.Cycles / (testMHz * 1e6)
	compound := func(number, mean, sd float64) float64 { return number * mean * mean * math.Exp(sd*sd) }
	for name, c := range map[string]struct {
		n        Noise
		variance float64
	}{
		"run":    {Noise{RunCV: 0.01}, h.Cycles * h.Cycles * 1e-4},
		"jitter": {Noise{JitterCV: 0.02}, h.Cycles * h.Cycles * 4e-4},
		"misses": {Noise{MissesPerAccess: 0.05, MissNsec: 100, MissLogSD: 0.4}, compound(15*0.05, 233, 0.4)},
		"ticks":  {Noise{TicksPerSec: 1e5, TickNsec: 3000, TickLogSD: 0.5}, compound(1e5*sec, 6990, 0.5)},
		"smis":   {Noise{SMIsPerSec: 1e5, SMINsec: 1e4, SMILogSD: 0.2}, compound(1e5*sec, 23300, 0.2)},
	} {
		runs, hits := 400, 100
		if name == "run" {
			runs, hits = 20000, 1 // a run is one draw of it
		}
		var all []float64
		for _, r := range c.n.DrawRuns(h, testMHz, 1, runs, hits) {
			all = append(all, r...)
		}
		a, b, d := c.n.Expected(h, testMHz)
		mean, v := stat.MeanVariance(all, nil)
		require.InDelta(t, h.Cycles+a+b+d, mean, 4*math.Sqrt(c.variance/float64(len(all))), name)
		require.InEpsilon(t, c.variance, v, 0.1, name)
	}
}

// The expected noise of all sorts, subtracted, leaves the warm hit.
func TestNoiseIsSubtracted(t *testing.T) {
	for _, p := range Probes(true) {
		h, err := p.Measure(nil)
		require.NoError(t, err)
		sum, err := Summarize(NominalNoise.DrawRuns(&h, testMHz, 1, 60, 5000))
		require.NoError(t, err)
		a, b, d := NominalNoise.Expected(&h, testMHz)
		more := a + b + d
		require.Greater(t, sum.Mean.Value-sum.Mean.Interval.Low, 0.0)
		require.Less(t, sum.Mean.Interval.Low-more, h.Cycles, p.Name)
		require.Greater(t, sum.Mean.Interval.High-more, h.Cycles, p.Name)
		require.Greater(t, more/h.Cycles, 0.003, "%s: noise that nobody sees", p.Name)
		require.Less(t, more/h.Cycles, 0.05, p.Name)
		require.Greater(t, sum.Skew, 3.0, p.Name)
	}
}

// Every number of a noise is checked, by the name that files have for it.
func TestNoiseCheck(t *testing.T) {
	require.NoError(t, NominalNoise.Check())
	require.NoError(t, new(Noise).Check())
	for i := range reflect.TypeFor[Noise]().NumField() {
		name := reflect.TypeFor[Noise]().Field(i).Tag.Get("json")
		for _, bad := range []float64{-1e-9, math.NaN(), math.Inf(1), 1e10} {
			n := NominalNoise
			reflect.ValueOf(&n).Elem().Field(i).SetFloat(bad)
			require.ErrorContains(t, n.Check(), "noise: "+name+" = ")
		}
	}
}

// No hit takes less than its warm one without its jitter.
func TestNoiseOnlyAdds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Noise{
			MissesPerAccess: rapid.Float64Range(0, 1).Draw(t, "misses"),
			MissNsec:        rapid.Float64Range(0, 1e3).Draw(t, "nsec"),
			MissLogSD:       rapid.Float64Range(0, 3).Draw(t, "sd"),
			TicksPerSec:     rapid.Float64Range(0, 1e5).Draw(t, "ticks"),
			TickNsec:        1000,
		}
		h := testHit()
		for _, v := range n.Draw(h, testMHz, rapid.Uint64().Draw(t, "seed"), 0, 20) {
			if v < h.Cycles {
				t.Fatalf("%v of %v", v, h.Cycles)
			}
		}
	})
}
