package linux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/linux"
	"kpsim/linux/vmlinux/kerneltest"
	"kpsim/sched"
)

// BenchmarkRun is register, hit, optimize and unregister on two CPUs, all monitors, under
// a strategy that is cheap.
func BenchmarkRun(b *testing.B) {
	k, err := linux.Open(kerneltest.Path(b, "6.1"))
	require.NoError(b, err)
	linux.Give(k)
	sc, err := library.Load("safe-full")
	require.NoError(b, err)
	require.NoError(b, sc.SetLinux(k))
	r, err := rig.New(sc, "")
	require.NoError(b, err)
	defer r.Close()
	length := r.Run(new(sched.Default)).Counts.Points
	for _, row := range sched.All {
		if row.Name != "sticky" {
			continue
		}
		s := row.New(sched.Params{Seed: 1, Length: length})
		b.ReportAllocs()
		n := uint64(0)
		for i := uint64(0); b.Loop(); i++ {
			s.Begin(i)
			run := r.Run(s)
			s.End(run.Counts.Points)
			n += run.Counts.Instructions
		}
		b.ReportMetric(float64(n)/float64(b.N), "instr/run")
		b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "M_instr/s")
	}
}
