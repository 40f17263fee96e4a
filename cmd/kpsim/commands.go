package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"kpsim/internal/catalogue"
	"kpsim/internal/check"
	"kpsim/internal/cli"
	"kpsim/internal/cli/flags"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/eval/bench"
	matrix "kpsim/internal/eval/matrix/pages"
	"kpsim/internal/eval/mutants"
	overhead "kpsim/internal/eval/overhead/pages"
	"kpsim/internal/eval/review"
	"kpsim/internal/findings"
	"kpsim/internal/kernelinfo"
	"kpsim/internal/litmus"
	"kpsim/internal/report"
	"kpsim/internal/search/blame"
	"kpsim/internal/shell"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/fetch"
)

// A command is what a command line names: its flags, and what it does. Its help begins with a summary, in a paragraph
// of its own, which --help of the command above lists. An error of Run is about the input.
type command interface {
	Run(p *cli.Program) (status int, err error)
}

// A verb is a command of the first level, or has commands below it.
type verb struct {
	name string
	new  func() kong.HelpProvider
	tags []string
}

// verbs are the command line, in the order of --help.
var verbs = []verb{
	named[findings.Explore]("explore"),
	named[findings.Fuzz]("fuzz"),
	named[findings.Verify]("verify"),
	named[findings.Compare]("compare"),
	named[review.Review]("review"),
	named[matrix.Matrix]("matrix"),
	named[findings.Merge]("merge"),
	named[report.OneRun]("run"),
	named[shell.Shell]("shell"),
	named[report.Replay]("replay"),
	named[report.Explain]("explain"),
	named[report.View]("view"),
	named[report.Export]("export"),
	named[report.Shrink]("shrink"),
	named[report.Rerecord]("rerecord"),
	named[litmus.Litmus]("litmus"),
	named[check.Check]("check"),
	named[check.Disasm]("disasm"),
	named[kernelinfo.Kernel]("kernel"),
	named[bench.Bench]("bench"),
	named[mutants.Mutants]("mutants"),
	named[overhead.Overhead]("overhead"),
	named[catalogue.Editions]("editions"),
	named[catalogue.List]("list"),
	named[catalogue.Version]("version"),
	named[completionCmd]("completion"),
	named[manCmd]("man"),
	named[completeCmd]("complete", `hidden:""`),
}

func named[C any, P interface {
	*C
	kong.HelpProvider
}](name string, tags ...string) verb {
	return verb{name, func() kong.HelpProvider { return P(new(C)) }, tags}
}

const description = `Kpsim simulates the races of live code patching: Linux kprobes and their like on an x86 machine with several CPUs.

To begin with (some seconds; all scenarios take a minute):

  kpsim explore second-instruction
  kpsim explore

Exit status, of every command:

  0    as expected, or nothing was
  1    something against expectation
  2    bad input, or an unwritten file
  3    a bug of the simulator
  130  interrupted
  143  the same, by SIGTERM

If several hold it is the first of 3, 130 or 143, 1, 2. NO_COLOR, or TERM=dumb, turns colours off.`

// newParser makes a parser of command lines that begin with one of these verbs.
func newParser(of []verb, stdout, stderr io.Writer, options ...kong.Option) *kong.Kong {
	options = append(options, kong.Name("kpsim"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.ValueFormatter(flags.HelpWithRange),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.PostBuild(func(k *kong.Kong) error { summaries(k.Model.Node); return nil }),
		kong.Vars{
			"strategies": cli.List(inputs.StrategyNames()), "fetches": cli.List(fetch.Names()),
			"memories": cli.List(smp.Orderings()), "editions": cli.List(inputs.EditionNames()),
			"drawn": cli.List(inputs.DrawnEditions()), "preempts": cli.List(inputs.DrawnPreempts()),
			"bound": fmt.Sprint(findings.DeviationsDefault), "samples": fmt.Sprint(blame.SamplingRuns),
		})
	for _, v := range of {
		options = append(options, kong.DynamicCommand(v.name, "", "", v.new(), v.tags...))
	}
	parser, err := kong.New(new(struct{}), options...)
	if err != nil {
		sim.Bug("the command line: %v", err)
	}
	return parser
}

// summaries divides the helps of commands into their summaries and the rest.
func summaries(of *kong.Node) {
	for _, n := range of.Children {
		n.Help, n.Detail, _ = strings.Cut(n.Detail, "\n\n")
		summaries(n)
	}
}
