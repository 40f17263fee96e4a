package smp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// aliasAt is where the tests map text a second time.
const aliasAt = smp.DataBase + 0x2000

// aliased is a machine whose patcher, which stores through rdi, runs on CPU 0; CPU 1 runs the text f.
func aliased(t *testing.T, f, patcher string, cfg smp.Config) (r *rig, result *uint64) {
	r = newRig(t, cfg)
	text, patch := r.text("f", 0, f), r.text("patch", 0x100, patcher)
	n := len(strings.ReplaceAll(f, " ", "")) / 2
	r.Memory().Alias(aliasAt, kapi.Section{At: text, Size: n})
	r.Memory().Watch(text, n)
	result = new(uint64)
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		regs := x.Regs()
		for i := range regs.R[:x86.AMD64.Used] {
			if arch.Reg(i) != x86.RSP {
				regs.R[i] = 0
			}
		}
		regs.R[x86.RDI], regs.R[x86.RSI], regs.R[x86.RCX] = uint64(aliasAt), uint64(smp.DataBase), 3
		*result = x.Call(patch)
	})
	if cfg.CPUs > 1 {
		r.Tasks().AddProgram("q", 1, func(x *smp.Ctx) { x.Call(text) })
	}
	return r, result
}

// What is stored by an alias, in how many steps, and which instructions are announced.
func TestAliasStores(t *testing.T) {
	const f = "0f1f440000 31c0 90 b801000000 c3 90 90 90" // nop; xor; nop; mov; ret; nops
	for name, c := range map[string]struct {
		patcher string
		stores  string // the events: offset, bytes
		steps   int
		images  string // offset, length, of each store
	}{
		"within 8 aligned bytes": {"c70766906690 c3", "0:66906690", 1, "0+2 2+2"},
		"across them":            {"48c7470490906690 c3", "4:90906690 8:ffffffff", 2, "0+5 5+1 6+2 11+2"},
		"with a lock":            {"f04883470401 c3", "4:0131c090 8:b8010000", 1, "0+5"},
		"exchanged":              {"48874704 c3", "4:00000000 8:00000000", 1, "5+2 7+2 9+2"},
		"a string":               {"f3a4 c3", "0:00 1:00 2:00", 3, "0+2 2+2 0+2 2+2 2+2"},
		"bytes are one change": {"c607e9 c6470107 c6470200 c6470300 c3", "0:e9 1:07 2:00 3:00", 4,
			"0+5 0+5 0+5"},
		"until it serialises":   {"c607e9 c6470107 0fa2 c6470200 c3", "0:e9 1:07 2:00", 3, "0+5 0+5 0+5"},
		"or waits":              {"c607e9 f390 c6470107 c3", "0:e9 1:07", 2, "0+5 0+5"},
		"or stores there again": {"c60790 c6470190 c607e9 c3", "0:90 1:90 0:e9", 3, "0+1 1+1 0+5 0+5"},
		"a breakpoint's tail":   {"c607cc c6470107 c6470200 c3", "0:cc 1:07 2:00", 3, "0+1"},
		"what stays isn't new":  {"c7070f1f4400 c3", "0:0f1f4400", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := aliased(t, f, c.patcher, smp.Config{CPUs: 1})
			steps := r.observed(smp.Passed, always0)
			var stores, images []string
			for _, e := range r.log.Events {
				switch e.Kind {
				case smpev.TextStore:
					stores = append(stores, fmt.Sprintf("%d:%0*x", e.A-uint64(smp.TextBase), 2*int(e.C),
						swapped(e.B, e.C)))
				case smpev.Image:
					images = append(images, fmt.Sprintf("%d+%d", e.A-uint64(smp.TextBase), e.C>>56))
				}
			}
			require.Equal(t, c.stores, strings.Join(stores, " "))
			require.Equal(t, c.images, strings.Join(images, " "))
			n := 0
			for _, s := range r.of(steps, 0, "text at f") {
				for _, touch := range s.touched {
					if touch.Write && strings.Contains(r.Names().Object(touch.Object), "text at f") {
						n++
						break
					}
				}
			}
			require.Equal(t, c.steps, n)
		})
	}
}

// swapped is v as its n bytes lie in memory.
func swapped(v, n uint64) (s uint64) {
	for i := range n {
		s = s<<8 | v>>(8*i)&0xff
	}
	return s
}

// What is loaded by an alias is the text, and outside of it there is nothing.
func TestAliasLoads(t *testing.T) {
	r, result := aliased(t, "0f1f440000 31c0 c3", "c6470190 488b07 c3", smp.Config{CPUs: 1})
	r.want(smp.Passed, sim.Always0{})
	require.Equal(t, uint64(0xc3c031000044900f), *result)
	for _, beyond := range []string{"8a47ff c3", "8a4708 c3", "8b4706 c3", "c6470800 c3", "c7470600000000 c3"} {
		r, _ := aliased(t, "0f1f440000 31c0 c3", beyond, smp.Config{CPUs: 1})
		r.want(smp.Refused, sim.Always0{})
		require.Empty(t, r.events(smpev.TextStore), beyond)
	}
}

// An interrupt comes before a store across 8 aligned bytes, or after both of its parts.
func TestAliasInterrupted(t *testing.T) {
	r, _ := aliased(t, "0f1f440000 31c0 90 b801000000 c3 90 90 90", "48c7470490906690 c3", smp.Config{CPUs: 1})
	r.source(smp.TimerSource, 0, 1)
	r.Hooks().Trap[smpev.VecTimer] = func(*smp.Ctx, *arch.Regs) {}
	between := 0
	r.want(smp.Passed, director(func(*sim.Point) sim.Mover {
		if len(r.events(smpev.TextStore)) == 1 {
			between++
			return sim.MoverSource
		}
		return sim.NoMover
	}))
	require.Equal(t, 1, between)
	trap := r.events(smpev.Trap)
	require.Len(t, trap, 1)
	require.Len(t, r.events(smpev.TextStore), 2)
	require.Less(t, r.events(smpev.TextStore)[1].Seq, trap[0].Seq+1)
	require.Equal(t, uint64(smp.TextBase)+0x108, trap[0].B, "the store has ended")
}

// A run with the same answers is the same, whatever the machine ran before.
func TestAliasAgain(t *testing.T) {
	r, _ := aliased(t, "0f1f440000 31c0 90 b801000000 c3 90 90 90",
		"c607e9 c6470107 48c7470490906690 f04883470401 f3a4 c3", smp.Config{CPUs: 2})
	seen := make(map[uint64]uint64)
	for range 2 {
		s := sched.NewPortfolio(sched.Params{Seed: 1, Length: 30})
		for i := range uint64(200) {
			s.Begin(i)
			r.run(s)
			s.End(r.Counts().Points)
			digest := r.log.Digest()
			if was, ok := seen[i]; ok {
				require.Equal(t, was, digest, i)
			}
			seen[i] = digest
		}
	}
}
