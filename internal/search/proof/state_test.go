package proof

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

var (
	mergedRuns = flag.Uint64("merged", 0,
		"how many schedules of each scenario to run for states that are come to again; 0: few")
	mergesEvery = flag.Int("merges", 8, "of one in so many such states to check that they are the same")
)

// A walk is a search of states on its way.
type walk struct {
	rig  *rig.Rig
	s    *sched.States
	seen observedBy
}

func newWalk(t *testing.T, sc *scenario.Scenario, mutant, forgotten string) *walk {
	rig, err := rig.New(sc, mutant)
	require.NoError(t, err)
	t.Cleanup(rig.Close)
	w := &walk{rig: rig}
	st := newStatesWithout(rig, forgotten)
	w.s = sched.NewStates(st)
	st.next = w.s
	w.seen = observedBy{w.s, st}
	rig.ObserveAtomicIRQs(surveyor{w.s})
	surveyStates(rig, w.s, 128, 128)
	rig.ObserveAtomicIRQs(w.seen)
	return w
}

// run makes at most so many runs, all if 0; each is called with those that weren't
// pruned, and again, from the first one, where the search begins anew.
func (w *walk) run(most uint64, anew func(), each func(rig.Run)) {
	for i := uint64(0); (most == 0 || i < most) && w.seen.Begin(i); i++ {
		run := w.rig.Run(w.seen)
		w.s.End(run.Counts.Points)
		if run.Outcome != smp.Abandoned {
			each(run)
		}
		if grew := w.seen.grew(); w.rig.Machine.Footprint().SharedGrew() || grew {
			w.s.Restart()
			anew()
		}
	}
}

// finals are the ends of runs; of those that a finding has ended the finding
// alone: what conflicts with nothing may have been done by then, or not.
func finals(r *rig.Rig, run rig.Run, ends map[end]int) {
	e := whereItEnded(r, run)
	if run.Early {
		e.final = 0
	}
	ends[e]++
}

func endsOfStates(t *testing.T, sc *scenario.Scenario, mutant string) (map[end]int, sched.StatesStats) {
	w := newWalk(t, sc, mutant, "")
	ends := make(map[end]int)
	w.run(0, func() { clear(ends) }, func(run rig.Run) { finals(w.rig, run, ends) })
	require.True(t, w.s.Complete())
	return ends, w.s.Stats()
}

func sameKeys(t *testing.T, want, got map[end]int, what string) {
	for e, n := range want {
		require.NotZero(t, got[e], "%s: there is an end %v, %d times, and States never comes to it", what, e, n)
	}
	for e, n := range got {
		require.NotZero(t, want[e], "%s: States comes to an end %v, %d times, which there isn't", what, e, n)
	}
}

// TestStatesIsFull: the runs that States makes end where those of dynamic partial-order
// reduction do. TestFullIsPlain and TestFullLeavesOutNothing ask that of what they search.
func TestStatesIsFull(t *testing.T) {
	t.Parallel()
	if searchtest.Slow > 1 {
		t.Skip("says nothing of races")
	}
	const module = `
g = text("g", hex = "90 c3", at = 0xffffffff81100000)
m = module("m", funcs = [g], loaded = %s)
k = kprobe("k", at = g)
`
	several := 0
	for _, c := range []struct {
		sc      *scenario.Scenario
		mutants []string
	}{
		{searchtest.LoadTinier(t, `patch = "breakpoint"`, fmt.Sprintf(module, "True")+
			`task("a", cpu = 0, ops = [rmmod(m)])
task("b", cpu = 1, ops = [register(k)])`), []string{"", "module-kept", "no-sync-arm"}[:thorough.Of(2, 3)]},
		{searchtest.LoadTinier(t, `patch = "breakpoint"`, fmt.Sprintf(module, "False")+
			`task("a", cpu = 0, ops = [insmod(m)])
task("b", cpu = 1, ops = [register(k)])`), []string{""}},
		{searchtest.LoadTinier(t, `patch = "breakpoint", ftrace = True`, `
g = text("g", hex = "0f1f440000 c3")
fentry(g)
k = kprobe("k", at = g)
task("a", cpu = 0, ops = [register(k)])
task("b", cpu = 1, ops = [call(g, changed = True)])`), []string{""}},
	} {
		for _, mutant := range c.mutants {
			want, classes := endsOfClasses(t, c.sc, mutant)
			got, stats := endsOfStates(t, c.sc, mutant)
			sameKeys(t, want, got, fmt.Sprintf("mutant %q", mutant))
			t.Logf("%v, mutant %q: %d ends; %d classes, %+v", c.sc.Tasks[0].Ops[0].Kind, mutant, len(want), classes,
				stats)
			if len(want) > 1 {
				several++
			}
		}
	}
	require.Greater(t, several, 2)
}

func endsOfClasses(t *testing.T, sc *scenario.Scenario, mutant string) (ends map[end]int, classes uint64) {
	rig, err := rig.New(sc, mutant)
	require.NoError(t, err)
	defer rig.Close()
	f := sched.NewFull()
	learn(rig, f)
	rig.ObserveAtomicIRQs(f)
	ends = make(map[end]int)
	for i := uint64(0); f.Begin(i); i++ {
		run := rig.Run(f)
		if !f.Blocked() {
			finals(rig, run, ends)
		}
		if run.Early {
			f.Cut()
		} else {
			f.End(0)
		}
		if rig.Machine.Footprint().SharedGrew() {
			f.Restart()
			clear(ends)
		}
	}
	return ends, f.Stats().Runs
}

// mergesStates is how many states a walk remembers at most: one run of a CPU that
// goes round in circles has 200,000, if a count is another each time.
const mergesStates = 1_000_000

// merges continues from states that are reached again, after both histories,
// and returns how many it has compared, and what differs in the first that do.
func (w *walk) merges(t *testing.T, mutant string, most uint64, every int) (n int, differ string) {
	other, err := rig.New(w.rig.Scenario, mutant)
	require.NoError(t, err)
	t.Cleanup(other.Close)
	c := newMergeCheck(other)
	other.ObserveAtomicIRQs(rig.Deaf{})
	w.s.Check(every, func(first, again sched.Way) {
		if n++; differ == "" {
			differ = c.differ(first, again)
		}
	})
	for i := uint64(0); i < most && differ == "" && w.s.Stats().States < mergesStates && w.seen.Begin(i); i++ {
		w.s.End(w.rig.Run(w.seen).Counts.Points)
		if grew := w.seen.grew(); w.rig.Machine.Footprint().SharedGrew() || grew {
			w.s.Restart()
		}
	}
	return n, differ
}

// TestMerges: whatever comes after two ways that lead to one state is the same; in
// all built-in scenarios, with all fetch models, preempted or not; with mutants.
func TestMerges(t *testing.T) {
	t.Parallel()
	if searchtest.Slow > 1 {
		t.Skip("says nothing of races")
	}
	most := max(*mergedRuns, thorough.Of[uint64](30, 120))
	total := 0
	check := func(sc *scenario.Scenario, mutant string) {
		n, differ := newWalk(t, sc, mutant, "").merges(t, mutant, most, *mergesEvery)
		require.Empty(t, differ, "%s, mutant %q", sc.Name, mutant)
		total += n
	}
	for i, sc := range library.All() {
		if sc.Machine.Stall == 0 && len(sc.Tasks) <= 6 && (i%8 == 0 || thorough.Set()) {
			check(sc, "")
		}
	}
	for _, mutant := range append(append([]string{}, syncs...), lives...) {
		check(tiny(t), mutant)
	}
	t.Logf("%d merges", total)
	require.Greater(t, total, thorough.Of(8, 400)) // they are drawn
}

// A forgetful is a states that leaves out some of what a state is made of.
type forgetful struct {
	*states
	what string
}

// State implements sched.Stateful.
func (f forgetful) State() (hi, lo uint64) {
	var h sim.Hash
	m := f.r.Machine
	if f.what != "values" {
		h = f.walk()
	}
	h.AddHash(m.State().Memory())
	switch f.what {
	case "machine":
	case "what routines have read":
		var list, none []sim.Hash
		list = m.State().AppendRead(list)
		m.State().SetRead(append(none, make([]sim.Hash, len(list))...))
		m.State().Add(&h)
		m.State().SetRead(list)
	default:
		m.State().Add(&h)
	}
	return h.Hi, h.Lo
}

// TestMergesNotice: of a state that leaves out what counts the check finds that
// what comes after differs.
func TestMergesNotice(t *testing.T) {
	t.Parallel()
	if searchtest.Slow > 1 {
		t.Skip("says nothing of races")
	}
	for _, what := range []string{"values", "machine", "what routines have read", "kernel.RCU.active",
		"kernel.grace.cpus"}[thorough.Of(2, 0):] {
		forgotten := ""
		if strings.Contains(what, ".") {
			forgotten = what
		}
		noticed := slices.ContainsFunc([]string{"tiny", "safe-none", "second-instruction"}, func(name string) bool {
			sc := tiny(t)
			if name != "tiny" {
				var err error
				sc, err = library.Load(name)
				require.NoError(t, err)
			}
			w := newWalk(t, sc, "", forgotten)
			w.s = sched.NewStates(forgetful{w.seen.states, what})
			w.seen.States, w.seen.states.next = w.s, w.s
			w.rig.ObserveAtomicIRQs(surveyor{w.s})
			surveyStates(w.rig, w.s, 128, 128)
			w.rig.ObserveAtomicIRQs(w.seen)
			_, differ := w.merges(t, "", 4000, 1)
			return differ != ""
		})
		require.True(t, noticed, "states without %s are taken for the same, and nobody notices", what)
	}
}

// TestStateRules: each tag is of a field that a state has.
func TestStateRules(t *testing.T) {
	rig, err := rig.New(searchtest.LoadTinier(t, `patch = "breakpoint", preempt = "full", edition = "5.14"`, aLabel+`
traced = text("traced", hex = "0f1f440000 c3")
fentry(traced)
b = bpf("b", traced, run = text("run", hex = "c3"))
k = kprobe("k", at = w)
task("prober", cpu = 0, ops = [register(k), label_on(l), bpf_attach(b), wait_ended()])
`), "")
	require.NoError(t, err)
	defer rig.Close()
	s := newStates(rig)
	tags := 0
	for _, dir := range []string{"smp/kernel", "kprobes", "properties", "engine/ftrace", "engine/jumplabel",
		"engine/staticcall", "engine/bpf"} {
		files, err := filepath.Glob(filepath.Join(searchtest.Root(t), dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, dir)
		for _, file := range files {
			p, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			name := p.Name.Name
			ast.Inspect(p, func(n ast.Node) bool {
				ts, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if st, ok := ts.Type.(*ast.StructType); ok {
					for _, field := range tagged(st) {
						require.Contains(t, s.layouts.used, name+"."+ts.Name.Name+"."+field)
						tags++
					}
				}
				return true
			})
		}
	}
	own := maps.Clone(s.layouts.used)
	// kapi's fields are those of cells, of any type of value.
	maps.DeleteFunc(own, func(field string, _ rule) bool { return strings.HasPrefix(field, "kapi.") })
	require.Len(t, own, tags)
}

// tagged lists the fields of a struct that have a rule.
func tagged(st *ast.StructType) (list []string) {
	for _, f := range st.Fields.List {
		if f.Tag == nil || !strings.Contains(f.Tag.Value, `state:"`) {
			continue
		}
		for _, id := range f.Names {
			list = append(list, id.Name)
		}
		if f.Names == nil { // embedded
			name := types.ExprString(f.Type)
			list = append(list, name[strings.LastIndexAny(name, "*.")+1:])
		}
	}
	return list
}

// TestProofs: what is built in and takes a second is proved.
func TestProofs(t *testing.T) {
	t.Parallel()
	if searchtest.Slow > 1 {
		t.Skip("says nothing of races")
	}
	for _, name := range thorough.Of([]string{"stop-machine-alone"},
		[]string{"stop-machine-alone", "jump-label-flip"}) {
		v := proved(t, name, "")
		require.True(t, v.Complete && v.Cut == 0 && v.Violations == 0 && v.Circles == 0, "%s: %+v", name, v)
		require.NotZero(t, v.Checked)
		require.Greater(t, v.Runs, v.Pruned)
		if thorough.Set() {
			again := proved(t, name, "")
			v.Witnesses, again.Witnesses = nil, nil
			require.Equal(t, v, again, "a proof is the same each time")
		}
	}
	require.NotZero(t, proved(t, "stop-machine-alone", "no-stop").Violations)
}

func proved(t require.TestingT, name, mutant string) *Verified {
	sc, err := library.Load(name)
	require.NoError(t, err)
	v, err := Verify(Proof{Spec: explore.Spec{Scenario: sc, Mutant: mutant, Seed: 1}, Full: true})
	require.NoError(t, err)
	return v
}

// BenchmarkProof is a whole proof, on one core.
func BenchmarkProof(b *testing.B) {
	for _, name := range []string{"safe-none", "safe-full", "stop-machine-alone"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				v := proved(b, name, "")
				require.True(b, v.Complete)
				b.ReportMetric(float64(v.Runs), "schedules")
				b.ReportMetric(float64(v.States), "states")
			}
		})
	}
}
