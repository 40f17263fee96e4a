package report

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/vet"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/internal/ui/verdict"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/traces/view"
)

// RunFlags holds the flags that say how a single run is made.
type RunFlags struct {
	Seed     *uint64 `range:"0..18446744073709551615" placeholder:"N" help:"Let a strategy choose the next mover: run number 0 of explore with this seed. Default: the default schedule, in which the current CPU goes on."`
	Strategy string  `placeholder:"NAME" help:"Which strategy, with --seed: ${strategies}. Default: portfolio; for shell sticky."`
	Edition  string  `placeholder:"NAME" help:"Make the machine that of an edition of the kernel's document: ${editions}, documented."`
	Memory   string  `placeholder:"MODEL" help:"The order in which CPUs see each other's accesses to data: ${memories}. It replaces the scenario's."`
	kernels.Kernel
	inputs.Broken
}

// IsSet reports whether any of these flags is set, except those of the kernel.
func (c *RunFlags) IsSet() bool {
	return c.Seed != nil || c.Strategy != "" || c.Edition != "" || c.Memory != "" || c.Broken != (inputs.Broken{})
}

// Schedule reads the scenario and makes the chooser. With a seed and no strategy named, the
// strategy is usual.
func (c *RunFlags) Schedule(read inputs.ScenarioReader, what, usual string) (*inputs.Input, sched.Strategy, error) {
	if err := c.Broken.Check(); err != nil {
		return nil, nil, err
	}
	if err := cli.Optional("--strategy", "strategy", c.Strategy, inputs.StrategyNames()); err != nil {
		return nil, nil, err
	}
	if err := drawable.OptionalEdition(c.Edition); err != nil {
		return nil, nil, err
	}
	if _, err := inputs.OptionalMemory(c.Memory); err != nil {
		return nil, nil, err
	}
	if err := c.Kernel.Alone(c.Edition, c.Mutant); err != nil {
		return nil, nil, err
	}
	if c.Strategy != "" && c.Seed == nil {
		return nil, nil, fmt.Errorf("--strategy: it draws from a seed; give one, as --strategy %s --seed 1", c.Strategy)
	}
	jobs, err := inputs.LoadBy(read, []string{what})
	if err != nil {
		return nil, nil, err
	}
	if len(jobs) > 1 {
		return nil, nil, fmt.Errorf("%s is a family of %d scenarios; choose one of them, as %s", what, len(jobs),
			jobs[0].Name)
	}
	j := jobs[0]
	if err := c.Kernel.Set(j); err != nil {
		return nil, nil, err
	}
	if c.Edition != "" {
		if err := j.SetEdition(c.Edition); err != nil {
			return nil, nil, fmt.Errorf("--edition: %s: %w", j.Arg, err)
		}
	}
	if c.Memory != "" {
		if err := j.SetMemory(c.Memory); err != nil {
			return nil, nil, fmt.Errorf("--memory: %s: %w", j.Arg, err)
		}
	}
	if c.Seed == nil {
		return j, new(sched.Default), nil
	}
	if c.Strategy != "" {
		usual = c.Strategy
	}
	spec := explore.Spec{Scenario: j.Scenario, Mutant: c.Mutant, Strategy: usual, Seed: *c.Seed}
	s, err := spec.First()
	return j, s, err
}

// OneRun is kpsim run.
type OneRun struct {
	Scenario string `arg:"" help:"A scenario, built-in or a file NAME.star."`
	RunFlags
	Functions bool `help:"Print instead, with --kernel, which functions of the kernel ran as they were compiled, and for which kpsim stood in."`
	JSON      bool `name:"json" xor:"form" help:"Print one JSON object."`
	cli.Format
}

// Help implements kong.HelpProvider.
func (*OneRun) Help() string {
	return `Run a scenario once: print its probes at the end, their hits, and the kernel's log.

Prints kprobes/list at the end of the run, how often each probe was hit and missed, what the kernel printed, and how the run ended. The same seed gives the same run.

Examples:

  kpsim run safe-full
  kpsim run safe-full --seed 7
  kpsim run --json torn-jump --seed 3 --strategy random
  kpsim run --edition 4.15 --as-shipped globally-off
  kpsim run --kernel vmlinuz --functions safe-full

Exit status: 0 nothing is broken, 1 a property is, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// A runJSON is the output of run --json.
type runJSON struct {
	Scenario string          `json:"scenario"`
	Edition  string          `json:"edition"` // "": no edition
	Mutant   string          `json:"mutant"`  // "": the correct engine
	Strategy string          `json:"strategy"`
	Seed     *uint64         `json:"seed"`
	Outcome  string          `json:"outcome"`
	Property *string         `json:"property"`
	Message  string          `json:"message,omitempty"`
	List     []string        `json:"list"`
	Probes   []probeJSON     `json:"probes"`
	Idle     []string        `json:"idle"` // why probes weren't hit, and which other objects were made and not used
	Log      []string        `json:"log"`
	Steps    uint64          `json:"steps"`
	Digest   string          `json:"digest"`
	Shipped  *inputs.Shipped `json:"as_shipped,omitempty"`
}

// A probeJSON is what one probe did during a run.
type probeJSON struct {
	Name     string         `json:"name"`
	Place    string         `json:"place"`
	Handlers map[string]int `json:"handlers"` // number of calls of each of its handlers
	Nmissed  int            `json:"nmissed"`
	Skipped  int            `json:"skipped"` // hits skipped because a sibling changed the path

	Line string `json:"-"` // the line of the plain output
}

func (c *OneRun) Run(p *cli.Program) (int, error) {
	j, s, err := c.Schedule(lang.LoadUsed, c.Scenario, explore.DefaultStrategy)
	if err != nil {
		return 0, err
	}
	p.ExitAtInterrupt("the run isn't over")
	p.Doing = "one run of " + c.Scenario
	rig, err := rig.New(j.Scenario, c.Mutant)
	if err != nil {
		return 0, j.FileFirst(err)
	}
	defer rig.Close()
	if c.Functions {
		ran, run, err := kernels.Watch(rig, s, "")
		if err == nil {
			err = run.Err
		}
		if err != nil {
			return 0, j.FileFirst(err)
		}
		status := cli.OK
		if run.Property != nil {
			status = cli.Against
		}
		return status, printFunctions(p, ran, c.JSON)
	}
	run, tally := rig.Once(s)
	if run.Err != nil {
		return 0, j.FileFirst(run.Err)
	}

	out := runJSON{
		Scenario: j.Name, Edition: j.Machine.Edition.String(), Mutant: c.Mutant, Strategy: s.String(), Seed: c.Seed,
		Outcome: run.Outcome.String(),
		List:    lines(rig.List()), Probes: HitsOf(rig, tally), Log: append([]string{}, tally.Lines...),
		Steps: run.Counts.Boundaries, Digest: fmt.Sprintf("%016x", run.Digest), Shipped: c.ShippedAs(j.Machine.Edition),
	}
	out.Idle = append([]string{}, j.NeverHit(tally.Probed(len(j.Probes)), "another order may: "+c.otherCommand())...)
	out.Idle = append(out.Idle, vet.Unflipped(j.Scenario)...)
	if !j.Builtin() {
		never, _ := j.NeverJumps(c.Mutant)
		out.Idle = append(append(out.Idle, scenario.Messages(vet.Inert(j.Scenario))...), scenario.Messages(never)...)
	}
	status := cli.OK
	if run.Property != nil {
		out.Property, out.Message, status = &run.Property.ID, rig.Verdict(&run), cli.Against
	}
	c.judge(p, j, &out)
	if c.JSON {
		return status, p.PrintJSON(out)
	}
	out.print(p, c.searchCommand())
	return status, nil
}

// otherCommand returns the command that makes a run with another order.
func (c *OneRun) otherCommand() string {
	seed := uint64(1)
	if c.Seed != nil {
		seed = *c.Seed + 1
	}
	return c.Kernel.Line("run", "--seed", fmt.Sprint(seed), c.Scenario) + ", or all that " +
		c.Kernel.Line("explore", c.Scenario) + " tries"
}

// searchCommand returns the command that searches for the property that this run broke. Its search
// includes this run.
func (c *OneRun) searchCommand() string {
	words := cli.WithFlags([]string{cli.Typed(), "explore", c.Scenario}, "--memory", c.Memory, "--edition", c.Edition,
		"--mutant", c.Mutant)
	if c.Seed != nil {
		words = cli.WithFlags(words, "--strategy", c.Strategy, "--seed", c.Seed)
	}
	return cli.Line(append(words, c.Kernel.Words()...)...)
}

// judge adds the case of the run.
func (c *OneRun) judge(p *cli.Program, j *inputs.Input, o *runJSON) {
	one := verdict.Case{Group: o.Scenario, Name: "one run", Says: o.Outcome + ": nothing is broken", Notes: o.Idle}
	if o.Property != nil {
		one.Outcome, one.Rule, one.Says = verdict.Failed, *o.Property, o.Message
		_, place, _ := strings.Cut(o.Message, " at ")
		place, _, _ = strings.Cut(place, ":")
		one.Places, one.Next = j.Where(place), c.searchCommand()
	}
	p.Judged.Add(one)
}

// lines splits a file into lines. The result is never nil.
func lines(s string) []string {
	return slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool { return l == "" })
}

func (o *runJSON) print(p *cli.Program, search string) {
	inputs.TellShipped(p, o.Shipped)
	how := o.Strategy
	if o.Seed != nil {
		how += fmt.Sprintf(", seed %d", *o.Seed)
	}
	if o.Mutant != "" {
		how += ", mutant " + o.Mutant
	}
	p.Indented("", fmt.Sprintf("%s: one run, %s, %s", o.Scenario, how, cli.Number(o.Steps, "step")))
	section := func(name string, list []string) {
		if len(list) == 0 {
			list = []string{"(nothing)"}
		}
		fmt.Fprintf(p.Out, "\n%s:\n", name)
		for _, l := range list {
			fmt.Fprintf(p.Out, "  %s\n", l) // as the kernel prints it, however wide
		}
	}
	section("kprobes/list in the end", o.List)
	var hits []string
	for _, h := range o.Probes {
		hits = append(hits, view.Fold(h.Line, p.Width-2)...)
	}
	section("hits", hits)
	for _, l := range o.Idle {
		p.Indented("  ", l)
	}
	section("the kernel has printed", o.Log)
	fmt.Fprintln(p.Out)
	if o.Property == nil {
		fmt.Fprintf(p.Out, "%s: nothing is broken\n", p.Paint(cli.Green, o.Outcome))
	} else {
		p.Indented("", p.Paint(cli.Red, "VIOLATION")+": "+o.Message)
		p.Next("", "to find it, as small as can be:", search)
	}
	fmt.Fprintf(p.Out, "digest %s\n", o.Digest)
}

// HitsOf returns what each probe did.
func HitsOf(rig *rig.Rig, t *rig.Tally) []probeJSON {
	list := []probeJSON{}
	for i := range rig.Scenario.Probes {
		sp := &rig.Scenario.Probes[i]
		at, nmissed := rig.Probe(i)
		h := probeJSON{Name: sp.Name, Place: rig.Machine.Names().Symbol(at), Nmissed: nmissed,
			Handlers: map[string]int{}}
		h.Line = fmt.Sprintf("%s at %s:", h.Name, h.Place)
		count := func(which uint64, there bool) {
			if name := kpev.HandlerNames.Name(which); there {
				h.Handlers[name] = t.Counts(uint64(i), which)
				h.Line += fmt.Sprintf(" %s %d,", name, h.Handlers[name])
			}
		}
		count(kpev.Pre, sp.Kind == scenario.ProbeKprobe && sp.Pre != nil)
		count(kpev.Post, sp.Kind == scenario.ProbeKprobe && sp.Post != nil)
		count(kpev.Fault, sp.Fault != nil)
		count(kpev.Entry, sp.Kind == scenario.ProbeKretprobe && sp.Pre != nil)
		count(kpev.Return, sp.Kind == scenario.ProbeKretprobe && sp.Post != nil)
		if sp.Kind == scenario.ProbeJprobe {
			h.Handlers["entry"] = t.Entries(uint64(i))
			h.Line += fmt.Sprintf(" entry %d,", h.Handlers["entry"])
		}
		h.Line += fmt.Sprintf(" nmissed %d", nmissed)
		if _, h.Skipped = t.Missed(uint64(i)); h.Skipped > 0 {
			h.Line += fmt.Sprintf(", skipped %d", h.Skipped)
		}
		list = append(list, h)
	}
	return list
}
