package kernel_test

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"iter"
	"math/bits"
	"strings"
	"testing"

	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

// A mode is a build and a way of running (spec 8.1).
type mode struct {
	name                               string
	preemptible, voluntary, full, lazy bool
}

var modes = []mode{
	{name: "none"},
	{name: "voluntary", voluntary: true},
	{name: "dynamic", preemptible: true, voluntary: true},
	{name: "full", preemptible: true, full: true},
	{name: "lazy", preemptible: true, full: true, lazy: true},
}

// A rig is a machine with a kernel, and what one test puts on it.
type rig struct {
	*smp.Machine
	k   *kernel.Kernel
	t   testing.TB
	log traces.Log

	sources int // those that the test has added
	reset   func()
	clients
}

func newRig(t testing.TB, md mode, cfg smp.Config) *rig {
	t.Helper()
	r := &rig{t: t, reset: func() {}}
	cfg.Full, cfg.Lazy = md.full, md.lazy
	cfg.Arch = cmp.Or(cfg.Arch, x86.AMD64)
	m, err := smp.New(cfg, &r.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	r.Machine = m
	r.k = kernel.Boot(m, kernel.Config{Exec: memory(0, 0), Preemptible: md.preemptible, Voluntary: md.voluntary})
	r.bootClients()
	m.Memory().Map(smp.DataBase, make([]byte, 4096), smp.PermRead|smp.PermWrite)
	return r
}

// lockdep has what breaks a rule of locks end the run.
func (r *rig) lockdep() {
	ms := properties.NewMonitors(r.Arch(), &properties.Locks)
	r.log.Subscribe(ms, ms.Kinds()...)
	before := r.reset
	r.reset = func() { before(); ms.Reset() }
}

// hear has f told of each event of the kind.
func (r *rig) hear(k traces.Kind, f func(e *traces.Event)) {
	r.log.Subscribe(listener(f), k)
}

type listener func(e *traces.Event)

// Event implements traces.Sink.
func (l listener) Event(e *traces.Event) *traces.Finding { l(e); return nil }

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

// source adds an interrupt source and returns the mover that it is.
func (r *rig) source(kind smp.SourceKind, cpu, atMost int) sim.Mover {
	if err := r.Interrupts().Add(&smp.Source{Kind: kind, Name: "source", AtMost: atMost}, cpu); err != nil {
		r.t.Fatal(err)
	}
	r.sources++
	return sim.MoverSource + sim.Mover(r.sources-1)
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
	r.k.Reset()
	r.reset()
	return r.Run()
}

// want runs the machine and insists on how that ends.
func (r *rig) want(o smp.Outcome, name string, ch sim.Chooser) {
	r.t.Helper()
	if got := r.run(ch); got != o {
		r.t.Fatalf("%s: the run ended %v (%v), want %v\n%s", name, got, r.Refusal(), o, r.Inspect().Dump())
	}
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
	if p.Moves[2] == 0 {
		return sim.NoMover
	}
	return sim.MoverSource + sim.Mover(bits.TrailingZeros64(p.Moves[2]))
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

// onInterrupt has f run in the handlers of timers and NMIs.
func (r *rig) onInterrupt(f func(x *smp.Ctx)) {
	r.k.OnInterrupt(func(x *smp.Ctx, _ *smp.Source) { f(x) }, func(*smp.Source) bool { return false })
}

// flag is a cell, made at boot, that the rig's reset puts back to 0.
type flag struct {
	kapi.Var[int]
	up kapi.Is[int]
}

func (r *rig) flag() *flag {
	f := new(flag)
	f.Init(&r.Cells, 0)
	f.up = kapi.Is[int]{Var: &f.Var, Want: 1}
	before := r.reset
	r.reset = func() { before(); f.Set(0) }
	return f
}

// raise sets a flag from within an event: no point.
func (r *rig) raise(f *flag) {
	f.Set(1)
	r.Waits().Notify(f.ID())
}

const loop8 = "b9 08 00 00 00 ff c9 75 fc c3" // mov $8,%ecx; 1: dec %ecx; jnz 1b; ret

var models = []fetch.Model{fetch.Coherent, fetch.Stale, fetch.Mixing}
