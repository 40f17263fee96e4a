package kprobes

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A bench is a machine with a kernel and an engine, for tests that look inside
// the engine. What needs the monitors runs in harness instead (kprobes_test).
type bench struct {
	m        *smp.Machine
	k        *kernel.Kernel
	e        *Engine
	log      traces.Log
	settings Settings
	wire     func(k *kernel.Kernel, d *Deps) // breaks what the engine stands on; nil: nothing
	locks    *properties.Monitors            // what breaks a rule of locks ends the run
	handed   handed
}

// A code is a function of a bench.
type code struct {
	name    string
	at      isa.Addr
	bytes   []byte
	extable []int
}

// repaired is the engine as it should be, on a preemptible build.
var repaired = Settings{
	Quiesce: kapi.QuiesceTasks, Breakpoint: true, Batches: true,
	Kernel: rules.Kernel{Edition: rules.Edition69, Preemption: true, Optprobes: true},
}

// newBench boots a machine with the functions and a program a CPU.
func newBench(t testing.TB, s Settings, codes []code, programs ...func(b *bench, x *smp.Ctx)) *bench {
	return bootBench(t, s, codes, func(*bench) {}, programs...)
}

// bootBench is newBench of a machine of which boot makes more before it is frozen.
func bootBench(t testing.TB, s Settings, codes []code, boot func(b *bench), programs ...func(b *bench, x *smp.Ctx)) *bench {
	b := &bench{settings: s}
	m, err := smp.New(smp.Config{CPUs: len(programs), Full: s.Kernel.Preemption, Budget: 1 << 30}, &b.log)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	b.locks = properties.NewMonitors(&properties.Locks)
	b.log.Subscribe(b.locks, b.locks.Kinds()...)
	b.log.Subscribe(&b.handed, smpev.Alloc, smpev.Free, smpev.Retire)
	b.m, b.k = m, kernel.Boot(m, kernel.Config{Preemptible: s.Kernel.Preemption, StackCheck: s.Quiesce == kapi.QuiesceStackCheck})
	for _, c := range codes {
		m.Map(c.at, c.bytes, smp.PermRead|smp.PermExec)
		m.AddSymbol(c.name, c.at, len(c.bytes))
		b.k.Symbols.Add(kapi.Function{Name: c.name, Addr: c.at, Size: len(c.bytes)}, c.extable)
	}
	for i, p := range programs {
		m.AddProgram("program", i, func(x *smp.Ctx) { p(b, x) })
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
	b.handed = b.handed[:0]
	k := b.k
	d := Deps{
		CPUs: b.m.CPUs(), Cells: &b.m.Cells, Text: &k.Text, Patch: &k.Poke, Sync: &k.Sync, RCU: &k.RCU, Locks: &k.Locks,
		Work: &k.Work, Exec: &k.Exec, Traps: &k.Traps, Bind: k, Symbols: &k.Symbols, Tasks: &k.Tasks, Hotplug: &k.Hotplug, Stacks: &k.Stacks, Modules: &k.Modules, Ftrace: k.Tracer(),
	}
	if b.wire != nil {
		b.wire(k, &d)
	}
	b.e = New(d, b.settings)
	return b.m.Run()
}

// pass runs the programs in the default schedule.
func (b *bench) pass(t testing.TB) {
	t.Helper()
	require.Equal(t, smp.Passed, b.run(new(sched.Default)), "%v %v", b.m.Refusal(), b.log.Found)
	b.kept(t)
}

// kept is what holds at the end of any run: each lock was let go, and what slots
// and detours are handed out some point has.
func (b *bench) kept(t testing.TB) {
	t.Helper()
	require.Nil(t, b.locks.End(true))
	var have handed
	for _, p := range b.e.points {
		if p.detour.size != 0 {
			have = append(have, uint64(p.detour.addr))
		}
		if s := p.slot.Peek(); s.at != 0 {
			have = append(have, uint64(s.at))
		}
	}
	require.ElementsMatch(t, have, b.handed, "slots and detours that points have, and that are handed out")
}

// handed is the slots and detours that are handed out.
type handed []uint64

// Event implements traces.Sink.
func (h *handed) Event(e *traces.Event) *traces.Finding {
	switch i := slices.Index(*h, e.A); {
	case e.C == smpev.ModuleMem:
	case e.Kind == smpev.Alloc:
		*h = append(*h, e.A)
	case i >= 0: // retired, or freed at once
		*h = slices.Delete(*h, i, i+1)
	}
	return nil
}
