package explore

import (
	"fmt"
	"sync/atomic"

	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// checkBlock runs are replayed together; one in observedOf of them is observed during its replay.
const (
	checkBlock = 64
	observedOf = 16
)

// SelfCheck checks that the simulator is deterministic, and returns the number of schedules
// compared. It makes the share's runs in blocks. It replays each block in another order on the
// same machine, which by then has run many others, and in a third order on a machine built for
// the block. Every question of a replay is compared: its kind, number and alternatives. Some
// replays are observed (sim.Observer), others not.
// Everything that runs report is compared: digest, outcome, finding, counts. A difference is a
// bug of the simulator, and panics.
func SelfCheck(spec Spec) (uint64, error) {
	spec.fill()
	shape, err := survey(&spec)
	if err != nil {
		return 0, err
	}
	var (
		own   = spec.own()
		total = progress{spec: &spec}
		errs  = make([]error, len(own))
		n     atomic.Uint64
	)
	parallel.Run(spec.Workers, len(own), &total.stop, func() (do func(job int), close func()) {
		c := checker{spec: &spec, used: spec.MustRig().Learnt()}
		return func(i int) { errs[i] = c.shard(&total, shape, uint64(own[i]), &n) }, c.used.Close
	})
	for _, err := range errs {
		if err != nil {
			return n.Load(), fmt.Errorf("%s: %w", spec.Scenario.Name, err)
		}
	}
	return n.Load(), nil
}

// A checker replays runs, on a machine of its own and on new ones.
type checker struct {
	spec  *Spec
	used  *rig.Rig
	block []checked
	rand  sim.Rand

	happens sched.Happens
}

// A checked is a run to be replayed.
type checked struct {
	number uint64
	by     string
	run    rig.Run
	replay *sched.Exact
}

func (c *checker) shard(total *progress, shape *sched.Shape, index uint64, n *atomic.Uint64) error {
	shards := uint64(c.spec.Dealt)
	s, err := c.spec.strategy(sched.Params{Seed: c.spec.Seed, Shape: shape, Shard: index, Shards: shards})
	if err != nil {
		return err
	}
	c.rand.Seed(c.spec.Seed, index)
	rec := &sched.Recorder{Strategy: s, All: true}
	for i := index; i < c.spec.Runs; {
		c.block = c.block[:0]
		for ; i < c.spec.Runs && len(c.block) < checkBlock && !total.stopped(); i += shards {
			run, more := c.used.Next(rec, i)
			if !more {
				break
			}
			if run.Outcome == smp.Refused {
				return run.Err
			}
			c.block = append(c.block, checked{i, rec.String(), run, sched.NewExact(rec.Recording())})
		}
		if len(c.block) == 0 {
			break
		}
		c.again(c.used, "on the same machine")
		fresh := c.spec.MustRig()
		c.again(fresh, "on a new machine")
		fresh.Close()
		n.Add(uint64(len(c.block)))
		total.add(uint64(len(c.block)), 0)
	}
	return nil
}

// again replays the block in a random order, and compares.
func (c *checker) again(rig *rig.Rig, where string) {
	for k := len(c.block) - 1; k > 0; k-- {
		o := c.rand.N(k + 1)
		c.block[k], c.block[o] = c.block[o], c.block[k]
	}
	for i := range c.block {
		b := &c.block[i]
		if rig.Observe(nil); i%observedOf == 0 { // observing must not change the run
			c.happens.Reset()
			rig.Observe(&c.happens)
		}
		run := rig.Play(b.replay)
		if what := differ(&b.run, &run); what != "" {
			sim.Bug("%s, run %d (%s, seed %d), played again %s after %d others: %s", c.spec.Scenario.Name, b.number,
				b.by, c.spec.Seed, where, i, what)
		}
	}
}

// differ describes how two runs of one schedule differ; "" if they don't.
func differ(a, b *rig.Run) string {
	switch {
	case a.Digest != b.Digest:
		return fmt.Sprintf("digest %016x, and now %016x", a.Digest, b.Digest)
	case a.Outcome != b.Outcome || a.Property != b.Property || a.Finding != b.Finding:
		return fmt.Sprintf("it ended %v (%s), and now %v (%s)", a.Outcome, a.Finding.Message, b.Outcome,
			b.Finding.Message)
	case a.Counts != b.Counts:
		return fmt.Sprintf("counts %+v, and now %+v", a.Counts, b.Counts)
	}
	return ""
}
