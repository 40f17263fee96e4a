package main

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"kpsim/internal/search/blame"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/verbs/findings"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/fetch"
)

// commands is the command line.
type commands struct {
	Explore  exploreCmd  `cmd:"" help:"Run scenarios under many schedules and say what was observed."`
	Fuzz     fuzzCmd     `cmd:"" help:"Draw programs, guided by what they show: machine, functions, probes, tasks and schedules."`
	Verify   verifyCmd   `cmd:"" help:"Run every schedule of a kind: what holds then is proved."`
	Compare  compareCmd  `cmd:"" help:"Say what a changed kernel's engine does that the kernel as it is, and the rules, don't."`
	Review   reviewCmd   `cmd:"" help:"Run a changed kernel's engine beside the kernel without the change: what only one does, costs, coverage of the patch."`
	Matrix   matrixCmd   `cmd:"" help:"Say which waits and syncs patching needs, under which preemption and fetch."`
	Merge    mergeCmd    `cmd:"" help:"Put the result files of an exploration that was divided together."`
	Run      runCmd      `cmd:"" help:"Run a scenario once: the probes in the end, their hits, what the kernel printed."`
	Shell    shellCmd    `cmd:"" help:"Step a machine by hand: call, register, cat and echo, look at text and registers."`
	Replay   replayCmd   `cmd:"" help:"Run a trace again and show it."`
	Explain  explainCmd  `cmd:"" help:"Say in a few sentences how a trace comes to break its property, and which choice lost it."`
	View     viewCmd     `cmd:"" help:"Show a trace as a page to go through step by step."`
	Export   exportCmd   `cmd:"" help:"Write what a trace does for other tools: ftrace's text, Perfetto, JSON, a mail."`
	Shrink   shrinkCmd   `cmd:"" help:"Make a trace smaller, and say what each of its deviations is for."`
	Rerecord rerecordCmd `cmd:"" help:"Bring traces up to date with the program they were recorded from."`
	Litmus   litmusCmd   `cmd:"" help:"Run litmus tests exhaustively on the simulated machine, and say what they can see of memory."`
	Check    checkCmd    `cmd:"" help:"Say of each instruction of an object file whether it can be probed, boosted, optimized, and why not."`
	Disasm   disasmCmd   `cmd:"" help:"List a function, and draw what a probe's jump would replace."`
	Kernel   kernelCmd   `cmd:"" help:"Say of a kernel's file what it is, what of it can be run, and what a port needs."`
	Bench    benchCmd    `cmd:"" help:"Measure how fast and how well this build searches."`
	Mutants  mutantsCmd  `cmd:"" help:"Break one step of a protocol after another on purpose, and see who notices, and how soon."`
	Overhead overheadCmd `cmd:"" help:"Say what probes cost: the documents' figures beside ours, and what a hit is spent on."`
	Editions editionsCmd `cmd:"" help:"Print what each edition of the kernel's document presets."`
	List     listCmd     `cmd:"" help:"List the scenarios, properties, mutants and strategies."`
	Version  versionCmd  `cmd:"" help:"Print which kpsim this is: commit, Go, modules, the format of its traces."`

	Completion completionCmd `cmd:"" help:"Print a script by which a shell completes commands, flags and names."`
	Man        manCmd        `cmd:"" help:"Print a man page, of kpsim or of one of its commands."`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print what the last word may become; completion's scripts ask it."`
}

// A command is what is selected on the command line. An error is about the
// input.
type command interface {
	Run(p *cli.Program) (status int, err error)
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

// newParser makes the parser that reads the command line into a struct of commands.
func newParser(grammar any, stdout, stderr io.Writer, options ...kong.Option) *kong.Kong {
	options = append(options, kong.Name("kpsim"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.ValueFormatter(flags.HelpWithRange),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{
			"strategies": cli.List(inputs.StrategyNames()), "fetches": cli.List(fetch.Names()),
			"memories": cli.List(smp.Orderings()), "editions": cli.List(inputs.EditionNames()),
			"drawn": cli.List(inputs.DrawnEditions()), "preempts": cli.List(inputs.DrawnPreempts()),
			"bound": fmt.Sprint(findings.DeviationsDefault), "samples": fmt.Sprint(blame.SamplingRuns),
		})
	parser, err := kong.New(grammar, options...)
	if err != nil {
		sim.Bug("the command line: %v", err)
	}
	return parser
}
