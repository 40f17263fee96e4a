package findings

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/fetch"
)

// Explore is kpsim explore.
type Explore struct {
	Scenarios []string `arg:"" optional:"" name:"file|name" help:"Scenario files (NAME.star), or names of built-in scenarios. None: all that are built in; with --kernel those that it can run."`
	Runs      *uint64  `range:"1..1000000000000" placeholder:"N" help:"How many runs of each scenario. Default: by how long its runs are, two seconds or so on two cores; if no scenario is named, by how hard its race is to find, about two minutes for the whole tour on two cores."`
	Seed      uint64   `range:"0..18446744073709551615" default:"1" help:"The seed of the schedules."`
	Strategy  string   `default:"portfolio" placeholder:"NAME" help:"The strategy that draws the schedules: ${strategies}."`
	Unbiased  bool     `help:"Draw the places of interrupts and switches uniformly from all boundaries. Without it some of the runs prefer boundaries at which a CPU stands before patched text (sites, slots, detours)."`
	Workers   int      `range:"0..64" placeholder:"N" help:"How many runs are made at once, 16 at most. Default: one a processor. Changes no result."`
	Fetch     string   `placeholder:"MODEL" help:"What a CPU fetches of text that changes: ${fetches}. Instead of the scenario's; nothing is expected then."`
	Memory    string   `placeholder:"MODEL" help:"In what order CPUs see each other's accesses to data: ${memories}. Instead of the scenario's; nothing is expected then."`
	Edition   string   `placeholder:"NAME" help:"Run the scenarios in an edition of the kernel's document: ${editions}, documented. Instead of all that they say of the engine; nothing is expected then."`
	kernels.Kernel
	inputs.Broken
	inputs.GoOn
	tourParts
	Traces    string       `default:"traces" placeholder:"DIR" help:"Where witnesses are written, as NAME.kps."`
	Shard     string       `placeholder:"I/N" help:"Make only share I of N of the runs, a different share on each of N computers. Needs --out; kpsim merge merges the shares."`
	Out       cli.FileName `placeholder:"FILE" help:"Write what was found to a result file, for kpsim merge."`
	SelfCheck selfCheck    `range:"1..1000000000000" placeholder:"N" help:"First check the simulator: repeat runs, on the same machine and on a new one, and compare them. --self-check repeats 200 runs of each scenario; --self-check=N repeats N in all, divided as the runs are."`
	cli.Form

	merges    bool   // runs of others are merged
	elsewhere bool   // traces aren't written to files
	release   string // release of the kernel that made the shares
	shard
	names []string // names of the scenarios
	under
	progress *cli.Progress
}

// under is what another goroutine may ask of the search that is under way.
type under struct {
	stop        atomic.Bool   // the user has interrupted it
	made, broke atomic.Uint64 // runs, and those that broke something
}

// unshrunk says what the search under way has found, for a process that ends before it is shrunk.
func (c *Explore) unshrunk(j *job) string {
	if n := c.broke.Load(); n > 0 {
		return fmt.Sprintf("; %s of %s broke something, and there was no time to shrink one: %s",
			cli.Number(n, "run"), j.Name, c.line(j, c.Mutant))
	}
	return ""
}

// A shard is the value of --shard; 0 of 0 if it isn't given.
type shard struct{ share, shares int }

// Help implements kong.HelpProvider.
func (*Explore) Help() string {
	return `Run scenarios under many schedules and say what was observed.

A scenario has a line for each property that its author expects to break, or one for every property. The line says Never or Sometimes, how many of the runs broke it, and whether its author expects that. A run that breaks a property is shrunk to the fewest deviations from the default run, and written to traces/NAME.kps.

Without a name explore makes the tour: all serial programs of up to four calls (kpsim small; three calls with --kernel), all built-in scenarios, and 4000 drawn programs (kpsim fuzz). The small and the drawn programs may break nothing.

A run ends at the first property that it breaks. With --ignore it goes on after the named properties, with --all-properties after any. Then the machine runs as before, and each property that was broken isn't checked again in that run. After T1, T2, B1, S1 or O1 a CPU may execute garbage, so later violations may be consequences. The line says in how many runs another property was broken before, and witnesses without that are preferred. A trace names the properties after which it goes on.

With --kernel, runs continue after finds that are known for that kernel (docs/findings.md). The report lists these separately; later violations count. With --objects, or a mutant of the kernel, a find is known if the unchanged kernel shows it about as often.

The lines below it say how thorough the search was. docs/explore.md explains each. "points": decisions taken, over all runs. "behaviours": how many a sample of the runs showed; runs that differ only in the order of independent steps are one behaviour. "chance": the estimated probability that the next run shows a behaviour that the sample doesn't have, with its interval. "kinds of event": which were seen, and which never. "places": at how many of the places where an interrupt could come it came. "first witness": after how many schedules a search finds it, the median over 20 seeds, with its interval.

For a scenario of your own each probe has a line: in which share of the runs it was hit, became a jump, and was disarmed. Before the search explore lists probes that are refused or can't become a jump, and settings that change no run.

Examples:

  kpsim explore
  kpsim explore second-instruction torn-jump
  kpsim explore --runs 1000000 --seed 7 mine.star
  kpsim explore --mutant no-sync-1 jump-label-flip
  kpsim explore --edition 4.15 register-storm
  kpsim explore --edition 4.15 --as-shipped no-sail-past
  kpsim explore --strategy deviations --json safe-none
  kpsim explore --unbiased second-instruction
  kpsim explore --ignore T1 torn-jump
  kpsim explore --all-properties --mutant no-sync-arm safe-none
  kpsim explore --self-check=1000000
  kpsim explore --shard 1/4 --out 1.json --runs 1000000 mine.star
  kpsim explore --format junit mine.star > kpsim.xml

Exit status: 0 all as expected, 1 something against expectation, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted. If several apply, the first of 3, 130 or 143, 1, 2 is returned.`
}

func (c *Explore) Run(p *cli.Program) (int, error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	jobs, err := c.begin(p, c.Scenarios)
	if err != nil {
		return 0, err
	}
	c.watch(p, jobs)
	defer c.progress.Clear()
	if err := c.checkSelf(p, jobs); err != nil {
		return 0, err
	}
	r := newPrinter(p, c, jobs)
	c.printTour(p, jobs)
	if err := c.smallFirst(p, r); err != nil {
		return 0, err
	}

	for i, j := range jobs {
		before := r.runs
		p.SayAtInterrupt(func() string { return r.interruptedAfter(i, before+c.made.Load()) + c.unshrunk(j) })
		e, err := c.search(p, j, fmt.Sprintf("%d/%d %s", i+1, len(jobs), j.Name))
		if err != nil {
			return 0, err
		}
		if e != nil {
			if err := c.conclude(p, j, e, r); err != nil {
				return 0, err
			}
		}
		if c.stop.Load() {
			r.interrupted(i)
			return cli.Interrupted, nil
		}
	}
	c.progress.Complete()
	if err := c.drawnLast(p, r); err != nil {
		return 0, err
	}
	if c.stop.Load() {
		r.interrupted(len(jobs))
		return cli.Interrupted, nil
	}
	r.total()
	if c.Out != "" {
		if err := r.saveResults(jobs); err != nil {
			return 0, err
		}
	}
	return r.status(), nil
}

// begin loads scenarios, and checks everything that can be known before the first is run.
func (c *Explore) begin(p *cli.Program, scenarios []string) ([]*job, error) {
	list, err := inputs.Load(scenarios)
	if err != nil {
		return nil, err
	}
	return c.prepareAll(p, list, scenarios)
}

// prepareAll makes jobs of loaded scenarios. scenarios are their names; it is empty if all
// built-in ones are meant.
func (c *Explore) prepareAll(p *cli.Program, inputs []*inputs.Input, scenarios []string) ([]*job, error) {
	p.StopAtInterrupt(&c.stop)
	kernel, err := c.Kernel.Open()
	if err != nil {
		return nil, err
	}
	var jobs []*job
	for _, in := range inputs {
		j := &job{Input: in}
		if err := c.prepare(p, j); err != nil {
			if kernel != nil && len(scenarios) == 0 {
				fmt.Fprintf(p.Err, "kpsim: left out: %v\n", err)
				continue
			}
			return nil, err
		}
		jobs = append(jobs, j)
		c.names = append(c.names, j.Name)
	}
	if c.elsewhere {
		return jobs, nil
	}
	return jobs, cli.MakeFolder(c.Traces)
}

// check checks the flags that kong doesn't check.
func (c *Explore) check() (err error) {
	if c.Traces == "" {
		return errors.New("--traces: the name is empty; name a folder")
	}
	if c.Shard != "" {
		if c.share, c.shares, err = parseShard(c.Shard); err != nil {
			return err
		}
		if c.Out == "" {
			return errors.New("--shard: nothing would be left for kpsim merge; name a result file with --out")
		}
	}
	if c.Out != "" { // check now, not after the search
		if err := c.Out.Check(); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if err := cli.Known("strategy", c.Strategy, inputs.StrategyNames()); err != nil {
		return fmt.Errorf("--strategy: %w", err)
	}
	if err := cli.Optional("--fetch", "fetch model", c.Fetch, fetch.Names()); err != nil {
		return err
	}
	if _, err := inputs.OptionalMemory(c.Memory); err != nil {
		return err
	}
	if err := drawable.OptionalEdition(c.Edition); err != nil {
		return err
	}
	if err := c.GoOn.Check(); err != nil {
		return err
	}
	if err := c.Broken.Check(); err != nil {
		return err
	}
	if err := c.checkTour(); err != nil {
		return err
	}
	return c.Kernel.Alone(c.Edition, c.Mutant)
}

// parseShard reads "2/4".
func parseShard(s string) (share, shares int, err error) {
	rest := ""
	if n, _ := fmt.Sscanf(s+" ", "%d/%d%1s", &share, &shares, &rest); n != 2 {
		return 0, 0, fmt.Errorf("--shard: %q is no share; give two numbers, as in 1/4", s)
	}
	switch {
	case shares < 1 || shares > explore.MostShares:
		return 0, 0, fmt.Errorf("--shard: %s: an exploration is divided into 1 to %d shares", s, explore.MostShares)
	case share < 1 || share > shares:
		return 0, 0, fmt.Errorf("--shard: %s is out of range; the shares are 1/%d to %d/%d", s, shares, shares, shares)
	}
	return share, shares, nil
}

// prepare runs the default schedule once. That shows whether the scenario can be run, and how
// long its runs are.
func (c *Explore) prepare(p *cli.Program, j *job) error {
	c.doing(p, j, c.Mutant)
	if c.Fetch != "" {
		if err := j.SetFetch(c.Fetch); err != nil {
			return err
		}
	}
	if err := c.Kernel.Set(j.Input); err != nil {
		return err
	}
	if c.Kernel.Kernel != "" && len(c.Scenarios) == 0 && !j.OfKernel() {
		return fmt.Errorf("%s: it has no probe, and nothing else patches with text_poke_bp, so nothing of the "+
			"kernel would run", j.Name)
	}
	if c.Edition != "" {
		if err := j.SetEdition(c.Edition); err != nil {
			return fmt.Errorf("--edition: %s: %w", j.Arg, err)
		}
	}
	if c.Memory != "" {
		if err := j.SetMemory(c.Memory); err != nil {
			return fmt.Errorf("--memory: %s: %w", j.Arg, err)
		}
	}
	rig, err := rig.New(j.Scenario, c.Mutant)
	if err != nil {
		return j.FileFirst(err)
	}
	defer rig.Close()
	run := rig.Run(new(sched.Default))
	if run.Outcome == smp.Refused {
		return j.FileFirst(fmt.Errorf("%s: %w", j.Name, run.Err))
	}
	if err := c.beforehand(p, j, rig.Census.Probed()); err != nil {
		return err
	}
	j.points, j.digest = run.Counts.Points, run.Digest
	j.usual = defaultRuns(j.points)
	switch {
	case c.Runs != nil:
		j.runs = *c.Runs
	case len(c.Scenarios) == 0:
		j.runs = tourRuns(j.usual, library.Effort(j.Name))
	default:
		j.runs = j.usual
	}
	j.each = defaultRunTime(rig)
	return nil
}

// The constants say how much a scenario is searched without --runs.
const (
	defaultPoints  = 24_000_000 // questions: about two seconds on two cores
	defaultRunsMin = 1_000
	defaultRunsMax = 250_000
)

// defaultRuns returns how many runs a scenario that is named gets without --runs. points is
// the number of questions that its default run asks. The cost of a run is proportional to its
// questions (about six million a second on a core), so each scenario takes about as long as
// any other. The result depends on nothing else, so two computers make the same runs.
func defaultRuns(points uint64) uint64 {
	n := uint64(defaultPoints) / max(points, 1)
	return min(max(n/1000*1000, defaultRunsMin), defaultRunsMax)
}

// doing records what is being run, for the report of a bug.
func (c *Explore) doing(p *cli.Program, j *job, mutant string) {
	p.Doing = fmt.Sprintf("scenario %s, strategy %s, seed %d", j.Name, c.Strategy, c.Seed)
	if mutant != "" {
		p.Doing += ", mutant " + mutant
	}
	p.Again = c.line(j, mutant, "--workers", "1")
}

// line returns the command that explores a scenario in the same way.
func (c *Explore) line(j *job, mutant string, more ...string) string {
	return c.lineBy(c.Strategy, j, mutant, more...)
}

// lineBy is line with another strategy.
func (c *Explore) lineBy(strategy string, j *job, mutant string, more ...string) string {
	words := cli.WithFlags(append([]string{cli.Typed(), "explore", j.Arg}, more...),
		"--strategy", cli.Unless(strategy, explore.DefaultStrategy), "--seed", cli.Unless(c.Seed, 1),
		"--fetch", c.Fetch, "--memory", c.Memory, "--edition", c.Edition, "--mutant", mutant,
		"--runs", cli.Unless(j.runs, j.usual), "--unbiased", c.Unbiased)
	return cli.Line(append(append(words, c.Kernel.Words()...), c.GoOn.Words()...)...)
}

// overridden lists the flags because of which nothing is expected, "" if something is.
func (c *Explore) overridden() string {
	var list []string
	for _, f := range []struct{ what, value string }{{"mutant", c.Mutant}, {"fetch", c.Fetch}, {"memory", c.Memory},
		{"kernel", cmp.Or(c.Kernel.Base(), c.release)}, {"edition", c.Edition}} {
		if f.value != "" {
			list = append(list, f.what+" "+f.value)
		}
	}
	if s := c.GoOn.Says(); s != "" {
		list = append(list, s)
	}
	return strings.Join(list, ", ")
}
