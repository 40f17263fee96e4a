package findings

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"kpsim/internal/cli"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/report"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/shrink"
	"kpsim/internal/search/storm"
	"kpsim/kprobes/mutants"
	"kpsim/properties"
)

type Storm struct {
	Runs     uint64 `range:"1..1000000000000" default:"30000" placeholder:"N" help:"How many runs in all, at most, the same number for each edition and preemption, and at least one."`
	Each     uint64 `range:"1..1000000000" default:"100" placeholder:"N" help:"How many of them each program is given, at most."`
	Seed     uint64 `range:"0..18446744073709551615" default:"1" help:"What the programs and schedules are drawn from."`
	Edition  string `placeholder:"NAME" help:"One edition only: ${storms}."`
	Preempt  string `placeholder:"NAME" help:"One model of preemption only: ${preempts}."`
	Strategy string `default:"random" placeholder:"NAME" help:"Who decides the schedules: ${strategies}."`
	Workers  int    `range:"0..64" placeholder:"N" help:"How many programs are run at once. Default: one a processor. Changes no result."`
	inputs.Broken
	Traces string `default:"traces" placeholder:"DIR" help:"Where witnesses are written, as NAME.kps."`
	Print  bool   `help:"Print the first program instead, for kpsim explore."`
	JSON   bool   `name:"json" help:"Print one JSON object a line."`

	stop atomic.Bool
}

// stormLines is of how many deviations a schedule is printed.
const stormLines = 40

// A stormRow is what is printed of an edition and a model of preemption.
type stormRow struct {
	Edition    string            `json:"edition"`
	Preempt    string            `json:"preempt"`
	Programs   int               `json:"programs"`
	Runs       uint64            `json:"runs"`
	During     uint64            `json:"optimized_during_call"`
	Points     uint64            `json:"points"`
	Violations uint64            `json:"violations"`
	Broken     map[string]uint64 `json:"broken,omitempty"`
	Found      []uint64          `json:"seeds,omitempty"` // of the programs that broke a property
	Trace      string            `json:"trace,omitempty"`
	Shipped    *inputs.Shipped   `json:"as_shipped,omitempty"`
}

func (c *Storm) Run(p *cli.Program) (int, error) {
	machines, err := c.check()
	if err != nil {
		return 0, err
	}
	if c.Print {
		storm := c.storm(machines[0], 1)
		fmt.Fprintln(p.Out, lang.Print(storm.Scenario(storm.Seed)))
		return cli.OK, nil
	}
	if err := cli.MakeFolder(c.Traces); err != nil {
		return 0, err
	}
	p.StopAtInterrupt(&c.stop)
	cli.ManySmall()
	optimizing := uint64(0)
	all := stormRow{Edition: "all", Preempt: "all"}
	status := cli.OK
	share := max(c.Runs/uint64(len(machines)), 1)
	c.Each = min(c.Each, share)
	programs := int(share / c.Each)
	for _, m := range machines {
		row, err := c.one(p, c.storm(m, programs))
		if err != nil {
			return 0, err
		}
		if row.Violations > 0 && c.Mutant == "" {
			status = cli.Against
		}
		if m.Kernel.Optprobes {
			optimizing += row.Runs
		}
		all.Programs, all.Runs, all.During = all.Programs+row.Programs, all.Runs+row.Runs, all.During+row.During
		all.Points, all.Violations = all.Points+row.Points, all.Violations+row.Violations
		if c.stop.Load() {
			fmt.Fprintf(p.Err, "kpsim: interrupted\n")
			return cli.Interrupted, nil
		}
	}
	if err := c.print(p, &all); err != nil || c.JSON || len(machines) == 1 {
		return status, err
	}
	p.Indented("", fmt.Sprintf("Of the editions that optimize: %d schedules, a jump written during a call in %s", optimizing, cli.Share(all.During, optimizing)))
	return status, nil
}

// check checks the flags that kong doesn't, and returns the programs to run.
func (c *Storm) check() (machines []scenario.Machine, err error) {
	if err := cli.Known("strategy", c.Strategy, inputs.StrategyNames()); err != nil {
		return nil, fmt.Errorf("--strategy: %w", err)
	}
	if err := inputs.OptionalEdition(c.Edition); err != nil {
		return nil, err
	}
	if err := cli.Optional("--preempt", "model of preemption", c.Preempt, inputs.StormPreempts()); err != nil {
		return nil, err
	}
	if err := c.Broken.Check(); err != nil {
		return nil, err
	}
	for _, m := range gen.Machines() {
		if (c.Edition == "" || c.Edition == m.Edition.String()) && (c.Preempt == "" || c.Preempt == m.Preempt.String()) {
			if err = nil; c.AsShipped {
				err = mutants.CheckShipped(m.Edition)
			}
			if err == nil {
				machines = append(machines, m)
			}
		}
	}
	if machines == nil && err != nil {
		return nil, fmt.Errorf("--as-shipped: %w", err)
	} else if machines == nil {
		return nil, fmt.Errorf("--edition %q --preempt %q: no kernel of that edition had that; leave one of them out", c.Edition, c.Preempt)
	}
	return machines, nil
}

func (c *Storm) storm(m scenario.Machine, programs int) storm.Storm {
	return storm.Storm{Machine: m, Seed: c.Seed, Programs: programs, Runs: c.Each, Strategy: c.Strategy, Mutant: c.Mutant, Workers: c.Workers, Cancelled: &c.stop}
}

// one runs the storms of one machine and prints their results.
func (c *Storm) one(p *cli.Program, s storm.Storm) (*stormRow, error) {
	what := fmt.Sprintf("%v, preempt %v", s.Machine.Edition, s.Machine.Preempt)
	p.Doing = "api-storms, " + what
	line := p.Watch(what, uint64(s.Programs)*s.Runs)
	defer line.Clear()
	s.Progress = line.Update
	res, err := runStorm(p, s, func(seed uint64) string { return c.line(&s, seed, "--workers", "1") })
	if err != nil {
		return nil, err
	}
	line.Clear()
	row := &stormRow{
		Edition: s.Machine.Edition.String(), Preempt: s.Machine.Preempt.String(), Programs: res.Programs, Runs: res.Runs, During: res.During,
		Points: res.Counts.Points, Violations: res.Violations, Broken: res.Broken, Found: res.Found,
		Shipped: c.ShippedAs(s.Machine.Edition),
	}
	var w *shrink.Witness
	if len(res.Found) > 0 && !c.stop.Load() {
		p.Again = c.line(&s, row.Found[0], "--workers", "1")
		if w, err = c.witness(&s, row); err != nil {
			return nil, err
		}
	}
	if err := c.print(p, row); err != nil || w == nil || c.JSON {
		return row, err
	}
	stormWitness(p, w, row.Trace)
	return row, nil
}

// storm runs a storm. The report of a bug has the line that makes the runs of the program
// it is in.
func runStorm(p *cli.Program, s storm.Storm, line func(seed uint64) string) (*storm.Result, error) {
	defer func() {
		v := recover()
		if c, ok := v.(*parallel.Crash); ok {
			p.Again = line(s.Seed + uint64(c.Job))
		}
		if v != nil {
			panic(v)
		}
	}()
	return storm.Run(s)
}

// witness shrinks what the first program that broke a property has found, and
// saves it.
func (c *Storm) witness(s *storm.Storm, row *stormRow) (*shrink.Witness, error) {
	seed := row.Found[0]
	res, err := explore.Run(s.Spec(seed))
	if err != nil || res.Witness == nil {
		return nil, err
	}
	row.Trace = filepath.Join(c.Traces, inputs.TraceName(s.Scenario(seed).Name)+".kps")
	if err := cli.WriteWhole(row.Trace, res.Witness.File.Marshal()); err != nil {
		return nil, fmt.Errorf("%s; to find it again: %s", cli.Cause(err, row.Trace), c.line(s, seed))
	}
	return res.Witness, nil
}

// line is the command that runs the program of a seed.
func (c *Storm) line(s *storm.Storm, seed uint64, more ...string) string {
	words := []string{cli.Typed(), "storm", "--edition", s.Machine.Edition.String(), "--preempt", s.Machine.Preempt.String(),
		"--seed", fmt.Sprint(seed), "--runs", fmt.Sprint(s.Runs), "--each", fmt.Sprint(s.Runs)}
	if c.Strategy != storm.DefaultStrategy {
		words = append(words, "--strategy", c.Strategy)
	}
	if c.Mutant != "" {
		words = append(words, "--mutant", c.Mutant)
	}
	return cli.Line(append(words, more...)...)
}

func (c *Storm) print(p *cli.Program, r *stormRow) error {
	if c.JSON {
		return p.PrintJSON(r)
	}
	inputs.TellShipped(p, r.Shipped)
	said := brokenBy(r.Broken)
	if said == inputs.Never && r.Violations == 0 {
		said = c.Never()
	} else if said != inputs.Never {
		said += fmt.Sprintf("; seed %d", r.Found[0])
	} else if r.Violations > 0 {
		said = inputs.Sometimes
	}
	p.Indented("", fmt.Sprintf("%-10s  %-9s  %s  %s  %7s optimized during a call  %s", r.Edition, r.Preempt, cli.Counted(r.Programs, 6, "program"), cli.Counted(r.Runs, 8, "schedule"), cli.Share(r.During, r.Runs), said))
	return nil
}

// brokenBy says which properties were broken, and by how many schedules.
func brokenBy(broken map[string]uint64) string {
	var names []string
	for _, q := range properties.All {
		if n := broken[q.Name]; n > 0 {
			names = append(names, fmt.Sprintf("%s by %d", q.Name, n))
		}
	}
	if names == nil {
		return inputs.Never
	}
	return inputs.Sometimes + ": " + strings.Join(names, ", ")
}

// stormWitness prints what a program's witness shows, and how to replay its trace.
func stormWitness(p *cli.Program, w *shrink.Witness, trace string) {
	p.Indented(cli.Indent, report.Headline(p, w.File))
	if len(w.Schedule) <= stormLines {
		for _, l := range scheduleLines(w.Schedule) {
			p.Indented(cli.Indent+"  ", l)
		}
	}
	p.ToType(cli.Number(len(w.Schedule), "deviation")+"; to replay:", cli.Line(cli.Typed(), "replay", trace))
}
