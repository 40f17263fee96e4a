package blame

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/traces"
)

// lost samples the ends of a trace of the corpus, edited.
func lost(t *testing.T, name string, s Sampling, edit func(f *traces.File)) *Point {
	t.Helper()
	f, r := play(t, name, edit)
	require.NotNil(t, r.Property)
	n, err := Find(f, r, s)
	require.NoError(t, err)
	return n
}

// An NMI that comes while the jump is half written is the whole of the matter:
// nearly no run fails without it, and with it every other.
func TestNoReturnIsTheNMI(t *testing.T) {
	n := lost(t, "T1-nmi-on-text", Sampling{Seed: 1, Runs: max(300/searchtest.Slow, 60)}, nil)
	assert.False(t, n.FromStart)
	assert.True(t, n.Sharp)
	assert.Equal(t, 1, n.Point.Deviation)
	assert.Equal(t, "cpu0 in stopper step 2, 3rd time: nmi@cpu1", n.Point.Label.String())
	assert.Less(t, n.Point.Before.Chance(), 0.05)
	assert.Greater(t, n.Point.After.Chance(), 0.4)
	assert.Equal(t, n.Point.Question, n.Worst.Question)

	// The curve has its two ends and both sides of the deviation, ascending.
	for i := 1; i < len(n.Curve); i++ {
		a, b := n.Curve[i-1], n.Curve[i]
		assert.Less(t, a.Questions, b.Questions)
		assert.LessOrEqual(t, a.Deviations, b.Deviations)
		assert.LessOrEqual(t, a.Event, b.Event)
	}
	assert.Zero(t, n.Curve[0].Questions)
	end := n.Curve[len(n.Curve)-1]
	assert.Equal(t, Odds{Questions: n.Questions, Deviations: 1, Event: end.Event, Runs: 1, Fails: 1, Low: 1, High: 1},
		end)
}

// No single choice is to blame for a race that is lost step by step: the odds
// creep, and the report says from where to where.
func TestNoReturnCreeps(t *testing.T) {
	n := lost(t, "T2-preempted", Sampling{Seed: 1, Runs: max(300/searchtest.Slow, 100)}, nil)
	assert.False(t, n.FromStart)
	assert.False(t, n.Sharp)
	assert.Less(t, n.From.Chance(), 0.25)
	assert.GreaterOrEqual(t, n.To.Chance(), 0.75)
	assert.Less(t, n.From.Questions, n.To.Questions)
	assert.Greater(t, n.Worst.Deviation, 0)
	assert.Less(t, n.Worst.Before.High, n.Worst.After.Low)
	assert.Less(t, n.Point.Before.Chance(), 0.5)
	assert.GreaterOrEqual(t, n.Point.After.Chance(), 0.5)
	assert.Equal(t, n.Point.Question+1, n.Point.After.Questions)
}

// The same seed finds the same; another draws other runs.
func TestNoReturnOfASeed(t *testing.T) {
	a := lost(t, "T1-torn-jump", Sampling{Seed: 3, Runs: 50}, nil)
	assert.Equal(t, a, lost(t, "T1-torn-jump", Sampling{Seed: 3, Runs: 50}, nil))
	assert.NotEqual(t, a.Curve, lost(t, "T1-torn-jump", Sampling{Seed: 4, Runs: 50}, nil).Curve)
}

// A run that most runs are like has no point of no return.
func TestNoReturnFromTheStart(t *testing.T) {
	sc, err := library.Load("safe-none")
	require.NoError(t, err)
	f := &traces.File{Scenario: lang.Print(sc), Property: "P1",
		Origin: []traces.Remark{{Key: traces.OriginMutant, Value: "lost-kick"}}}
	r, err := replay.Play("x.kps", f, false)
	require.NoError(t, err)
	defer r.Rig.Close()
	require.Equal(t, &properties.Progress, r.Property)
	n, err := Find(f, r, Sampling{Seed: 1, Runs: max(20/searchtest.Slow, 2)})
	require.NoError(t, err)
	assert.True(t, n.FromStart)
	assert.Greater(t, n.Curve[0].Chance(), 0.5)
}

// A budget of questions is kept but for the least number of runs.
func TestNoReturnBudget(t *testing.T) {
	n := lost(t, "T1-torn-jump", Sampling{Seed: 1, Questions: 1}, nil)
	assert.Equal(t, samplingLeast, n.Curve[0].Runs)
	var told uint64
	n = lost(t, "T1-torn-jump", Sampling{Seed: 1, Runs: 7, Progress: func(runs, _, _ uint64) { told = runs }}, nil)
	assert.Equal(t, 7, n.Curve[0].Runs)
	assert.EqualValues(t, n.Runs, told)
}

// It isn't the strategies of the sampling that make a choice the one: under
// another, and other seeds, too, the runs with it fail several times as often.
func TestNoReturnUnderAnotherStrategy(t *testing.T) {
	f, r := play(t, "T1-nmi-on-text", nil)
	n, err := Find(f, r, Sampling{Seed: 1, Runs: max(200/searchtest.Slow, 60)})
	require.NoError(t, err)

	rec := &sched.Recorder{Strategy: sched.NewAnchored(f.Schedule, r.Rig.Machine.Names()), All: true}
	r.Rig.Play(rec)
	var fails [2]int
	for k, o := range []Odds{n.Point.Before, n.Point.After} {
		x := sched.NewPrefix(rec.Recording(), sched.NewRandom(sched.Params{Seed: 99, Length: 100}))
		x.Cut(o.Questions)
		for i := range uint64(200) {
			x.Begin(i)
			run := r.Rig.Run(x)
			x.End(run.Counts.Points)
			if run.Property == r.Property {
				fails[k]++
			}
		}
	}
	assert.Greater(t, fails[1], 5*fails[0], "of 200 runs")
}

// Against the table of Brown, Cai and DasGupta, "Interval estimation for a
// binomial proportion" (2001), and by the equation that defines it.
func TestWilson(t *testing.T) {
	low, high := Wilson(0, 10)
	assert.InDelta(t, 0, low, 1e-9)
	assert.InDelta(t, 0.2775, high, 1e-4)
	low, high = Wilson(5, 10)
	assert.InDelta(t, 0.2366, low, 1e-4)
	assert.InDelta(t, 0.7634, high, 1e-4)
	low, high = Wilson(0, 0)
	assert.Equal(t, [2]float64{0, 1}, [2]float64{low, high})
	for _, k := range []int{17, 150, 383} {
		p := float64(k) / 400
		low, high = Wilson(k, 400)
		for _, b := range []float64{low, high} {
			assert.InDelta(t, 1.959964*1.959964*b*(1-b)/400, (p-b)*(p-b), 1e-9)
		}
	}
}

// The interval holds the probability as often as it says, worked out and not drawn: in the mean over probabilities, and
// with each nearly so, however rare, with the runs of a prefix by default and with few.
func TestWilsonCovers(t *testing.T) {
	for _, n := range []int{20, 100, SamplingRuns} {
		sum, least, of := 0.0, 1.0, 0
		for i := 1; i < 400; i++ {
			p := float64(i) / 800
			if i%2 == 0 {
				p = float64(i) / (200 * float64(n)) // none to two successes are expected
			}
			held := 0.0
			for k := range n + 1 {
				if low, high := Wilson(k, n); low <= p && p <= high {
					held += choose(n, k, p)
				}
			}
			sum, least, of = sum+held, min(least, held), of+1
		}
		t.Logf("%d runs: %.3f in the mean, %.3f at least", n, sum/float64(of), least)
		assert.InDelta(t, 0.96, sum/float64(of), 0.015, "%d runs", n)
		assert.Greater(t, least, 0.92, "%d runs", n)
	}
	for k, mean := range fewLeast {
		below := 0.0
		for i := range k {
			log, _ := math.Lgamma(float64(i) + 1)
			below += math.Exp(float64(i)*math.Log(mean) - mean - log)
		}
		if k > 0 {
			assert.InDelta(t, 0.95, below, 1e-6, "%d", k)
		}
	}
}

// choose is the probability of k successes in n trials.
func choose(n, k int, p float64) float64 {
	log := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	return math.Exp(log(n) - log(k) - log(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// A continuation that breaks another property has not failed as the trace did.
func TestNoReturnCountsItsProperty(t *testing.T) {
	_, r := play(t, "T2-no-quiesce", nil)
	var fails [2]int
	for i, q := range []*properties.Property{&properties.NoStartInside, &properties.NoUseAfterFree} {
		rig, err := rig.New(r.Rig.Scenario, "no-quiesce")
		require.NoError(t, err)
		n := sampler{rig: rig, breaks: q}
		n.record(r)
		n.prepare(Sampling{Seed: 1, Runs: 300})
		fails[i] = n.sample(0).Fails
		rig.Close()
	}
	assert.Less(t, fails[0], fails[1], "without a wait a CPU is more often caught in the detour than in the region")
}

// play plays a trace of the corpus, edited if edit isn't nil. The rig is closed when the
// test ends.
func play(t *testing.T, name string, edit func(f *traces.File)) (*traces.File, *replay.Replay) {
	t.Helper()
	f := searchtest.ReadTrace(t, searchtest.CorpusPath(t, name))
	if edit != nil {
		edit(f)
	}
	r, err := replay.Play(name, f, false)
	require.NoError(t, err)
	t.Cleanup(r.Rig.Close)
	return f, r
}
