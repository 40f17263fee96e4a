package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A breakpoint and a call by ftrace look for the probe in the chain of their address, from
// the newest to their own; somebody else's breakpoint to the end.
func TestLookups(t *testing.T) {
	const n = 400
	for _, ed := range []rules.Edition{rules.Edition26, rules.Edition69} {
		golden := map[rules.Edition]uint64{rules.Edition26: 0x9e37fffffffc0001, rules.Edition69: 0x61c8864680b583eb}[ed]
		chain := func(at arch.Addr) uint64 { return uint64(at) * golden >> 58 }
		var d debugger
		var tally [sim.MaxCPUs]cycles.Tally
		lookups, nodes := &tally[0][cycles.Work(WorkLookup)], &tally[0][cycles.Work(kapi.WorkNode)]
		f := append(x86.Nop5[:len(x86.Nop5):len(x86.Nop5)], victim.bytes...)
		codes := []code{broken}
		for i := range n {
			codes = append(codes, code{name: "f", at: textBase + 0x1000 + arch.Addr(i*64), bytes: f})
		}
		probed := codes[1:]
		b := newBench(t, settingsOf(ed, false), codes, func(b *bench, x *smp.Ctx) {
			d.hook(b)
			for _, c := range probed {
				require.NoError(t, b.e.Register(x, &Kprobe{Addr: c.at}))
			}
			for i, c := range probed {
				*lookups, *nodes = 0, 0
				x.Call(c.at)
				want := uint64(0)
				for _, newer := range probed[i:] {
					if chain(newer.at) == chain(c.at) {
						want++
					}
				}
				require.Equal(t, [2]uint64{1, want}, [2]uint64{*lookups, *nodes}, "function %d", i)
			}
			*lookups, *nodes = 0, 0
			x.Call(broken.at)
			want := uint64(0)
			for _, c := range probed {
				if chain(c.at) == chain(broken.at+5) {
					want++
				}
			}
			require.NotZero(t, want)
			require.Equal(t, [2]uint64{1, want}, [2]uint64{*lookups, *nodes})
		})
		for i, c := range probed {
			if i%2 == 0 && ed != rules.Edition26 {
				b.ftrace.AddSite(c.at)
			}
		}
		b.m.Freeze()
		b.m.Clocks().Count(&tally)
		require.Equal(t, smp.Passed, b.run(new(sched.Default)), "%v", b.m.Refusal())
		require.Equal(t, 1, d.breaks)
	}
}
