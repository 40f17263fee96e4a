package smp_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// everyWay is the depth-first search of all runs: the answers of the next one.
type everyWay struct {
	pick, of []int
	at       int
}

// Choose implements sim.Chooser.
func (e *everyWay) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Buffer {
		return 1, 0 // without buffers is with those that are empty at once
	}
	if e.at == len(e.pick) {
		e.pick, e.of = append(e.pick, 0), append(e.of, p.N)
	}
	e.at++
	return e.pick[e.at-1], 0
}

// next goes on to the next run; false: there is none.
func (e *everyWay) next() bool {
	e.at = 0
	for n := len(e.pick); n > 0; n-- {
		if e.pick[n-1]++; e.pick[n-1] < e.of[n-1] {
			e.pick, e.of = e.pick[:n], e.of[:n]
			return true
		}
	}
	return false
}

// A shape is a small program of each CPU over cells a and b, which are 0 at first. It
// leaves in r what it has read.
type shape struct {
	name string
	cpus []func(x *smp.Ctx, a, b *kapi.Var[int], r []int)
	odd  []int // what sequential consistency doesn't allow
	in   map[smp.Ordering]bool
	drop kapi.Barrier
}

var (
	testMB      = kapi.DefineBarrier("test: mb", kapi.OrderMB, "a test's")
	testLocked  = kapi.DefineBarrier("test: a locked instruction", kapi.OrderFull, "a test's")
	testRelease = kapi.DefineBarrier("test: release", kapi.OrderRelease, "a test's")
	testAcquire = kapi.DefineBarrier("test: acquire", kapi.OrderAcquire, "a test's")
)

type body = func(x *smp.Ctx, a, b *kapi.Var[int], r []int)

func storeLoad(fence func(x *smp.Ctx)) []body {
	return []body{
		func(x *smp.Ctx, a, b *kapi.Var[int], r []int) { a.WriteOnce(x, 1); fence(x); r[0] = b.ReadOnce(x) },
		func(x *smp.Ctx, a, b *kapi.Var[int], r []int) { b.WriteOnce(x, 1); fence(x); r[1] = a.ReadOnce(x) },
	}
}

var shapes = []shape{
	{name: "SB", cpus: storeLoad(func(*smp.Ctx) {}), odd: []int{0, 0}, in: map[smp.Ordering]bool{smp.TSO: true, smp.LKMM: true}},
	{name: "SB+mbs", cpus: storeLoad(func(x *smp.Ctx) { x.Fence(testMB) }), odd: []int{0, 0}},
	{
		name: "SB+mbs, dropped", cpus: storeLoad(func(x *smp.Ctx) { x.Fence(testMB) }), odd: []int{0, 0}, drop: testMB,
		in: map[smp.Ordering]bool{smp.TSO: true, smp.LKMM: true},
	},
	{
		name: "SB+locked", odd: []int{0, 0},
		cpus: []body{
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) { kapi.Add(a, x, testLocked, 1); r[0] = b.ReadOnce(x) },
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) { kapi.Add(b, x, testLocked, 1); r[1] = a.ReadOnce(x) },
		},
	},
	{
		name: "own stores are seen", odd: []int{0, 0, 1, 1}, in: map[smp.Ordering]bool{smp.TSO: true, smp.LKMM: true},
		cpus: []body{
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) {
				a.WriteOnce(x, 1)
				r[2] = a.ReadOnce(x)
				r[0] = b.ReadOnce(x)
			},
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) {
				b.WriteOnce(x, 1)
				r[3] = b.Look(x)
				r[1] = a.ReadOnce(x)
			},
		},
	},
	{
		name: "MP", odd: []int{1, 0}, in: map[smp.Ordering]bool{smp.LKMM: true},
		cpus: []body{
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) { a.WriteOnce(x, 1); b.WriteOnce(x, 1) },
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) { r[0] = b.ReadOnce(x); r[1] = a.ReadOnce(x) },
		},
	},
	{
		name: "MP+release+acquire", odd: []int{1, 0},
		cpus: []body{
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) { a.WriteOnce(x, 1); b.StoreRelease(x, testRelease, 1) },
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) {
				r[0] = b.LoadAcquire(x, testAcquire)
				r[1] = a.ReadOnce(x)
			},
		},
	},
	{
		name: "MP+release+acquire, dropped", odd: []int{1, 0}, drop: testRelease, in: map[smp.Ordering]bool{smp.LKMM: true},
		cpus: []body{
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) { a.WriteOnce(x, 1); b.StoreRelease(x, testRelease, 1) },
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) {
				r[0] = b.LoadAcquire(x, testAcquire)
				r[1] = a.ReadOnce(x)
			},
		},
	},
	{ // the CPU that waits has seen the count at 0 before its own store is seen
		name: "a wait reads past a store", odd: []int{1, 1}, in: map[smp.Ordering]bool{smp.TSO: true, smp.LKMM: true},
		cpus: []body{
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) {
				a.WriteOnce(x, 1)
				x.Spin(&kapi.Is[int]{Var: b})
				r[0] = 1
			},
			func(x *smp.Ctx, a, b *kapi.Var[int], r []int) {
				kapi.Add(b, x, testLocked, 1)
				if a.ReadOnce(x) == 0 { // it is still there
					x.Step("use", 1)
					r[1] = r[0]
				}
				kapi.Add(b, x, testLocked, -1)
			},
		},
	},
}

// run returns what a shape can leave in all runs under an ordering.
func (s *shape) run(t *testing.T, o smp.Ordering) (seen map[string]bool, runs int) {
	r := newRig(t, smp.Config{CPUs: len(s.cpus), Memory: o})
	var a, b kapi.Var[int]
	a.Init(&r.Cells, 0)
	b.Init(&r.Cells, 0)
	got := make([]int, max(2, len(s.odd)))
	for i, f := range s.cpus {
		r.Tasks().AddProgram(fmt.Sprint("cpu", i), i, func(x *smp.Ctx) { f(x, &a, &b, got) })
	}
	r.Weak().Drop(s.drop)
	seen = map[string]bool{}
	var e everyWay
	for {
		clear(got)
		r.Reset(&e)
		a.Set(0)
		b.Set(0)
		if o := r.Run(); o != smp.Passed {
			t.Fatalf("%s: %v", s.name, o)
		}
		seen[fmt.Sprint(got)] = true
		if runs++; !e.next() {
			return seen, runs
		}
	}
}

// Which model shows what, of all runs there are.
func TestShapes(t *testing.T) {
	for _, s := range shapes {
		for _, o := range []smp.Ordering{smp.SC, smp.TSO, smp.LKMM} {
			seen, runs := s.run(t, o)
			require.Greater(t, runs, 2)
			require.Equal(t, s.in[o], seen[fmt.Sprint(s.odd)], "%s under %v: %v", s.name, o, slices.Collect(keys(seen)))
		}
	}
}

// literal answers what was recorded, question by question, and answers nothing in advance.
type literal struct {
	rec *sched.Recording
	at  int
}

// Choose implements sim.Chooser.
func (l *literal) Choose(p *sim.Point) (pick, hold int) {
	if l.at < len(l.rec.Choices) && l.rec.Choices[l.at].Seq == p.Seq {
		l.at++
		return l.rec.Choices[l.at-1].Pick, 0
	}
	return 0, 0
}

// A run in which answers are held past stores is the run in which each is asked for.
func TestHeldPastStores(t *testing.T) {
	for _, cpus := range []int{1, 2, 3} {
		r := newRig(t, smp.Config{CPUs: cpus, Memory: smp.TSO, Budget: 3000})
		f := r.text("loop", 0, commonLoop)
		var a kapi.Var[int]
		a.Init(&r.Cells, 0)
		r.Hooks().Trap[smpev.VecTimer] = func(x *smp.Ctx, _ *arch.Regs) { a.WriteOnce(x, 1) }
		for c := range cpus {
			r.source(smp.TimerSource, c, 5)
			r.Tasks().AddProgram("looper", c, func(x *smp.Ctx) {
				a.WriteOnce(x, c)
				regs := x.Regs()
				regs.R[x86.RDI], regs.R[x86.RDX] = uint64(smp.DataBase)+uint64(64*c), 100
				x.Call(f)
				a.WriteOnce(x, 2)
			})
		}
		held := 0
		for seed := range uint64(30) {
			rec := &sched.Recorder{Strategy: &buffers{sched.NewSticky(sched.Params{Seed: seed, Length: 500}), 1}}
			rec.Begin(seed)
			r.Reset(rec)
			a.Set(0)
			r.Run()
			digest, counts := r.log.Digest(), r.Counts()
			rec.End(counts.Points)
			made := rec.Recording()
			r.Reset(&literal{rec: made})
			a.Set(0)
			r.Run()
			require.Equal(t, digest, r.log.Digest(), "seed %d", seed)
			now := r.Counts()
			require.Equal(t, counts, now, "seed %d", seed)
			if counts.Points > 50 {
				held++
			}
		}
		require.Positive(t, held)
	}
}

// A routine that trips over what it has read dies of it if it lacks a barrier; else the
// simulator has a bug.
func TestTripsWithoutBarrier(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2, Memory: smp.LKMM, Budget: 3000})
	var list []int
	trips := true
	for c := range 2 {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			x.Step("before", 1)
			if trips && c == 1 {
				_ = list[0]
			}
			x.Step("after", 1)
		})
	}
	r.Weak().Drop(testMB)
	for seed := range uint64(20) {
		trips = seed%2 == 0
		r.Reset(sched.NewRandom(sched.Params{Seed: seed}))
		if !trips {
			require.Equal(t, smp.Passed, r.Run())
			continue
		}
		require.Equal(t, smp.Refused, r.Run())
		require.ErrorContains(t, r.Refusal(), "without a barrier a routine follows what isn't there")
	}
	r.Weak().Drop(kapi.Once)
	trips = true
	r.Reset(sched.NewRandom(sched.Params{}))
	require.Panics(t, func() { r.Run() })
}

func keys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
