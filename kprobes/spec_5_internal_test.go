package kprobes

import (
	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// banned are functions like victim, one of each kind that refuses probes.
var banned = []struct {
	code
	why kapi.Ban
}{
	{likeVictim("plain", 0x200), kapi.BanNone},
	{likeVictim("kprobes_text", 0x220), kapi.BanSection},
	{likeVictim("nokprobe", 0x240), kapi.BanSymbol},
	{likeVictim("noinstr", 0x260), kapi.BanNoinstr},
	{likeVictim("entry", 0x280), kapi.BanEntry},
}

func likeVictim(name string, off int) code {
	return code{name: name, at: textBase + arch.Addr(off), bytes: victim.bytes}
}

// noBans are symbols of which none is on the blacklist.
type noBans struct{ kapi.Symbols }

func (noBans) Banned(arch.Addr) kapi.Ban { return kapi.BanNone }

// spec5 is section 5: the blacklist.
var spec5 = []specRule{
	{
		rule: "5.1", says: "what is marked is refused, at every byte",
		mutants: []specMutant{
			{name: "no-bans", wire: func(_ *kernel.Kernel, d *Deps) { d.Symbols = noBans{d.Symbols} }},
			{name: "other-edition", do: func(s *Settings) { // which knows other marks
				if s.Kernel.Edition == rules.Edition26.Rules() {
					s.Kernel.Edition = rules.Edition415.Rules()
				} else {
					s.Kernel.Edition = rules.Edition26.Rules()
				}
			}},
		},
		holds: func(t *specT) {
			var codes []code
			for _, f := range banned {
				codes = append(codes, f.code)
			}
			t.pass(t.boot(codes, func(b *bench) {
				for _, f := range banned {
					if f.why != kapi.BanNone {
						b.k.Symbols.Ban(kapi.Function{Name: f.name, Addr: f.at, Size: len(f.bytes)}, f.why)
					}
				}
			}, func(b *bench, x *smp.Ctx) {
				for _, f := range banned {
					refused := f.why == kapi.BanSection || f.why != kapi.BanNone && t.Edition != rules.Edition26
					for off := range f.bytes {
						k := &Kprobe{Symbol: f.name, Offset: off}
						err := b.e.Register(x, k)
						switch {
						case refused:
							require.Equal(t, EINVAL, err, "%s+%d", f.name, off)
						case off == 0:
							require.NoError(t, err, f.name)
						}
						if err == nil {
							require.NoError(t, b.e.Unregister(x, k))
						}
					}
				}
			}))
		},
	},
}
