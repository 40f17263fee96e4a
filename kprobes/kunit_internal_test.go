package kprobes

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// The cases of the kernel's own unit tests of probes (lib/tests/test_kprobes.c),
// written anew from what they assert, each on four CPUs: one runs the case, the
// others call its targets meanwhile, and register probes of their own on them.
// The kernel runs each once, on one CPU, in whichever schedule it gets.

// A kunit is one of them: the program of CPU 0, run anew in each schedule. It says
// what is wrong with fail; the schedule's number is told with it.
type kunit struct {
	name string
	in   []rules.Edition          // nil: all
	more []code                   // functions beside the targets
	boot func(c *kcase, b *bench) // makes more of the machine; nil: nothing
	wire func(c *kcase, d *Deps)  // and in each run, before there is an engine
	// how much fewer schedules it gets than the others, unless -every-schedule; 0: as many
	less int
	run  func(c *kcase, x kapi.Context)
}

// A kcase is a case in one schedule.
type kcase struct {
	e     *Engine
	ed    rules.Edition
	alone bool        // no other task registers probes
	task  kapi.TaskID // that runs it
	wrong string

	k      *kernel.Kernel // nil on the stub
	module *kernel.Module
	tracer tracing
}

// expect notes that something isn't as it should be.
func (c *kcase) expect(ok bool, format string, args ...any) {
	if !ok && c.wrong == "" {
		c.wrong = fmt.Sprintf(format, args...)
	}
}

// equal is expect of a value.
func equal[T comparable](c *kcase, want, got T, what string) {
	c.expect(want == got, "%s is %v, not %v", what, got, want)
}

// ok is expect of an API call.
func (c *kcase) ok(err error, what string) { c.expect(err == nil, "%s: %v", what, err) }

// atomic is what every handler is to find: that it can't be preempted.
func (c *kcase) atomic(x kapi.Context, what string) {
	c.expect(x.(interface{ Atomic() bool }).Atomic(), "%s is preemptible", what)
}

// The targets: what they return is their argument and a number.
var (
	target  = code{name: "kprobe_target", at: textBase, bytes: adding(0x11)}
	target2 = code{name: "kprobe_target2", at: textBase + 0x40, bytes: adding(0x22)}
	target3 = code{name: "kprobe_target3", at: textBase + 0x80, bytes: calling(textBase+0x80, textBase)}
)

// adding is a function that returns its argument and n, in instructions of 3, 4 and
// 1 bytes.
func adding(n byte) []byte {
	return []byte{0x48, 0x89, 0xf8, 0x48, 0x83, 0xc0, n, 0xc3} // mov %rdi,%rax; add $n,%rax; ret
}

// calling is a function at an address that calls another and returns what that
// returns, and 1: with a frame of its own.
func calling(at, f arch.Addr) []byte {
	call, _ := x86.CallRel32(at+4, f)
	b := append([]byte{0x55, 0x48, 0x89, 0xe5}, call[:]...) // push %rbp; mov %rsp,%rbp; call f
	return append(b, 0x48, 0x83, 0xc0, 0x01, 0x5d, 0xc3)    // add $1,%rax; pop %rbp; ret
}

// call calls a target with an argument.
func (c *kcase) call(x kapi.Context, f code, arg uint64) uint64 {
	x.Regs().R[x86.RDI] = arg
	return x.Call(f.at)
}

var kunits = []kunit{
	{name: "kprobe", run: func(c *kcase, x kapi.Context) {
		var pre, post uint64
		k := &Kprobe{Addr: target.at}
		k.Pre = func(x kapi.Context, _ *Kprobe, r *arch.Regs) int {
			c.atomic(x, "pre_handler")
			if c.mine(x) == 1 {
				pre = r.R[x86.RDI]
			}
			return 0
		}
		k.Post = func(x kapi.Context, _ *Kprobe, _ *arch.Regs, _ uint64) {
			c.atomic(x, "post_handler")
			if c.mine(x) == 1 {
				c.expect(pre == 7, "post_handler without the pre_handler's value")
				post = pre + 1
			}
		}
		c.ok(c.e.Register(x, k), "register")
		equal(c, 7+0x11, c.call(x, target, 7), "the target's result")
		c.ok(c.e.Unregister(x, k), "unregister")
		equal(c, 7, pre, "what pre_handler saw")
		equal(c, 8, post, "what post_handler made of it")
		pre = 0
		c.call(x, target, 7)
		equal(c, 0, pre, "what an unregistered probe saw")
	}},
	{name: "kprobes", in: since(rules.Edition415), run: func(c *kcase, x kapi.Context) {
		var pre, post [2]int
		ks := make([]*Kprobe, 2)
		for i, f := range []code{target, target2} {
			ks[i] = &Kprobe{
				Addr: f.at,
				Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
					pre[i] += c.mine(x)
					return 0
				},
				Post: func(x kapi.Context, _ *Kprobe, _ *arch.Regs, _ uint64) { post[i] += c.mine(x) },
			}
		}
		c.ok(c.e.RegisterAll(x, ks), "register")
		equal(c, 3+0x11, c.call(x, target, 3), "the target's result")
		equal(c, [2]int{1, 0}, pre, "pre_handlers after one target")
		equal(c, [2]int{1, 0}, post, "post_handlers after one target")
		equal(c, 3+0x22, c.call(x, target2, 3), "the second target's result")
		equal(c, [2]int{1, 1}, pre, "pre_handlers")
		equal(c, [2]int{1, 1}, post, "post_handlers")
		c.ok(c.e.UnregisterAll(x, ks), "unregister")
		c.call(x, target, 3)
		c.call(x, target2, 3)
		equal(c, [2]int{1, 1}, pre, "pre_handlers after unregistering")
	}},
	{name: "kprobe_missed", run: func(c *kcase, x kapi.Context) {
		pre, post := 0, 0
		k := &Kprobe{Addr: target2.at}
		k.Pre = func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
			if c.mine(x) == 1 {
				pre++
				x.Call(target2.at)
			}
			return 0
		}
		k.Post = func(x kapi.Context, _ *Kprobe, _ *arch.Regs, _ uint64) {
			if c.mine(x) == 1 {
				post++
				x.Call(target2.at)
			}
		}
		c.ok(c.e.Register(x, k), "register")
		c.call(x, target2, 5)
		c.ok(c.e.Unregister(x, k), "unregister")
		equal(c, 2, k.Missed(), "nmissed")
		equal(c, 1, pre, "how often pre_handler ran")
		equal(c, 1, post, "how often post_handler ran")
	}},
}

// mine is 1 in the task that runs the case.
func (c *kcase) mine(x kapi.Context) int {
	if x.Task() == c.task {
		return 1
	}
	return 0
}

// TestKUnit: each case holds in every edition that can express it, in so many random
// schedules.
func TestKUnit(t *testing.T) {
	playAll(t, kunits)
	playAll(t, kunitRets)
	playAll(t, kunitJs)
}

// everySchedule runs every case in all of its schedules. By default each gets a fifth of
// them, and an expensive one less.
var everySchedule = flag.Bool("every-schedule", false, "run every case of the kernel's tests in 1,000 schedules")

func playAll(t *testing.T, units []kunit) {
	for i := range units {
		u := &units[i]
		for _, ed := range orAll(u.in, every) {
			for _, preemption := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/preemption=%v", u.name, ed, preemption), func(t *testing.T) {
					u.play(t, ed, preemption)
				})
			}
		}
	}
}

// codes are the functions that it needs.
func (u *kunit) codes() []code { return append([]code{target, target2, target3}, u.more...) }

// play runs a case in so many schedules.
func (u *kunit) play(t *testing.T, ed rules.Edition, preemption bool) {
	c := &kcase{ed: ed}
	caller := func(_ *bench, x *smp.Ctx) {
		for _, f := range []code{target, target2, target3} {
			c.call(x, f, 1)
		}
		x.Sleep(kapi.Yield)
	}
	prober := func(b *bench, x *smp.Ctx) {
		k := &Kprobe{Addr: target.at, Pre: func(kapi.Context, *Kprobe, *arch.Regs) int { return 0 }}
		c.ok(b.e.Register(x, k), "another's register")
		c.call(x, target, 1)
		c.ok(b.e.Unregister(x, k), "another's unregister")
	}
	boot := func(b *bench) {
		if u.boot != nil {
			u.boot(c, b)
		}
	}
	b := bootBench(t, settingsOf(ed, preemption), u.codes(), boot, func(b *bench, x *smp.Ctx) {
		c.e, c.task = b.e, x.Task()
		u.run(c, x)
	}, prober, caller, caller)
	b.wire = func(k *kernel.Kernel, d *Deps) {
		c.k = k
		if u.wire != nil {
			u.wire(c, d)
		}
	}
	random := sched.NewRandom(sched.Params{Seed: 1})
	n := kunitSchedules / 2 // of each build
	if !*everySchedule {
		n /= max(5, u.less)
	}
	for i := range n {
		c.wrong = ""
		random.Begin(uint64(i))
		require.Equal(t, smp.Passed, b.run(random), "schedule %d: %v", i, b.m.Refusal())
		require.Empty(t, c.wrong, "schedule %d", i)
	}
}
