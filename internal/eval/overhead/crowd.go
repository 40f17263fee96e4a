package overhead

import (
	"fmt"
	"math/rand/v2"

	"kpsim/internal/scenario"
	"kpsim/kprobes"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

// MostProbes is how many functions a crowd has at most: they fill the text.
const MostProbes = 100_000

// The addresses of a crowd's functions: some way after those of scenarios, the first not at the beginning of a page
// (see probed), each at a multiple of 16 bytes, as compilers align them.
const (
	crowdBase  = smp.TextBase + 1<<20 + 0x40
	crowdAlign = 16
)

// places returns where n functions are, 16 to 256 bytes apart.
func places(n int) []arch.Addr {
	rng := rand.New(rand.NewPCG(1, 1))
	list := make([]arch.Addr, n)
	at := crowdBase
	for i := range list {
		list[i] = at
		at += crowdAlign * arch.Addr(1+rng.Uint64N(16))
	}
	return list
}

// A crowd is a machine with many identical functions, all probed alike. It is made by the Go API: a scenario has at
// most 1000 probes, and its monitors search them one by one.
type crowd struct {
	at       []arch.Addr        // the functions, in the order in which they are probed
	say      *scenario.Scenario // the probes of one of them
	machine  *smp.Machine
	kernel   *kernel.Kernel
	engine   *kprobes.Engine
	log      traces.Log
	tally    [sim.MaxCPUs]cycles.Tally
	one, all Hit // of the probe registered in the middle, hit over and over; of all, hit in turn
	longest  int // nodes of one hit of those
	err      error
}

func newCrowd(p *Probe, at []arch.Addr, costs *cycles.Profile) (*crowd, error) {
	sc, err := p.Scenario(0, true)
	if err != nil {
		return nil, err
	}
	processor := sc.Machine.Processor()
	c := &crowd{say: sc}
	for _, a := range at {
		c.at = append(c.at, processor.Addr(a))
	}
	at = c.at
	if c.machine, err = smp.New(smp.Config{CPUs: 1, Arch: processor, Budget: 1 << 40}, &c.log); err != nil {
		return nil, err
	}
	c.machine.Clocks().Costs(costs)
	c.machine.Clocks().Count(&c.tally)
	c.kernel = kernel.Boot(c.machine,
		kernel.Config{Exec: kprobes.Memory(sc.Machine.InsnSlot(), sc.Machine.DetourSlot())})
	f := sc.Texts[0].Code
	from := at[0]
	text := make([]byte, int(at[len(at)-1]-from)+len(f))
	for i, a := range at {
		copy(text[a-from:], f)
		c.kernel.Symbols.Add(kapi.Function{Name: fmt.Sprintf("f%d", i), Addr: a, Size: len(f)}, nil)
	}
	c.machine.Memory().Map(from, text, smp.PermRead|smp.PermExec)
	for _, t := range sc.Texts[1:] { // the entry of jprobes
		c.machine.Memory().Map(t.At, t.Code, smp.PermRead|smp.PermExec)
	}
	c.machine.Tasks().AddProgram("t", 0, c.program)
	c.machine.Freeze()
	return c, nil
}

// run makes the run.
func (c *crowd) run() error {
	defer c.machine.Close()
	c.machine.Reset(new(sched.Default))
	k := c.kernel
	k.Reset()
	c.engine = kprobes.New(kprobes.Deps{
		CPUs: 1, Cells: &c.machine.Cells, Text: &k.Text, Patch: &k.Poke, Sync: &k.Sync, RCU: &k.RCU, Locks: &k.Locks,
		Work: &k.Work, Exec: &k.Exec, Traps: &k.Traps, Bind: k, Symbols: &k.Symbols, Tasks: &k.Tasks,
		Hotplug: &k.Hotplug,
		Stacks:  &k.Stacks,
	}, kprobes.Settings{Settings: c.say.Machine.Kprobes()})
	if o := c.machine.Run(); o != smp.Passed {
		return fmt.Errorf("%d probes: the run ended as %v: %v", len(c.at), o, c.machine.Refusal())
	}
	return c.err
}

// program makes calls before it probes and after, the first ones for warm-up: some copies are boosted by their first
// hit.
func (c *crowd) program(x *smp.Ctx) {
	middle := make([]arch.Addr, hits)
	for i := range middle {
		middle[i] = c.at[len(c.at)/2]
	}
	bare, _ := c.calls(x, middle)
	for _, at := range c.at {
		if c.err = c.register(x, at); c.err != nil {
			return
		}
	}
	c.engine.Optimizer.WaitOptimizer(x)
	c.calls(x, c.at)
	one, _ := c.calls(x, middle)
	all, longest := c.calls(x, c.at)
	c.one, c.all, c.longest = one.less(&bare), all.less(&bare), longest
}

// register probes a function.
func (c *crowd) register(x *smp.Ctx, at arch.Addr) (err error) {
	for i := range c.say.Probes {
		sp := &c.say.Probes[i]
		k := kprobes.Kprobe{Addr: at}
		switch sp.Kind {
		case scenario.ProbeKretprobe:
			err = c.engine.Kretprobes.Register(x,
				&kprobes.Kretprobe{Kprobe: k, Handler: func(x kapi.Context, _ *kprobes.Instance, _ *arch.Regs) int {
					return handle(x, sp.Post)
				}})
		case scenario.ProbeJprobe:
			err = c.engine.Jprobes.Register(x, &kprobes.Jprobe{Kprobe: k, Entry: c.say.Texts[1].At})
		default:
			k.Pre = func(x kapi.Context, _ *kprobes.Kprobe, _ *arch.Regs) int { return handle(x, sp.Pre) }
			err = c.engine.Register(x, &k)
		}
		if err != nil {
			return fmt.Errorf("probe %s at %#x: %w", sp.Name, uint64(at), err)
		}
	}
	return nil
}

// handle is a handler that counts, like those of scenarios.
func handle(x kapi.Context, steps []scenario.Step) int {
	for i := range steps {
		x.Step("handler", i)
	}
	return 0
}

// calls calls functions in turn: it returns the mean of a call, and the most nodes that any call looked at.
func (c *crowd) calls(x *smp.Ctx, list []arch.Addr) (mean Hit, longest int) {
	events := &c.tally[0]
	was, from := *events, c.machine.Clocks().Of(0)
	for _, f := range list {
		n := events[nodeEvent]
		x.Call(f)
		longest = max(longest, int(events[nodeEvent]-n))
	}
	for e := range mean.Events {
		mean.Events[e] = float64(events[e]-was[e]) / float64(len(list))
	}
	mean.Cycles = float64(c.machine.Clocks().Of(0)-from) / cycles.Unit / float64(len(list))
	return mean, longest
}

// less returns the difference between a hit and a call without a probe.
func (h Hit) less(bare *Hit) Hit {
	for e := range h.Events {
		h.Events[e] -= bare.Events[e]
	}
	h.Cycles -= bare.Cycles
	return h
}
