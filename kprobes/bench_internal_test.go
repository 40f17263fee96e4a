package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine/ftrace"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	processors "kpsim/smp/arch/target"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A bench is a machine with a kernel and an engine, for tests that look inside
// the engine. What needs the monitors runs under the rig instead (scenariotest).
type bench struct {
	m        *smp.Machine
	k        *kernel.Kernel
	ftrace   *ftrace.Ftrace
	e        *Engine
	log      traces.Log
	settings Settings
	row      string                          // the mutant of kprobes/mutants that the engine is; "": none
	wire     func(k *kernel.Kernel, d *Deps) // breaks what the engine stands on; nil: nothing
	made     func()                          // is called when the engine is; nil: nothing
	locks    *properties.Monitors            // what breaks a rule of locks ends the run
	handed   handed
}

// A code is a function of a bench.
type code struct {
	name    string
	at      arch.Addr
	bytes   []byte
	extable []int
}

// repaired is the engine as it should be, on a preemptible build.
var repaired = Settings{Settings: era.Settings{
	Quiesce: kapi.QuiesceTasks, Unoptimize: era.UnoptimizeBreakpoint, Batches: true, Boost: era.BoostPrepare,
	Kernel: rules.Kernel{Edition: rules.Edition69, Preemption: true, Optprobes: true},
}}

// settingsOf are the settings of an edition.
func settingsOf(e rules.Edition, preemption bool) Settings {
	if d, ok := rules.DecoderOf(row32); ok && !row32.BreakpointFirst {
		return Settings{Settings: era.OfNumbers(e, preemption, d)}
	}
	return Settings{Settings: by32(era.Of, era.Of386)(e, preemption)}
}

// detourSlot is the size of a detour, where the usual one isn't enough (scenario.Machine.DetourSlot).
var detourSlot = map[processors.Processor]int{processors.PPC64LE: 396}[specArch]

// newBench boots a machine with the functions and a program a CPU.
func newBench(t testing.TB, s Settings, codes []code, programs ...func(b *bench, x *smp.Ctx)) *bench {
	return bootBench(t, s, codes, func(*bench) {}, programs...)
}

// bootBench is newBench of a machine of which boot makes more before it is frozen.
func bootBench(t testing.TB, s Settings, codes []code, boot func(b *bench),
	programs ...func(b *bench, x *smp.Ctx)) *bench {
	b := &bench{settings: s}
	if r, ok := t.(*specT); ok {
		b.row = r.row
	}
	whole := s.Kernel.Edition >= rules.Edition514
	s.Kernel.Bits32 = specArch == processors.I386
	b.settings = s
	m, err := smp.New(smp.Config{CPUs: len(programs), Arch: specArch.Row(whole), Full: s.Kernel.Preemption,
		Budget: byWords[uint64](1<<30, 1<<20)}, &b.log) // some mutants never end where IP isn't behind a breakpoint
	require.NoError(t, err)
	t.Cleanup(m.Close)
	b.locks = properties.NewMonitors(m.Arch(), &properties.Locks)
	b.log.Subscribe(b.locks, b.locks.Kinds()...)
	b.log.Subscribe(listedTwice{b}, kpev.InstancePut)
	b.handed = handed{}
	b.log.Subscribe(b.handed, smpev.Alloc, smpev.Free, smpev.Retire)
	b.m, b.k = m, kernel.Boot(m, kernel.Config{Exec: Memory(0, detourSlot), Preemptible: s.Kernel.Preemption,
		StackCheck: s.Quiesce == kapi.QuiesceStackCheck})
	var sites kapi.Batcher = &b.k.Poke
	if !row32.BreakpointFirst {
		sites = kernel.PokeWhole{K: b.k, Sites: true, Local: row32.Sites[0].Local}
	}
	b.ftrace = ftrace.New(ftrace.Deps{Boot: b.k, Cells: &m.Cells, Text: &b.k.Text, Patch: sites, RCU: &b.k.RCU,
		Traps: &b.k.Traps, ModuleMutex: b.k.Modules.Mutex})
	for _, c := range codes {
		if !in32(c.bytes, c.at) {
			t.Fatalf("%s has no twin of 32 bits: % x", c.name, c.bytes)
		}
		if len(c.bytes) == 0 {
			continue // this processor has no twin
		}
		m.Memory().Map(c.at, c.bytes, smp.PermRead|smp.PermExec)
		m.Names().AddSymbol(c.name, c.at, len(c.bytes))
		b.k.Symbols.Add(kapi.Function{Name: c.name, Addr: c.at, Size: len(c.bytes)}, c.extable)
	}
	for i, p := range programs {
		m.Tasks().AddProgram("program", i, func(x *smp.Ctx) { p(b, x) })
	}
	boot(b)
	m.Freeze()
	return b
}

// run runs the programs once, with a new engine.
func (b *bench) run(ch sim.Chooser) smp.Outcome {
	b.m.Reset(ch)
	b.k.Reset()
	b.locks.Reset()
	clear(b.handed)
	k := b.k
	d := Deps{
		CPUs: b.m.CPUs(), Cells: &b.m.Cells, Text: &k.Text, Patch: &k.Poke, Sync: &k.Sync, Stop: &k.Stop, RCU: &k.RCU,
		Locks: &k.Locks, Work: &k.Work, Exec: &k.Exec, Traps: &k.Traps, Bind: k, Symbols: &k.Symbols, Tasks: &k.Tasks,
		Hotplug: &k.Hotplug, Stacks: &k.Stacks, Modules: &k.Modules, Ftrace: b.ftrace.Tracer(),
	}
	if !row32.BreakpointFirst {
		d.Patch = kernel.PokeWhole{K: k, Local: row32.Labels[0].Local}
	}
	if b.wire != nil {
		b.wire(k, &d)
	}
	set := b.settings
	if b.row != "" && !ApplyMutant(b.row, k, &d, &set) {
		panic("no mutant is called " + b.row)
	}
	b.e = New(d, set)
	if b.made != nil {
		b.made()
	}
	return b.m.Run()
}

// pass runs the programs in the default schedule.
func (b *bench) pass(t testing.TB) {
	t.Helper()
	require.Equal(t, smp.Passed, b.run(new(sched.Default)), "%v %v", b.m.Refusal(), b.log.Found)
	b.kept(t)
}

// kept is what holds at the end of any run: each lock was let go, what slots
// and detours are handed out some point has, and each point some probe.
func (b *bench) kept(t testing.TB) {
	t.Helper()
	require.Nil(t, b.locks.End(true))
	have := 0
	for _, p := range b.e.Table.aggrs {
		for _, at := range [...]arch.Addr{p.detour.addr, p.slot.Peek().at} {
			if at != 0 {
				have++
				require.True(t, b.handed[uint64(at)], "a point has %#x, which isn't handed out", uint64(at))
			}
		}
		require.True(t, p.freed || !p.Unused() || !b.e.Optimizer.Settled(),
			"nothing is on a list, and a point without probes is there")
	}
	require.Len(t, b.handed, have, "slots and detours that are handed out, and that points have")
	for _, h := range b.e.Kretprobes.holders[:b.e.Kretprobes.nHolders] {
		for _, ri := range h.all {
			require.True(t, ri.freed || h.rp.holder == h, "instance %d is left behind of a return probe that is gone",
				ri.ID)
		}
	}
}

// listedTwice looks whether an instance that is given back is still in a list of
// calls.
type listedTwice struct{ b *bench }

// Event implements traces.Sink.
func (l listedTwice) Event(e *traces.Event) *traces.Finding {
	t := &l.b.e.Rethook
	for i := range t.buckets {
		for _, ri := range t.buckets[i].calls.Peek() {
			if ri.ID == e.A {
				return &traces.Finding{Message: "an instance is given back that is in a bucket"}
			}
		}
	}
	for i := range t.calls {
		for ri, n := t.calls[i].Peek(), 0; ri != nil && n < 64; ri, n = ri.below, n+1 { // it may be a ring
			if ri.ID == e.A {
				return &traces.Finding{Message: "an instance is given back that is in its task's list"}
			}
		}
	}
	return nil
}

// handed is the slots and detours that are handed out.
type handed map[uint64]bool

// Event implements traces.Sink.
func (h handed) Event(e *traces.Event) *traces.Finding {
	switch {
	case e.C == smpev.ModuleMem:
	case e.Kind == smpev.Alloc:
		h[e.A] = true
	default: // retired, or freed at once
		delete(h, e.A)
	}
	return nil
}

// ApplyMutant breaks what an engine is built of, by a row of kprobes/mutants: which
// imports this package, so that mutants_test.go sets it.
var ApplyMutant func(name string, k *kernel.Kernel, d *Deps, s *Settings) bool

// breakSteps is ApplyMutant for a mutant that changes steps alone.
func breakSteps(s *Settings, name string) {
	if !ApplyMutant(name, nil, nil, s) {
		panic("no mutant is called " + name)
	}
}
