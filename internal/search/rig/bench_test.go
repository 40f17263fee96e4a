package rig_test

import (
	"testing"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
)

func benchSchedules(b *testing.B, name, strategy string) {
	sc, err := library.Load(name)
	if err != nil {
		b.Fatal(err)
	}
	r, err := rig.New(sc, "")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	shape, _ := r.Survey(0)
	s, err := sched.New(strategy, sched.Params{Shape: shape})
	if err != nil {
		b.Fatal(err)
	}
	rec := &sched.Recorder{Strategy: s}
	var points, instr, parks uint64
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		run, more := r.Next(rec, uint64(i))
		if !more {
			b.Fatal("nothing left")
		}
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

// BenchmarkSchedules is also where the prices of a portfolio's members are from
// (but that of deviations, whose runs are finite in number): what a run takes,
// in quarters of sticky's.
func BenchmarkSchedules(b *testing.B) {
	for _, strategy := range []string{"portfolio", "sticky", "arriving", "pct", "pos", "guided", "random"} {
		b.Run(strategy, func(b *testing.B) { benchSchedules(b, "safe-none", strategy) })
	}
}

// A run allocates nothing, whatever schedule it is: what it makes it makes in
// the memory of the runs before.
func TestRunAllocatesNothing(t *testing.T) {
	for _, name := range []string{"safe-none", "safe-full", "register-storm-full", "jump-label-flip",
		"optimization-off", "function-at-work"} {
		runs := 200 / min(searchtest.Slow, 4)
		if name == "function-at-work" { // 40 times as long as the others
			runs /= 10
		}
		sc, err := library.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rig.New(sc, "")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		shape, _ := r.Survey(0)
		s := sched.NewRandom(sched.Params{Shape: shape})
		i := uint64(0)
		run := func() { // some runs at once: now and then one is the longest so far
			for range runs {
				s.Begin(i)
				r.Run(s)
				i++
			}
		}
		run()
		if n := testing.AllocsPerRun(5, run); n > 20 {
			t.Errorf("%s: %d runs make %v allocations", name, runs, n)
		}
	}
}
