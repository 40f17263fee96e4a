package findings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"kpsim/internal/cli"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/shrink"
	"kpsim/internal/search/storm"
	"kpsim/kprobes/rules"
	"kpsim/properties"
)

type Fuzz struct {
	Runs     uint64        `range:"1..1000000000000" default:"20000" placeholder:"N" help:"How many runs in all."`
	For      time.Duration `range:"0s..8760h" placeholder:"TIME" help:"Go on so long instead: 30s, 1h."`
	Each     uint64        `range:"1..1000000000" default:"100" placeholder:"N" help:"How many runs each program is given."`
	Seed     uint64        `range:"0..18446744073709551615" default:"1" help:"Of the first program; those behind it have the next ones."`
	Strategy string        `placeholder:"NAME" help:"Who decides the schedules: ${strategies}. Default: drawn, mostly random."`
	Workers  int           `range:"0..64" placeholder:"N" help:"How many programs are run at once. Default: one a processor. Changes no result."`
	inputs.Broken
	Traces string `default:"traces" placeholder:"DIR" help:"Where witnesses are written, as NAME.kps."`
	Print  bool   `help:"Print the first program instead, for kpsim explore."`
	JSON   bool   `name:"json" help:"Print one JSON object a line."`

	stop atomic.Bool
	late atomic.Bool // the time is over
}

// fuzzBatch is how many programs are run between two looks at the clock and at what
// was found.
const fuzzBatch = 200

// A fuzzRow is what is printed of an edition, or of all.
type fuzzRow struct {
	Edition    string            `json:"edition"`
	Programs   int               `json:"programs"`
	Runs       uint64            `json:"runs"`
	Optimizing uint64            `json:"optimizing"` // runs on machines that make breakpoints jumps
	During     uint64            `json:"optimized_during_call"`
	Points     uint64            `json:"points"`
	Chosen     uint64            `json:"50_points"` // runs with so many or more
	Least      uint64            `json:"points_least"`
	Percent    []uint64          `json:"points_percentiles"` // of the runs: 1, 5, 25, 50, 75, 95 and 99
	Violations uint64            `json:"violations"`
	Broken     map[string]uint64 `json:"broken,omitempty"`
	Shipped    *inputs.Shipped   `json:"as_shipped,omitempty"`
}

// A fuzzFind is what is printed of a property that was broken.
type fuzzFind struct {
	Property   string `json:"property"`
	Seed       uint64 `json:"seed"`
	Deviations int    `json:"deviations"`
	Trace      string `json:"trace"`
}

func (c *Fuzz) Run(p *cli.Program) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	s := storm.Storm{Any: true, Seed: c.Seed, Runs: c.Each, Strategy: c.Strategy, Mutant: c.Mutant, Workers: c.Workers, Cancelled: &c.late}
	if c.Print {
		fmt.Fprintln(p.Out, lang.Print(s.Scenario(c.Seed)))
		return cli.OK, nil
	}
	if err := cli.MakeFolder(c.Traces); err != nil {
		return 0, err
	}
	p.StopAtInterrupt(&c.stop)
	cli.ManySmall()
	total, err := c.all(p, s)
	if err != nil {
		return 0, err
	}
	for _, e := range append(rules.AllEditions(), rules.EditionNone) {
		if of := total.Of[e]; of != nil {
			name := e.String()
			if e == rules.EditionNone {
				name = "none"
			}
			if err := c.print(p, name, of, c.ShippedAs(e)); err != nil {
				return 0, err
			}
		}
	}
	if err := c.print(p, "all", total, nil); err != nil {
		return 0, err
	}
	switch {
	case c.stop.Load():
		fmt.Fprintf(p.Err, "kpsim: interrupted\n")
		return cli.Interrupted, nil
	case total.Violations > 0 && c.Mutant == "":
		return cli.Against, nil
	}
	return cli.OK, nil
}

// check checks the flags that kong doesn't.
func (c *Fuzz) check() error {
	if err := cli.Optional("--strategy", "strategy", c.Strategy, inputs.StrategyNames()); err != nil {
		return err
	}
	return c.Broken.Check()
}

// all runs batches of programs until there were enough, and tells of each property the
// first that broke it.
func (c *Fuzz) all(p *cli.Program, s storm.Storm) (*storm.Result, error) {
	programs := (c.Runs + c.Each - 1) / c.Each // neither overflows: see their ranges
	runs := programs * c.Each
	if c.For > 0 {
		programs, runs = ^uint64(0), 0
		defer time.AfterFunc(c.For, func() { c.late.Store(true) }).Stop()
	}
	line := p.Watch("drawn scenarios", runs)
	defer line.Clear()
	total := storm.New()
	s.Progress = func(r, v uint64) {
		line.Update(total.Runs+r, total.Violations+v)
		if c.stop.Load() {
			c.late.Store(true)
		}
	}
	told := make(map[string]bool)
	p.Doing = "drawn scenarios"
	for programs > 0 && !c.late.Load() && !c.stop.Load() {
		s.Programs = int(min(programs, fuzzBatch))
		programs -= uint64(s.Programs)
		res, err := runStorm(p, s, func(seed uint64) string { return c.line(seed, c.Each, "--workers", "1") })
		if err != nil {
			return nil, err
		}
		total.Add(res)
		for _, q := range properties.All {
			if seed, broken := res.First[q.Name]; broken && !told[q.Name] {
				told[q.Name] = true
				line.Clear()
				if err := c.tell(p, &s, seed, q); err != nil {
					return nil, err
				}
			}
		}
		s.Seed += uint64(s.Programs)
	}
	return total, nil
}

// tell shrinks what the program of a seed has found of a property, saves it and prints
// how to replay it.
func (c *Fuzz) tell(p *cli.Program, s *storm.Storm, seed uint64, q *properties.Property) error {
	spec := s.Spec(seed)
	p.Again = c.line(seed, c.Each, "--workers", "1")
	spec.Cancelled = nil // what was found is shrunk, even if the time is over
	res, err := explore.Run(spec)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(res.Witnesses, func(w *shrink.Witness) bool { return w.Property == q })
	if i < 0 {
		return nil
	}
	w := res.Witnesses[i]
	find := fuzzFind{q.Name, seed, len(w.Schedule), filepath.Join(c.Traces, inputs.TraceName(q.ID+"-"+spec.Scenario.Name)+".kps")}
	if err := cli.WriteWhole(find.Trace, w.File.Marshal()); err != nil {
		return fmt.Errorf("%s; to find it again: %s", cli.Cause(err, find.Trace), c.line(seed, c.Each))
	}
	if c.JSON {
		return p.PrintJSON(find)
	}
	if _, err := fmt.Fprintf(p.Out, "seed %d breaks %s: %s\n", seed, q.Name, w.Message); err != nil {
		return err
	}
	stormWitness(p, w, find.Trace)
	return nil
}

// line is the command that makes runs from a seed on.
func (c *Fuzz) line(seed, runs uint64, more ...string) string {
	words := []string{cli.Typed(), "fuzz", "--seed", fmt.Sprint(seed), "--runs", fmt.Sprint(runs), "--each", fmt.Sprint(c.Each)}
	if c.Strategy != "" {
		words = append(words, "--strategy", c.Strategy)
	}
	if c.Mutant != "" {
		words = append(words, "--mutant", c.Mutant)
	}
	return cli.Line(append(words, more...)...)
}

func (c *Fuzz) print(p *cli.Program, name string, r *storm.Result, s *inputs.Shipped) error {
	if c.JSON {
		return p.PrintJSON(fuzzRow{name, r.Programs, r.Runs, r.Optimizing, r.Under, r.Counts.Points, r.Chosen, r.Spread.Least(), percents(r, 1, 5, 25, 50, 75, 95, 99), r.Violations, r.Broken, s})
	}
	inputs.TellShipped(p, s)
	said := brokenBy(r.Broken)
	if said == inputs.Never {
		said = c.Never()
	}
	during := "none writes jumps"
	if r.Optimizing > 0 {
		during = cli.Share(r.Under, r.Optimizing) + " optimized during a call"
	}
	p.Indented("", fmt.Sprintf("%-10s  %s  %s  %31s  %7s with %d points or more: %d, %s  %s",
		name, cli.Counted(r.Programs, 6, "program"), cli.Counted(r.Runs, 8, "schedule"), during, cli.Share(r.Chosen, r.Runs), storm.Points, r.Spread.Least(), spaced(percents(r, 5, 25, 50, 75, 95)), said))
	return nil
}

// percents are percentiles of the points of runs.
func percents(r *storm.Result, of ...uint64) (list []uint64) {
	for _, p := range of {
		list = append(list, r.Spread.Percent(p))
	}
	return list
}

// spaced prints numbers with spaces between.
func spaced(list []uint64) string { return strings.Trim(fmt.Sprint(list), "[]") }
