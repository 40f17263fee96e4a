package kprobes

import (
	"encoding/binary"
	"slices"

	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// grand calls target3, which calls target: two frames.
var grand = code{name: "grand", at: textBase + 0xc0, bytes: calling(textBase+0xc0, textBase+0x80)}

// behindCall is where the call in a function of calling returns to.
func behindCall(f code) arch.Addr { return f.at + 9 }

// deep calls itself as often as its argument says.
var deep = code{name: "deep", at: textBase + 0x100, bytes: []byte{
	0x48, 0x85, 0xff, // test %rdi,%rdi
	0x74, 0x08, // je the ret
	0x48, 0xff, 0xcf, // dec %rdi
	0xe8, 0xf3, 0xff, 0xff, 0xff, // call deep
	0xc3, // ret
}}

// kunitRets are the cases with return probes.
var kunitRets = []kunit{
	{name: "kretprobe", run: func(c *kcase, x kapi.Context) {
		var entered, returned uint64
		r := &Kretprobe{Kprobe: Kprobe{Addr: target.at}, Maxactive: 8}
		private := c.ed != rules.Edition26
		if private {
			r.DataSize = 8
			r.Entry = func(x kapi.Context, ri *Instance, regs *arch.Regs) int {
				c.atomic(x, "entry_handler")
				binary.LittleEndian.PutUint64(ri.Data, regs.R[x86.RDI])
				if c.mine(x) == 1 {
					entered = regs.R[x86.RDI]
				}
				return 0
			}
		}
		r.Handler = func(x kapi.Context, ri *Instance, regs *arch.Regs) int {
			c.atomic(x, "return handler")
			equal(c, x.Task(), ri.Task, "the instance's task")
			if private {
				equal(c, regs.R[x86.RAX], binary.LittleEndian.Uint64(ri.Data)+0x11, "the return value against the entry's argument")
			}
			if c.mine(x) == 1 {
				returned = regs.R[x86.RAX]
			}
			return 0
		}
		c.ok(c.e.Kretprobes.Register(x, r), "register")
		equal(c, 9+0x11, c.call(x, target, 9), "the target's result")
		c.ok(c.e.Kretprobes.Unregister(x, r), "unregister")
		if private {
			equal(c, 9, entered, "what entry_handler saw")
		}
		equal(c, 9+0x11, returned, "what the return handler saw")
		equal(c, 0, r.Missed(), "nmissed")
	}},
	{name: "kretprobes", in: since(rules.Edition415), run: func(c *kcase, x kapi.Context) {
		var got [2]uint64
		rs := make([]*Kretprobe, 2)
		for i, f := range []code{target, target2} {
			rs[i] = &Kretprobe{Kprobe: Kprobe{Addr: f.at}, Handler: func(x kapi.Context, _ *Instance, regs *arch.Regs) int {
				if c.mine(x) == 1 {
					got[i] = regs.R[x86.RAX]
				}
				return 0
			}}
		}
		c.ok(c.e.Kretprobes.RegisterAll(x, rs), "register")
		c.call(x, target, 1)
		equal(c, [2]uint64{0x12, 0}, got, "return values after one target")
		got = [2]uint64{}
		c.call(x, target2, 2)
		equal(c, [2]uint64{0, 0x24}, got, "return values after the other")
		c.e.Kretprobes.UnregisterAll(x, rs)
		got = [2]uint64{}
		c.call(x, target, 1)
		equal(c, [2]uint64{}, got, "return values after unregistering")
	}},
	// The unwinders of 5.15 and later find the real address of a return that was
	// replaced; before, a trace shows the trampoline.
	{name: "stacktrace_on_kretprobe", more: []code{grand}, run: func(c *kcase, x kapi.Context) {
		seen := 0
		r := &Kretprobe{Kprobe: Kprobe{Addr: target3.at}}
		r.Handler = func(x kapi.Context, ri *Instance, regs *arch.Regs) int {
			if c.mine(x) == 1 {
				seen++
				equal(c, behindCall(grand), ri.RetAddr, "where the call returns to")
				c.expect(!c.e.s.Unwind || regs.IP == behindCall(grand), "ip is %#x", regs.IP)
			}
			return 0
		}
		inner := &Kprobe{Addr: target.at, Pre: func(x kapi.Context, _ *Kprobe, regs *arch.Regs) int {
			if c.mine(x) == 1 {
				c.trace(x, regs, behindCall(target3), behindCall(grand))
			}
			return 0
		}}
		c.ok(c.e.Kretprobes.Register(x, r), "register")
		c.ok(c.e.Register(x, inner), "register the probe that looks")
		equal(c, 2+0x11+2, c.call(x, grand, 2), "the result")
		c.ok(c.e.Kretprobes.Unregister(x, r), "unregister")
		c.ok(c.e.Unregister(x, inner), "unregister")
		equal(c, 1, seen, "returns")
	}},
	{name: "stacktrace_on_nested_kretprobe", more: []code{grand}, run: func(c *kcase, x kapi.Context) {
		var order []arch.Addr
		at := func(f code, back arch.Addr, outer ...arch.Addr) *Kretprobe {
			return &Kretprobe{Kprobe: Kprobe{Addr: f.at}, Handler: func(x kapi.Context, ri *Instance, regs *arch.Regs) int {
				if c.mine(x) == 1 {
					equal(c, back, ri.RetAddr, "where the call returns to")
					c.trace(x, regs, outer...)
					order = append(order, f.at)
				}
				return 0
			}}
		}
		r, q := at(target, behindCall(target3), behindCall(grand)), at(target3, behindCall(grand))
		c.ok(c.e.Kretprobes.Register(x, r), "register")
		c.ok(c.e.Kretprobes.Register(x, q), "register")
		equal(c, 3+0x11+2, c.call(x, grand, 3), "the result")
		c.ok(c.e.Kretprobes.Unregister(x, r), "unregister")
		c.ok(c.e.Kretprobes.Unregister(x, q), "unregister")
		c.expect(slices.Equal(order, []arch.Addr{target.at, target3.at}), "returns in the order %x", order)
	}},
}

// trace expects a backtrace from regs to be these addresses; where unwinders don't
// know of return probes the trampoline's stands for those that they have replaced.
func (c *kcase) trace(x kapi.Context, regs *arch.Regs, want ...arch.Addr) {
	var buf [16]arch.Addr
	got := c.e.d.Tasks.Backtrace(x, x86.SP(regs), buf[:0])
	for i := range want {
		switch {
		case i >= len(got):
			c.expect(false, "the trace %x ends before %#x", got, want[i])
		case got[i] == want[i]:
		default:
			c.expect(!c.e.s.Unwind && got[i] == c.e.Rethook.trampoline, "the trace is %x, not %x", got, want)
		}
	}
}

// kunitJs are the cases with jprobes, which the kernel's tests had until 4.18.
var kunitJs = []kunit{
	{name: "jprobe", in: []rules.Edition{rules.Edition26}, run: func(c *kcase, x kapi.Context) {
		var arg uint64
		j := &Jprobe{Kprobe: Kprobe{Addr: target.at}, Handler: func(x kapi.Context, _ *Jprobe, regs *arch.Regs) {
			c.atomic(x, "a jprobe's handler")
			if c.mine(x) == 1 {
				arg = regs.R[x86.RDI]
			}
			regs.R[x86.RDI] = 0
		}}
		c.ok(c.e.Jprobes.Register(x, j), "register")
		equal(c, 6+0x11, c.call(x, target, 6), "the target's result")
		c.ok(c.e.Jprobes.Unregister(x, j), "unregister")
		equal(c, 6, arg, "the argument")
	}},
	{name: "jprobes", in: []rules.Edition{rules.Edition26}, run: func(c *kcase, x kapi.Context) {
		var args [2]uint64
		js := make([]*Jprobe, 2)
		for i, f := range []code{target, target2} {
			js[i] = &Jprobe{Kprobe: Kprobe{Addr: f.at}, Handler: func(x kapi.Context, _ *Jprobe, regs *arch.Regs) {
				if c.mine(x) == 1 {
					args[i] = regs.R[x86.RDI]
				}
			}}
			c.ok(c.e.Jprobes.Register(x, js[i]), "register")
		}
		equal(c, EEXIST, c.e.Jprobes.Register(x, &Jprobe{Kprobe: Kprobe{Addr: target.at}, Handler: js[0].Handler}).(Errno), "a second one on a target")
		c.call(x, target, 4)
		equal(c, [2]uint64{4, 0}, args, "arguments after one target")
		c.call(x, target2, 5)
		equal(c, [2]uint64{4, 5}, args, "arguments")
		for _, j := range js {
			c.ok(c.e.Jprobes.Unregister(x, j), "unregister")
		}
	}},
}
