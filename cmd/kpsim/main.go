package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"kpsim/internal/search/parallel"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/flags"
	"kpsim/internal/verbs/start"
	"kpsim/sim"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without its exit.
func run(args []string, stdout, stderr io.Writer) int {
	return runOn(cli.New(stdout, stderr), args, stdout, stderr)
}

// runOn is run of a program whose terminal and clock are known.
func runOn(p *cli.Program, args []string, stdout, stderr io.Writer) int {
	defer p.Flush()
	defer p.Listen()() // from the beginning
	if len(args) == 0 {
		start.Offer(p)
		return cli.BadInput
	}
	if err := flags.Typeset(args); err != nil {
		fmt.Fprintf(p.Err, "kpsim: %v\n", err)
		return misused(args)
	}
	c := parseNamed(args, stdout, stderr)
	if c == nil {
		parser := newParser(verbs, stdout, stderr) // by themselves, for their width: it prints nothing but help
		ctx, err := parser.Parse(flags.Meant(parser.Model.Node, args))
		if err != nil {
			fmt.Fprintf(p.Err, "kpsim: %s\n", flags.InPlainWords(err))
			return misused(args)
		}
		if err := flags.Check(ctx); err != nil {
			fmt.Fprintf(p.Err, "kpsim: %v\n", err)
			return misused(args)
		}
		c = selected(ctx)
	}
	status := do(p, c)
	if e, ok := c.(interface{ Exit(status int) int }); ok { // git knows other statuses
		status = e.Exit(status)
	}
	return p.Heard(status)
}

// misused returns the exit status for a command line that can't be parsed, which a command may choose.
func misused(args []string) int {
	for _, v := range verbs {
		if v.name != args[0] {
			continue
		}
		if m, ok := v.new().(interface{ Misused(args []string) int }); ok {
			return m.Misused(args)
		}
	}
	return cli.BadInput
}

// parseNamed parses a correct command line with a parser that knows only the named command: building the parser of all
// commands takes longer than a short command runs. nil: the whole parser explains what is wrong, or prints help.
func parseNamed(args []string, stdout, stderr io.Writer) command {
	for i, v := range verbs {
		if v.name != args[0] {
			continue
		}
		ctx, err := newParser(verbs[i:i+1], stdout, stderr, kong.NoDefaultHelp()).Parse(args)
		if err != nil || flags.Check(ctx) != nil {
			return nil
		}
		return selected(ctx)
	}
	return nil
}

// selected is the command that a command line names.
func selected(ctx *kong.Context) command { return ctx.Selected().Target.Addr().Interface().(command) }

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
