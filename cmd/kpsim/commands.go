package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"kpsim/internal/search/blame"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/internal/verbs/catalogue"
	"kpsim/internal/verbs/findings"
	"kpsim/internal/verbs/start"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/fetch"
)

// A command is what a command line names: its flags, and what it does. Its help begins with a summary, in a paragraph
// of its own, which --help of the command above lists. An error of Run is about the input.
type command interface {
	Run(p *cli.Program) (status int, err error)
}

const description = `Kpsim finds races in live code patching: Linux kprobes, jump labels, ftrace, a JIT or a hook, on a simulated machine with several CPUs.

To begin with (the first takes two seconds, the second about two minutes):

  kpsim explore second-instruction
  kpsim explore

docs/cross-modifying-code.md shows how to describe a patcher of your own (a JIT's, a hook's) step by step, or to run it compiled. The first of its races:

  kpsim explore hook-bytes

Exit status, of every command:

  0    as expected
  1    something against expectation
  2    bad input, or an unwritten file
  3    a bug of the simulator
  130  interrupted
  143  the same, by SIGTERM

0 also stands for runs of which nothing is expected. If several apply, the first of 3, 130 or 143, 1, 2 is returned. NO_COLOR, or TERM=dumb, turns colours off.`

// newParser makes a parser of command lines that begin with one of these verbs.
func newParser(of []verb, stdout, stderr io.Writer, options ...kong.Option) *kong.Kong {
	options = append(options, kong.Name("kpsim"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.ValueFormatter(flags.HelpWithRange),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.PostBuild(func(k *kong.Kong) error { summaries(k.Model.Node); return nil }),
		kong.Vars{
			"strategies": cli.List(inputs.StrategyNames()), "fetches": cli.List(fetch.Names()),
			"memories": cli.List(smp.Orderings()), "editions": cli.List(inputs.EditionNames()),
			"drawn": cli.List(drawable.Editions()), "preempts": cli.List(drawable.Preempts()),
			"kinds":      cli.List(catalogue.Kinds()),
			"purposes":   cli.List(start.Purposes()),
			"processors": cli.List(drawable.Processors()),
			"bound":      fmt.Sprint(findings.DeviationsDefault), "samples": fmt.Sprint(blame.SamplingRuns),
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
