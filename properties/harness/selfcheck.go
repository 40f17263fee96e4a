package harness

import (
	"kpsim/sched"
	"kpsim/sim"
)

// SelfCheck asks whether the simulator is deterministic: it makes spec.Runs
// runs, plays each again exactly on the same rig, which by then has run many
// others, and again on a rig just built, and compares the digests. A difference
// is a bug of the simulator, and panics. It returns how many runs it compared.
func SelfCheck(spec Spec) (uint64, error) {
	if spec.Strategy == "" {
		spec.Strategy = "portfolio"
	}
	shape, err := survey(&spec)
	if err != nil {
		return 0, err
	}
	used, err := New(spec.Scenario, spec.Mutant)
	if err != nil {
		return 0, err
	}
	defer used.Close()
	s, err := sched.New(spec.Strategy, sched.Params{Seed: spec.Seed, Shape: shape})
	if err != nil {
		return 0, err
	}
	rec := &sched.Recorder{Strategy: s, All: true}
	n := uint64(0)
	for ; n < spec.Runs && rec.Begin(n); n++ {
		run := used.Run(rec)
		rec.End(run.Counts.Points)
		again := used.play(sched.NewExact(rec.Recording()))
		fresh, err := New(spec.Scenario, spec.Mutant)
		if err != nil {
			return n, err
		}
		new := fresh.play(sched.NewExact(rec.Recording()))
		fresh.Close()
		if again.Digest != run.Digest || new.Digest != run.Digest {
			sim.Bug("%s, run %d (%v, seed %d): digest %016x, again %016x, on a new machine %016x",
				spec.Scenario.Name, n, rec, spec.Seed, run.Digest, again.Digest, new.Digest)
		}
	}
	return n, nil
}
