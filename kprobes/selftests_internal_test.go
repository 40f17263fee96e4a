package kprobes

import (
	"fmt"
	"testing"

	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// More of the kernel's selftests of ftrace (tools/testing/selftests/ftrace/test.d/
// kprobe, see selftests_test.go), by what the files of tracefs come to.

// many are 256 functions, each 16 bytes long with an instruction at +5.
var many = func() (list []code) {
	for i := range 256 {
		list = append(list, code{
			name: fmt.Sprintf("symbol%d", i), at: textBase + 0x1000 + arch.Addr(16*i),
			bytes: []byte{0xb8, byte(i), 1, 0, 0, 0x48, 0x01, 0xf8, 0x48, 0x83, 0xc0, 0x01, 0xc3, 0x90, 0x90, 0x90}, // mov $…,%eax; add %rdi,%rax; add $1,%rax; ret
		})
	}
	return list
}()

var selftests = []kunit{
	// multiple_kprobes.tc: 256 text symbols are probed at +5; all are enabled,
	// disabled and removed. In kernel 5.3 it found that text_poke_bp's handler used
	// a vector that was gone (R26).
	{name: "multiple_kprobes", in: since(rules.Edition415), more: many, less: 10, run: func(c *kcase, x kapi.Context) {
		hits := 0
		var ks []*Kprobe
		for _, f := range many {
			ks = append(ks, &Kprobe{Symbol: f.name, Offset: 5, Flags: FlagDisabled, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
				hits += c.mine(x)
				return 0
			}})
		}
		c.ok(c.e.RegisterAll(x, ks), "register")
		for _, k := range ks {
			c.ok(c.e.Enable(x, k), "enable")
		}
		for i := 0; i < len(many); i += 32 {
			equal(c, uint64(0x102+i), c.call(x, many[i], 1), many[i].name)
		}
		equal(c, 8, hits, "hits")
		for _, k := range ks {
			c.ok(c.e.Disable(x, k), "disable")
		}
		c.ok(c.e.UnregisterAll(x, ks), "unregister")
		c.e.Optimizer.WaitOptimizer(x)
		var now [16]byte
		for _, f := range many {
			c.e.d.Text.Read(x, f.at, now[:])
			c.expect(now == [16]byte(f.bytes), "%s is left as % x", f.name, now)
		}
	}},
	// probepoint.tc: the ways to name a place, and those that name none.
	{name: "probepoint", run: func(c *kcase, x kapi.Context) {
		for _, p := range []struct {
			symbol string
			offset int
			addr   arch.Addr
			want   error
		}{
			{target.name, 0, 0, nil},
			{target.name, 3, 0, nil},
			{"", 0, target.at, nil},
			{"", 3, target.at, nil},
			{"", -3, target.at + 3, nil},
			{"", 0, 0, EINVAL},
			{target.name, 0, target.at, EINVAL},
			{target.name, 0x4000, 0, map[bool]error{true: EINVAL, false: ENOENT}[c.ed < rules.Edition514]},
			{"nobody", 0, 0, map[bool]error{true: EINVAL, false: ENOENT}[c.ed == rules.Edition26]},
			{target.name, 1, 0, map[bool]error{false: EILSEQ}[c.ed == rules.Edition26]},
		} {
			k := &Kprobe{Symbol: p.symbol, Offset: p.offset, Addr: p.addr}
			err := c.e.Register(x, k)
			c.expect(err == p.want, "%q%+d at %#x: %v, not %v", p.symbol, p.offset, p.addr, err, p.want)
			if err == nil {
				equal(c, target.at+arch.Addr(max(p.offset, 0)), k.Addr, "where the probe is")
				c.ok(c.e.Unregister(x, k), "unregister")
			}
		}
	}},
	// kretprobe_maxactive.tc: r10 takes ten instances; without a number there are as
	// many as the edition says. Here, too: that so many calls in flight are followed,
	// and no more.
	{name: "kretprobe_maxactive", more: []code{deep}, run: func(c *kcase, x kapi.Context) {
		for _, n := range []int{1, 3, 10, 0} {
			returns := 0
			r := &Kretprobe{Kprobe: Kprobe{Addr: deep.at}, Maxactive: n, Handler: func(x kapi.Context, _ *Instance, _ *arch.Regs) int {
				returns += c.mine(x)
				return 0
			}}
			c.ok(c.e.Kretprobes.Register(x, r), "register")
			if n == 0 {
				n = r.Maxactive
				want := 10 // max(10, 2 CPUs)
				if !c.e.s.MaxactiveAll && !c.e.s.Kernel.Preemption {
					want = c.e.d.CPUs
				}
				equal(c, want, n, "maxactive by default")
			}
			c.call(x, deep, uint64(n)+3) // that many calls and one
			equal(c, n, returns, "returns followed")
			equal(c, 4, r.Missed(), "nmissed")
			c.ok(c.e.Kretprobes.Unregister(x, r), "unregister")
		}
	}},
	// kprobe_opt_types.tc, the part that looks at [OPTIMIZED], and that the hits are
	// the same before, meanwhile and after.
	{name: "opt_types", in: since(rules.Edition415), run: func(c *kcase, x kapi.Context) {
		hits := 0
		k := &Kprobe{Addr: target.at, Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
			hits += c.mine(x)
			return 0
		}}
		shown := func(want bool, what string) {
			var head [1]byte
			c.e.d.Text.Read(x, target.at, head[:])
			want = want && c.e.s.Kernel.Optprobes
			equal(c, want, c.e.FlagsOf(k)&FlagOptimized != 0, "[OPTIMIZED] "+what)
			if c.alone {
				equal(c, want, head[0] == 0xe9, "the jump "+what)
			}
			equal(c, 1+0x11, c.call(x, target, 1), "the result "+what)
		}
		c.ok(c.e.Register(x, k), "register")
		c.e.Optimizer.WaitOptimizer(x)
		shown(true, "after registering")
		c.e.Files.SetOptimization(x, false)
		shown(false, "with the sysctl at 0")
		c.e.Files.SetOptimization(x, true)
		c.e.Optimizer.WaitOptimizer(x)
		shown(true, "with the sysctl at 1")
		c.ok(c.e.Disable(x, k), "disable")
		c.e.Optimizer.WaitOptimizer(x)
		c.call(x, target, 1)
		c.ok(c.e.Enable(x, k), "enable")
		c.e.Optimizer.WaitOptimizer(x)
		shown(true, "after enabling")
		c.ok(c.e.Unregister(x, k), "unregister")
		c.e.Optimizer.WaitOptimizer(x)
		c.call(x, target, 1)
		equal(c, 4, hits, "hits")
		if c.alone {
			now := make([]byte, len(target.bytes))
			c.e.d.Text.Read(x, target.at, now)
			c.expect(string(now) == string(target.bytes), "the text is left as % x", now)
		}
	}},
	// kprobe_non_uniq_symbol.tc: two functions have one name. ftrace's own files
	// refuse it, register_kprobe takes the first; by its address each can be probed.
	{name: "non_uniq_symbol", more: []code{twin1, twin2}, run: func(c *kcase, x kapi.Context) {
		var hits [3]int
		ks := []*Kprobe{{Symbol: "twin"}, {Addr: twin1.at}, {Addr: twin2.at}}
		for i, k := range ks {
			k.Pre = func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
				hits[i] += c.mine(x)
				return 0
			}
			c.ok(c.e.Register(x, k), "register")
		}
		equal(c, twin1.at, ks[0].Addr, "where the symbol is")
		equal(c, 0x34, c.call(x, twin1, 1), "the first twin's result")
		equal(c, [3]int{1, 1, 0}, hits, "hits of the first")
		equal(c, 0x45, c.call(x, twin2, 1), "the second twin's result")
		equal(c, [3]int{1, 1, 1}, hits, "hits of both")
		for _, k := range ks {
			c.ok(c.e.Unregister(x, k), "unregister")
		}
	}},
}

var (
	twin1 = code{name: "twin", at: textBase + 0x200, bytes: adding(0x33)}
	twin2 = code{name: "twin", at: textBase + 0x240, bytes: adding(0x44)}
)

// TestSelftests plays them in every edition that can express them.
func TestSelftests(t *testing.T) { playAll(t, selftests) }
