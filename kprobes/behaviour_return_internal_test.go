package kprobes

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// returnOnes are the questions about return probes.
var returnOnes = []behaviour{
	{says: "kretprobe default: maxactive, hits, nmissed; after disable", k61: "0 10 1 0; 0 1 0 2", asks: func(y *asker) string {
		rets := 0
		r := &Kretprobe{Kprobe: *y.hot(nil), Handler: returns(&rets, 0)}
		n := y.errno(y.b.e.Kretprobes.Register(y.x, r))
		y.call()
		says := fmt.Sprint(n, r.Maxactive, rets, r.Missed(), "; ", y.errno(y.b.e.Disable(y.x, &r.Kprobe)))
		y.call()
		says += fmt.Sprint(" ", rets, y.errno(y.b.e.Enable(y.x, &r.Kprobe)))
		y.call()
		says += fmt.Sprint(" ", rets)
		_ = y.b.e.Kretprobes.Unregister(y.x, r)
		return says
	}},
	{says: "kretprobe recursion depth 10 maxactive 3: rets, nmissed; again", k61: "0; 3 7; 3 14", asks: func(y *asker) string {
		rets := 0
		r := &Kretprobe{Kprobe: Kprobe{Symbol: "kt_rec"}, Handler: returns(&rets, 0), Maxactive: 3}
		says := fmt.Sprint(y.errno(y.b.e.Kretprobes.Register(y.x, r)))
		for range 2 {
			rets = 0
			y.x.Regs().R[x86.RDI] = 10
			y.x.Call(recAt)
			says += fmt.Sprint("; ", rets, r.Missed())
		}
		_ = y.b.e.Kretprobes.Unregister(y.x, r)
		return says
	}},
	{says: "kretprobe maxactive=-1, 4096, 4097", k61: "10 4096 4097", asks: func(y *asker) string {
		says := make([]int, 3)
		for i, n := range []int{-1, 4096, 4097} {
			r := &Kretprobe{Kprobe: *y.hot(nil), Maxactive: n}
			require.NoError(y.t, y.b.e.Kretprobes.Register(y.x, r))
			says[i] = r.Maxactive
			_ = y.b.e.Kretprobes.Unregister(y.x, r)
		}
		return fmt.Sprint(says[0], says[1], says[2])
	}},
	{says: "kretprobe entry+ret modifies ax: both run, the value", k61: "1 1 4242", asks: func(y *asker) string {
		entered, rets := 0, 0
		r := &Kretprobe{Kprobe: *y.hot(nil), Entry: returns(&entered, 0), Handler: func(_ kapi.Context, _ *Instance, regs *arch.Regs) int {
			rets, regs.R[x86.RAX] = rets+1, 4242
			return 0
		}}
		require.NoError(y.t, y.b.e.Kretprobes.Register(y.x, r))
		value := y.call()
		_ = y.b.e.Kretprobes.Unregister(y.x, r)
		return fmt.Sprint(entered, rets, value)
	}},
	{says: "kretprobe entry_handler returns 1: entered, returned, nmissed", k61: "1 0 0", asks: func(y *asker) string {
		entered, rets := 0, 0
		r := &Kretprobe{Kprobe: *y.hot(nil), Entry: returns(&entered, 1), Handler: returns(&rets, 0)}
		require.NoError(y.t, y.b.e.Kretprobes.Register(y.x, r))
		y.call()
		_ = y.b.e.Kretprobes.Unregister(y.x, r)
		return fmt.Sprint(entered, rets, r.Missed())
	}},
	{says: "kretprobe with kp.post_handler set: its return handler, the post_handler", k61: "0 1 0", asks: func(y *asker) string {
		rets, post := 0, 0
		r := &Kretprobe{Kprobe: *y.hot(nil), Handler: returns(&rets, 0)}
		r.Kprobe.Post = func(kapi.Context, *Kprobe, *arch.Regs, uint64) { post++ }
		n := y.errno(y.b.e.Kretprobes.Register(y.x, r))
		y.call()
		_ = y.b.e.Kretprobes.Unregister(y.x, r)
		return fmt.Sprint(n, rets, post)
	}},
	{says: "kretprobe at offset 3", k61: "-22", asks: oneReturn(Kretprobe{Kprobe: Kprobe{Symbol: "kt_hot_nt", Offset: 3}})},
	{says: "kretprobe symbol+addr", k61: "-22", asks: oneReturn(Kretprobe{Kprobe: Kprobe{Symbol: "kt_hot_nt", Addr: hotAt}})},
	{says: "kretprobe unknown symbol", k61: "-2", asks: oneReturn(Kretprobe{Kprobe: Kprobe{Symbol: "nobody"}})},
	{says: "kretprobe data_size=100000", k61: "-7", asks: oneReturn(Kretprobe{Kprobe: Kprobe{Symbol: "kt_hot_nt"}, DataSize: 100000})},
	{says: "kretprobe __schedule", k61: "0", asks: oneReturn(Kretprobe{Kprobe: Kprobe{Symbol: "__schedule"}})},
	{says: "kretprobe __switch_to", k61: "-22", k612: "0", asks: oneReturn(Kretprobe{Kprobe: Kprobe{Symbol: "__switch_to"}}),
		differs: "6.12 compares what is behind the endbr64 with the address that it refuses, which no kernel meant to (spec 2.9)", ours: "-22"},
}

func returns(n *int, ret int) RetHandler {
	return func(kapi.Context, *Instance, *arch.Regs) int { *n++; return ret }
}

// oneReturn registers a return probe and prints the answer.
func oneReturn(as Kretprobe) func(y *asker) string {
	return func(y *asker) string {
		r := as
		n := y.errno(y.b.e.Kretprobes.Register(y.x, &r))
		if n == 0 {
			_ = y.b.e.Kretprobes.Unregister(y.x, &r)
		}
		return fmt.Sprint(n)
	}
}
