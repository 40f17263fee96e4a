package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"kpsim/internal/cli"
	"kpsim/internal/cli/flags"
	"kpsim/internal/cli/inputs"
	"kpsim/internal/search/blame"
	"kpsim/internal/search/parallel"
	"kpsim/sim"
)

// commands is the command line.
type commands struct {
	Explore  exploreCmd  `cmd:"" help:"Run scenarios under many schedules and say what was observed."`
	Storm    stormCmd    `cmd:"" help:"Run programs that are drawn, which call the probes' API in any order."`
	Fuzz     fuzzCmd     `cmd:"" help:"Run whole scenarios that are drawn: machine, functions, probes, tasks and schedules."`
	Verify   verifyCmd   `cmd:"" help:"Run every schedule of a kind: what holds then is proved."`
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
	Check    checkCmd    `cmd:"" help:"Say of each instruction of an object file whether it can be probed, boosted, optimized, and why not."`
	Disasm   disasmCmd   `cmd:"" help:"List a function, and draw what a probe's jump would replace."`
	Bench    benchCmd    `cmd:"" help:"Measure how fast and how well this build searches."`
	Mutants  mutantsCmd  `cmd:"" help:"Break one step of a protocol after another on purpose, and see who notices, and how soon."`
	Overhead overheadCmd `cmd:"" help:"Say what probes cost: the documents' figures beside ours, and what a hit is spent on."`
	Editions editionsCmd `cmd:"" help:"Print what each edition of the kernel's document presets."`
	List     listCmd     `cmd:"" help:"List the scenarios, properties, mutants and strategies."`
	Version  versionCmd  `cmd:"" help:"Print which kpsim this is: commit, Go, modules, the format of its traces."`

	Completion completionCmd `cmd:"" help:"Print a script by which a shell completes commands, flags and names."`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print what the last word may become; completion's scripts ask it."`
}

// A command is what is selected on the command line. An error is about the
// input.
type command interface {
	Run(p *cli.Program) (status int, err error)
}

const description = `Kpsim simulates the races of live code patching: Linux kprobes and their like on an x86 machine with several CPUs.

To begin with (some seconds; all scenarios take minutes):

  kpsim explore second-instruction
  kpsim explore

Exit status, of every command:

  0    as expected, or nothing was
  1    something against expectation
  2    bad input, or an unwritten file
  3    a bug of the simulator
  130  interrupted

If several hold it is the first of 3, 130, 1, 2. NO_COLOR, or TERM=dumb, turns colours off.`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without its exit.
func run(args []string, stdout, stderr io.Writer) int {
	p := cli.New(stdout, stderr)
	defer p.Flush()
	defer p.Listen()() // from the beginning
	var c commands
	parser := newParser(&c, stdout, stderr) // by themselves, for their width: it prints nothing but help
	ctx, err := parser.Parse(flags.Meant(parser.Model.Node, args))
	if err != nil {
		fmt.Fprintf(p.Err, "kpsim: %s\n", flags.InPlainWords(err))
		return cli.BadInput
	}
	if err := flags.OutOfRange(ctx); err != nil {
		fmt.Fprintf(p.Err, "kpsim: %v\n", err)
		return cli.BadInput
	}
	return do(p, ctx.Selected().Target.Addr().Interface().(command))
}

// newParser makes what reads the command line into c.
func newParser(c *commands, stdout, stderr io.Writer) *kong.Kong {
	parser, err := kong.New(c, kong.Name("kpsim"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.ValueFormatter(flags.HelpWithRange), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"strategies": cli.List(inputs.StrategyNames()), "fetches": cli.List(inputs.FetchNames()), "editions": cli.List(inputs.EditionNames()), "storms": cli.List(inputs.StormEditions()), "preempts": cli.List(inputs.StormPreempts()), "bound": fmt.Sprint(deviationsDefault), "samples": fmt.Sprint(blame.SamplingRuns)})
	if err != nil {
		sim.Bug("the command line: %v", err)
	}
	return parser
}

// do runs a command and tells what went wrong. A panic is the simulator's
// fault: none of what it came up with counts.
func do(p *cli.Program, c command) (status int) {
	defer func() {
		if v := recover(); v != nil {
			bug(p, v)
			status = cli.Bug
		}
	}()
	status, err := c.Run(p)
	if err != nil && !p.LostBy(err) {
		fmt.Fprintf(p.Err, "kpsim: %v\n", err)
		return cli.BadInput
	}
	if why := p.Lost(); why != "" {
		fmt.Fprintf(p.Err, "kpsim: %s; make room, or write to another place\n", why)
		if status == cli.OK {
			return cli.BadInput
		}
	}
	return status
}

// bug reports a panic.
func bug(p *cli.Program, v any) {
	stack := debug.Stack()
	if c, ok := v.(*parallel.Crash); ok { // it happened in a worker
		v, stack = c.Value, c.Stack
	}
	switch b := v.(type) {
	case *sim.BugError:
		fmt.Fprintf(p.Err, "kpsim: %v\n%s", b, b.Stack)
	case *sim.Panic: // it happened on a fibre
		fmt.Fprintf(p.Err, "kpsim: bug of the simulator: panic: %v\n%s", b, b.Stack)
	default:
		fmt.Fprintf(p.Err, "kpsim: bug of the simulator: panic: %v\n%s", v, stack)
	}
	if p.Doing != "" {
		fmt.Fprintf(p.Err, "  in %s\n", p.Doing)
	}
	fmt.Fprintln(p.Err, "This is a fault of kpsim, and says nothing about the code that was run. Please open an issue")
	fmt.Fprintln(p.Err, "with these lines and the scenario, and look whether it comes again:")
	fmt.Fprintf(p.Err, "  %s\n", p.Again)
}
