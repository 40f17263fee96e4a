package proof

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/gentest"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/mutants"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/smpev"
)

var swaps = flag.Int("swaps", 0, "how many pairs of steps to swap in each setting of each scenario; 0: few")

// A stepped is a step of an observed run: which mover made it, what it touched,
// which movers could have moved, and what was asked meanwhile.
type stepped struct {
	mv      sim.Mover
	touched []sim.Touch
	moves   sim.Moves // zero: no other mover could
	answers []answer
	events  int // in the log when it ended
}

type answer struct {
	kind    sim.Kind
	n, pick int
}

// could reports whether a mover could have made the step instead.
func (s *stepped) could(mv sim.Mover) bool {
	return mv == s.mv || s.moves[mv/64]>>(mv%64)&1 != 0
}

func conflict(a, b []sim.Touch) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Object == y.Object && (x.Write || y.Write) {
				return true
			}
		}
	}
	return false
}

// A tracer decides a run and takes its steps down: along a list of steps if it
// has one, else at random.
type tracer struct {
	rig    *rig.Rig
	rand   sim.Rand
	stay   int // of 8: how often the last mover goes on
	last   sim.Mover
	follow []stepped
	astray string // how it has left its list
	holds  int    // the answer to whether CPUs hold stores, which is no step's

	steps []stepped
	now   stepped
}

func (r *tracer) begin() {
	r.steps, r.now, r.astray, r.last = r.steps[:0], stepped{}, "", sim.NoMover
}

func (r *tracer) lost(format string, args ...any) {
	if r.astray == "" {
		r.astray = fmt.Sprintf("step %d: ", len(r.steps)) + fmt.Sprintf(format, args...)
	}
}

// Choose implements sim.Chooser.
func (r *tracer) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Buffer {
		if r.follow == nil {
			r.holds = min(r.rand.N(4), 1)
		}
		return r.holds, 0
	}
	if p.Kind != sim.Step {
		// A question between two turns belongs to the step under way, which
		// Stepped hasn't reported yet.
		a := answer{p.Kind, p.N, 0}
		if r.follow != nil {
			if k := len(r.steps); k < len(r.follow) && len(r.now.answers) < len(r.follow[k].answers) {
				b := r.follow[k].answers[len(r.now.answers)]
				if a.pick = b.pick; b.n != a.n || b.kind != a.kind {
					r.lost("%v of %d is asked, not %v of %d", a.kind, a.n, b.kind, b.n)
					a.pick = 0
				}
			} else {
				r.lost("%v of %d is asked, and wasn't", a.kind, a.n)
			}
		} else {
			a.pick = r.rand.N(p.N)
		}
		r.now.answers = append(r.now.answers, a)
		return a.pick, 0
	}
	r.now.moves = p.Moves
	if r.follow != nil {
		k := len(r.steps)
		if k >= len(r.follow) {
			r.lost("it goes on")
			return 0, 0
		}
		for i := range p.N {
			if p.Mover(i) == r.follow[k].mv {
				return i, 0
			}
		}
		r.lost("%s can't move", r.rig.Machine.Names().Mover(r.follow[k].mv))
		return 0, 0
	}
	if r.rand.N(8) < r.stay {
		for i := range p.N {
			if p.Mover(i) == r.last {
				return i, 0
			}
		}
	}
	return r.rand.N(p.N), 0
}

// Stepped implements sim.Observer.
func (r *tracer) Stepped(mv sim.Mover, touched []sim.Touch) {
	r.now.mv, r.now.events = mv, len(r.rig.Log.Events)
	r.now.touched = slices.Clone(touched)
	slices.SortFunc(r.now.touched, func(a, b sim.Touch) int {
		if a.Object < b.Object {
			return -1
		}
		return 1
	})
	if k := len(r.steps); r.follow != nil && k < len(r.follow) {
		if want := &r.follow[k]; want.mv != mv {
			r.lost("%s moves, not %s", r.rig.Machine.Names().Mover(mv), r.rig.Machine.Names().Mover(want.mv))
		} else if !slices.Equal(want.touched, r.now.touched) {
			r.lost("%s touches %s, not %s", r.rig.Machine.Names().Mover(mv), r.say(r.now.touched), r.say(want.touched))
		}
	}
	r.steps = append(r.steps, r.now)
	r.now = stepped{}
	r.last = mv
}

func (r *tracer) say(ts []sim.Touch) string {
	var b strings.Builder
	for i, t := range ts {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%v %s", map[bool]string{false: "r", true: "w"}[t.Write],
			r.rig.Machine.Names().Object(t.Object))
	}
	return "[" + b.String() + "]"
}

// run makes a run along a list, at random if it is nil.
func (r *tracer) run(follow []stepped) rig.Run {
	r.follow = follow
	r.begin()
	run := r.rig.Run(r)
	if follow != nil && len(r.steps) < len(follow) {
		r.lost("it ends, after %d of %d steps", len(r.steps), len(follow))
	}
	return run
}

// onCPU returns the CPU whose step it is, -1 for none.
func (r *tracer) onCPU(mv sim.Mover) int {
	switch {
	case mv < sim.MoverIPI:
		return int(mv)
	case mv < sim.MoverSource:
		return int(mv - sim.MoverIPI)
	case mv >= sim.MoverDrain: // by itself
		return -1
	}
	name := r.rig.Machine.Names().Mover(mv)
	cpu := -1
	if _, at, ok := strings.Cut(name, "@cpu"); ok {
		fmt.Sscanf(at, "%d", &cpu)
	}
	return cpu
}

// behind returns the list with step k, an instruction before the delivery that
// is step k+1, made after the IRET of that instead. ok false: there is none.
func (r *tracer) behind(steps []stepped, k int) (list []stepped, ok bool) {
	events, from := r.rig.Log.Events, steps[k].events
	cpu, task, open := uint8(r.onCPU(steps[k+1].mv)), -1, 0
	for j := k + 1; j < len(steps); j++ {
		for ; from < steps[j].events; from++ {
			e := &events[from]
			switch {
			case e.CPU != cpu:
			case task < 0 && e.Kind == smpev.Trap:
				task, open = int(e.Task), 1
			case int(e.Task) != task:
			case e.Kind == smpev.Trap:
				open++
			case e.Kind == smpev.Return:
				if open--; open == 0 {
					list = append(list, steps[:k]...)
					list = append(list, steps[k+1:j+1]...)
					list = append(list, steps[k])
					return append(list, steps[j+1:]...), true
				}
			}
		}
	}
	return nil, false
}

// disables checks which movers can't move any more after a step, before the
// next one: another CPU always can, and what could have been delivered to a CPU
// conflicts with the step.
func (r *tracer) disables(a, b *stepped) error {
	m := r.rig.Machine
	for mv := range sim.NoMover {
		if mv == a.mv || a.moves[mv/64]>>(mv%64)&1 == 0 || b.could(mv) {
			continue
		}
		if cpu := r.onCPU(mv); mv >= sim.MoverIPI && cpu >= 0 && cpu == r.onCPU(a.mv) &&
			slices.ContainsFunc(a.touched, func(t sim.Touch) bool {
				return m.Names().Object(t.Object) == fmt.Sprintf("what cpu%d can be interrupted at", cpu)
			}) {
			continue
		}
		if mv >= sim.MoverDrain && slices.ContainsFunc(a.touched, func(t sim.Touch) bool {
			return t.Write && m.Names().Object(t.Object) == fmt.Sprintf("the stores that cpu%d holds",
				mv-sim.MoverDrain)
		}) {
			continue
		}
		return fmt.Errorf("%s, %s, keeps %s from moving", m.Names().Mover(a.mv), r.say(a.touched), m.Names().Mover(mv))
	}
	return nil
}

type swapCount struct {
	pairs, conflicts, sameCPU, swapped, skipped int
	// whole counts the swapped ones of an interrupt that is one step, with its own CPU.
	whole int
}

func (n *swapCount) String() string {
	return fmt.Sprintf("%d pairs of adjacent steps of two movers: %d conflict (%d of one CPU), %d were swapped (%d of an interrupt and its own CPU), %d couldn't be",
		n.pairs, n.conflicts, n.sameCPU, n.swapped, n.whole, n.skipped)
}

// isWhole reports whether a step is an interrupt from its delivery to its IRET.
func (r *tracer) isWhole(s *stepped) bool {
	cpu := r.onCPU(s.mv)
	return s.mv >= sim.MoverIPI && cpu >= 0 && slices.ContainsFunc(s.touched, func(t sim.Touch) bool {
		return !t.Write && r.rig.Machine.Names().Object(t.Object) == fmt.Sprintf("what cpu%d can be interrupted at",
			cpu)
	})
}

// trySwaps makes a run at random and swaps some adjacent steps that commute.
func (r *tracer) trySwaps(most int, n *swapCount) error {
	m := r.rig.Machine
	run := r.run(nil)
	for m.Footprint().SharedGrew() { // footprints so far may lack something: again
		steps := slices.Clone(r.steps)
		for i := range steps {
			steps[i].touched = nil
		}
		r.follow = nil
		again := r.replay(steps)
		if again.Digest != run.Digest {
			return fmt.Errorf("the same choices have another digest")
		}
	}
	steps, final, want := slices.Clone(r.steps), r.rig.Final(), run
	events := slices.Clone(r.rig.Log.Events)
	var pairs, both, own []int // both: neither of the two is private; own: a whole interrupt and its CPU's step
	for k := 0; k+1 < len(steps); k++ {
		a, b := &steps[k], &steps[k+1]
		if err := r.disables(a, b); err != nil {
			return fmt.Errorf("step %d: %w", k, err)
		}
		if a.mv == b.mv {
			continue
		}
		if !a.could(b.mv) {
			if !conflict(a.touched, b.touched) {
				return fmt.Errorf("step %d, %s %s, lets %s move, %s, and they don't conflict", k, m.Names().Mover(a.mv),
					r.say(a.touched), m.Names().Mover(b.mv), r.say(b.touched))
			}
			continue
		}
		n.pairs++
		if conflict(a.touched, b.touched) {
			n.conflicts++
			if c := r.onCPU(a.mv); c >= 0 && c == r.onCPU(b.mv) {
				n.sameCPU++
			}
			continue
		}
		if c := r.onCPU(a.mv); c >= 0 && c == r.onCPU(b.mv) && (r.isWhole(a) || r.isWhole(b)) {
			own = append(own, k)
		} else if len(a.touched) > 0 && len(b.touched) > 0 {
			both = append(both, k)
		} else {
			pairs = append(pairs, k)
		}
	}
	for range most {
		from := &pairs
		if len(both) > 0 && (len(pairs) == 0 || r.rand.N(5) > 0) {
			from = &both
		}
		if len(own) > 0 && r.rand.N(2) == 0 {
			from = &own
		}
		if len(*from) == 0 {
			break
		}
		i := r.rand.N(len(*from))
		k := (*from)[i]
		*from = slices.Delete(*from, i, i+1)
		if k+2 == len(steps) && want.Outcome != smp.Passed {
			n.skipped++ // the other one would never be made
			continue
		}
		r.rig.Log.Events = append(r.rig.Log.Events[:0], events...)
		list := slices.Clone(steps)
		list[k], list[k+1] = list[k+1], list[k]
		if c := r.onCPU(steps[k].mv); c >= 0 && c == r.onCPU(steps[k+1].mv) {
			whole := r.isWhole(&steps[k]) || r.isWhole(&steps[k+1])
			if !whole && (steps[k].mv >= sim.MoverIPI || len(steps[k].touched) > 0) {
				return fmt.Errorf("steps %d and %d, %s %s and %s %s, are of one CPU", k, k+1,
					m.Names().Mover(steps[k].mv), r.say(steps[k].touched), m.Names().Mover(steps[k+1].mv),
					r.say(steps[k+1].touched))
			}
			if whole {
				n.whole++
			} else if behind, ok := r.behind(steps, k); ok {
				list = behind
			} else {
				n.skipped++
				continue
			}
		}
		got := r.run(list)
		n.swapped++
		why := r.astray
		switch {
		case why != "":
		case got.Outcome != want.Outcome || got.Property != want.Property || got.Finding.Place != want.Finding.Place:
			why = fmt.Sprintf("the run ends %v %s, not %v %s", got.Outcome, got.Finding.Message, want.Outcome,
				want.Finding.Message)
		case r.rig.Final() != final:
			why = "it comes to another end"
		}
		if why != "" {
			return fmt.Errorf("steps %d of %d, %s %s, and %s %s, are swapped: %s", k, len(steps),
				m.Names().Mover(steps[k].mv), r.say(steps[k].touched), m.Names().Mover(steps[k+1].mv),
				r.say(steps[k+1].touched), why)
		}
	}
	return nil
}

// replay makes the same run again, whatever its steps touch now.
func (r *tracer) replay(steps []stepped) rig.Run {
	r.follow = steps
	r.begin()
	return r.rig.Run(r)
}

// settings are the machines that a scenario is tried on.
func settings(t *testing.T, name string) (list []*scenario.Scenario) {
	for _, f := range []string{"coherent", "stale", "mixing"} {
		for _, p := range []scenario.Preempt{scenario.PreemptNone, scenario.PreemptVoluntary, scenario.PreemptDynamic,
			scenario.PreemptFull} {
			sc, err := library.Load(name)
			require.NoError(t, err)
			require.NoError(t, sc.SetFetch(f))
			sc.Machine.Preempt = p
			list = append(list, sc)
		}
	}
	return list
}

// TestStepsCommute: two steps whose footprints don't conflict, made the other
// way round, lead to the same end, and leave every footprint as it was. Each
// failure is a touch that is missing.
func TestStepsCommute(t *testing.T) {
	t.Parallel()
	most := *swaps
	if most == 0 {
		most = thorough.Of(12, 60) / int(searchtest.Slow)
	}
	total := new(swapCount)
	for k, name := range library.Names() {
		t.Run(name, func(t *testing.T) {
			for i, sc := range settings(t, name) {
				if *swaps == 0 && (i%4 != k%4 || k%12 > 0 && !thorough.Set() || name == "function-at-work" && i != 5) {
					continue // each fetch model, one preemption; that one's runs are a hundred times as long
				}
				names := []string{""}
				if *swaps > 0 {
					for _, mu := range mutants.All {
						if mu.Scenario == name {
							names = append(names, mu.Name)
						}
					}
				}
				for _, mu := range names {
					commute(t, sc, mu, uint64(i), most/12+1, false, total)
				}
			}
		})
	}
	t.Log(total)
}

// TestWholeStepsCommute is TestStepsCommute where an interrupt is one step, if it
// can be: that has to be the same step, and touch the same, before and after each
// step of its own CPU that it doesn't conflict with.
func TestWholeStepsCommute(t *testing.T) {
	t.Parallel()
	most := max(*swaps, thorough.Of(80, 240)/int(searchtest.Slow))
	total := new(swapCount)
	for k, name := range append(library.Names(), "tiny") {
		if *swaps == 0 && k%8 > 0 && name != "tiny" && !thorough.Set() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for i, p := range []scenario.Preempt{scenario.PreemptNone, scenario.PreemptVoluntary,
				scenario.PreemptDynamic, scenario.PreemptFull} {
				if *swaps == 0 && name != "tiny" && i != k%4 {
					continue // each scenario, one preemption
				}
				sc := tiny(t)
				if name != "tiny" {
					var err error
					sc, err = library.Load(name)
					require.NoError(t, err)
				}
				if sc.Machine.CPUs > 2 {
					t.Skip("no interrupt is one step there")
				}
				require.NoError(t, sc.SetFetch("coherent"))
				sc.Machine.Preempt = p
				sc.Sources = slices.DeleteFunc(sc.Sources, func(s scenario.Source) bool {
					return s.Kind == scenario.SourceNMI
				})
				for cpu := range sc.Machine.CPUs {
					sc.Sources = append(sc.Sources, scenario.Source{Kind: scenario.SourceTimer, CPU: cpu, AtMost: 2})
				}
				for j, mu := range mutants.All { // lost-kick's runs are as long as the budget
					if mu.Name != "lost-kick" && (mu.Scenario == name || name == "tiny") && (*swaps > 0 || j%8 == i) {
						commute(t, sc, mu.Name, uint64(i), most/20+1, true, total)
					}
				}
				commute(t, sc, "", uint64(i), most/4+1, true, total)
			}
		})
	}
	require.NotZero(t, total.whole)
	t.Log(total)
}

// TestRapidStepsCommute is TestStepsCommute of scenarios that are drawn, broken
// or not, with a second task that calls the API.
func TestRapidStepsCommute(t *testing.T) {
	t.Parallel()
	var total swapCount
	drawn := 0
	rapid.Check(t, func(t *rapid.T) {
		if drawn++; *swaps == 0 && drawn > thorough.Of(15, 40) {
			return
		}
		sc := gentest.Draw(t)
		require.NoError(t, sc.SetFetch(rapid.SampledFrom([]string{"coherent", "stale", "mixing"}).Draw(t, "fetch")))
		if rapid.Bool().Draw(t, "two probers") {
			other := sc.Tasks[0]
			other.Name, other.CPU = "prober2", sc.Machine.CPUs-1
			sc.Tasks = append(sc.Tasks, other)
		}
		for i := range sc.Sources {
			if s := &sc.Sources[i]; s.Kind != scenario.SourcePreempt && rapid.Bool().Draw(t, "runs text") {
				s.Run = sc.Texts[rapid.IntRange(0, len(sc.Texts)-1).Draw(t, "text")].Name
				s.Opens = s.Kind == scenario.SourceTimer && rapid.Bool().Draw(t, "opens")
			}
			if s := &sc.Sources[i]; s.Kind != scenario.SourcePreempt {
				s.Idle = rapid.IntRange(0, 3).Draw(t, "idle") == 0
			}
		}
		sc.Machine.NoHZ = rapid.Bool().Draw(t, "no tick in idle")
		require.NoError(t, lang.Check(sc))
		mu := rapid.SampledFrom([]string{"", "", "no-sync-disarm", "no-sync-2", "no-grace", "no-restore", "free-early",
			"no-quiesce"}).Draw(t, "mutant")
		whole := rapid.Bool().Draw(t, "interrupts are one step")
		commute(t, sc, mu, rapid.Uint64().Draw(t, "seed"), max(2, 10/int(searchtest.Slow)), whole, &total)
	})
	t.Log(&total)
}

func commute(t require.TestingT, sc *scenario.Scenario, mu string, seed uint64, most int, whole bool,
	total *swapCount) {
	rig, err := rig.New(sc, mu)
	require.NoError(t, err)
	defer rig.Close()
	rig.Log.Store = true
	r := &tracer{rig: rig}
	rig.Observe(r)
	if whole {
		rig.ObserveAtomicIRQs(r)
	}
	var n swapCount
	for i := uint64(0); n.swapped < most; i++ {
		r.rand.Seed(seed, i)
		r.stay = []int{0, 4, 7}[i%3]
		if err := r.trySwaps(1+most/20, &n); err != nil {
			require.FailNow(t, "two steps don't commute", "%s, %v, preempt %v, mutant %q, whole %v, run %d: %v",
				sc.Name, sc.Machine.Fetch, sc.Machine.Preempt, mu, whole, i, err)
		}
		if i > uint64(50+most) {
			break
		}
	}
	total.pairs += n.pairs
	total.conflicts += n.conflicts
	total.sameCPU += n.sameCPU
	total.swapped += n.swapped
	total.skipped += n.skipped
	total.whole += n.whole
}
