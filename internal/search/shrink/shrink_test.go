package shrink

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/edit"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces"
)

// TestShrinkBudget: with fewer questions than it takes, shrinking ends with a
// larger witness that is one all the same, and the run that asks too much is the last.
func TestShrinkBudget(t *testing.T) {
	sc, err := library.Load("second-instruction")
	require.NoError(t, err)
	spec := Origin{Scenario: sc}
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	strategy, err := sched.New("random", sched.Params{Shards: 1})
	require.NoError(t, err)
	rec := &sched.Recorder{Strategy: strategy}
	var c *Found
	for i := uint64(0); c == nil; i++ {
		require.True(t, i < 100_000 && rec.Begin(i))
		run := rig.Run(rec)
		rec.End(run.Counts.Points)
		if run.Property != nil {
			c = NewFound(i, &run, run.Property, &run.Finding, 0, rec)
		}
	}

	least := len(c.Choices) + 1
	for _, budget := range []int64{0, 1, 1000, shrinkQuestions} {
		e := &effort{runs: shrinkRuns, questions: budget}
		w, err := shrink(spec, c, e)
		require.NoError(t, err)
		require.Equal(t, c.Property, w.Property.Name)
		require.LessOrEqual(t, len(w.Schedule), least)
		least = len(w.Schedule)
		if budget == 0 {
			require.Len(t, w.Schedule, len(c.Choices))
			require.Equal(t, 1, e.spent, "the run is made once, to know it")
		}
	}
	require.Less(t, least, len(c.Choices)/4)

	// The run in which the questions run out is the last one, wherever that is: one
	// question more than were asked until then is worth one run more.
	for from := int64(1000); from < 40_000; from += thorough.Of[int64](14_000, 7_000) * min(searchtest.Slow, 3) {
		budget, spent := from, 0
		for range thorough.Of(5, 12) {
			e := &effort{runs: shrinkRuns, questions: budget}
			_, err := shrink(spec, c, e)
			require.NoError(t, err)
			if spent > 0 {
				require.Equal(t, spent+1, e.spent, "%d questions", budget)
			}
			spent, budget = e.spent, budget-e.questions+1
		}
	}
}

// withheld follows anchors and, once it met from of them and until it met more
// than to, keeps every IPI back for as long as its CPU can go on.
type withheld struct {
	*sched.Anchored
	from, to, met int
	loc           sched.Locator
	times         int
}

func (w *withheld) Choose(p *sim.Point) (pick, hold int) {
	if pick, _ = w.Anchored.Choose(p); pick > 0 {
		w.met++
		return pick, 0
	}
	if cpu, ipi := strings.CutPrefix(w.loc.Alternative(p, 0), "ipi@"); ipi && w.met >= w.from && w.met <= w.to {
		for k := 1; k < p.N; k++ {
			if w.loc.Alternative(p, k) == cpu {
				w.times++
				return k, 0
			}
		}
	}
	return 0, 0
}

// TestShrinkWithheld: it takes some twenty deviations to keep an IPI back, one at
// each boundary, and one or two to have its CPU go on before it is sent.
func TestShrinkWithheld(t *testing.T) {
	step := func(mover, name string, off int, text bool, occ int, alt string) traces.Deviation {
		return traces.Deviation{Mover: mover, Name: name, Off: off, Text: text, Occ: occ, Kind: sim.Step, Alt: alt}
	}
	for _, c := range []struct {
		scenario, mutant string
		from, to, most   int
		anchors          []traces.Deviation
	}{
		{"torn-jump-bp", "no-sync-unopt", 3, 3, 3, []traces.Deviation{
			step("cpu0", "alloc_insn_slot", 2, false, 1, "cpu1"),
			step("cpu1", "slots", 125, true, 1, "work@kprobe_optimizer"),
			step("cpu0", "sync_core", 1, false, 24, "cpu1"),
			{Mover: "cpu1", Name: "victim", Text: true, Occ: 1, Kind: sim.Fetch, Alt: "older 1"},
		}},
		{"second-instruction", "", 2, 2, 6, []traces.Deviation{ // that it goes on before counts as well
			step("cpu0", "sync_core", 1, false, 2, "cpu1"),
			step("cpu0", "sync_core", 1, false, 3, "cpu1"),
			step("cpu1", "int3 handler", 1, false, 19, "cpu0"),
			step("cpu1", "call-function handler iret", 0, false, 2, "cpu0"),
		}},
		{"full-rcu", "", 0, 1, 6, []traces.Deviation{ // the IPI itself is needed: it is left late; the timer isn't
			step("ipi@cpu1", "caller", 0, false, 1, "timer@cpu1"),
			step("ipi@cpu1", "victim", 1, true, 2, "preempt@cpu1"),
			step("cpu1", "call-function handler iret", 0, false, 1, "cpu0"),
			step("cpu1", "call-function handler iret", 0, false, 2, "cpu0"),
		}},
	} {
		sc, err := library.Load(c.scenario)
		require.NoError(t, err)
		rig, err := rig.New(sc, c.mutant)
		require.NoError(t, err)
		s := &shrinker{rig: rig, ear: listen(rig), mutant: c.mutant,
			effort: &effort{runs: shrinkRuns, questions: shrinkQuestions}}
		w := &withheld{Anchored: sched.NewAnchored(c.anchors, rig.Machine.Names()), from: c.from, to: c.to,
			loc: rig.Machine.Names()}
		s.start(w)
		require.NotNil(t, s.cur.run.Property, c.scenario)
		require.Greater(t, w.times, 20)
		was := s.cause
		s.finish()
		require.LessOrEqual(t, len(s.cur.anchors), c.most, "%v", s.cur.anchors)
		require.Less(t, s.effort.spent, shrinkRuns)
		a := s.play(s.rig, s.ear, s.anchored(s.cur.anchors))
		require.Equal(t, was, s.ear.cause(a.run))
		s.close()
	}
}

// shrink makes the witness of one run.
func shrink(o Origin, f *Found, e *effort) (*Witness, error) {
	s, err := newShrinker(o, f, e)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.finish()
	return s.witness(o, f), nil
}

// Functions that lead to others keep them, so that these have names. So does text that a compiled patcher changes:
// it may lead to them in another schedule only.
func TestFunctionsThatOthersLeadToStay(t *testing.T) {
	for _, rest := range []string{`
w = alias("w", f)
patches = text("patches", "c6042501000083 1b c3", at = 0xffffffff81000030)
task("a", ops = [call(patches), call(f, returns = 1)])
`, `
k = kprobe("k", at = f)
task("a", ops = [call(f)])
task("b", ops = [register(k)])
`} {
		sc := searchtest.Load(t, `
f = text("f", "e90b000000 c3", at = 0xffffffff81000000)
g = text("g", "e82b000000 c3", at = 0xffffffff81000010)
h = text("h", "b801000000 c3", at = 0xffffffff81000040)
other = text("other", "e8fbffffff c3", at = 0xffffffff81000020)
`+rest+"never()\n")
		var gone []string
		for _, e := range edit.Smaller(sc) {
			if name, ok := strings.CutSuffix(e.Says, " left out"); ok && strings.HasPrefix(name, "function ") {
				gone = append(gone, name)
			}
		}
		require.Equal(t, []string{"function other"}, gone)
	}
}
