package bisect

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"path/filepath"
	"slices"
	"sync/atomic"

	"kpsim/internal/edits"
	"kpsim/internal/eval/review"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/linux"
	"kpsim/linux/compile"
)

// Bisect implements kpsim bisect.
type Bisect struct {
	Scenarios []string       `arg:"" optional:"" name:"file|name" help:"Scenario files (NAME.star), or names of built-in scenarios, in which something new is looked for, if there is no --witness. None: all that a review runs."`
	Kernel    cli.FileName   `placeholder:"FILE" help:"The kernel that objects are laid over: a vmlinuz or vmlinux, or the release of one that scripts/fetch-kernel put on this computer."`
	Patch     cli.FileName   `placeholder:"FILE" help:"The series: an mbox with its mails. They are applied to a copy of --source, one after another."`
	Source    cli.FileName   `placeholder:"DIR" help:"The kernel's source. With --patch: what the patches are for. Without: a repository of git, of which --good and --bad are commits. Default: where scripts/fetch-kernel-source put it."`
	Sets      []cli.FileName `placeholder:"FILE,…" help:"The series, as objects: a file or a folder with objects for each step, the oldest first."`
	Good      string         `placeholder:"A" help:"The last step that is known to be good: a commit, or the number of a patch or set. Default: 0, what is before the first."`
	Bad       string         `placeholder:"B" help:"The first step that is known to be bad. Default: the last."`
	Witness   cli.FileName   `placeholder:"FILE" help:"A trace: what it shows is what is looked for. Default: the first thing that only the last step does, by a review of the two ends."`
	Step      bool           `name:"run" help:"Test --source as it is, and exit with what git bisect run wants: 0 good, 1 bad, 125 it can't be tested, 128 nothing can."`
	Runs      uint64         `range:"1..1000000000" default:"300" placeholder:"N" help:"How many runs of the scenario a step makes. Default: 300."`
	Seed      uint64         `range:"0..18446744073709551615" default:"1" help:"What schedules are drawn from."`
	Workers   int            `range:"0..64" placeholder:"N" help:"How much is run at once, 16 at most. Default: one a processor. Changes no result."`
	Traces    string         `default:"traces" placeholder:"DIR" help:"Where the witness is written. Default: traces."`
	JSON      bool           `name:"json" help:"Print one JSON object a line."`

	stop   atomic.Bool
	line   *cli.Progress
	kernel kernels.Kernel
	asked  *question // of --witness; nil: none is given
}

// Help implements kong.HelpProvider.
func (*Bisect) Help() string {
	return `Find the first patch of a series with which a kernel's engine does something wrong.

The series is an mbox (--patch), a range of commits (--source, --good, --bad), or sets of objects (--sets). What a step changes is compiled, as kpsim review does, and laid over the kernel. Each set of objects is compiled once, and kept.

What is looked for is what a trace shows (--witness): its property, in the runs of its scenario. Along the trace's schedule first, then in --runs runs beside as many of the first step. Without --witness the two ends are reviewed first, and the first thing that only the last step does is looked for: a property that its runs break, or a serial program that it answers otherwise.

The report names the patch, where it changes the source, and the line that explains the witness.

With --run the tree in --source is tested as it is, against the kernel's own code, for git bisect run. The files of the engine that differ from those of the release are compiled. It exits with 125 if they don't compile, or can't be laid over the kernel, which git passes over, and with 128 if the command line is wrong, which ends the bisection.

Examples:

  kpsim bisect --kernel 6.12.117+deb12-amd64 --patch series.mbox
  kpsim bisect --kernel vmlinuz --patch series.mbox --witness traces/full-rcu-no-start-inside.kps
  kpsim bisect --kernel vmlinuz --source ~/linux --good v6.12.110 --bad HEAD full-rcu
  kpsim bisect --kernel vmlinuz --sets monday,tuesday,wednesday
  git bisect run kpsim bisect --run --kernel vmlinuz --source . full-rcu

Exit status: 0 the patch was found, 1 nothing is worse at the end, or patches that can't be tested hide it, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted. With --run: 0 good, 1 bad, 125, 128, 130.`
}

// The exit statuses of --run that git bisect run knows.
const (
	cantTest = 125
	cantGoOn = 128
)

// Exit returns the exit status for git bisect run, which would take other statuses for a bad commit.
func (c *Bisect) Exit(status int) int {
	if c.Step && (status == cli.BadInput || status == cli.Bug) {
		return cantGoOn
	}
	return status
}

// Misused is Exit of a command line that can't be parsed.
func (*Bisect) Misused(args []string) int {
	return (&Bisect{Step: slices.Contains(args, "--run")}).Exit(cli.BadInput)
}

// Run finds the patch.
func (c *Bisect) Run(p *cli.Program) (int, error) {
	p.StopAtInterrupt(&c.stop)
	if err := c.readWitness(); err != nil {
		return 0, err
	}
	base, err := c.open()
	if err != nil {
		return 0, err
	}
	if err := c.runnable(base); err != nil {
		return 0, err
	}
	if c.Step {
		return c.ofTree(p, base)
	}
	steps, first, err := c.series(base)
	if err != nil {
		return 0, err
	}
	return c.interrupted(p)(c.bisect(p, base, steps, first))
}

// runnable returns an error unless the kernel can run one of the scenarios that are named: a tree whose engine isn't
// changed would be good without a look at them.
func (c *Bisect) runnable(base *linux.Kernel) error {
	list, err := inputs.Load(c.Scenarios)
	if err != nil || len(c.Scenarios) == 0 {
		return err
	}
	for _, j := range list {
		sc := *j.Scenario
		if err = onlinux.Set(&sc, base); err == nil {
			return nil
		}
		err = j.FileFirst(fmt.Errorf("%s: %w", j.Name, err))
	}
	return err
}

// interrupted returns a function that turns an error of what was stopped into a status.
func (c *Bisect) interrupted(p *cli.Program) func(status int, err error) (int, error) {
	return func(status int, err error) (int, error) {
		if c.line != nil {
			c.line.Clear()
		}
		if c.stop.Load() || errors.Is(err, context.Canceled) {
			fmt.Fprintln(p.Err, "kpsim: interrupted")
			return cli.Interrupted, nil
		}
		return status, err
	}
}

// open opens the kernel.
func (c *Bisect) open() (*linux.Kernel, error) {
	if c.Kernel == "" {
		return nil, fmt.Errorf("--kernel: none is given; give the kernel that the series is for: %s",
			cli.Line(cli.Typed(),
				"bisect", "--kernel", "vmlinuz", "--patch", "series.mbox"))
	}
	c.kernel = kernels.Kernel{Kernel: c.Kernel}
	return c.kernel.Open()
}

// series returns the steps, and the number of the first of them in the series.
func (c *Bisect) series(base *linux.Kernel) (steps []step, first int, err error) {
	release := base.Image.Release
	switch {
	case c.Patch != "" && len(c.Sets) > 0:
		return nil, 0, errors.New("--sets: the series is that of --patch; give one of the two")
	case c.Patch != "":
		steps, err = mails(release, string(c.Source), string(c.Patch))
	case len(c.Sets) > 0:
		steps, err = sets(c.Sets)
	case c.Source == "":
		return nil, 0, errors.New("no series is given; give an mbox with --patch, a repository with --source, --good " +
			"and --bad, or objects with --sets")
	case c.Good == "" || c.Bad == "":
		return nil, 0, errors.New("--good: --source is a repository without --patch; give two commits " +
			"with --good and --bad")
	default:
		steps, err = commits(release, string(c.Source), c.Good, c.Bad)
		return steps, 0, err
	}
	if err != nil {
		return nil, 0, err
	}
	return cutTo(steps, c.Good, c.Bad)
}

// laid lays a step's objects over the kernel. A step without objects is the kernel itself.
func (c *Bisect) laid(s *step) (k *linux.Kernel, as kernels.Kernel, err error) {
	ctx, end := cli.Until(&c.stop)
	defer end()
	objects, err := s.objects(ctx)
	if err != nil {
		return nil, as, err
	}
	as = kernels.Kernel{Kernel: c.kernel.Kernel}
	for _, o := range objects {
		as.Objects = append(as.Objects, cli.FileName(o))
	}
	k, err = as.Open()
	return k, as, err
}

// bisect finds the first bad step. first is the number of steps[0] in the series.
func (c *Bisect) bisect(p *cli.Program, base *linux.Kernel, steps []step, first int) (int, error) {
	last := len(steps) - 1
	c.line = p.Watch("bisect", uint64(bits.Len(uint(last)))+2, "step")
	c.line.Note(steps[0].title)
	goodKernel, _, err := c.laid(&steps[0])
	if err != nil {
		return 0, wrap(p, "--good", &steps[0], err)
	}
	c.line.At(1, steps[last].title)
	badKernel, as, err := c.laid(&steps[last])
	if err != nil {
		return 0, wrap(p, "--bad", &steps[last], err)
	}
	if goodKernel.ID() == badKernel.ID() {
		return 0, errors.New("--bad: it is the same code as --good; give a series that changes the engine")
	}
	q, err := c.question(p, goodKernel, badKernel, &as)
	if err != nil || c.stop.Load() {
		return 0, err
	}
	if q == nil {
		return c.nothing(p, steps, first)
	}
	t := &tested{c: c, p: p, q: q, steps: steps, first: first, verdicts: make([]verdict, len(steps)), base: goodKernel}
	t.verdicts[0], t.verdicts[last] = good, bad
	t.begin()
	from, culprit, err := halve(last, t.test)
	if err != nil || c.stop.Load() {
		return 0, err
	}
	return t.end(from, culprit)
}

// wrap says which end of the series can't be tested, after what a compiler says.
func wrap(p *cli.Program, flag string, s *step, err error) error {
	if f := new(compile.Failed); errors.As(err, &f) {
		fmt.Fprint(p.Err, f.Says)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %s can't be tested: %w; give another end", flag, s.title, err)
}

// ofTree tests the tree as it is, for git bisect run.
func (c *Bisect) ofTree(p *cli.Program, base *linux.Kernel) (int, error) {
	e, err := edits.Of(base.Image.Release, string(c.Source))
	if err != nil {
		return 0, sourceError(err, string(c.Source))
	}
	s := stepOf(filepath.Base(string(c.Source)), e)
	k, as, err := c.laid(&s)
	switch {
	case c.stop.Load():
		return c.interrupted(p)(0, err)
	case err != nil:
		if f := new(compile.Failed); errors.As(err, &f) {
			fmt.Fprint(p.Err, f.Says)
		}
		fmt.Fprintf(p.Err, "kpsim: %s can't be tested: %v\n", c.Source, err)
		return cantTest, nil
	case k.ID() == base.ID():
		fmt.Fprintln(p.Out, "good: the engine's files are those of "+base.Image.Release)
		return cli.OK, nil
	}
	q, err := c.question(p, base, k, &as)
	if err != nil || c.stop.Load() {
		return c.interrupted(p)(0, err)
	}
	if c.line != nil {
		c.line.Clear()
	}
	if q == nil {
		fmt.Fprintln(p.Out, "good: nothing is worse than with the kernel's own code")
		return cli.OK, nil
	}
	fmt.Fprintln(p.Out, "bad: "+q.says())
	return cli.Against, nil
}

// reviewOf returns the options of a review that looks for something new.
func (c *Bisect) reviewOf(as *kernels.Kernel) *review.Review {
	r := review.New()
	r.Scenarios, r.Kernel, r.Seed, r.Workers, r.Traces = c.Scenarios, *as, c.Seed, c.Workers, c.Traces
	if len(c.Scenarios) > 0 {
		r.Runs = c.Runs
	}
	return r
}
