package findings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/gen"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/onlinux"
	"kpsim/internal/search/change"
	"kpsim/internal/search/twoengines"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/internal/ui/verdict"
	"kpsim/internal/verbs/report"
	"kpsim/linux"
)

// Compare is kpsim compare.
type Compare struct {
	Scenarios []string `arg:"" optional:"" name:"file|name" help:"Scenario files (NAME.star), or names of built-in scenarios. None: all that are built in, and programs that are drawn."`
	kernels.Kernel
	Mutant   string `placeholder:"NAME" help:"Put a fault into the kernel's machine code (kpsim kernel mutants), and compare with the unchanged kernel."`
	Programs int    `range:"0..1000000" default:"100" placeholder:"N" help:"Number of seeds from which programs are drawn if no scenario is named; three programs each."`
	Runs     uint64 `range:"0..1000000000" default:"300" placeholder:"N" help:"How many runs of each scenario are searched with the change. 0: answers only."`
	Seed     uint64 `range:"0..18446744073709551615" default:"1" help:"What programs and schedules are drawn from."`
	Workers  int    `range:"0..64" placeholder:"N" help:"How much is run at once, 16 at most. Default: one a processor. Changes no result."`
	Traces   string `default:"traces" placeholder:"DIR" help:"Where witnesses are written: NAME.kps, and, as NAME.star, programs whose answers differ."`
	cli.Form

	stop     atomic.Bool
	found    int
	progress *cli.Progress
}

// Help implements kong.HelpProvider.
func (*Compare) Help() string {
	return `List what a changed engine does differently from both the unchanged kernel and the rules.

Compares a changed engine, compiled (--objects) or patched into the machine code (--mutant), with the unchanged kernel and with the rules, in two ways.

Answers: each scenario is turned into a serial program, in which one task makes the calls of all tasks; more programs are drawn. No schedule decides anything in them, so every answer must equal that of kpsim's own engine, which implements the rules: what each call returns, each handler's registers, what calls leave, the missed hits, kprobes/list, the text. Reported are the programs whose answers under the changed kernel match neither the rules nor the unchanged kernel.

Schedules: each scenario is searched with the change. A broken property is reported if the unchanged kernel, in four times as many runs, never breaks it, or breaks it far less often. Witnesses are shrunk and written to traces/.

Without a change, only the unchanged kernel's answers are compared with the rules. docs/two-engines.md lists the known differences.

Examples:

  kpsim compare --kernel vmlinuz --objects kprobes.o
  kpsim compare --kernel vmlinuz --objects kprobes.o,opt.o --runs 3000 safe-full return-probes
  kpsim compare --kernel vmlinuz --mutant skip-call:kprobe_optimizer:synchronize_rcu_tasks:1
  kpsim compare --kernel vmlinuz --programs 1000 --seed 7

Exit status: 0 no difference found, 1 a difference, 2 bad input or a file that could not be saved, 3 a bug of the simulator, 130 interrupted.`
}

// A differentAnswer is a program whose answers differ, as a JSON object.
type differentAnswer struct {
	Program string `json:"program"`
	Says    string `json:"says"`
	Before  string `json:"without_the_change,omitempty"` // what differed without the change
	File    string `json:"file,omitempty"`               // the file to which the program was written
}

// A brokenProperty is a property that runs with the change break, as a JSON object.
type brokenProperty struct {
	Scenario   string  `json:"scenario"`
	Property   string  `json:"property"`
	Runs       uint64  `json:"runs"`
	Violations uint64  `json:"violations"`
	BaseRuns   uint64  `json:"runs_without"`
	Base       uint64  `json:"violations_without"`
	Known      bool    `json:"known"` // the unchanged kernel breaks it, too
	Trace      *string `json:"trace"`
}

// Run runs the comparison.
func (c *Compare) Run(p *cli.Program) (int, error) {
	base, changed, err := c.kernels()
	if err != nil {
		return 0, err
	}
	list, err := inputs.Load(c.Scenarios)
	if err != nil {
		return 0, err
	}
	if err := cli.MakeFolder(c.Traces); err != nil {
		return 0, err
	}
	p.StopAtInterrupt(&c.stop)
	cli.ManySmall()
	searches := 0
	if changed != nil && c.Runs > 0 {
		searches = len(list)
	}
	drawn := c.drawn()
	if drawn > 0 {
		if err := twoengines.Draws(base); err != nil {
			return 0, err
		}
	}
	c.progress = p.WatchParts("comparing", 1+(drawn+batch-1)/batch+searches, "part")
	defer c.progress.Clear()
	if err := c.answers(p, list, drawn, base, changed); err != nil {
		return 0, err
	}
	searched := 0
	for i, in := range list[:searches] {
		if c.stop.Load() {
			break
		}
		c.progress.Part(fmt.Sprintf("%d/%d %s", i+1, searches, in.Name), 1)
		ran, err := c.search(p, in, base, changed)
		if err != nil {
			return 0, err
		}
		if ran {
			searched++
		}
	}
	if c.stop.Load() {
		fmt.Fprintf(p.Err, "kpsim: interrupted\n")
		return cli.Interrupted, nil
	}
	c.progress.Complete()
	if changed != nil && c.Runs > 0 && !c.JSON {
		fmt.Fprintf(p.Out, "%s searched, %s of each\n", cli.Number(searched, "scenario"), cli.Number(c.Runs, "run"))
	}
	if c.found > 0 {
		return cli.Against, nil
	}
	return cli.OK, nil
}

// kernels opens the unchanged kernel, and the changed one, which is nil if nothing changes it.
func (c *Compare) kernels() (base, changed *linux.Kernel, err error) {
	if c.Kernel.Kernel == "" {
		return nil, nil, fmt.Errorf("--kernel: none is given; give the kernel whose engine is compared: %s",
			cli.Line(cli.Typed(), "compare", "--kernel", "vmlinuz"))
	}
	if err := c.Kernel.Alone("", c.Mutant); err != nil {
		return nil, nil, err
	}
	plain := kernels.Kernel{Kernel: c.Kernel.Kernel}
	if base, err = plain.Open(); err != nil {
		return nil, nil, err
	}
	switch {
	case len(c.Objects) > 0:
		if changed, err = c.Kernel.Open(); err != nil {
			return nil, nil, err
		}
	case c.Mutant != "":
		changed = base
	}
	return base, changed, nil
}

// batch is the number of seeds for which programs are drawn at a time: programs are large.
const batch = 50

// answers compares the kernels' answers to serial programs.
func (c *Compare) answers(p *cli.Program, list []*inputs.Input, drawn int, base, changed *linux.Kernel) error {
	p.Doing = "serial programs on " + base.Image.Release
	var serial []*scenario.Scenario
	for _, in := range list {
		serial = append(serial, twoengines.Serials(in.Scenario)...)
	}
	var all totals
	for from := 0; ; from += batch {
		c.progress.Part("serial programs", 1)
		c.progress.Note(fmt.Sprintf("%s, %d differ", cli.Number(all.programs, "program"), all.differing))
		if err := c.compare(p, serial, base, changed, &all); err != nil {
			return c.reportUnrunnable(p, err)
		}
		if c.stop.Load() {
			return nil
		}
		if from >= drawn {
			break
		}
		serial = serial[:0]
		m := twoengines.Machine(base)
		for i := from; i < min(from+batch, drawn); i++ {
			serial = append(serial, twoengines.Drawn(gen.First(c.Seed)+uint64(i), m)...)
		}
	}
	return c.reportAnswers(p, base, changed, &all)
}

// drawn returns how many programs are drawn: none if scenarios are named.
func (c *Compare) drawn() int {
	if len(c.Scenarios) > 0 {
		return 0
	}
	return c.Programs
}

// totals adds up the results of the programs of all batches.
type totals struct {
	programs, differing, mended int
	// the first maxReported answers that differ, each with another difference
	first []change.Answer
}

// add adds the differing programs of a batch.
func (s *totals) add(list []change.Answer) {
	s.differing += len(list)
	for _, a := range list {
		if len(s.first) < maxReported &&
			!slices.ContainsFunc(s.first, func(b change.Answer) bool { return a.Says == b.Says }) {
			s.first = append(s.first, a)
		}
	}
}

// compare runs a batch of programs.
func (c *Compare) compare(p *cli.Program, list []*scenario.Scenario, base, changed *linux.Kernel, s *totals) error {
	all, err := change.Programs(base, list, c.Workers, &c.stop)
	if err != nil {
		return err
	}
	differing, mended := change.Differing(all), 0
	if changed != nil {
		if differing, mended, err = change.Changed(all, changed, c.Mutant, c.Workers, &c.stop); err != nil {
			return err
		}
	}
	s.programs, s.mended = s.programs+len(all), s.mended+mended
	s.add(differing)
	for i := range differing {
		if !c.JSON {
			break
		}
		if err := c.reportDifferent(p, &differing[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxReported is how many programs are reported, and written.
const maxReported = 5

// reportAnswers prints how the programs were answered, and writes the first of those whose answers
// differ.
func (c *Compare) reportAnswers(p *cli.Program, base, changed *linux.Kernel, s *totals) error {
	c.found += s.differing
	c.judgeAnswers(p, s)
	if c.JSON {
		return nil // the programs were printed one by one
	}
	if changed == nil {
		p.Indented("", fmt.Sprintf("%s: %s answered as the rules say, %d otherwise", base.Image.Release,
			cli.Number(s.programs-s.differing, "program"), s.differing))
	} else {
		p.Indented("", fmt.Sprintf("%s, changed: %s compared, %d match neither the rules nor the unchanged "+
			"kernel; %d match the rules only with the change",
			base.Image.Release, cli.Number(s.programs, "program"), s.differing, s.mended))
	}
	for i := range s.first {
		if err := c.reportDifferent(p, &s.first[i]); err != nil {
			return err
		}
	}
	if n := s.differing - len(s.first); n > 0 {
		p.Indented(cli.Indent, fmt.Sprintf("and %d more", n))
	}
	return nil
}

// reportDifferent reports a program whose answers differ, and writes it.
func (c *Compare) reportDifferent(p *cli.Program, a *change.Answer) error {
	out := differentAnswer{Program: a.Program.Name, Says: a.Says, Before: a.Before,
		File: filepath.Join(c.Traces, inputs.TraceName(a.Program.Name)+".star")}
	if err := cli.WriteWhole(out.File, []byte(lang.Print(a.Program)+"\n")); err != nil {
		return fmt.Errorf("%s", cli.Cause(err, out.File))
	}
	c.judgeDifferent(p, &out)
	if c.JSON {
		return p.PrintJSON(out)
	}
	p.Indented(cli.Indent, a.Program.Name)
	for _, l := range strings.Split(a.Says, "\n") {
		p.Indented(cli.Indent+cli.Indent, l)
	}
	if a.Before != "" {
		p.Indented(cli.Indent+cli.Indent, "without the change it differed already: "+
			strings.ReplaceAll(a.Before, "\n", "; "))
	}
	p.ToType("the program alone:", c.line(out.File))
	return nil
}

// reportUnrunnable reports a changed kernel that can't run a scenario to its end.
func (c *Compare) reportUnrunnable(p *cli.Program, err error) error {
	c.found++
	p.Judged.Add(verdict.Case{Group: p.Doing, Name: "runs", Outcome: verdict.Failed, Rule: verdict.Dies,
		Says: err.Error(), Next: p.Again})
	if c.JSON {
		return p.PrintJSON(differentAnswer{Says: err.Error()})
	}
	p.Indented("", "the changed kernel can't run a scenario: "+err.Error())
	return nil
}

// line returns the command that compares the same kernels on a scenario.
func (c *Compare) line(name string) string {
	words := []string{"compare", name}
	if c.Mutant != "" {
		words = append(words, "--mutant", c.Mutant)
	}
	return c.Kernel.Line(words...)
}

// search compares which properties the runs of a scenario break. It returns false if the
// kernel can't run it.
func (c *Compare) search(p *cli.Program, in *inputs.Input, base, changed *linux.Kernel) (bool, error) {
	sc := *in.Scenario
	if err := onlinux.Set(&sc, base); err != nil || !sc.OfKernel() {
		c.judgeLeft(p, in, err)
		return false, nil
	}
	p.Doing, p.Again = "scenario "+in.Name, c.line(in.Arg)
	s := change.Search{Scenario: in.Scenario, Base: base, Kernel: changed, Mutant: c.Mutant, Runs: c.Runs, Seed: c.Seed,
		Workers: c.Workers, Progress: func(runs, violations uint64) { c.progress.Of(runs, c.Runs, runs, violations) },
		Cancelled: &c.stop}
	all, err := s.Run()
	if c.stop.Load() {
		return false, nil
	}
	if err != nil {
		return true, c.reportUnrunnable(p, err)
	}
	c.found += len(all.Worse)
	c.judgeSearched(p, in, &all)
	for i := range all.Worse {
		if err := c.reportBroken(p, in, &all.Worse[i], false); err != nil {
			return true, err
		}
	}
	both := append(all.Known, all.Unsure...)
	for i := range both {
		if err := c.reportBroken(p, in, &both[i], true); err != nil {
			return true, err
		}
	}
	return true, nil
}

// reportBroken reports a broken property, and writes its witness.
func (c *Compare) reportBroken(p *cli.Program, in *inputs.Input, b *change.Break, known bool) error {
	out := brokenProperty{in.Name, b.Property, b.Runs, b.Violations, b.BaseRuns, b.Base, known, nil}
	if b.Witness != nil && !known {
		path := filepath.Join(c.Traces, inputs.TraceName(in.Name)+"-"+b.Property+".kps")
		in.FoundIn(b.Witness.File)
		if _, err := inputs.WriteTrace(path, b.Witness.File); err != nil {
			why, remedy := inputs.Unsaved(err, path)
			if !errors.As(err, new(*inputs.Unreadable)) {
				return fmt.Errorf("%s", why)
			}
			p.Unsaved(why, remedy)
		} else {
			out.Trace = &path
		}
	}
	c.judgeBroken(p, in, b, &out)
	if c.JSON {
		return p.PrintJSON(out)
	}
	if known {
		return nil
	}
	p.Indented("", fmt.Sprintf("%s  %s  %d of %d runs; without the change %d of %d", in.Name, b.Property, b.Violations,
		b.Runs, b.Base, b.BaseRuns))
	if out.Trace != nil {
		p.Indented(cli.Indent, report.Headline(p, b.Witness.File))
		p.ToType(cli.Number(len(b.Witness.Schedule), "deviation")+"; to replay:", c.Kernel.Line("replay", *out.Trace))
	}
	return nil
}
