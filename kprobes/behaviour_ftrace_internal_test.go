package kprobes

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// kt_hot begins with a fentry site: kt_hot(7, 5, 3) is 25, or 118 if rdi becomes
// 100. kt_traced, too, does nothing else.
var (
	tracedAt, tracedInAt = textBase + 0x1800, textBase + 0x1840
	tracedHex            = "0f1f440000488d04764801d74801f8c3"
	tracedInHex          = "0f1f440000c3"
)

// onSite asks with a probe on kt_hot, which is called three times over at most.
func onSite(pre PreHandler, f func(y *asker, k *Kprobe) string) func(y *asker) string {
	return func(y *asker) string {
		k := &Kprobe{Symbol: "kt_hot", Pre: pre}
		require.Zero(y.t, y.register(k))
		says := f(y, k)
		y.unregister(k)
		return says
	}
}

func (y *asker) callTraced() uint64 {
	r := y.x.Regs()
	r.R[x86.RDI], r.R[x86.RSI], r.R[x86.RDX] = 7, 5, 3
	return y.x.Call(tracedAt)
}

// ftraceOnes are the questions about fentry sites.
var ftraceOnes = []behaviour{
	{says: "ftrace site: flags", k61: "flags=18 ap==p flags=18", asks: onSite(nil, func(y *asker, k *Kprobe) string { return y.flags(k) })},
	{says: "ftrace site registered disabled", k61: "0 flags=1a ap==p flags=1a", asks: disabledOne("kt_hot")},
	{says: "ftrace-site pre returns 1 redirect", k61: "1 7005", asks: func(y *asker) string {
		hits := 0
		return onSite(redirect(&hits), func(y *asker, _ *Kprobe) string {
			ret := y.callTraced()
			return fmt.Sprint(hits, ret)
		})(y)
	}},
	{says: "ftrace handler sets di=100", k61: "118", asks: onSite(func(_ kapi.Context, _ *Kprobe, regs *arch.Regs) int {
		regs.R[x86.RDI] = 100
		return 0
	}, func(y *asker, _ *Kprobe) string { return fmt.Sprint(y.callTraced()) })},
	{says: "ftrace pre+post: ip in each, flags, how often, atomic", k61: "1 5 0 1 1 true", asks: func(y *asker) string {
		var pre, post arch.Addr
		pres, posts, atomic, flags := 0, 0, true, uint64(9)
		k := &Kprobe{
			Symbol: "kt_hot",
			Pre: func(x kapi.Context, k *Kprobe, regs *arch.Regs) int {
				pre, pres, atomic = regs.IP-k.Addr, pres+1, atomic && x.(*smp.Ctx).Atomic()
				return 0
			},
			Post: func(x kapi.Context, k *Kprobe, regs *arch.Regs, f uint64) {
				post, posts, flags, atomic = regs.IP-k.Addr, posts+1, f, atomic && x.(*smp.Ctx).Atomic()
			},
		}
		y.register(k)
		y.callTraced()
		y.unregister(k)
		return fmt.Sprint(uint64(pre), uint64(post), flags, pres, posts, atomic)
	}},
	{says: "ftrace in ftrace: pre, inner, nmissed of both", k61: "1 0 0 1", asks: func(y *asker) string {
		pre, inner := 0, 0
		in := &Kprobe{ID: 1, Symbol: "kt_traced", Pre: counts(&inner)}
		y.register(in)
		says := onSite(func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int { pre++; x.Call(tracedInAt); return 0 }, func(y *asker, k *Kprobe) string {
			y.callTraced()
			return fmt.Sprint(pre, inner, k.Missed(), in.Missed())
		})(y)
		y.unregister(in)
		return says
	}},
	{says: "kretprobe on a ftrace site: hits, nmissed, flags", k61: "1 0 flags=18 ap==p flags=18", asks: func(y *asker) string {
		rets := 0
		r := &Kretprobe{Kprobe: Kprobe{Symbol: "kt_hot"}, Handler: returns(&rets, 0)}
		require.NoError(y.t, y.b.e.Kretprobes.Register(y.x, r))
		y.callTraced()
		says := fmt.Sprint(rets, r.Missed(), " ", y.flags(&r.Kprobe))
		_ = y.b.e.Kretprobes.Unregister(y.x, r)
		return says
	}},
}
