package storm

import (
	"testing"

	"kpsim/internal/scenario/gen"
	"kpsim/kprobes/rules"
)

// benchStorm runs the programs of a storm, so many runs of each, as RunStorm does but
// on one core.
func benchStorm(b *testing.B, s Storm) {
	var points, instr, during uint64
	b.ReportAllocs()
	n := uint64(0)
	for seed := uint64(1); b.Loop(); seed++ {
		one, err := s.program(seed)
		if err != nil {
			b.Fatal(err)
		}
		if one.Violations > 0 {
			b.Fatalf("seed %d: %v", seed, one.Broken)
		}
		n += one.Runs
		points, instr, during = points+one.Counts.Points, instr+one.Counts.Instructions, during+one.During
	}
	b.ReportMetric(float64(points)/float64(n), "points/run")
	b.ReportMetric(float64(instr)/float64(n), "instructions/run")
	b.ReportMetric(float64(during)/float64(n), "during/run")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "schedules/s")
}

// BenchmarkStorm is one program of kpsim storm with all its runs, 100.
func BenchmarkStorm(b *testing.B) {
	for _, m := range gen.Machines() {
		if m.Edition == rules.Edition69 {
			b.Run(m.Edition.String()+"/"+m.Preempt.String(), func(b *testing.B) { benchStorm(b, Storm{Machine: m, Runs: 100}) })
		}
	}
}

// BenchmarkFuzz is one program of kpsim fuzz with all its runs, 100.
func BenchmarkFuzz(b *testing.B) { benchStorm(b, Storm{Any: true, Runs: 100}) }
