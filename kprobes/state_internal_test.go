package kprobes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A stateChecker holds the engine to the table of states of doc.go, and to
// what follows from it, whenever kprobe_mutex is about to be free.
type stateChecker struct {
	b      *bench
	text   map[arch.Addr]byte // what has been stored
	states map[string]int     // how often a point was seen in each
}

// checkStates hooks a checker to a bench.
func checkStates(b *bench) *stateChecker {
	c := &stateChecker{b: b, text: make(map[arch.Addr]byte), states: make(map[string]int)}
	b.log.Subscribe(c, smpev.Unlock, smpev.TextStore)
	return c
}

func (c *stateChecker) Event(e *traces.Event) *traces.Finding {
	if e.Kind == smpev.TextStore {
		for i := range e.C {
			c.text[arch.Addr(e.A+i)] = byte(e.B >> (8 * i))
		}
		return nil
	}
	if c.b.k.Locks.Name(e.A) != "kprobe_mutex" {
		return nil
	}
	for _, p := range c.b.e.Table.aggrs {
		if err := c.check(p); err != nil {
			return &traces.Finding{Place: uint64(p.addr), Message: err.Error()}
		}
	}
	return nil
}

// memory is the text at a point, as far as a jump reaches.
func (c *stateChecker) memory(p *Aggr) []byte {
	now := slices.Clone(p.orig[:jumpSize])
	for i := range now {
		if b, stored := c.text[p.addr+arch.Addr(i)]; stored {
			now[i] = b
		}
	}
	for _, q := range c.b.e.Table.aggrs { // what stands at a neighbour is none of p's business
		if d := q.addr - p.addr; q != p && q.armed.Peek() && d > 0 && d < jumpSize {
			n := 1
			if q.jumped {
				n = jumpSize
			}
			copy(now[d:], q.orig[:n])
		}
	}
	return now
}

func (c *stateChecker) check(p *Aggr) error {
	e := c.b.e
	lists := []struct {
		list *kapi.List[*Aggr]
		name string
	}{{&e.Optimizer.optimizingList, "optimizing"}, {&e.Optimizer.unoptimizingList, "unoptimizing"},
		{&e.Optimizer.freeingList, "freeing"}}
	on := ""
	for _, l := range lists {
		n := 0
		for _, q := range l.list.Peek() {
			if q == p {
				n++
			}
		}
		if n > 1 || (n == 1) != (p.list == l.list) {
			return fmt.Errorf("%d times on the list %s", n, l.name)
		}
		if n == 1 {
			on = l.name
		}
	}
	if p.freed {
		if on != "" || p.armed.Peek() || p.optimized.Peek() || p.jumped || !p.Unused() {
			return fmt.Errorf("freed and in use")
		}
		return nil
	}

	armed, optimized := p.armed.Peek(), p.optimized.Peek()
	jump, _ := x86.JumpRel32(p.addr, p.detour.addr)
	int3 := slices.Clone(p.orig[:jumpSize])
	int3[0] = x86.Int3
	state, want := "", int3
	switch {
	case on == "optimizing" && optimized:
		state = on
	case on == "unoptimizing" && optimized:
		state, want = on, jump[:]
	case on == "freeing" && !optimized:
		state = on
	case on == "" && optimized:
		state, want = "optimized", jump[:]
	case on == "" && !optimized && armed:
		state = "plain"
	case on == "" && !optimized && p.Unused():
		c.states["gone"]++ // what stands there now is another's
		return nil
	case on == "" && !optimized:
		state, want = "disarmed", p.orig[:jumpSize]
	default:
		return fmt.Errorf("on the list %q, optimized %v: no such state", on, optimized)
	}
	c.states[state]++
	if now := c.memory(p); !c.covered(p) && !slices.Equal(now, want) {
		return fmt.Errorf("%s, but the text is % x, not % x", state, now, want)
	}
	if p.jumped != (want[0] == x86.OpJump && optimized) {
		return fmt.Errorf("%s, but jumped is %v", state, p.jumped)
	}
	if !armed && state != "disarmed" {
		return fmt.Errorf("%s, but not armed", state)
	}

	may := p.detour.size != 0 && p.enabled() && !p.post() && e.Optimizer.archCheckOptimizedKprobe(p) &&
		e.Optimizer.kprobesAllowOptimization && !e.Files.kprobesAllDisarmed
	switch state {
	case "optimizing", "optimized":
		if !may {
			return fmt.Errorf("%s, but enabled %v, post %v, blocked %v", state, p.enabled(), p.post(),
				!e.Optimizer.archCheckOptimizedKprobe(p))
		}
	case "unoptimizing":
		if may {
			return fmt.Errorf("unoptimizing, and could stay (spec 4.8)")
		}
		if p.enabled() && e.Files.kprobesAllDisarmed {
			return fmt.Errorf("unoptimizing, though all is disarmed: not forced (spec 7.2)")
		}
	case "plain":
		if !p.enabled() {
			return fmt.Errorf("armed, but disabled")
		}
		if e.Files.kprobesAllDisarmed {
			return fmt.Errorf("armed, though all is disarmed (spec 7.2)")
		}
		if may {
			return fmt.Errorf("could be optimized, and isn't to be (spec 4.4)")
		}
	case "freeing":
		if may {
			return fmt.Errorf("freeing, and could be optimized (spec 4.4)")
		}
	case "disarmed":
		if p.enabled() && !e.Files.kprobesAllDisarmed {
			return fmt.Errorf("enabled, but not armed")
		}
	}
	return nil
}

// covered reports whether another point's jump lies over p's first byte.
func (c *stateChecker) covered(p *Aggr) bool {
	for _, q := range c.b.e.Table.aggrs {
		if d := p.addr - q.addr; q.jumped && d > 0 && d < jumpSize {
			return true
		}
	}
	return false
}

// crowded has instructions of 1, 2 and 3 bytes: regions overlap.
var crowded = inWords(code{name: "crowded", at: textBase + 0x100, bytes: []byte{
	0x55,             // push %rbp
	0x48, 0x89, 0xe5, // mov %rsp,%rbp
	0x53,       // push %rbx
	0x89, 0xfb, // mov %edi,%ebx
	0x01, 0xfb, // add %edi,%ebx
	0x90,                   // nop
	0x48, 0x8d, 0x43, 0x01, // lea 1(%rbx),%rax
	0x5b, // pop %rbx
	0x5d, // pop %rbp
	0xc3, // ret
}})

// storm makes n random calls of the API on probes of its own.
func storm(t testing.TB, b *bench, x *smp.Ctx, r *sim.Rand, n int) {
	offsets := []arch.Addr{0, 1, 4, 5, 0, 4}
	probes := make([]*Kprobe, len(offsets))
	registered, disabled := make([]bool, len(offsets)), make([]bool, len(offsets))
	for i, off := range offsets {
		probes[i] = &Kprobe{ID: uint64(i), Addr: crowded.at + off}
		if i >= 4 || r.N(6) == 0 {
			probes[i].Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}
		}
	}
	api := func(f func(kapi.Context, *Kprobe) error, i int) {
		want := error(nil)
		if !registered[i] {
			want = EINVAL
		}
		require.Equal(t, want, f(x, probes[i]))
	}
	for range n {
		switch i := r.N(len(probes)); r.N(10) {
		case 0, 1, 2:
			if registered[i] {
				require.Equal(t, EINVAL, b.e.Register(x, probes[i]))
			} else {
				require.NoError(t, b.e.Register(x, probes[i]))
				registered[i], disabled[i] = true, false
			}
		case 3, 4:
			addr := probes[i].Addr
			api(b.e.Unregister, i)
			if !registered[i] {
				require.Zero(t, probes[i].Addr)
				probes[i].Addr = addr
			}
			registered[i] = false
		case 5:
			api(b.e.Disable, i)
			disabled[i] = true
		case 6:
			api(b.e.Enable, i)
			disabled[i] = false
		case 7:
			b.e.Optimizer.WaitOptimizer(x)
		case 8:
			b.e.Files.SetOptimization(x, r.N(2) == 0)
		case 9:
			b.e.Files.SetArmed(x, r.N(2) == 0)
		}
	}
	b.e.Files.SetArmed(x, true)
	b.e.Files.SetOptimization(x, true)
	for i := range probes {
		if registered[i] {
			require.NoError(t, b.e.Unregister(x, probes[i]))
		}
	}
}

// A stateSetting is an engine that the table of states is held against.
type stateSetting struct {
	name string
	s    Settings
	wire func(k *kernel.Kernel, d *Deps)
	runs uint64
}

// stateSettings are the default engine; each order of locks with each way to write
// and to take away a jump; and each edition that has jumps.
func stateSettings() []stateSetting {
	stopped := func(k *kernel.Kernel, d *Deps) { d.Patch = kernel.PokeStopped{K: k} }
	list := []stateSetting{{name: "default", s: repaired, runs: 200}}
	for o, name := range map[era.Order]string{era.OrderText: "text", era.OrderModule: "module", era.OrderStep: "step"} {
		s := repaired
		s.Order = o
		list = append(list, stateSetting{name: name, s: s, runs: 60})
		s.Unoptimize, s.Batch = era.UnoptimizePatcher, 1
		list = append(list, stateSetting{name: name + " by the patcher, one at a time", s: s, runs: 60})
		list = append(list, stateSetting{name: name + " stopped", s: s, wire: stopped, runs: 60})
		s.Quiesce, s.SaveSS, s.DetourIRQsOff = kapi.QuiesceStackCheck, true, true
		list = append(list, stateSetting{name: name + " stack-check", s: s, runs: 60})
	}
	for _, ed := range since(rules.Edition415) {
		v := stateSetting{name: ed.String(), s: settingsOf(ed, ed != rules.EditionDocumented), runs: 60}
		if ed == rules.EditionDocumented {
			v.wire = stopped
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b stateSetting) int { return strings.Compare(a.name, b.name) })
	return list
}

// TestStates: the table of states holds after each call of the API and each
// run of the optimizer, whatever two tasks do to five points that lie over
// each other while a third runs through them, and to what is said of all points at
// once. At the end the text is what it was.
func TestStates(t *testing.T) {
	for _, v := range stateSettings() {
		t.Run(v.name, func(t *testing.T) { testStates(t, v) })
	}
}

func testStates(t *testing.T, v stateSetting) {
	broken, states := breakStates(t, v)
	require.Empty(t, broken)
	t.Log(states)
	for _, state := range []string{"plain", "optimizing", "optimized", "unoptimizing", "freeing", "disarmed"} {
		require.NotZero(t, states[state], state)
	}
}

// TestStatesFind: the table is what notices these.
func TestStatesFind(t *testing.T) {
	for _, name := range []string{
		"disarm-lost",
		"retry-lost",
		"optimize-post",
		"optimize-blocked",
		"arm-disarmed",
		"cancel-lost",
	} {
		t.Run(name, func(t *testing.T) {
			v := stateSetting{name: name, s: repaired, runs: 200}
			breakSteps(&v.s, name)
			broken, _ := breakStates(t, v)
			require.NotEmpty(t, broken)
			t.Log(broken)
		})
	}
}

// breakStates runs the storms of TestStates until the table doesn't hold, and says
// where; or else how often a point was seen in each state.
func breakStates(t *testing.T, v stateSetting) (broken string, states map[string]int) {
	const calls = 25
	var rands [2]sim.Rand
	program := func(cpu int) func(b *bench, x *smp.Ctx) {
		return func(b *bench, x *smp.Ctx) { storm(t, b, x, &rands[cpu], calls) }
	}
	b := newBench(t, v.s, []code{crowded}, program(0), program(1), func(b *bench, x *smp.Ctx) {
		for i := range uint64(20) {
			x.Regs().R[x86.RDI] = i
			require.Equal(t, 2*i+1, x.Call(crowded.at))
			x.Step("between calls", 0)
			x.Sleep(kapi.Yield)
		}
	})
	b.wire = v.wire
	c := checkStates(b)
	for name, s := range map[string]sched.Strategy{
		"random": sched.NewRandom(sched.Params{Seed: 7, Length: 1000}),
		"sticky": sched.NewSticky(sched.Params{Seed: 7, Mean: 16}),
	} {
		for i := range v.runs {
			rands[0].Seed(3, 2*i)
			rands[1].Seed(3, 2*i+1)
			clear(c.text)
			s.Begin(i)
			outcome := b.run(s)
			if b.log.Found != nil {
				return fmt.Sprintf("%s, run %d: crowded+%#x: %s", name, i, b.log.Found.Place-uint64(crowded.at),
					b.log.Found.Message), nil
			}
			require.Equal(t, smp.Passed, outcome, "%s, run %d: %v", name, i, b.m.Refusal())
			require.True(t, b.e.Optimizer.Settled())
			require.Zero(t, b.e.Table.probes.Len())
			for off, want := range crowded.bytes {
				if now, stored := c.text[crowded.at+arch.Addr(off)]; stored {
					require.Equal(t, want, now, "%s, run %d: crowded+%#x", name, i, off)
				}
			}
		}
	}
	return "", c.states
}
