package proof

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

var (
	plainRuns = flag.Int("plain", 0, "of how many runs plain search may be behind a beginning; 0: few")
	windowsOf = flag.Int("windows", 0, "behind how many beginnings of each setting to search; 0: few")
)

// plain is depth-first search with nothing clever about it: every answer to every
// question, at every boundary.
type plain struct {
	picks, of []int
	at        int
}

// next makes another run the one to be run, false if there is none.
func (d *plain) next() bool {
	d.at = 0
	for n := len(d.picks) - 1; n >= 0; n-- {
		if d.picks[n]++; d.picks[n] < d.of[n] {
			d.picks, d.of = d.picks[:n+1], d.of[:n+1]
			return true
		}
	}
	return false
}

// Choose implements sim.Chooser.
func (d *plain) Choose(p *sim.Point) (pick, hold int) {
	if d.at == len(d.picks) {
		d.picks, d.of = append(d.picks, 0), append(d.of, p.N)
	} else if d.of[d.at] != p.N {
		sim.Bug("question %d has %d answers, it had %d", d.at, p.N, d.of[d.at])
	}
	d.at++
	return d.picks[d.at-1], 0
}

// A beginning is what was answered in a run up to a question: by the questions'
// numbers, 0 to those that aren't named.
type beginning struct {
	picks []numbered
	until uint64 // the first that is free
}

type numbered struct {
	seq  uint64
	pick int
	step bool // it is a Step
}

// A rest answers as a beginning does, and then as another chooser does. Its
// observer gets the steps from there on.
type rest struct {
	beginning
	then sim.Chooser
	seen sim.Observer
	at   int
	free bool
}

// Choose implements sim.Chooser.
func (b *rest) Choose(p *sim.Point) (pick, hold int) {
	if p.Seq >= b.until {
		b.free = true
		return b.then.Choose(p)
	}
	for b.at < len(b.picks) && b.picks[b.at].seq < p.Seq {
		b.at++
	}
	if b.at < len(b.picks) && b.picks[b.at].seq == p.Seq {
		return b.picks[b.at].pick, 0
	}
	return 0, 0
}

// Stepped implements sim.Observer.
func (b *rest) Stepped(mv sim.Mover, touched []sim.Touch) {
	if b.free {
		b.seen.Stepped(mv, touched)
	}
}

// noting answers at random, and takes it down.
type noting struct {
	rig.Deaf
	rand  sim.Rand
	stay  int // of 8: how often the default mover goes on
	picks []numbered
}

// Choose implements sim.Chooser.
func (n *noting) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step || n.rand.N(8) >= n.stay {
		pick = n.rand.N(p.N)
	}
	n.picks = append(n.picks, numbered{p.Seq, pick, p.Kind == sim.Step})
	return pick, 0
}

// Forced implements sim.Forced.
func (n *noting) Forced(p *sim.Point, pick int) {
	n.picks = append(n.picks, numbered{p.Seq, pick, false})
}

// thread is what one thread of control has seen.
type thread struct {
	h    uint64
	open []uint64 // of the interrupts on top of it
}

// seen is the state that a run has reached, and what each thread of control has
// seen on the way: a task, less what interrupts it; and each interrupt by itself,
// wherever it came. The order of steps that commute changes nothing of it. An
// interrupt during which a run is ended counts for nothing: the end could have
// come before it.
func seenOf(r *rig.Rig, run rig.Run) end {
	e := whereItEnded(r, run)
	threads := make([]thread, 256) // by the number of the task
	for i := range r.Log.Events {
		x := &r.Log.Events[i]
		t := &threads[x.Task]
		h := sim.Mix(uint64(x.Kind)^sim.Mix(x.A)) ^ sim.Mix(sim.Mix(x.B)+x.C)
		outside := x.A >= 32 || x.A == smpev.VecNMI
		switch n := len(t.open); {
		case x.Kind == smpev.Fire: // reported by the trap
		case x.Kind == smpev.Held || x.Kind == smpev.Commit: // whose order no thread sees
		case x.Kind == smpev.Trap && outside:
			t.open = append(t.open, sim.Mix(x.A))
		case x.Kind == smpev.Return && outside:
			e.final += sim.Mix(t.open[n-1])
			t.open = t.open[:n-1]
		case noOnes[x.Kind]:
			e.final += h
		case n > 0:
			t.open[n-1] = sim.Mix(t.open[n-1] + h)
		default:
			t.h = sim.Mix(t.h + h)
		}
	}
	for i := range threads {
		if h := threads[i].h; h != 0 {
			e.final += sim.Mix(h ^ sim.Mix(uint64(i)))
		}
	}
	return e
}

// noOnes are the events that aren't of the thread of control that runs.
var noOnes = map[traces.Kind]bool{
	smpev.Switch: true, smpev.Wake: true, smpev.Exit: true, smpev.Load: true, smpev.Expect: true, smpev.Want: true,
	smpev.Done: true, kpev.NoPre: true,
}

// endsOfPlain are those of all runs after a beginning; ok: there were no more
// than most. Each is called after each run, unless it is nil.
func endsOfPlain(r *rig.Rig, from beginning, most int, each func(run rig.Run)) (ends map[end]int, n int, ok bool) {
	r.Observe(nil)
	ends = make(map[end]int)
	d := new(plain)
	for more := true; more; more = d.next() {
		if n == most {
			return nil, n, false
		}
		run := r.Run(&rest{beginning: from, then: d})
		ends[seenOf(r, run)]++
		if n++; each != nil {
			each(run)
		}
	}
	return ends, n, true
}

// endsOfFull are those of all runs that Full makes after a beginning, and what
// class each is of, if nothing has ended it; last are their final states alone.
func endsOfFull(t require.TestingT, rig *rig.Rig, from beginning, most int) (ends, last map[end]int,
	classes map[class]bool, stats sched.FullStats) {
	f := sched.NewFull()
	learn(rig, f)
	ends, last, classes = make(map[end]int), make(map[end]int), make(map[class]bool)
	h := &classed{seen: f}
	b := &rest{beginning: from, then: f, seen: h}
	rig.ObserveAtomicIRQs(b)
	for i := uint64(0); f.Begin(i); i++ {
		require.Less(t, i, uint64(most), "%s", rig.Scenario.Name)
		h.Reset()
		b.at, b.free = 0, false
		run := rig.Run(b)
		if !f.Blocked() {
			ends[seenOf(rig, run)]++
			finals(rig, run, last)
			if !run.Early {
				classes[h.class()] = true
			}
		}
		if run.Early {
			f.Cut()
		} else {
			f.End(0)
		}
		if rig.Machine.Footprint().SharedGrew() {
			f.Restart()
			clear(ends)
			clear(last)
			clear(classes)
		}
	}
	return ends, last, classes, f.Stats()
}

type class struct{ hi, lo uint64 }

// classed finds out the class of a run in which the only questions are which
// mover steps.
type classed struct {
	sched.Happens
	seen sim.Observer
}

// Stepped implements sim.Observer.
func (c *classed) Stepped(mv sim.Mover, touched []sim.Touch) {
	c.Happens.Stepped(mv, touched)
	c.seen.Stepped(mv, touched)
}

func (c *classed) class() class {
	hi, lo := c.Hash()
	return class{hi, lo}
}

func sameEnds(t *testing.T, want, got map[end]int, what string) {
	for e, n := range want {
		require.NotZero(t, got[e], "%s: plain search has an end %s %d times, Full never", what, e.name, n)
	}
	for e, n := range got {
		require.NotZero(t, want[e], "%s: Full has an end %s %d times, plain search never", what, e.name, n)
	}
}

// Small enough for every schedule to be run.
const (
	aLabel = `
v = text("v", hex = "0f1f440000 c3")  # a nop of five bytes; ret
w = text("w", hex = "c3")
l = jump_label("l", at = v, target = w)
`
	aProbe = `
v = text("v", hex = "c3")
k = kprobe("k", at = v, post = [count()])
`
	aJump = `
v = text("v", hex = "8d443701 c3")
k = kprobe("k", at = v)
task("a", cpu = 0, ops = [register(k), wait_optimized(), unregister(k)])
`
	handed = `
v = text("v", hex = "0f1f440000 c3")
`
	on     = `task("a", cpu = 0, ops = [label_on(l)])` + "\n"
	onOff  = `task("a", cpu = 0, ops = [label_on(l), label_off(l)])` + "\n"
	calls  = `task("b", cpu = 1, ops = [call(v, changed = True)])` + "\n"
	callsC = `task("c", cpu = 1, ops = [call(v, changed = True)])` + "\n"
	timer0 = "timer(cpu = 0)\n"
	timer1 = "timer(cpu = 1)\n"
)

var (
	syncs = []string{"no-sync-1", "no-sync-2", "no-sync-3", "int3-after-tail", "if-leak"}
	lives = []string{"no-sync-arm", "no-sync-disarm", "no-restore", "free-early", "no-quiesce"}
)

var tinier = []struct {
	name, machine, rest string
	mutants             []string
	large               []string // of mutants and "", those of which plain search makes 60,000 runs or more
}{
	{"a store and a call", `patch = "naive"`, aLabel + on + calls, nil, nil},
	{"two stores and a call", `patch = "naive"`, aLabel + onOff + calls, nil, nil},
	{"a tick for the caller", `patch = "naive"`, aLabel + on + calls + timer1, nil, nil},
	{"a tick for the patcher", `patch = "naive"`, aLabel + on + calls + timer0, nil, nil},
	{"a tick that counts", `preempt = "dynamic", patch = "naive"`, aLabel + on + calls + timer1, nil, nil},
	{"an NMI", `patch = "naive"`, aLabel + on + calls + "nmi(cpu = 1)\n", nil, nil},
	{"stale bytes", `patch = "naive", fetch = "stale"`, aLabel + on + calls, nil, nil},
	{"mixed bytes", `patch = "naive", fetch = "mixing"`, aLabel + on + calls, nil, nil},
	{"preemption and a tick", `preempt = "full", patch = "naive"`, aLabel + on + callsC + timer1 + "preempt(cpu = 1)\n",
		nil, nil},
	{"preemption", `preempt = "full", patch = "naive"`,
		aLabel + on + `task("b", cpu = 0, ops = [call(v, changed = True)])` + "\npreempt(cpu = 0)\n", nil, nil},
	{"IPIs", `patch = "breakpoint"`, aLabel + on, syncs, nil},
	{"IPIs and a tick", `patch = "breakpoint"`, aLabel + on + timer0, syncs,
		[]string{"", "int3-after-tail", "if-leak"}},
	{"a probe and a tick", `quiesce = "sched", patch = "breakpoint"`,
		aProbe + `task("a", cpu = 0, ops = [register(k), unregister(k)])` + "\n" + timer0, lives,
		[]string{"", "free-early", "no-quiesce"}},
	{"stores by hand", `fetch = "stale"`, handed + `task("a", cpu = 0, ops = [write(v, "0f1f440001", by = 4)])` + "\n" +
		calls, nil, nil},
	{"a compare-and-swap", `patch = "naive"`, handed + `
task("a", cpu = 0, ops = [write(v, "0f1f440001", old = "0f1f440000")])
task("b", cpu = 1, ops = [write(v, "0f1f440002", old = "0f1f440000"), call(v, changed = True)])
`, nil, nil},
	{"saved text", `patch = "naive"`, handed + `
d = data("d", size = 2)
task("a", cpu = 0, ops = [save_text(v, d), write(v, saved(d))])
task("b", cpu = 1, ops = [write(v, "6690")])
`, nil, nil},
	{"memory for code", `preempt = "none"`, `
v = code("v", "90 c3")
task("a", cpu = 0, ops = [call(v, changed = True)])
task("b", cpu = 1, ops = [free(v), map(v)])
`, nil, nil},
	{"a breakpoint by hand", `preempt = "none"`, handed + `
task("a", cpu = 0, ops = [on_breakpoint(v, goto = v + 5), write(v, "cc")])
` + calls, nil, nil},
	{"a retried breakpoint", `preempt = "none"`, handed + `
task("a", cpu = 0, ops = [on_breakpoint(v, retry = True), write(v, "cc"), write(v, "0f")])
` + calls, nil, nil},
	{"a stop", `preempt = "none"`, handed + `task("a", cpu = 0, ops = [stop(), resume()])` + "\n" + calls, nil,
		[]string{""}},
	{"a sync of one CPU", `preempt = "none"`, handed +
		`task("a", cpu = 0, ops = [write(v + 4, "01"), sync_core(cpus = [1])])` + "\n" + calls, nil, nil},
	{"safepoints", `preempt = "none"`, handed + `
task("a", cpu = 0, ops = [wait("safepoints"), write(v, "90")])
task("b", cpu = 1, ops = [safepoint(), safepoint()])
`, nil, nil},
	{"a wait for the others' end", `preempt = "none"`, handed + `
task("a", cpu = 0, ops = [wait_ended(), write(v, "0f1f440001")])
task("b", cpu = 1, ops = [wait_ended(), call(v, changed = True)])
`, nil, nil},
}

// TestFullIsPlain: the runs that Full makes end where the runs of plain depth-first
// search do, every answer to every question tried, and see the same on the way; the
// runs that States makes end there, too. What takes plain search 60,000 runs or more is
// left to -plain, but for the setting with preemption and a tick.
func TestFullIsPlain(t *testing.T) {
	t.Parallel()
	most, atLeast := 180_000, 8
	if searchtest.Slow > 1 {
		most, atLeast = 3_000, 2
	}
	most = max(*plainRuns, most)
	runs, full, states, several, tooBig := 0, uint64(0), uint64(0), 0, 0
	for _, c := range tinier {
		t.Run(c.name, func(t *testing.T) {
			for _, mutant := range append([]string{""}, c.mutants...) {
				if *plainRuns == 0 && (slices.Contains(c.large, mutant) || c.name == "preemption and a tick" &&
					!thorough.Set()) || mutant != "" && mutant != c.mutants[0] && !thorough.Set() {
					continue
				}
				sc := searchtest.LoadTinier(t, c.machine, c.rest)
				r, err := rig.New(sc, mutant)
				require.NoError(t, err)
				defer r.Close()
				r.Log.Store = true
				last := make(map[end]int)
				want, n, ok := endsOfPlain(r, beginning{}, most, func(run rig.Run) { finals(r, run, last) })
				if !ok {
					tooBig++
					continue
				}
				got, _, _, stats := endsOfFull(t, r, beginning{}, most)
				sameEnds(t, want, got, fmt.Sprintf("mutant %q", mutant))
				reached, by := endsOfStates(t, sc, mutant)
				sameKeys(t, last, reached, fmt.Sprintf("mutant %q", mutant))
				require.LessOrEqual(t, by.Runs, uint64(n))
				if runs, full, states = runs+n, full+stats.Runs, states+by.Runs; len(last) > 1 {
					several++
				}
			}
		})
	}
	t.Logf("%d runs, of which Full made %d and States %d; %d settings with several ends; %d too big", runs, full,
		states, several, tooBig)
	require.Greater(t, several, atLeast)
	if searchtest.Slow == 1 {
		require.Zero(t, tooBig)
	}
}

// TestFullIsPlainBehind: so it is after beginnings of larger scenarios, drawn,
// that leave few enough schedules.
func TestFullIsPlainBehind(t *testing.T) {
	t.Parallel()
	var total behindCount
	for _, c := range []struct {
		name, machine, rest string
		mutants             []string
	}{
		{"IPIs and a call", `patch = "breakpoint"`, aLabel + onOff + calls + timer1, syncs},
		{"a probe and a call", `quiesce = "sched", patch = "breakpoint"`,
			aProbe + `task("a", cpu = 0, ops = [register(k), unregister(k)])` + "\n" + calls + timer1, lives},
		{"a call that is to be probed", `quiesce = "sched", patch = "breakpoint"`, aProbe +
			`task("a", cpu = 0, ops = [register(k)])` + "\n" +
			`task("b", cpu = 1, ops = [call(v, changed = True, probed = True)])` + "\n" + timer1, nil},
		{"a jump", `quiesce = "sched", patch = "breakpoint"`, aJump + calls + timer1, lives},
		{"a jump by stopping", `quiesce = "sched", patch = "stop_machine"`, aJump + calls + timer1,
			[]string{"no-stop", "no-sync-arm", "no-restore", "free-early", "no-quiesce"}},
		{"a jump with preemption", `preempt = "full", quiesce = "tasks", patch = "breakpoint"`,
			aJump + calls + timer1 + callsC + "preempt(cpu = 1)\n", append([]string{"no-grace"}, lives...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			sc := searchtest.LoadTinier(t, c.machine, c.rest)
			for i, mutant := range append([]string{""}, c.mutants[:len(c.mutants)/searchtest.Slow]...) {
				fullIsPlainBehind(t, sc, mutant, uint64(i), 700, thorough.Of(1, 3)/min(searchtest.Slow, 3), &total)
			}
		})
	}
	t.Logf("%+v", total)
	require.Greater(t, total.several, thorough.Of(4, 15)/searchtest.Slow)
}

// behindCount is how many beginnings there were, of which so many left more
// than one possible end; all ends; and the runs.
type behindCount struct {
	beginnings, several, ends, plain int
	full                             uint64
}

func fullIsPlainBehind(t *testing.T, sc *scenario.Scenario, mutant string, seed uint64, most, windows int,
	total *behindCount) {
	rig, err := rig.New(sc, mutant)
	require.NoError(t, err)
	defer rig.Close()
	rig.Log.Store = true
	most = max(*plainRuns, most)
	for i := range max(*windowsOf, windows) {
		base := &noting{stay: []int{0, 4, 7}[i%3]}
		base.rand.Seed(seed, uint64(i))
		rig.ObserveAtomicIRQs(base)
		rig.Run(base)
		var from beginning
		var want map[end]int
		runs := 0
		for k := len(base.picks) - 1; k >= 0; k -= 1 + base.rand.N(6) {
			if !base.picks[k].step {
				continue
			}
			longer := beginning{base.picks[:k], base.picks[k].seq}
			ends, n, ok := endsOfPlain(rig, longer, most, nil)
			if !ok {
				break
			}
			from, want, runs = longer, ends, n
		}
		if want == nil {
			continue
		}
		got, _, _, stats := endsOfFull(t, rig, from, most)
		sameEnds(t, want, got, fmt.Sprintf("mutant %q, seed %d, run %d, behind question %d", mutant, seed, i,
			from.until))
		total.beginnings++
		if total.ends += len(want); len(want) > 1 {
			total.several++
		}
		total.plain += runs
		total.full += stats.Runs
	}
}
