package rig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/kprobes/kpev"
	"kpsim/linux"
	"kpsim/sched"
	"kpsim/smp/arch"
	"kpsim/smp/smpev"
)

// What the text says of a run is what kpsim's own engine says of it.
func TestTheTextSaysWhatTheEngineSays(t *testing.T) {
	jumps, gone := 0, 0
	for _, sc := range library.All() {
		if len(sc.Probes) == 0 || len(sc.Sites) > 0 || len(sc.Modules) > 0 || len(sc.Alternatives) > 0 {
			continue // ftrace's call isn't a jump; text that goes takes probes with it; alternatives write over them
		}
		r, err := New(sc, "")
		require.NoError(t, err)
		byText := &census{
			silent: true, probes: make([]Probed, len(sc.Probes)), at: make([]arch.Addr, len(sc.Probes)),
			was: make([]uint8, len(sc.Probes)),
		}
		byText.heads = r.heads()
		r.Log.Subscribe(byText, smpev.TextStore, kpev.ApiEnter, kpev.ApiReturn)
		s := sched.NewSticky(sched.Params{Seed: 1, Length: 500, Mean: 20})
		for i := range uint64(10) {
			require.True(t, s.Begin(i))
			byText.begin(r.probes.addrs)
			run := r.Run(s)
			s.End(run.Counts.Points)
			if run.Early {
				continue // it may have ended between the bytes and the word
			}
			for k, was := range r.Census.was {
				require.Equal(t, was&^wasHit, byText.was[k], "%s, run %d: probe %s", sc.Name, i, sc.Probes[k].Name)
				jumps += int(was & wasOptimized)
				gone += int(was & wasDisarmed)
			}
		}
		r.Close()
	}
	require.Greater(t, jumps, 100)
	require.Greater(t, gone, 100)
}

// A kernel's engine says nothing of its jumps: they are counted all the same.
func TestAKernelsJumpsAreCounted(t *testing.T) {
	const program = `
machine(cpus = 2, preempt = "full", edition = "6.9")
f = text("f", "55 4889e5 53 5b 5d c3")
g = text("g", "55 4889e5 53 5b 5d c3")
k = kprobe("k", at = f)
p = kprobe("p", at = g, post = [count()])
stays = kprobe("stays", at = g + 1)
task("prober", cpu = 0, ops = [register(k, errno = 0), register(p, errno = 0), register(stays), wait_optimized(), call(f), unregister(k), unregister(p)])
task("caller", cpu = 1, ops = [call(f), call(g)])
`
	for _, series := range []string{"", "6.1", "6.12"} {
		sc, err := lang.Load("x.star", []byte(program), nil)
		require.NoError(t, err)
		if series != "" {
			k, err := linux.Open(kerneltest.Path(t, series))
			require.NoError(t, err)
			require.NoError(t, onlinux.Set(sc, k))
		}
		r, err := New(sc, "")
		require.NoError(t, err)
		for range 2 {
			r.Run(new(sched.Default))
			r.Census.Ended()
		}
		list := r.Census.Probed()
		r.Close()
		require.Equal(t, uint64(2), list[0].OptimizedIn, series)
		require.Equal(t, uint64(2), list[0].DisarmedIn, series)
		require.True(t, list[0].Optimized, series)
		require.Zero(t, list[1].OptimizedIn, "%s: it has a post_handler", series)
		require.Equal(t, uint64(2), list[1].DisarmedIn, series)
		require.Zero(t, list[2].DisarmedIn, series)
	}
}
