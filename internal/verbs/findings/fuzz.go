package findings

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/fuzz"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/kprobes/rules"
)

// Fuzz is kpsim fuzz.
type Fuzz struct {
	For          time.Duration `range:"0s..8760h" placeholder:"TIME" help:"How long to draw: 30s, 1h. Default: two minutes, unless --runs, --programs or --until-covered is given."`
	Runs         uint64        `range:"0..1000000000000" placeholder:"N" help:"Make at least N runs in all, however long they take."`
	Programs     uint64        `range:"0..1000000000000" placeholder:"N" help:"Draw N programs, however long they take."`
	UntilCovered uint64        `range:"0..1000" placeholder:"N" help:"Stop when, by estimate, at most N of the next thousand programs would show a new feature."`
	Each         uint64        `range:"1..1000000000" default:"3" placeholder:"N" help:"How many runs each program is given. One that shows what is new has more."`
	Seed         uint64        `range:"0..18446744073709551615" default:"1" help:"What programs are drawn from that aren't made from others. Two seeds have no program in common."`
	Edition      string        `placeholder:"NAME" help:"Machines of one edition only: ${drawn}."`
	Preempt      string        `placeholder:"NAME" help:"Machines with one model of preemption only: ${preempts}."`
	Memory       string        `placeholder:"MODEL" help:"Machines with one memory model only: ${memories}. Default: sc."`
	drawnFrom
	Corpus   string       `placeholder:"DIR" help:"Keep there what programs are made from, and begin with what is there."`
	Recipe   cli.FileName `placeholder:"FILE" help:"Run one program only, of DIR or of a find, with --runs of its own."`
	Strategy string       `placeholder:"NAME" help:"Who decides the schedules: ${strategies}. Default: drawn, mostly random."`
	Workers  int          `range:"0..64" placeholder:"N" help:"How many programs are run at once. Default: one a processor. Changes no result but of --for."`
	kernels.Kernel
	inputs.Broken
	Traces    string       `default:"traces" placeholder:"DIR" help:"Where witnesses are written, as NAME.kps."`
	Unreached bool         `help:"List the pairs of an operation and a state of its object that no program has reached, or with --kernel the blocks of the kernel, and why others aren't expected to be."`
	Reach     uint64       `range:"0..100" placeholder:"N" help:"Exit with 1 if programs have reached fewer than N percent of the pairs, or with --kernel of the blocks, that they are expected to reach."`
	Print     bool         `help:"Print the first program instead, for kpsim explore."`
	HTML      cli.FileName `name:"html" placeholder:"FILE" help:"Write a page: what was broken, and what was shown by how many programs."`
	cli.Form

	fuzzClock

	harvest
	within
}

// fuzzClock says when a session ends.
type fuzzClock struct {
	stop  atomic.Bool // interrupted, or out of time
	late  atomic.Bool // the time is up
	began time.Time   // for the progress line
}

// A harvest is a session and what it has shown so far.
type harvest struct {
	session *fuzz.Session
	total   fuzzRow
	of      map[rules.Edition]*fuzzRow
	causes  fuzzCauses
	unsaved int               // finds whose traces would be rejected
	answers map[string]uint64 // how many programs get other answers, by the known difference
	samples []fuzzSample
	seen    []*look // what an island has found, before it is printed
}

// Help implements kong.HelpProvider.
func (*Fuzz) Help() string {
	return `Draw programs, guided by what they show: machine, functions, probes, tasks and schedules.

Whole programs are drawn: a machine of any edition or of none, with settings changed one by one; functions of drawn instructions, and those of the library; probes of every kind at any of their bytes; handlers, tasks, modules, tracers, labels and interrupts. Drawn programs are sound: no schedule may break any property.

Each program is run under a few schedules, and under more as long as these show a new feature: an event after another, an order of two CPUs, a probed instruction, an operation in a state of its object, or a basic block of a kernel. A program that shows a new feature is kept. Others are made from it: some parts are drawn anew, made simpler, or taken from another program.

A line for each edition says what was broken, and how often a kprobe was optimized while a task was in a call of its function: the share of the schedules on machines that optimize kprobes. For each broken property the first witness is shrunk and written to traces/NAME.kps, with the program's recipe beside it.

With --kernel a kernel's own engine runs the programs.

Examples:

  kpsim fuzz
  kpsim fuzz --for 1h --corpus corpus
  kpsim fuzz --kernel vmlinuz --unreached
  kpsim fuzz --edition 4.15 --preempt full --runs 10000
  kpsim fuzz --mutant no-sync-disarm
  kpsim fuzz --mutant gone-posts --without gone-posts
  kpsim fuzz --seed 7 --print > drawn.star

Exit status: 0 nothing was broken, 1 something was, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted.`
}

// minEstimatePrograms is how many programs are run before an estimate is trusted.
const minEstimatePrograms = 256

// showLimitFrom is the number of runs or programs from which on the output says what will end them.
const showLimitFrom = 10_000

// defaultDuration is how long a session runs by default.
const defaultDuration = 2 * time.Minute

// A fuzzRow is the printed result of an edition, or of all.
type fuzzRow struct {
	Edition    string            `json:"edition"`
	Programs   uint64            `json:"programs"`
	Runs       uint64            `json:"runs"`
	Optimizing uint64            `json:"optimizing"` // runs on machines that turn breakpoints into jumps
	During     uint64            `json:"optimized_during_call"`
	Points     uint64            `json:"points"`
	Violations uint64            `json:"violations"`
	Broken     map[string]uint64 `json:"broken,omitempty"`
	Shipped    *inputs.Shipped   `json:"as_shipped,omitempty"`

	// Totals of the search:
	Seconds   float64    `json:"seconds,omitempty"`
	Features  uint64     `json:"features,omitempty"`  // features that programs have shown
	Estimated uint64     `json:"estimated,omitempty"` // lower bound for the number of all features
	New       float64    `json:"new,omitempty"`       // probability that the next program shows a new one
	Kept      int        `json:"kept,omitempty"`      // programs from which others are made
	Causes    []causeRow `json:"causes,omitempty"`    // new ones first
	// Otherwise counts the programs whose answers from the kernel match neither the rules nor a
	// known difference.
	Otherwise uint64 `json:"otherwise,omitempty"`
	Blocks    int    `json:"blocks,omitempty"` // blocks of the kernel that were reached
	BlocksAll int    `json:"blocks_all,omitempty"`
	Pairs     int    `json:"pairs,omitempty"` // pairs of an operation and a state of its object that were reached
	PairsAll  int    `json:"pairs_all,omitempty"`

	// Unreached lists the pairs, or blocks, that no program has reached, with --unreached.
	Unreached []string `json:"unreached,omitempty"`
}

// add adds a program.
func (r *fuzzRow) add(p *fuzz.Program) {
	r.Programs++
	r.Runs, r.Points, r.Violations = r.Runs+p.Runs, r.Points+p.Points, r.Violations+p.Violations
	if p.Optimizes {
		r.Optimizing, r.During = r.Optimizing+p.Runs, r.During+p.During
	}
	for _, b := range p.Broken {
		if r.Broken == nil {
			r.Broken = make(map[string]uint64)
		}
		r.Broken[b.Property] += b.Runs
	}
}

func (c *Fuzz) Run(p *cli.Program) (int, error) {
	spec, err := c.spec()
	if err != nil {
		return 0, err
	}
	if c.session, err = fuzz.New(spec); err != nil {
		return 0, err
	}
	if err := c.resume(); err != nil {
		return 0, err
	}
	if c.Print {
		sc, _, err := c.session.Scenario(c.session.First())
		if err != nil {
			return 0, err
		}
		fmt.Fprintln(p.Out, lang.Print(sc))
		return cli.OK, nil
	}
	unused, err := cli.MakeFolderToUse(c.Traces)
	if err != nil {
		return 0, err
	}
	defer unused()
	begin := time.Now()
	p.StopAtInterrupt(&c.stop)
	cli.ManySmall()
	hopeless, err := c.runAll(p)
	if err != nil {
		return 0, err
	}
	if c.total.Programs == 0 && !c.stop.Load() {
		return 0, errors.New("no program was run; give more --for")
	}
	return c.end(p, time.Since(begin), hopeless)
}

// spec checks the flags that kong doesn't check, and makes a session's spec from them.
func (c *Fuzz) spec() (fuzz.Spec, error) {
	spec := fuzz.Spec{Mutant: c.Mutant, Strategy: c.Strategy, Seed: c.Seed, Each: c.Each, Fresh: c.Fresh,
		Workers: c.Workers, Stop: &c.late}
	if err := cli.Optional("--strategy", "strategy", c.Strategy, inputs.StrategyNames()); err != nil {
		return spec, err
	}
	if err := c.Broken.Check(); err != nil {
		return spec, err
	}
	spec.Mutant = c.Mutant
	if err := c.Kernel.Alone(c.Edition, c.Mutant); err != nil {
		return spec, err
	}
	if err := c.HTML.CheckPage(); err != nil {
		return spec, err
	}
	if c.For == 0 && c.Runs == 0 && c.Programs == 0 && c.UntilCovered == 0 {
		c.For = defaultDuration
	}
	k, err := c.Kernel.Open()
	if err != nil {
		return spec, err
	}
	if k != nil {
		if err := twoengines.Draws(k); err != nil {
			return spec, err
		}
		if c.Arch != "" {
			return spec, errors.New("--arch: a kernel has its processor; leave it out with --kernel")
		}
		spec.Kernel, spec.On = k, twoengines.DrawnFor(k)
	} else if spec.On.Machines, err = c.machines(); err != nil {
		return spec, err
	}
	if err := c.drawnFrom.check(); err != nil {
		return spec, err
	}
	spec.On.Without = c.Without
	spec.On.Memory, err = inputs.OptionalMemory(c.Memory)
	return spec, err
}

// runAll runs programs until there are enough. For each cause it prints the first program that
// broke a property because of it. It reports whether each run of each program broke something,
// which ends the search.
func (c *Fuzz) runAll(p *cli.Program) (hopeless bool, err error) {
	if c.For > 0 {
		defer time.AfterFunc(c.For, func() { c.late.Store(true) }).Stop()
	}
	c.start()
	p.Doing = "drawn programs"
	if c.For > 0 || c.UntilCovered > 0 || c.Runs >= showLimitFrom || c.Programs >= showLimitFrom {
		p.Ahead(c.durationText())
	}
	line := c.watch(p)
	defer line.Clear()
	for c.unfinished() {
		list, err := c.batch(p)
		if err != nil {
			return false, err
		}
		looks := c.planLooks(list, c.late.Load())
		if err := c.makeLooks(p, looks); err != nil {
			return false, err
		}
		for _, one := range list {
			if err := c.takeProgram(p, one, looks, line.Clear); err != nil {
				return false, err
			}
		}
		if err := c.keep(list); err != nil {
			return false, err
		}
		c.sample()
		cov := c.session.Coverage()
		c.showProgress(line, &cov)
		if c.session.Hopeless() {
			line.Complete()
			return true, nil
		}
	}
	if !c.stop.Load() {
		line.Complete()
	}
	return false, nil
}

// watch begins the progress line for the search's limits. If several limits are set, the line
// shows the one that is nearest.
func (c *Fuzz) watch(p *cli.Program) *cli.Progress {
	const what = "drawn programs"
	switch c.limits() {
	case [4]bool{true}:
		return p.WatchFor(what, c.For)
	case [4]bool{false, true}:
		return p.Watch(what, c.Runs, "schedule")
	case [4]bool{false, false, true}:
		return p.Watch(what, c.Programs, "program")
	}
	c.began = time.Now()
	return p.WatchParts(what, 1, "search")
}

// limits reports which limits are set: time, runs, programs, and few new features.
func (c *Fuzz) limits() [4]bool {
	return [4]bool{c.For > 0, c.Runs > 0, c.Programs > 0, c.UntilCovered > 0}
}

// showProgress updates the progress line.
func (c *Fuzz) showProgress(line *cli.Progress, cov *fuzz.Coverage) {
	broken := "1 property"
	if len(c.total.Broken) != 1 {
		broken = fmt.Sprintf("%d properties", len(c.total.Broken))
	}
	note := fmt.Sprintf("%s, %s; %d features of some %d%s; %s broken", cli.Number(c.total.Programs, "program"),
		cli.Number(c.total.Runs, "schedule"),
		cov.Features, cov.Estimated, ", "+c.coverage(), broken)
	switch c.limits() {
	case [4]bool{true}:
		line.Note(note)
	case [4]bool{false, true}:
		line.At(c.total.Runs, note)
	case [4]bool{false, false, true}:
		line.At(c.total.Programs, note)
	default:
		far := 0.0
		if c.For > 0 {
			far = float64(time.Since(c.began)) / float64(c.For)
		}
		if c.Runs > 0 {
			far = max(far, float64(c.total.Runs)/float64(c.Runs))
		}
		if c.Programs > 0 {
			far = max(far, float64(c.total.Programs)/float64(c.Programs))
		}
		if c.UntilCovered > 0 && cov.New > 0 { // New is roughly one over the number of programs
			far = max(far, min(float64(c.UntilCovered)/float64(cov.New), float64(c.total.Programs)/minEstimatePrograms))
		}
		line.Far(far, note)
	}
}

// unfinished reports whether the session continues.
func (c *Fuzz) unfinished() bool {
	if c.late.Load() || c.stop.Load() {
		c.late.Store(true)
		return false
	}
	return !c.limitsReached()
}

// limitsReached reports whether as much was run as the flags ask for, apart from time.
func (c *Fuzz) limitsReached() bool {
	if c.UntilCovered > 0 && c.total.Programs >= minEstimatePrograms && c.session.Coverage().New <= c.UntilCovered {
		return true
	}
	return (c.Runs > 0 && c.total.Runs >= c.Runs) || (c.Programs > 0 && c.total.Programs >= c.Programs)
}

// batch runs some programs. The report of a bug names the command that makes the runs of the
// program in which it happened.
func (c *Fuzz) batch(p *cli.Program) ([]*fuzz.Program, error) {
	most := uint64(1 << 20)
	if c.Programs > 0 {
		most = c.Programs - c.total.Programs
	}
	if c.Runs > 0 {
		most = min(most, (c.Runs-c.total.Runs+c.Each-1)/c.Each)
	}
	defer func() {
		v := recover()
		if crash, ok := v.(*parallel.Crash); ok {
			p.Again = c.line(c.session.Planned(crash.Job), c.Each)
		}
		if v != nil {
			panic(v)
		}
	}()
	return c.session.Batch(most)
}

// takeProgram counts a program, and prints what it is the first to find.
func (c *Fuzz) takeProgram(p *cli.Program, one *fuzz.Program, looks []*look, clear func()) error {
	if one.Refused {
		return nil
	}
	c.total.add(one)
	of := c.of[one.Edition]
	if of == nil {
		of = &fuzzRow{Edition: one.Edition.String()}
		if one.Edition == rules.EditionNone {
			of.Edition = "none"
		}
		c.of[one.Edition] = of
	}
	of.add(one)
	if err := c.reportAnswer(p, one, clear); err != nil {
		return err
	}
	return c.takeLooks(p, one, looks, clear)
}

// line returns the command that runs a recipe's program.
func (c *Fuzz) line(r *gen.Recipe, runs uint64) string {
	words := []string{cli.Typed(), "fuzz", "--seed", fmt.Sprint(gen.FirstOf(r.Seed)), "--programs", "1", "--each",
		fmt.Sprint(runs), "--workers", "1"}
	if len(r.Parts) > 0 {
		words[2], words[3] = "--recipe", "NAME.recipe"
	}
	return cli.Line(append(c.flags(words), c.Kernel.Words()...)...)
}

// words returns the command as it was typed, without the flags that say where it writes.
func (c *Fuzz) words() []string {
	words := cli.WithFlags([]string{"kpsim", "fuzz", "--seed", fmt.Sprint(c.Seed), "--each", fmt.Sprint(c.Each)},
		"--programs", c.Programs, "--runs", c.Runs, "--until-covered", c.UntilCovered, "--for", c.For)
	return append(c.flags(words), c.Kernel.Words()...)
}

// flags adds the flags that say what is drawn and how it is run.
func (c *Fuzz) flags(words []string) []string {
	return cli.WithFlags(words, "--edition", c.Edition, "--preempt", c.Preempt, "--arch", c.Arch, "--memory", c.Memory,
		"--strategy", c.Strategy, "--mutant", c.Mutant, "--without", strings.Join(c.Without, ","),
		"--as-shipped", c.AsShipped, "--fresh", c.Fresh)
}

// end prints the totals.
func (c *Fuzz) end(p *cli.Program, took time.Duration, hopeless bool) (int, error) {
	for _, e := range append(rules.AllEditions(), rules.EditionNone) {
		if of := c.of[e]; of != nil && c.Kernel.Kernel == "" && !c.brief {
			if err := c.print(p, of, c.ShippedAs(e)); err != nil {
				return 0, err
			}
		}
	}
	cov := c.session.Coverage()
	all := &c.total
	all.Edition, all.Seconds, all.Features, all.Estimated, all.New, all.Kept, all.Blocks, all.BlocksAll = "all",
		took.Seconds(), cov.Features, cov.Estimated, float64(cov.New)/1000, cov.Kept, cov.Blocks, cov.BlocksAll
	if all.Causes = c.rows(); c.Kernel.Kernel != "" {
		all.Edition = "kernel"
	} else {
		all.Pairs, all.PairsAll = cov.Pairs, cov.PairsAll
	}
	if c.Unreached {
		all.Unreached = c.unreached()
	}
	if err := c.print(p, all, nil); err != nil {
		return 0, err
	}
	if !c.JSON && !c.brief {
		p.Indented("", c.featureLine())
	}
	if !c.JSON {
		c.printCauses(p)
		c.printAnswers(p)
		if c.Unreached {
			printUnreached(c, p)
		}
	}
	if c.HTML != "" {
		if err := c.html(p); err != nil {
			return 0, err
		}
	}
	if hopeless {
		fmt.Fprintf(p.Err, "kpsim: each run of each program broke something, so it ended early: nothing else "+
			"can be seen behind that\n")
	}
	switch {
	case c.stop.Load():
		fmt.Fprintf(p.Err, "kpsim: interrupted\n")
		return cli.Interrupted, nil
	case (all.Violations > 0 || all.Otherwise > 0) && c.Mutant == "":
		return cli.Against, nil
	case c.unsaved > 0:
		return cli.BadInput, nil
	}
	return c.reachStatus(p), nil
}
