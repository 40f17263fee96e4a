package kprobes

import (
	"github.com/stretchr/testify/require"

	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// firing fires a source as soon as it can where when says so.
type firing struct {
	sched.Default
	when func() bool
}

// Choose implements sim.Chooser.
func (f *firing) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step || p.Moves[2] == 0 || !f.when() {
		return 0, 0
	}
	return p.N - 1, 0
}

// specBug is where the kernel gives up.
var specBug = []specRule{
	{
		rule: "1.11", says: "on top of two hits a third one can't be followed: a line, and BUG()",
		x86:     ofNMIs,
		mutants: []specMutant{{name: "reenter-again", row: "reenter-again"}},
		holds: func(t *specT) {
			quiet := func(kapi.Context, *Kprobe, *arch.Regs, uint64) {}
			third := code{name: "third", at: textBase + 0x200, bytes: victim.bytes}
			second := code{name: "second", at: textBase + 0x300, bytes: victim.bytes}
			nmis := 0
			b := t.boot([]code{victim, second, third}, func(b *bench) {
				require.NoError(t, b.m.Interrupts().Add(&smp.Source{Kind: smp.NMISource, Name: "nmi", AtMost: 1}, 0))
				b.k.OnInterrupt(func(x *smp.Ctx, _ *smp.Source) {
					nmis++
					x.Call(third.at)
				}, func(*smp.Source) bool { return false })
			}, func(b *bench, x *smp.Ctx) {
				require.NoError(t, b.e.Register(x, &Kprobe{ID: 3, Addr: third.at, Post: quiet}))
				require.NoError(t, b.e.Register(x, &Kprobe{ID: 2, Addr: second.at, Post: quiet}))
				require.NoError(t,
					b.e.Register(x, &Kprobe{ID: 1, Addr: victim.at, Post: quiet,
						Pre: func(x kapi.Context, _ *Kprobe, _ *arch.Regs) int {
							x.Call(second.at)
							return 0
						}}))
				x.Call(victim.at)
			})
			var lines printed
			var oops []uint64
			b.log.Subscribe(&lines, kpev.Printk)
			b.log.Subscribe(onEvent(func(e *traces.Event) { oops = append(oops, e.A) }), smpev.Oops)

			hit := func(status status) func() bool { return func() bool { return b.e.Hits.kcb.Of(0).status == status } }
			require.Equal(t, smp.Passed, b.run(&firing{when: hit(kprobeHitSS)}), "on top of one: %v", b.m.Refusal())
			require.Equal(t, 1, nmis)
			require.Empty(t, lines)

			require.Equal(t, smp.Refused, b.run(&firing{when: hit(kprobeReenter)}))
			require.Equal(t, 2, nmis)
			switch t.Edition {
			case rules.Edition26:
				require.Empty(t, lines)
				require.Equal(t, []uint64{smpev.VecBP}, oops)
				return
			case rules.Edition415:
				require.Equal(t, printed{"Unrecoverable kprobe detected at " + listed("81000200.")[0]}, lines)
			default:
				require.Equal(t, printed{"Unrecoverable kprobe detected."}, lines)
			}
			require.Equal(t, []uint64{smpev.VecUD}, oops, "BUG()")
		},
	},
}
