package kprobes

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// A retStorm is four CPUs that call functions with return probes, which two of
// them register and unregister meanwhile, with too few instances and with calls
// in flight; one ends inside a function. NMIs come at any time and call one, too.
type retStorm struct {
	t      testing.TB
	b      *bench
	c      conserved
	rand   sim.Rand
	probes [3]*Kretprobe
	live   [3]int // how many handlers of a probe may run: registered, or being registered
	wrong  string
	runs   int // of return handlers
	orphan int // instances that outlived their return probe
}

func newRetStorm(t testing.TB, s Settings, nmis int) *retStorm {
	st := &retStorm{t: t}
	calls := func(b *bench, x *smp.Ctx) {
		for range 5 {
			st.call(x)
		}
	}
	probing := func(b *bench, x *smp.Ctx) {
		for i := range 3 {
			if b.m.CPUs() == 1 || i == x.CPU() || i == 2 && x.CPU() == 0 {
				st.register(x, i)
			}
		}
		st.call(x)
		for i := range 3 {
			if st.live[i] > 0 && (b.m.CPUs() == 1 || i == x.CPU() || i == 2 && x.CPU() == 0) {
				st.unregister(x, i)
			}
		}
		st.call(x)
	}
	ends := func(b *bench, x *smp.Ctx) {
		st.call(x)
		called(x, ender, 0)
	}
	b := newBench(t, s, retCodes, probing, probing, calls, ends)
	st.b = b
	for c := range 4 { // that lose their CPU inside a function
		b.m.Tasks().AddProgram("preempted", c, func(x *smp.Ctx) { calls(b, x) })
	}
	for c := range nmis {
		require.NoError(t, b.m.Interrupts().Add(&smp.Source{Kind: smp.NMISource, Name: "nmi", AtMost: 2}, c))
	}
	for c := range 4 {
		require.NoError(t, b.m.Interrupts().Add(&smp.Source{Kind: smp.TimerSource, Name: "timer", AtMost: 6}, c))
		require.NoError(t, b.m.Interrupts().Add(&smp.Source{Kind: smp.PreemptSource, Name: "preempt", AtMost: 6}, c))
	}
	b.k.OnInterrupt(func(x *smp.Ctx, s *smp.Source) {
		if s.Kind == smp.NMISource {
			st.call(x)
		}
	}, func(s *smp.Source) bool { return s.Kind != smp.NMISource })
	b.log.Subscribe(&st.c, conservedKinds...)
	b.m.Freeze()
	return st
}

// call calls a function that may be probed.
func (st *retStorm) call(x *smp.Ctx) {
	n := uint64(st.rand.N(4))
	regs := *x.Regs()
	switch st.rand.N(3) {
	case 0:
		st.check(called(x, victim, n) == n+3, "victim")
	case 1:
		st.check(called(x, outer, n) == n+4, "outer")
	case 2:
		st.check(called(x, recurs, n) == n, "recurs")
	}
	if sp := x.Thread().Left().R[x86.RSP]; sp != 0 {
		st.check(false, "the stack pointer")
	}
	sp, ip := x.Regs().R[x86.RSP], x.Regs().IP
	*x.Regs() = regs
	x.Regs().R[x86.RSP], x.Regs().IP = sp, ip
}

func (st *retStorm) check(ok bool, what string) {
	if !ok && st.wrong == "" {
		st.wrong = what
	}
}

func (st *retStorm) register(x *smp.Ctx, i int) {
	f := [...]code{victim, recurs, ender}[i]
	r := retAt(f, func(x kapi.Context, ri *Instance, _ *arch.Regs) int {
		st.runs++
		x.Step("handler", 1)
		st.check(st.live[i] > 0, "a handler runs after unregister")
		st.check(ri.Rp == st.probes[i] && !ri.freed, "an instance of another probe, or freed")
		return 0
	})
	r.Kprobe.ID = uint64(i)
	r.Maxactive = 1 + st.rand.N(3)
	st.probes[i] = r
	st.live[i] = 1
	st.check(st.b.e.Kretprobes.Register(x, r) == nil, "register")
	if st.rand.N(3) == 0 {
		st.b.e.Optimizer.WaitOptimizer(x)
	}
}

func (st *retStorm) unregister(x *smp.Ctx, i int) {
	h := st.probes[i].holder
	st.check(st.b.e.Kretprobes.Unregister(x, st.probes[i]) == nil, "unregister")
	st.live[i] = 0
	for _, ri := range h.all {
		if st.c.state[ri.ID] == 2 {
			st.orphan++
		}
	}
}

// run runs one schedule, and says what is wrong about it.
func (st *retStorm) run(ch sim.Chooser, n uint64) string {
	st.c.reset()
	st.wrong, st.live = "", [3]int{}
	st.rand.Seed(n, 1)
	st.b.made = func() {
		if e := st.b.e; n%2 == 1 && len(e.Rethook.buckets) > 1 { // all tasks hash alike
			e.Rethook.buckets = e.Rethook.buckets[:1]
		}
	}
	o := st.b.run(ch)
	for _, r := range st.probes {
		for _, h := range st.b.e.Kretprobes.holders[:st.b.e.Kretprobes.nHolders] {
			if r != nil && h.rp == r && st.b.e.Kretprobes.listed() && h.freed != h.allFreed() {
				st.check(false, "what the instances belong to is freed before or behind them")
			}
		}
	}
	for _, h := range st.b.e.Kretprobes.holders[:st.b.e.Kretprobes.nHolders] {
		if o == smp.Passed && h.rp.holder != h && !h.allFreed() {
			st.check(false, "instances are left behind of a return probe that is gone")
		}
	}
	switch {
	case o != smp.Passed:
		return o.String() + ": " + errText(st.b.m.Refusal())
	case st.c.wrong != "":
		return st.c.wrong
	case st.wrong == "" && st.c.inUse() > 0:
		return "instances in use at the end"
	}
	return st.wrong
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// allFreed reports whether the memory of all instances is given back.
func (h *holder) allFreed() bool {
	for _, ri := range h.all {
		if !ri.freed {
			return false
		}
	}
	return true
}

// stormRuns is how many schedules.
const stormRuns = 300

// TestRetStorm: every generation under random schedules.
func TestRetStorm(t *testing.T) {
	orphans := 0
	for _, ed := range every {
		t.Run(ed.String(), func(t *testing.T) {
			st := newRetStorm(t, settingsOf(ed, true), 2)
			s := sched.NewArriving(sched.Params{Seed: 1, Length: 800, Mean: 6})
			for i := range uint64(stormRuns / less) {
				s.Begin(i)
				if wrong := st.run(s, i); wrong != "" {
					t.Fatalf("schedule %d: %s", i, wrong)
				}
			}
			require.NotZero(t, st.runs)
			orphans += st.orphan
			t.Logf("%d handlers, %d instances that outlived their return probe", st.runs, st.orphan)
		})
	}
	require.NotZero(t, orphans)
}

// TestRetStormFinds: the same finds what is wrong with an engine that leaves out
// a step, or counts as 5.11 to 5.17 do.
func TestRetStormFinds(t *testing.T) {
	for _, m := range []struct {
		name string
		in   []rules.Edition
		row  string
	}{
		{"no-grace", thorough.Of(every[2:], every[1:]), "no-grace"},
		{"no-flush", every, "no-flush"},
		{"holder-refs", []rules.Edition{rules.Edition514}, "holder-refs"},
	} {
		for _, ed := range m.in {
			t.Run(m.name+"/"+ed.String(), func(t *testing.T) {
				set := settingsOf(ed, true)
				breakSteps(&set, m.row)
				st := newRetStorm(t, set, 4)
				s := sched.NewArriving(sched.Params{Seed: 1, Length: 800, Mean: 6})
				for i := range uint64(20_000) {
					s.Begin(i)
					if wrong := st.caught(s, i); wrong != "" {
						t.Logf("schedule %d: %s", i, wrong)
						return
					}
				}
				t.Error("not found")
			})
		}
	}
}

// caught is run of an engine that may panic: by what Go finds, or by what it claims
// itself. How routines unwind is nothing that it may break.
func (st *retStorm) caught(ch sim.Chooser, n uint64) (wrong string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error, *sim.BugError, *sim.Panic:
			wrong = "panic"
		default:
			panic(p)
		}
	}()
	return st.run(ch, n)
}

// Without a grace period the IPI behind disarming would do for breakpoints, whose
// handlers run with interrupts off: no-grace is found where there are detours.

// pushInterrupted is a machine on which a return-probed function is called by a
// task and by NMIs that come at any time, and by another CPU.
func pushInterrupted(t *testing.T, s Settings) (st *retStorm) {
	st = &retStorm{t: t}
	calls := func(b *bench, x *smp.Ctx, n int) {
		for range n {
			st.check(called(x, victim, 7) == 10, "victim")
		}
	}
	b := newBench(t, s, retCodes, func(b *bench, x *smp.Ctx) {
		r := retAt(victim, func(_ kapi.Context, ri *Instance, _ *arch.Regs) int {
			st.runs++
			return 0
		})
		r.Maxactive = 4
		st.check(b.e.Kretprobes.Register(x, r) == nil, "register")
		calls(b, x, 4)
		st.check(b.e.Kretprobes.Unregister(x, r) == nil, "unregister")
		for range 3 {
			b.k.RCU.Synchronize(x, kapi.QuiesceRCU)
		}
		st.check(st.c.leaked() == 0, "an instance is lost")
	}, func(b *bench, x *smp.Ctx) { calls(b, x, 4) })
	st.b = b
	for c := range 2 {
		require.NoError(t, b.m.Interrupts().Add(&smp.Source{Kind: smp.NMISource, Name: "nmi", AtMost: 3}, c))
	}
	b.k.OnInterrupt(func(x *smp.Ctx, s *smp.Source) {
		regs := *x.Regs()
		calls(b, x, 2)
		sp, ip := x.Regs().R[x86.RSP], x.Regs().IP
		*x.Regs() = regs
		x.Regs().R[x86.RSP], x.Regs().IP = sp, ip
	}, func(*smp.Source) bool { return false })
	b.log.Subscribe(&st.c, conservedKinds...)
	b.m.Freeze()
	return st
}

// TestPushInterrupted: the kernel's array of free instances (6.7 and later) hands
// an instance out twice if an NMI pushes between the steps of a push. Ours, which
// keeps turns, doesn't.
func TestPushInterrupted(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		set := settingsOf(rules.Edition69, true)
		if kernels {
			breakSteps(&set, "objpool-last")
		}
		st := pushInterrupted(t, set)
		s := sched.NewRandom(sched.Params{Seed: 1, Length: 300})
		found := ""
		for i := uint64(0); i < 2000 && found == ""; i++ {
			s.Begin(i)
			if found = st.caught(s, i); found != "" {
				t.Logf("schedule %d: %s", i, found)
			}
		}
		require.Equal(t, kernels, found != "", found)
	}
}
