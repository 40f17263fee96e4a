package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/linux"
	"kpsim/sched"
)

// BenchmarkRun is register, hit, optimize and unregister on two CPUs, all monitors. The prices of a
// portfolio's members are from it, where a kernel's own engine runs.
func BenchmarkRun(b *testing.B) {
	for _, strategy := range []string{"sticky", "arriving", "random", "pct", "pos", "guided", "overtake"} {
		b.Run(strategy, func(b *testing.B) {
			sc, err := library.Load("safe-full")
			require.NoError(b, err)
			benchmark(b, sc, strategy)
		})
	}
}

// BenchmarkKept is the same from where the probe is registered and optimized on.
func BenchmarkKept(b *testing.B) {
	sc, err := lang.Load("kept.star", []byte(`
machine(cpus = 2, preempt = "full")
f = text("f", "89f8 83c001 c3")
k = kprobe("k", f, pre = [count()])
task("prober", cpu = 0, ops = [register(k), wait_optimized(), unregister(k)], setup = 2)
task("caller", cpu = 1, ops = [call(f, 7), call(f, 7), schedule()])
timer(cpu = 1)
`), nil)
	require.NoError(b, err)
	benchmark(b, sc, "sticky")
}

func benchmark(b *testing.B, sc *scenario.Scenario, strategy string) {
	k, err := linux.Open(kerneltest.Path(b, "6.1"))
	require.NoError(b, err)
	linux.Give(k)
	require.NoError(b, onlinux.Set(sc, k))
	r, err := rig.New(sc, "")
	require.NoError(b, err)
	defer r.Close()
	benchmarkRig(b, r, strategy)
}

// benchmarkRig makes runs of a rig.
func benchmarkRig(b *testing.B, r *rig.Rig, strategy string) {
	shape, _ := r.Survey(0)
	s, err := sched.New(strategy, sched.Params{Seed: 1, Shape: shape})
	require.NoError(b, err)
	rec := &sched.Recorder{Strategy: s}
	b.ReportAllocs()
	n := uint64(0)
	for i := uint64(0); b.Loop(); i++ {
		run, more := r.Next(rec, i)
		require.True(b, more)
		n += run.Counts.Instructions
	}
	b.ReportMetric(float64(n)/float64(b.N), "instr/run")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "M_instr/s")
}

// BenchmarkMachine is what a machine beyond the first takes.
func BenchmarkMachine(b *testing.B) {
	k, err := linux.Open(kerneltest.Path(b, "6.1"))
	require.NoError(b, err)
	linux.Give(k)
	sc, err := library.Load("safe-full")
	require.NoError(b, err)
	require.NoError(b, onlinux.Set(sc, k))
	first, err := rig.New(sc, "")
	require.NoError(b, err)
	defer first.Close()
	b.ReportAllocs()
	for b.Loop() {
		r, err := rig.New(sc, "")
		require.NoError(b, err)
		r.Run(new(sched.Default))
		r.Close()
	}
}
