package kpsimtest

import (
	"context"
	"fmt"

	"kpsim/internal/search/explore"
	"kpsim/properties"
)

// An Option changes what is searched, and how long.
type Option func(*config) error

// A config is the result of all options.
type config struct {
	ctx        context.Context
	runs       uint64
	deviations int // -1: schedules are drawn
	seed       uint64
	strategy   string
	mutant     string
	edition    string
	fetch      string
	memory     string
	judged     properties.Set
	witness    string // a trace whose schedule is run first
}

// defaultRuns is how many schedules are drawn: a second or two of most scenarios.
const defaultRuns = 2000

func newConfig(options []Option) (*config, error) {
	c := &config{ctx: context.Background(), runs: defaultRuns, deviations: -1, seed: 1,
		strategy: explore.DefaultStrategy,
		judged:   properties.Every}
	for _, o := range options {
		if err := o(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Context ends a search early when ctx is done, which fails the test.
func Context(ctx context.Context) Option {
	return func(c *config) error { c.ctx = ctx; return nil }
}

// Runs draws n schedules. Without it 2000 are drawn.
func Runs(n uint64) Option {
	return func(c *config) error {
		if n == 0 {
			return fmt.Errorf("Runs(0) shows nothing")
		}
		c.runs = n
		return nil
	}
}

// Deviations runs every schedule of at most k deviations from the default run
// instead of drawing some.
func Deviations(k int) Option {
	return func(c *config) error {
		if k < 0 {
			return fmt.Errorf("Deviations(%d): it is a number of choices", k)
		}
		c.deviations = k
		return nil
	}
}

// Seed sets the seed of the drawn schedules; the default is 1.
func Seed(seed uint64) Option {
	return func(c *config) error { c.seed = seed; return nil }
}

// Strategy names the strategy that decides the schedules, as "pct". Without it
// the portfolio does, which shares the runs out to all.
func Strategy(name string) Option {
	return func(c *config) error { c.strategy = name; return nil }
}

// Properties checks only these properties, by name or ID. A run that breaks another one goes on. By default all are
// checked.
func Properties(names ...string) Option {
	return func(c *config) (err error) {
		c.judged, err = properties.Named(names...)
		if err == nil && c.judged == 0 {
			err = fmt.Errorf("Properties(): no property is named")
		}
		return err
	}
}

// Mutant breaks the engine on purpose, as "no-quiesce". "as-shipped" brings back the
// faults that the kernels of the scenario's edition are known to have had.
func Mutant(name string) Option {
	return func(c *config) error { c.mutant = name; return nil }
}

// Edition runs the scenario in an edition of the kernel's document, such as "6.5", instead of the scenario's engine
// settings.
func Edition(edition string) Option {
	return func(c *config) error { c.edition = edition; return nil }
}

// Fetch sets what a CPU may fetch from text that changes, "coherent", "stale" or "mixing", instead of the scenario's
// setting.
func Fetch(model string) Option {
	return func(c *config) error { c.fetch = model; return nil }
}

// Memory sets the order in which other CPUs see a CPU's accesses to data, "sc", "tso" or "lkmm", instead of the
// scenario's setting.
func Memory(model string) Option {
	return func(c *config) error { c.memory = model; return nil }
}

// Witness runs the schedule of a trace first, on the scenario as it is now: a failure that was found once is tested
// whatever schedules are drawn. The tasks must be called as in the trace. Only Never heeds it.
func Witness(file string) Option {
	return func(c *config) error { c.witness = file; return nil }
}
