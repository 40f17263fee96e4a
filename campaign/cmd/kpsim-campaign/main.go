package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"kpsim/internal/search/parallel"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/drawable"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/fetch"
)

func main() {
	cli.CallAs("kpsim") // reports show command lines of kpsim
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// commands is the command line.
type commands struct {
	Run     runCmd     `cmd:"" help:"Run a campaign in one process: a server, workers, the report."`
	Fuzz    fuzzCmd    `cmd:"" help:"The same with drawn programs, as kpsim fuzz."`
	Serve   serveCmd   `cmd:"" help:"Run a server and coordinate campaigns, until ^C."`
	Work    workCmd    `cmd:"" help:"Make units of any campaign, until ^C."`
	Start   startCmd   `cmd:"" help:"Start a campaign."`
	Status  statusCmd  `cmd:"" help:"Print the progress of campaigns."`
	Results resultsCmd `cmd:"" help:"Print the report of a campaign, and write its witnesses."`
	Finds   findsCmd   `cmd:"" help:"List what campaigns have found, a line a cause, or write the witnesses."`
	Pause   pauseCmd   `cmd:"" help:"Pause a campaign: hand out none of its units for now."`
	Resume  resumeCmd  `cmd:"" help:"Continue a campaign that was paused."`
	Cancel  cancelCmd  `cmd:"" help:"End a campaign early."`
	Forget  forgetCmd  `cmd:"" help:"Remove the results of a campaign's units; its finds stay."`
}

type command interface {
	Run(p *cli.Program) (status int, err error)
}

const description = `kpsim-campaign makes the searches of kpsim on many computers. The report is that of one computer, byte for byte.

To begin with, all in one process:

  kpsim-campaign run second-instruction torn-jump

Others help from the same computer with: kpsim-campaign work

Exit status, of every command:

  0    as expected, or nothing was
  1    something against expectation
  2    bad input, or an unwritten file
  3    a bug of the simulator, or units that were set aside
  130  interrupted`

func run(args []string, stdout, stderr io.Writer) int {
	p := cli.New(stdout, stderr)
	defer p.Flush()
	defer p.Listen()()
	parser := newParser(new(commands), stdout, stderr)
	ctx, err := parser.Parse(flags.Meant(parser.Model.Node, args))
	if err == nil {
		err = flags.Check(ctx)
	}
	if err != nil {
		fmt.Fprintf(p.Err, "kpsim-campaign: %s\n", flags.InPlainWords(err))
		return cli.BadInput
	}
	return do(p, ctx.Selected().Target.Addr().Interface().(command))
}

// newParser returns a parser that reads the command line into c.
func newParser(c *commands, stdout, stderr io.Writer) *kong.Kong {
	parser, err := kong.New(c, kong.Name("kpsim-campaign"), kong.Description(description),
		kong.Writers(stdout, stderr), kong.ValueFormatter(flags.HelpWithRange),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"strategies": cli.List(inputs.StrategyNames()), "fetches": cli.List(fetch.Names()),
			"memories": cli.List(smp.Orderings()), "editions": cli.List(inputs.EditionNames()),
			"drawn": cli.List(drawable.Editions()), "preempts": cli.List(drawable.Preempts()),
			"processors": cli.List(drawable.Processors()),
			"folder":     defaultDir()})
	if err != nil {
		sim.Bug("the command line: %v", err)
	}
	if err := replaceHelp(parser.Model.Node); err != nil {
		sim.Bug("the command line: %v", err)
	}
	return parser
}

// do runs a command and reports its error.
func do(p *cli.Program, c command) (status int) {
	defer func() {
		if v := recover(); v != nil {
			stack := debug.Stack()
			if crash, ok := v.(*parallel.Crash); ok {
				v, stack = crash.Value, crash.Stack
			}
			fmt.Fprintf(p.Err,
				"kpsim-campaign: bug of the simulator: %v\n%s\nThis is a fault of kpsim. Please open an issue "+
					"with these lines.\n", v, stack)
			status = cli.Bug
		}
	}()
	status, err := c.Run(p)
	if errors.Is(err, errInterrupted) {
		return cli.Interrupted
	}
	if err != nil && !p.LostBy(err) {
		fmt.Fprintf(p.Err, "kpsim-campaign: %v\n", err)
		return cli.BadInput
	}
	if why := p.Lost(); why != "" {
		fmt.Fprintf(p.Err, "kpsim-campaign: %s; make room, or write to another place\n", why)
		if status == cli.OK {
			return cli.BadInput
		}
	}
	return status
}
