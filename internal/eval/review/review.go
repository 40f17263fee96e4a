package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"kpsim/internal/edits"
	"kpsim/internal/eval/overhead/kernelcost"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/forms"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/change"
	"kpsim/internal/search/small"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	verb "kpsim/internal/verbs/small"
	"kpsim/internal/version"
	"kpsim/linux"
	"kpsim/linux/source"
)

// Review implements kpsim review.
type Review struct {
	Scenarios []string `arg:"" optional:"" name:"file|name" help:"Scenario files (NAME.star), or names of built-in scenarios. None: all that are built in, and programs that are drawn."`
	kernels.Kernel
	Before        cli.FileName   `placeholder:"FILE" help:"The kernel that it is compared with. Default: that of --kernel without --objects."`
	BeforeObjects []cli.FileName `placeholder:"FILE,…" help:"Objects laid over the kernel that it is compared with."`
	BeforeProgram cli.FileName   `placeholder:"FILE" help:"Instead of kernels: a kpsim that was built in another checkout, with which this one is compared by their engines in Go."`
	Program       cli.FileName   `placeholder:"FILE" help:"The kpsim that has the change. Default: this one."`
	Patch         cli.FileName   `placeholder:"FILE" help:"The patch that was made: a mail, an mbox of a series, or a unified diff. Which of its lines were reached is told. Without --objects it is applied to a copy of --source, and what it changes is compiled. With a program, that must be built with -cover."`
	Source        cli.FileName   `placeholder:"DIR" help:"The kernel's source that --patch is applied to. It isn't changed. Default: where scripts/fetch-kernel-source put it."`
	Corpus        cli.FileName   `placeholder:"DIR" help:"A folder of kept traces (.kps), recipes of fuzz --corpus (.recipe) and scenarios (.star) that are run besides."`
	Runs          uint64         `range:"1..1000000000" default:"150" placeholder:"N" help:"How many runs of each scenario are searched on either side. Default: 150."`
	For           time.Duration  `range:"0s..8760h" placeholder:"TIME" help:"Stop after so long, and tell what was seen. Default: when all was run."`
	Budget        uint64         `range:"0..1000000000" default:"3000" placeholder:"N" help:"If no scenario is named: how many million simulated instructions the runs after the first ones of each scenario may take, on both sides together. Default: 3000, three minutes of one processor."`
	Programs      int            `range:"0..100000" default:"50" placeholder:"N" help:"Of how many seeds programs are drawn, if no scenario is named: of each two serial ones and one with schedules. Default: 50."`
	Small         int            `range:"0..8" default:"3" placeholder:"N" help:"First run all serial programs of up to N calls on small worlds (kpsim small), if no scenario is named. 0: none. Default: 3."`
	Slower        uint64         `range:"0..1000000" default:"5" placeholder:"PERCENT" help:"A hit that costs so much more is a regression. Default: 5."`
	Seed          uint64         `range:"0..18446744073709551615" default:"1" help:"What programs and schedules are drawn from."`
	Workers       int            `range:"0..64" placeholder:"N" help:"How much is run at once, 16 at most. Default: one a processor. Changes no result."`
	Traces        string         `default:"traces" placeholder:"DIR" help:"Where witnesses are written: NAME-PROPERTY.kps, and programs that are answered otherwise as NAME.star. Default: traces."`
	HTML          cli.FileName   `name:"html" placeholder:"FILE" help:"Write all of it as a page."`
	Markdown      bool           `xor:"form" help:"Print all of it as Markdown, for a mail."`
	cli.Form

	session
}

// A session is what a review keeps while it is made.
type session struct {
	stop  atomic.Bool
	began time.Time
	line  *cli.Progress
	edit  *edits.Edit // the patches applied to the source; nil: objects were given
	hear  func(Heard) // called as results come; nil: nothing is
}

// Help implements kong.HelpProvider.
func (*Review) Help() string {
	return `Run a changed kernel's engine beside the kernel without the change: what only one does, costs, coverage of the patch.

For the review of a patch: the changed kernel's engine and the engine without the change run the same programs, and the report has what only one of them does.

The programs are the built-in scenarios that a kernel can run, --runs of each; drawn programs, with schedules and as serial ones, whose answers are compared with the rules; and what a folder keeps (--corpus). The report has

  verdicts      properties that only one side breaks, with witnesses
  behaviours    what only one side answers, or leaves
  code          functions that differ, new and gone ones, new calls
  coverage      in how many runs the changed lines were reached
  costs         instructions, lines of cache, cycles of each hit and call

--patch is a patch as it comes: a mail, an mbox of a series, a diff. It is applied to a copy of the kernel's source, and the files that it changes, and those that include a header that it changes, are compiled as scripts/kernel-objects does. For each of its lines the report says by which scenarios it was reached. What was compiled yourself is given with --objects, or as another kernel with --before; the lines are then those of --patch, or what is new in machine code.

What the unchanged kernel does is kept in the user's cache folder, so another review of the same kernel takes less.

--before-program compares two kpsims that were built from two checkouts, by their own engines in Go: each is asked for --json. If the changed one was built with go build -cover, --patch says how often its lines were executed.

Every scenario first gets a fifth of its runs; then those that reach the change get more, and what few runs showed is settled, until --budget is spent. What only one side shows is looked for on the other in four times as many runs, sixty-four by two programs if it is rare.

Examples:

  kpsim review --kernel 6.12.117+deb12-amd64 --patch my.patch
  kpsim review --kernel vmlinuz --patch series.mbox --source ~/linux
  kpsim review --kernel vmlinuz --objects kernel/kprobes.o
  kpsim review --kernel vmlinuz --objects kprobes.o --patch my.patch --html review.html
  kpsim review --kernel vmlinuz --objects kprobes.o --markdown > mail.txt
  kpsim review --before vmlinuz-6.1 --kernel vmlinuz-6.12 --runs 1000 --budget 20000
  kpsim review --kernel vmlinuz --objects new.o --before-objects old.o full-rcu
  kpsim review --before-program ./kpsim-before --patch my.patch
  kpsim review --kernel vmlinuz --objects kprobes.o --json | jq 'select(.what == "gained")'

Exit status: 0 nothing is worse, 1 a verdict was gained, a program is answered otherwise than by the rules, or a hit is dearer by more than --slower, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted.`
}

// Run compares the two sides. The status is cli.Against if something is worse.
func (c *Review) Run(p *cli.Program) (int, error) {
	if c.HTML != "" {
		if err := c.HTML.CheckPage(string(c.Kernel.Kernel), string(c.Patch)); err != nil {
			return 0, err
		}
	}
	switch {
	case c.BeforeProgram != "":
		return c.runPrograms(p)
	case c.Program != "":
		return 0, errors.New("--program: it is compared with another one; give that with --before-program FILE")
	}
	p.StopAtInterrupt(&c.stop)
	if c.compiles() {
		if err := c.compile(p); errors.Is(err, context.Canceled) {
			return c.interrupted(p, nil)
		} else if err != nil {
			return 0, err
		}
	} else if c.Source != "" {
		return 0, errors.New("--source: it is what --patch is applied to and compiled from; give that alone, without " +
			"--objects and --before")
	}
	before, after, err := c.kernels()
	if err != nil {
		return 0, err
	}
	r, err := c.between(p, before, after)
	switch {
	case err != nil:
		return 0, err
	case c.stop.Load():
		return c.interrupted(p, r)
	case len(r.rows)+len(r.dies) == 0:
		return 0, fmt.Errorf("--for: no scenario was run on both kernels in %v; give more", c.For)
	}
	return r.end(p)
}

// between reviews two kernels. After ^C what it found isn't all.
func (c *Review) between(p *cli.Program, before, after *linux.Kernel) (*found, error) {
	r := &found{c: c, before: before, after: after, src: source.Of(after, ""),
		kept: change.OpenBaseline(before, version.Digest())}
	r.sides = [sides]string{r.kernelSide(before, c.BeforeObjects), r.kernelSide(after, c.Objects)}
	r.code = change.CodeOf(before, after, r.src)
	if err := r.readPatch(); err != nil {
		return nil, err
	}
	r.reached = make([]uint64, len(r.code.Places))
	list, err := c.items(before, after)
	if err != nil {
		return nil, err
	}
	r.left = list.left
	if len(list.items) == 0 {
		return nil, fmt.Errorf("none of the scenarios can be run on both kernels: %s", list.left[0].why)
	}
	if err := cli.MakeFolder(c.Traces); err != nil {
		return nil, err
	}
	cli.ManyKernels()
	c.began = time.Now()
	parts := 3*(len(list.items)+list.drawn) + (max(len(list.serial), list.drawn)+batch-1)/batch + 4
	c.line = p.WatchParts("review", parts, "step")
	defer c.line.Clear()
	c.order(r, list)
	if err = c.all(p, r, list); err == nil && !c.stop.Load() {
		c.line.Complete()
	}
	r.kept.Save()
	if c.stop.Load() {
		err = nil // it may be one of what was stopped
	}
	return r, err
}

// interrupted reports what was found before ^C; r is nil if a partial result can't be reported.
func (c *Review) interrupted(p *cli.Program, r *found) (int, error) {
	fmt.Fprintf(p.Err, "kpsim: interrupted\n")
	if r != nil && len(r.rows) > 0 {
		if _, err := r.end(p); err != nil {
			return 0, err
		}
	}
	return cli.Interrupted, nil
}

// end reports the results. The status is cli.Against if something is worse.
func (r *found) end(p *cli.Program) (int, error) {
	if err := r.tell(p); err != nil {
		return 0, err
	}
	if len(r.worse()) > 0 {
		return cli.Against, nil
	}
	return cli.OK, nil
}

// all makes the runs.
func (c *Review) all(p *cli.Program, r *found, list *items) error {
	for _, side := range []struct {
		k    *linux.Kernel
		hits *[]kernelcost.Hit
		says string
	}{{r.before, &r.hitsBefore, "hits before"}, {r.after, &r.hitsAfter, "hits"}} {
		if kernelcost.Counts(side.k) != nil {
			continue // nothing is said about what hits cost
		}
		c.step(p, side.says)
		hits, err := kernelcost.Count(side.k, "")
		if err != nil {
			return err
		}
		*side.hits = hits
	}
	if err := c.small(p, r); err != nil {
		return err
	}
	if err := c.answers(p, r, list); err != nil {
		return err
	}
	if err := c.handlings(p, r); err != nil {
		return err
	}
	return c.rounds(p, r, list)
}

// step announces the next step.
func (c *Review) step(p *cli.Program, what string) {
	p.Doing = what
	c.line.Part(what, 1)
}

// batch is the number of serial programs, or of their seeds, that are run at once; more would use
// too much memory.
const batch = 50

// small runs all serial programs of a few calls, and compares them with the rules and with the
// kernel before.
func (c *Review) small(p *cli.Program, r *found) error {
	c.step(p, "small programs")
	if len(c.Scenarios) > 0 || c.Small == 0 {
		return nil
	}
	s := &small.Session{Kernel: r.after, Base: r.before, Calls: c.Small, Asked: verb.Asked(c.Small),
		Workers: c.Workers, Cancelled: &c.stop}
	all, err := s.Begin()
	if err != nil {
		return err
	}
	s.Progress = func(ran, differ uint64) { c.line.Of(ran, all, ran, differ) }
	s.Level = func(calls int) { c.heardSmall(s, calls) }
	if err := s.Run(); err != nil {
		return err
	}
	for _, x := range s.Results() {
		for _, l := range x.Levels {
			r.programs += int(l.Run)
		}
		for i, f := range x.Causes() {
			f.Scenario.Name = fmt.Sprintf("%s-%d", f.Scenario.Name, i+1)
			if !x.Settled {
				f.Scenario.Name += "-asked"
			}
			r.answers = append(r.answers, change.Answer{Program: f.Scenario,
				Says: fmt.Sprintf("%s: %s, in %s: %s", strings.Join(f.Calls, ", "), f.What, f.After, f.Says)})
		}
	}
	return nil
}

// shortMore is how many times as many seeds serial programs are drawn from where programs are short.
const shortMore = 8

// answers compares serial programs with the rules.
func (c *Review) answers(p *cli.Program, r *found, list *items) error {
	m, drawn := twoengines.Machine(r.before), list.drawn
	if gen.Short(m.Arch) {
		drawn *= shortMore
	}
	for from := 0; from < max(len(list.serial), drawn); from += batch {
		c.step(p, "serial programs")
		some := slices.Clone(list.serial[min(from, len(list.serial)):min(from+batch, len(list.serial))])
		for i := from; i < min(from+batch, drawn); i++ {
			some = append(some, twoengines.Drawn(gen.First(c.Seed)+uint64(i), m)...)
		}
		all, err := r.kept.Programs(r.before, some, c.Workers, &c.stop)
		if err != nil {
			return err
		}
		answers, mended, err := change.Changed(all, r.after, "", c.Workers, &c.stop)
		if c.stop.Load() {
			return nil
		}
		r.programs += len(all)
		if err != nil {
			r.dies = append(r.dies, left{"a serial program", err.Error()})
			c.heard("a serial program", err.Error())
			continue
		}
		for i := range answers {
			c.heard(answers[i].Program.Name, answers[i].Says)
		}
		r.mended += mended
		r.answers = append(r.answers, answers...)
	}
	return nil
}

// handlings compares what register_kprobe makes of instructions with the rules.
func (c *Review) handlings(p *cli.Program, r *found) error {
	c.step(p, "instructions")
	if len(c.Scenarios) > 0 {
		return nil
	}
	answers, asked, err := change.Handlings(r.before, r.after, c.Workers, &c.stop)
	if c.stop.Load() {
		return nil
	}
	if err != nil {
		r.dies = append(r.dies, left{"an instruction's probe", err.Error()})
		return nil
	}
	r.asked = asked
	r.answers = append(r.answers, answers...)
	return nil
}

// kernels opens both kernels.
func (c *Review) kernels() (before, after *linux.Kernel, err error) {
	again := cli.Line(cli.Typed(), "review", "--kernel", "vmlinuz", "--objects", "kernel/kprobes.o")
	switch {
	case c.Kernel.Kernel == "":
		return nil, nil, fmt.Errorf("--kernel: none is given; give the kernel that was changed: %s", again)
	case len(c.BeforeObjects) > 0 && c.Before == "":
		c.Before = c.Kernel.Kernel
	case len(c.Objects) == 0 && c.Before == "":
		return nil, nil, fmt.Errorf("nothing is changed: give what was compiled with --objects, or the kernel "+
			"that it was with --before: %s", again)
	}
	base := kernels.Kernel{Kernel: c.Before, Objects: c.BeforeObjects}
	flags := [2]string{"--before", "--before-objects"}
	if base.Kernel == "" {
		base.Kernel, flags[0] = c.Kernel.Kernel, "--kernel"
	}
	if before, err = base.OpenAs(flags[0], flags[1]); err != nil {
		return nil, nil, err
	}
	if after, err = c.Kernel.Open(); err != nil {
		return nil, nil, err
	}
	if err := twoengines.Draws(before); err != nil {
		return nil, nil, err
	}
	if before.ID() == after.ID() {
		return nil, nil, errors.New("--before: it is the same kernel with the same objects as --kernel; give " +
			"another one, or the objects of the change with --objects")
	}
	return before, after, nil
}

// An item is a scenario that both sides run.
type item struct {
	sc   *scenario.Scenario
	in   *inputs.Input // nil: it was drawn or kept
	runs uint64
}

// An items lists what is run, and what isn't.
type items struct {
	items  []item
	serial []*scenario.Scenario
	drawn  int // number of programs to draw, from the seed on, when their turn comes
	left   []left
	seen   map[string]bool
}

// A left is a scenario that isn't compared, with the reason.
type left struct{ name, why string }

// sides is the number of kernels that run each scenario.
const sides = 2

// drawnShare is the factor by which drawn programs get fewer runs than scenarios, as there are
// many.
const drawnShare = 5

// items lists what is to be run: scenarios, kept programs and drawn programs.
func (c *Review) items(before, after *linux.Kernel) (*items, error) {
	list := &items{seen: make(map[string]bool)}
	given, err := inputs.Load(c.Scenarios)
	if err != nil {
		return nil, err
	}
	for _, in := range given {
		list.add(item{in.Scenario, in, c.Runs}, before, after)
		list.serial = append(list.serial, twoengines.Serials(in.Scenario)...)
	}
	kept, err := c.kept(on(before))
	if err != nil {
		return nil, err
	}
	few := max(c.Runs/drawnShare, 1)
	for _, sc := range kept {
		list.add(item{sc, nil, few}, before, after)
		list.serial = append(list.serial, twoengines.Serials(sc)...)
	}
	if len(c.Scenarios) == 0 {
		list.drawn = c.Programs
		list.serial = append(list.serial, forms.Programs(twoengines.Machine(before))...)
	}
	return list, nil
}

// add adds an item, unless one of the kernels can't run it or it is a duplicate: some scenarios
// differ only in settings of kpsim's engine.
func (l *items) add(it item, before, after *linux.Kernel) {
	for _, k := range []*linux.Kernel{before, after} {
		sc := *it.sc
		if err := onlinux.Set(&sc, k); err != nil {
			l.left = append(l.left, left{sc.Name, err.Error()})
			return
		}
		if !sc.OfKernel() {
			l.left = append(l.left, left{sc.Name, "it is about kpsim's own engine"})
			return
		}
		if k == before {
			sc.Name = ""
			key := lang.Print(&sc)
			if l.seen[key] {
				return
			}
			l.seen[key] = true
		}
	}
	l.items = append(l.items, it)
}
