package scenariotest

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/kprobes"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// The machine of these tests: the engine as it should be, on the hardest build.
var hard = func() scenario.Machine {
	m := scenario.Machine{CPUs: 2, Preempt: scenario.PreemptFull, Fetch: fetch.Mixing}
	m.Settle()
	m.Quiesce = kapi.QuiesceTasks
	return m
}()

func call(f string, args ...uint64) scenario.Op {
	return scenario.Op{Kind: act.Call, Target: f, Args: args}
}

// changed is a call whose result a handler changes on purpose.
func changed(f string, args ...uint64) scenario.Op {
	op := call(f, args...)
	op.Changed = true
	return op
}

func register(k string) scenario.Op   { return scenario.Op{Kind: act.Register, Target: k} }
func unregister(k string) scenario.Op { return scenario.Op{Kind: act.Unregister, Target: k} }
func enable(k string) scenario.Op     { return scenario.Op{Kind: act.Enable, Target: k} }
func disable(k string) scenario.Op    { return scenario.Op{Kind: act.Disable, Target: k} }

var wait = scenario.Op{Kind: act.WaitOptimized}

var count = []scenario.Step{{Kind: scenario.StepCount}}

// on is a probe with a pre_handler that counts.
func on(name, f string, offset int) scenario.Probe {
	return scenario.Probe{Name: name, Func: f, Offset: offset, Pre: count}
}

// post is one with a post_handler too.
func post(name, f string, offset int) scenario.Probe {
	return scenario.Probe{Name: name, Func: f, Offset: offset, Pre: count, Post: count}
}

// task is a program on CPU 0.
func task(ops ...scenario.Op) scenario.Task {
	return scenario.Task{Name: "task", Ops: ops, Repeat: 1}
}

// onCPU is a program on another CPU.
func onCPU(cpu int, ops ...scenario.Op) scenario.Task {
	return scenario.Task{Name: fmt.Sprintf("task%d", cpu), CPU: cpu, Ops: ops, Repeat: 1}
}

// objects is the functions and data of the built-in object files, and of
// testdata/instructions.o.
func objects(t testing.TB) *scenario.Scenario {
	open := func(file string) ([]byte, error) {
		if file == "instructions.o" {
			return os.ReadFile("testdata/instructions.o")
		}
		return library.Open(file)
	}
	sc, err := lang.Load("library.star", []byte(`
scenario(says = "the library")
machine(cpus = 2)
v = elf("victim.o")
elf("callers.o")
elf("label.o")
elf("probe_targets.o")
elf("instructions.o")
task("t", cpu = 0, ops = [call(v.victim, 1, 2)])
never()
`), open)
	require.NoError(t, err)
	return sc
}

// with is a scenario with the library's functions.
func with(t testing.TB, probes []scenario.Probe, tasks ...scenario.Task) *scenario.Scenario {
	sc := objects(t)
	return &scenario.Scenario{Name: t.Name(), Machine: hard, Texts: sc.Texts, Datas: sc.Datas, Probes: probes,
		Tasks: tasks}
}

// A witness keeps the engine's events and the rig's of the API.
type witness struct{ events []traces.Event }

func (w *witness) Event(e *traces.Event) *traces.Finding {
	w.events = append(w.events, *e)
	return nil
}

// errnos are what the API calls returned, in the order they returned.
func (w *witness) errnos() (all []kprobes.Errno) {
	for _, e := range w.of(kpev.ApiReturn) {
		all = append(all, kprobes.Errno(e.C))
	}
	return all
}

// handlers are the handlers that ran on CPU 0, as "pre 0", "post 1", and misses
// and skips, "missed 0", "skipped 0".
func (w *witness) handlers() (all []string) {
	for _, e := range w.events {
		switch {
		case e.CPU != 0:
		case e.Kind == kpev.Handler && e.B == kpev.Pre:
			all = append(all, fmt.Sprintf("pre %d", e.A))
		case e.Kind == kpev.Handler:
			all = append(all, fmt.Sprintf("post %d", e.A))
		case e.Kind == kpev.Missed:
			all = append(all, fmt.Sprintf("missed %d", e.A))
		case e.Kind == kpev.Skipped:
			all = append(all, fmt.Sprintf("skipped %d", e.A))
		}
	}
	return all
}

func (w *witness) of(kinds ...traces.Kind) (all []traces.Event) {
	for _, e := range w.events {
		if slices.Contains(kinds, e.Kind) {
			all = append(all, e)
		}
	}
	return all
}

// play runs a scenario by default and in some random schedules. All monitors
// must be silent in all of them. It returns what the default run showed.
func play(t testing.TB, sc *scenario.Scenario, schedules int) *witness {
	t.Helper()
	var first *witness
	playEach(t, sc, schedules, func(w *witness) {
		if first == nil {
			first = &witness{slices.Clone(w.events)}
		}
	})
	return first
}

// playEach is play for a test that looks at every run. What it is shown it
// doesn't keep.
func playEach(t testing.TB, sc *scenario.Scenario, schedules int, look func(w *witness)) {
	t.Helper()
	require.NoError(t, lang.Check(sc))
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	w := new(witness)
	rig.Log.Subscribe(w, kpev.ApiReturn, kpev.Handler, kpev.Missed, kpev.Skipped,
		kpev.Arm, kpev.Disarm, kpev.Optimizing, kpev.Optimized, kpev.Unoptimizing, kpev.Unoptimized)
	run := rig.Run(new(sched.Default))
	require.Equal(t, smp.Passed, run.Outcome, "%s %s %v", name(run), run.Finding.Message, run.Err)
	look(w)
	p := sched.Params{Seed: 1, Length: run.Counts.Points, Mean: 16}
	random, sticky := sched.NewRandom(p), sched.NewSticky(p)
	for i := range schedules {
		var s sched.Strategy = random
		if i%2 == 1 {
			s = sticky
		}
		s.Begin(uint64(i))
		w.events = w.events[:0]
		run := rig.Run(s)
		require.Equal(t, smp.Passed, run.Outcome, "schedule %d: %s %s %v", i, name(run), run.Finding.Message, run.Err)
		look(w)
	}
}

func name(r rig.Run) string {
	if r.Property == nil {
		return ""
	}
	return r.Property.Name
}
