package kprobes

import (
	"testing"

	"kpsim/engine/ftrace"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// The selftests that need more of a kernel than the stub has: modules, and ftrace.

// kunitModule is a module with one function, and where it lies.
var kunitModule = textBase + 0x20000

var kunitTexts = []kernel.ModuleText{{Name: "module_target", At: kunitModule, Code: adding(0x55)}}

// fentered is a function with a site of ftrace, and then as the targets are.
var fentered = code{name: "fentered", at: textBase + 0x280, bytes: append(x86.Nop5[:len(x86.Nop5):len(x86.Nop5)],
	adding(0x66)...)}

// tracing is another client of ftrace than kprobes: it counts the calls of fentered.
type tracing struct {
	ops  ftrace.Client
	seen int
}

func (c *kcase) traced(x kapi.Context, _ arch.Addr, _ *arch.Regs) { c.tracer.seen += c.mine(x) }

var selftestsAround = []kunit{
	// kprobe_module.tc: a probe on a module's function; the module isn't locked by
	// it, the probe stays registered when the module is gone, can't be enabled then,
	// and one that is registered when the module is back is hit.
	{name: "kprobe_module", boot: func(c *kcase, b *bench) {
		c.module = b.k.Modules.NewModule("kunit", kunitTexts, 0, 0, true)
	}, run: func(c *kcase, x kapi.Context) {
		hits := 0
		pre := func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
			hits += c.mine(x)
			return 0
		}
		f := code{at: kunitModule}
		k := &Kprobe{Symbol: "kunit:module_target", Pre: pre}
		c.ok(c.e.Register(x, k), "register")
		equal(c, 1+0x55, c.call(x, f, 1), "the result")
		equal(c, 1, hits, "hits")
		m := &c.k.Modules
		if c.ed == rules.Edition26 { // it is held
			equal(c, kernel.ModuleEAGAIN, m.Unload(x.(*smp.Ctx), c.module), "unloading what is probed")
			c.ok(c.e.Unregister(x, k), "unregister")
			equal(c, 0, m.Unload(x.(*smp.Ctx), c.module), "unloading")
		} else {
			equal(c, 0, m.Unload(x.(*smp.Ctx), c.module), "unloading")
			c.expect(c.e.FlagsOf(k)&FlagGone != 0, "not [GONE]")
			c.expect(c.e.Enable(x, k) == EINVAL, "what is gone was enabled")
			c.ok(c.e.Unregister(x, k), "unregister what is gone")
		}
		c.expect(c.e.Register(x, &Kprobe{Addr: kunitModule}) != nil, "a probe on text that is gone")
		equal(c, 0, m.Load(x.(*smp.Ctx), c.module), "loading")
		equal(c, 2+0x55, c.call(x, f, 2), "the result, loaded again")
		equal(c, 1, hits, "hits without a probe")
		k = &Kprobe{Symbol: "module_target", Pre: pre}
		c.ok(c.e.Register(x, k), "register again")
		equal(c, 3+0x55, c.call(x, f, 3), "the result, probed again")
		equal(c, 2, hits, "hits")
		c.ok(c.e.Unregister(x, k), "unregister")
	}},
	// kprobe_ftrace.tc: a probe at a function's entry and a function tracer, each of
	// which is on or off, in all four ways: each sees calls if it is on.
	{name: "kprobe_ftrace", in: since(rules.Edition415), more: []code{fentered}, boot: func(_ *kcase, b *bench) {
		b.ftrace.AddSite(fentered.at)
	}, wire: func(c *kcase, d *Deps) {
		c.tracer = tracing{ops: d.Ftrace.NewOps("function", c.traced, 0)}
	}, run: func(c *kcase, x kapi.Context) {
		hits := 0
		k := &Kprobe{Addr: fentered.at, Flags: FlagDisabled, Pre: func(x kapi.Context, k *Kprobe, regs *arch.Regs) int {
			c.atomic(x, "pre_handler")
			c.expect(regs.IP == k.Addr+1, "ip is %#x", regs.IP)
			hits += c.mine(x)
			return 0
		}}
		c.ok(c.e.Register(x, k), "register")
		c.expect(c.e.FlagsOf(k)&FlagFtrace != 0, "not [FTRACE]")
		equal(c, 0, c.tracer.ops.Filter(x, fentered.at, true), "filter")
		for i, tracer := range []bool{false, true, true, false} {
			probe := i == 1 || i == 3 // neither; both; the tracer; the probe
			if i > 0 {
				if tracer && i == 1 {
					equal(c, 0, c.tracer.ops.Register(x), "tracer on")
				}
				if !tracer {
					equal(c, 0, c.tracer.ops.Unregister(x), "tracer off")
				}
				if probe {
					c.ok(c.e.Enable(x, k), "enable")
				} else {
					c.ok(c.e.Disable(x, k), "disable")
				}
			}
			hits, c.tracer.seen = 0, 0
			equal(c, 4+0x66, c.call(x, fentered, 4), "the result")
			equal(c, b2i(probe), hits, "hits of the probe")
			equal(c, b2i(tracer), c.tracer.seen, "calls that the tracer saw")
		}
		c.ok(c.e.Unregister(x, k), "unregister")
		var now [5]byte
		c.e.d.Text.Read(x, fentered.at, now[:])
		c.expect(now == [5]byte(x86.Nop5[:]), "the site is left as % x", now)
	}},
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSelftestsAround plays them in every edition that can express them.
func TestSelftestsAround(t *testing.T) { playAll(t, selftestsAround) }
