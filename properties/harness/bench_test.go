package harness

import (
	"testing"

	"kpsim/properties/scenario"
	"kpsim/sched"
)

func benchSchedules(b *testing.B, name, strategy string) {
	sc, err := scenario.LoadBuiltin(name)
	if err != nil {
		b.Fatal(err)
	}
	r, err := New(sc, "")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	length := r.Run(new(sched.Default)).Counts.Points
	s, err := sched.New(strategy, sched.Params{Length: length})
	if err != nil {
		b.Fatal(err)
	}
	rec := &sched.Recorder{Strategy: s}
	var points, instr, parks uint64
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if !rec.Begin(uint64(i)) {
			b.Fatal("nothing left")
		}
		run := r.Run(rec)
		rec.End(run.Counts.Points)
		if run.Property != nil {
			b.Fatalf("%s: %s", run.Property.Name, run.Finding.Message)
		}
		points += run.Counts.Points
		instr += run.Counts.Instructions
		parks += run.Counts.Switches
	}
	n := float64(b.N)
	b.ReportMetric(float64(points)/n, "points/run")
	b.ReportMetric(float64(instr)/n, "instructions/run")
	b.ReportMetric(float64(parks)/n, "switches/run")
	b.ReportMetric(n/b.Elapsed().Seconds(), "schedules/s")
}

func BenchmarkSchedules(b *testing.B) {
	for _, strategy := range []string{"random", "sticky", "portfolio"} {
		b.Run(strategy, func(b *testing.B) { benchSchedules(b, "safe-none", strategy) })
	}
}
