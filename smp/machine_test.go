package smp_test

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// A rig is a machine, its log, and what one test puts on it.
type rig struct {
	*smp.Machine
	t     testing.TB
	log   traces.Log
	flags []*flag
}

func newRig(t testing.TB, cfg smp.Config) *rig {
	t.Helper()
	r := &rig{t: t}
	r.log.Store = true
	cfg.Arch = cmp.Or(cfg.Arch, x86.AMD64)
	m, err := smp.New(cfg, &r.log)
	if err != nil {
		t.Fatal(err)
	}
	r.Machine = m
	t.Cleanup(m.Close)
	m.Memory().Map(smp.DataBase, make([]byte, 4096), smp.PermRead|smp.PermWrite)
	return r
}

// text puts code, in hex, at TextBase+off.
func (r *rig) text(name string, off int, code string) arch.Addr {
	r.t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
	if err != nil {
		r.t.Fatal(err)
	}
	at := smp.TextBase + arch.Addr(off)
	r.Memory().Map(at, b, smp.PermRead|smp.PermExec)
	r.Names().AddSymbol(name, at, len(b))
	return at
}

func (r *rig) source(kind smp.SourceKind, cpu, atMost int) *smp.Source {
	s := &smp.Source{Kind: kind, Name: "source", AtMost: atMost}
	if err := r.Interrupts().Add(s, cpu); err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) run(ch sim.Chooser) smp.Outcome {
	r.t.Helper()
	a := &asked{Chooser: ch}
	defer func() {
		if a.wrong != "" {
			r.t.Errorf("the machine asked what can't be answered: %s", a.wrong)
		}
	}()
	r.Reset(a)
	for _, f := range r.flags {
		f.Set(0)
	}
	return r.Run()
}

// asked checks the questions that a strategy is asked: there are as many moves
// as alternatives, and the first is one of them. After the end there are none.
type asked struct {
	sim.Chooser
	wrong string
}

// Choose implements sim.Chooser.
func (a *asked) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Step {
		n := 0
		for _, set := range p.Moves {
			n += bits.OnesCount64(set)
		}
		if n != p.N || n < 2 || p.Moves[p.First/sim.MaxCPUs]>>(p.First%sim.MaxCPUs)&1 == 0 {
			a.wrong = fmt.Sprintf("%d alternatives of %#x, the first is %d", p.N, p.Moves, p.First)
			return 0, 0
		}
	}
	return a.Chooser.Choose(p)
}

// want runs the machine and insists on how that ends.
func (r *rig) want(o smp.Outcome, ch sim.Chooser) {
	r.t.Helper()
	if got := r.run(ch); got != o {
		r.t.Fatalf("the run ended %v (%v), want %v\n%s", got, r.Refusal(), o, r.Inspect().Dump())
	}
}

// events are those of one kind, of the last run.
func (r *rig) events(k traces.Kind) (list []traces.Event) {
	for _, e := range r.log.Events {
		if e.Kind == k {
			list = append(list, e)
		}
	}
	return list
}

// A director is a strategy made by hand: it names the mover that it wants, or
// NoMover for the default. A mover that can't move is not insisted on.
type director func(p *sim.Point) sim.Mover

// Choose implements sim.Chooser.
func (d director) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Step {
		if mv := d(p); mv != sim.NoMover {
			for i := range p.N {
				if p.Mover(i) == mv {
					return i, 0
				}
			}
		}
	}
	return 0, 0
}

// greedy fires a source whenever one can fire, the lowest first.
var greedy = director(func(p *sim.Point) sim.Mover {
	for i := range sim.Mover(sim.MaxCPUs) {
		if p.Moves[2]>>i&1 != 0 {
			return sim.MoverSource + i
		}
	}
	return sim.NoMover
})

// schedules are the default run and n runs of each searching strategy. The
// short Length makes sources fire early and often.
func schedules(n uint64) iter.Seq2[string, sim.Chooser] {
	return func(yield func(string, sim.Chooser) bool) {
		if !yield("default", sim.Always0{}) || !yield("greedy", greedy) {
			return
		}
		for _, p := range []sched.Params{{Seed: 1, Length: 30, Mean: 4}, {Seed: 2, Length: 300, Mean: 16}} {
			for _, s := range []sched.Strategy{sched.NewRandom(p), sched.NewSticky(p)} {
				for i := range n {
					s.Begin(i)
					if !yield(fmt.Sprintf("%v, length %d, run %d", s, p.Length, i), s) {
						return
					}
				}
			}
		}
	}
}

// flag is a cell that starts at 0 in each run.
type flag struct {
	kapi.Var[int]
	up kapi.Is[int]
}

func (r *rig) flag() *flag {
	f := new(flag)
	f.Init(&r.Cells, 0)
	f.up = kapi.Is[int]{Var: &f.Var, Want: 1}
	r.flags = append(r.flags, f)
	return f
}

func TestCPUs(t *testing.T) {
	for _, n := range []int{0, -1, 65} {
		if _, err := smp.New(smp.Config{Arch: x86.AMD64, CPUs: n}, new(traces.Log)); err == nil {
			t.Errorf("a machine of %d CPUs was built", n)
		}
	}
	for _, n := range []int{1, 2, 3, 8, 33, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { countOnAll(t, n) })
	}
}

// countOnAll has each of n CPUs count in one cell, as a routine and in text,
// with a timer on each CPU.
func countOnAll(t *testing.T, n int) {
	r := newRig(t, smp.Config{CPUs: n})
	f := r.text("f", 0, "f0 48 ff 07 f0 48 ff 07 c3") // lock incq (%rdi), twice; ret
	count := r.flag()
	timers, most := make([]int, n), uint64(0)
	r.Hooks().Trap[0xec] = func(x *smp.Ctx, _ *arch.Regs) { timers[x.CPU()]++ }
	for c := range n {
		r.source(smp.TimerSource, c, 1)
		r.Tasks().AddProgram(fmt.Sprint("count/", c), c, func(x *smp.Ctx) {
			kapi.Add(&count.Var, x, kapi.Once, 1)
			x.Regs().R[x86.RDI] = uint64(smp.DataBase)
			x.Call(f)
			v, _ := x.Memory().Load(smp.DataBase, 8)
			most = max(most, v)
			if x.CPU() != c {
				t.Errorf("task of CPU %d runs on %d", c, x.CPU())
			}
		})
	}
	for name, ch := range schedules(3) {
		clear(timers)
		most = 0
		r.want(smp.Passed, ch)
		if got := count.Peek(); got != n {
			t.Errorf("%s: counted %d in a cell, want %d", name, got, n)
		}
		if name == "greedy" {
			for c, k := range timers {
				if k != 1 {
					t.Errorf("timer of CPU %d fired %d times", c, k)
				}
			}
		}
		if most != uint64(2*n) {
			t.Errorf("%s: counted %d in memory, want %d", name, most, 2*n)
		}
		if k := r.Counts(); k.Instructions != uint64(3*n) {
			t.Errorf("%s: %d instructions, want %d", name, k.Instructions, 3*n)
		}
	}
}

// TestHoldEnds: a question is watched if and only if the mover of alternative 0 is
// a CPU that stands before a watched chunk of text. None such is held, however long
// the hold, nor one with another mover for alternative 0 than the hold was given for.
func TestHoldEnds(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	f := r.text("f", 0, "90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 c3")
	r.Memory().Watch(f+8, 1) // the second chunk of three
	for cpu := range 2 {
		r.Tasks().AddProgram("p", cpu, func(x *smp.Ctx) { x.Call(f); x.Step("between", 0); x.Call(f) })
	}
	for seed := range uint64(5) {
		s := sched.NewSticky(sched.Params{Seed: seed, Length: 80, Mean: 6})
		var first []sim.Mover // of each question
		var watched []uint64
		s.Begin(0)
		r.want(smp.Passed, chooser(func(p *sim.Point) (int, int) {
			name, off, text := r.Names().Where(p.First)
			if want := text && name == "f" && off >= 8 && off < 16; p.Watched != want {
				t.Errorf("%d stands at %s+%d: watched is %v", p.First, name, off, p.Watched)
			}
			if first = append(first, p.First); p.Watched {
				watched = append(watched, p.Seq)
			}
			pick, _ := s.Choose(p)
			return pick, 0
		}))

		asked, held := uint64(0), 0
		var again []uint64
		s.Begin(0)
		r.want(smp.Passed, chooser(func(p *sim.Point) (int, int) {
			for ; asked < p.Seq; asked++ { // was held
				if held++; first[asked] != first[asked-1] {
					t.Errorf("question %d was held for %d, and is about %d", asked, first[asked-1], first[asked])
				}
			}
			if asked++; p.Watched {
				again = append(again, p.Seq)
			}
			pick, hold := s.Choose(p)
			return pick, hold & sim.Forever // which outlasts nothing
		}))
		if len(watched) < 16 || !slices.Equal(watched, again) || held == 0 {
			t.Errorf("watched questions %v, with %d held ones %v", watched, held, again)
		}
	}
}

// TestHoldOutlasts: a hold ends after so many questions, or at what it doesn't
// outlast, and at nothing else.
func TestHoldOutlasts(t *testing.T) {
	testHoldOutlasts(t, true)
	testHoldOutlasts(t, false) // there is often no choice
}

func testHoldOutlasts(t *testing.T, timers bool) {
	r := newRig(t, smp.Config{CPUs: 2})
	f := r.text("f", 0, "90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 c3")
	r.Memory().Watch(f+8, 1)
	gone := kapi.Is[int]{Var: new(kapi.Var[int]), Want: 1}
	gone.Var.Init(&r.Cells, 0)
	r.Tasks().AddProgram("waits", 0, func(x *smp.Ctx) { x.Call(f); x.Spin(&gone); x.Call(f) })
	r.Tasks().AddProgram("comes", 1, func(x *smp.Ctx) {
		x.Call(f)
		x.IRQ(false)
		x.Step("closed", 0)
		x.IRQ(true)
		gone.Var.WriteOnce(x, 1)
		x.Call(f)
	})
	if timers {
		r.source(smp.TimerSource, 0, 1)
		r.source(smp.TimerSource, 1, 1)
	}
	var all []sim.Point
	r.want(smp.Passed, chooser(func(p *sim.Point) (int, int) {
		all = append(all, *p)
		return 0, 0
	}))
	for _, hold := range []int{
		sim.Forever, sim.Forever + sim.Steady, sim.Forever + sim.Through, sim.Forever + sim.Steady + sim.Through,
		3, 3 + sim.Steady, 3 + sim.Through, 3 + sim.Steady + sim.Through,
	} {
		if !timers && hold&sim.Steady == 0 {
			continue // the moves change and change back where there is no choice
		}
		var asked, want []uint64
		gone.Var.Set(0)
		r.want(smp.Passed, chooser(func(p *sim.Point) (int, int) {
			if asked = append(asked, p.Seq); *p != all[p.Seq] {
				t.Errorf("hold %#x: question %d is %+v, and was %+v", hold, p.Seq, *p, all[p.Seq])
			}
			return 0, hold
		}))
		left := 0
		for i, p := range all {
			moved := i == 0 || p.Moves != all[i-1].Moves || p.First != all[i-1].First
			fires := i == 0 || p.Moves[2] != all[i-1].Moves[2]
			if left--; left < 0 || fires || moved && hold&sim.Steady == 0 || p.Watched && hold&sim.Through == 0 {
				want, left = append(want, p.Seq), hold&sim.Forever
			}
		}
		if !slices.Equal(asked, want) {
			t.Errorf("hold %#x: asked %d, want %d", hold, asked, want)
		}
	}
}

// A chooser is a sim.Chooser made of a function.
type chooser func(p *sim.Point) (pick, hold int)

// Choose implements sim.Chooser.
func (c chooser) Choose(p *sim.Point) (pick, hold int) { return c(p) }
