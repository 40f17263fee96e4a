package kprobes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// goneOnes are what the kernels said of probes in a module that went, and of a
// fentry site with and without a post_handler.
var goneOnes = []behaviour{
	{says: "gone: register, flags, enable, disable", k61: "[0 0 0 0] [11 11 13 11] -22 0", asks: func(y *asker) string {
		m := y.b.k.Modules.Named("mod")
		var errnos []int
		n := 0
		ks := []*Kprobe{counting(modCore, &n), counting(modCore+0x20, &n), counting(modCore+0x60, &n),
			counting(modCore+0x60, &n)}
		ks[2].Flags = FlagDisabled
		for _, k := range ks {
			errnos = append(errnos, y.register(k))
		}
		y.b.e.Optimizer.WaitOptimizer(y.x)
		require.Zero(y.t, y.b.k.Modules.Unload(y.x, m))
		var flags []string
		for _, k := range ks {
			flags = append(flags, fmt.Sprintf("%x", uint8(y.b.e.FlagsOf(k))))
		}
		says := fmt.Sprint(errnos, flags, " ", y.enable(ks[0]), " ", y.disable(ks[0]))
		for _, k := range ks {
			y.unregister(k)
		}
		return says
	}},
	{says: "ftrace site, post first then pre: hits, posts, left", k61: "1 1 1 0", asks: askPosts(true)},
	{
		says: "ftrace site, pre first then post: hits, posts, left", k61: "1 1 1 1", asks: askPosts(false),
		ours:    "1 1 1 0",
		differs: "the kernel disarms the site with the client that it would be armed with now, and not the one that it was; see FtraceByPost",
	},
}

// askPosts registers a probe with a post_handler and one without on a site, and
// unregisters them in that order. left is 1 if the site is still a call, or a probe
// in the table.
func askPosts(postFirst bool) func(y *asker) string {
	return func(y *asker) string {
		pres, others, posts := 0, 0, 0
		a, b := &Kprobe{Symbol: "kt_hot", Pre: counts(&pres)}, &Kprobe{Symbol: "kt_hot", Pre: counts(&others)}
		with := b
		if postFirst {
			with = a
		}
		with.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { posts++ }
		require.Zero(y.t, y.register(a))
		require.Zero(y.t, y.register(b))
		y.callTraced()
		y.unregister(a)
		y.unregister(b)
		left := 0
		if siteCalls(y.b, y.x, tracedAt+y.head) || y.b.e.Table.probes.Len() > 0 {
			left = 1
		}
		return fmt.Sprint(pres, others, posts, left)
	}
}

func TestBehaviourGone(t *testing.T) {
	for _, real := range []struct {
		name string
		k    rules.Kernel
		ed   rules.Edition
	}{{"k61", rules.K61, rules.Edition65}, {"k612", rules.K612, rules.Edition69}} {
		s := settingsOf(real.ed, true)
		s.Kernel = real.k
		s.Kernel.IBT = false // the functions of these tests don't begin with endbr64
		for _, mutant := range []bool{false, true} {
			if mutant {
				breakSteps(&s, "ftrace-by-post")
			}
			for _, q := range goneOnes {
				t.Run(fmt.Sprintf("%s/%s/%v", real.name, q.says, mutant), func(t *testing.T) {
					want := q.k61
					if q.differs != "" && !mutant { // the mutant is the kernel
						want = q.ours
					}
					bootBench(t, s, nil, func(b *bench) {
						bootAsked(t, b)
						b.k.Modules.NewModule("mod", modTexts, modInit, modCore+0x60, true)
					}, func(b *bench, x *smp.Ctx) {
						require.Equal(t, want, q.asks(&asker{t: t, b: b, x: x}))
					}).pass(t)
				})
			}
		}
	}
}
