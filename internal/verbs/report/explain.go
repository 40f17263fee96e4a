package report

import (
	"errors"
	"fmt"

	"kpsim/internal/search/blame"
	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/traces"
	"kpsim/traces/view"
)

// Explain is kpsim explain.
type Explain struct {
	Trace string `arg:"" help:"A trace that explore has written: traces/NAME.kps."`
	Seed  uint64 `range:"0..18446744073709551615" default:"1" help:"The seed of the continuations."`
	Runs  int    `range:"0..1000000" default:"0" placeholder:"N" help:"How many continuations of each prefix. Default: ${samples}."`
	kernels.TracesKernel
	kernels.Sources
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Help implements kong.HelpProvider.
func (*Explain) Help() string {
	return `Explain how a trace breaks its property, and which choice made that likely.

Prints what decided the violation, marked with >, the story in a few sentences, what every CPU did, and the point of no return: the choice after which most runs fail, whatever is chosen later.

To find that point, explain replays the first choices of the trace and draws the others at random, many times. Each sentence begins with the number of its event; replay --all prints all events.

Examples:

  kpsim explain traces/second-instruction.kps
  kpsim explain --runs 5000 --json traces/second-instruction.kps

Exit status: 0 the trace breaks the property it names, at the place it names, 1 it doesn't, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

func (c *Explain) Run(p *cli.Program) (int, error) {
	file, r, err := play(p, &c.TracesKernel, c.Trace)
	if err != nil {
		return 0, err
	}
	defer r.Rig.Close()

	e := &explanation{file: file, replay: r, input: viewInput(p, file, r)}
	e.schedule = append(e.schedule, r.Taken...)
	e.input.Schedule = e.schedule
	c.Follow(r, &e.input)
	r.Decide(&e.input)
	e.deciding, e.story = view.Deciding(e.input), view.Story(e.input)
	var progress *cli.Progress
	if r.Property != nil {
		progress = p.WatchParts("continuations of "+c.Trace, 1, "trace")
		defer progress.Clear()
		e.noReturn, err = blame.Find(file, r, blame.Sampling{Seed: c.Seed, Runs: c.Runs,
			Progress: func(runs, total, fails uint64) { progress.Of(runs, total, runs, fails) }})
		if err == nil && r.Breaks {
			current := *file
			current.Schedule = e.schedule
			e.needs, err = replay.Necessity(&current)
		}
		if errors.Is(err, replay.ErrLong) { // what was computed so far is still printed
			fmt.Fprintf(p.Err, "kpsim: %s: %v\n", c.Trace, err)
		} else if err != nil {
			return 0, fmt.Errorf("%s: %w", c.Trace, err)
		}
	}
	progress.Complete()
	for _, list := range [][]view.Sentence{e.deciding, e.story} {
		for i := range list {
			e.input.Named = append(e.input.Named, list[i].Names()...)
		}
	}
	if n := e.noReturn; n != nil && !n.FromStart && !n.Sharp {
		e.input.Named = append(e.input.Named, n.From.Event, n.To.Event)
	}
	status := cli.OK
	if !r.Breaks {
		status = cli.Against
	}
	if c.JSON {
		return status, c.printJSON(p, e)
	}
	return status, c.print(p, e)
}

// An explanation is everything that explain prints.
type explanation struct {
	file     *traces.File
	replay   *replay.Replay
	schedule []traces.Deviation // deviations of the run, which may not be those of the file
	input    view.Input
	deciding []view.Sentence
	story    []view.Sentence
	noReturn *blame.Point  // the point of no return; nil: no property is broken
	needs    []replay.Need // of each deviation, if the trace breaks the property it names
}

func (c *Explain) print(p *cli.Program, e *explanation) error {
	r := e.replay
	p.Indented("", headline(c.Trace, e.file, r))
	switch {
	case !r.Breaks:
		p.Indented("", p.Paint(cli.Red, "NOT AS THE TRACE SAYS")+": "+r.Why)
	case !r.Same:
		fmt.Fprintln(p.Out, "the same violation, by another run")
	}
	for _, d := range departures(e.file, r) {
		p.Indented("", d)
	}
	printSentences(p, ">", e.deciding)
	printSentences(p, " ", e.story)
	fmt.Fprintln(p.Out)
	if err := view.Interleaving(p.Out, e.input); err != nil {
		return err
	}
	if says := view.NotX86(e.input.Memory); says != "" && r.Property != nil {
		fmt.Fprintln(p.Out)
		p.Indented("", says)
	}
	if r.Property == nil {
		fmt.Fprintf(p.Out, "\nnothing is broken: the run ended %v\n", r.Outcome)
	}
	printWithout(p, e)
	printNoReturn(p, e)
	fmt.Fprintln(p.Out)
	switch {
	case r.Breaks && (!r.Same || r.Miss != nil):
		p.Next("", "to bring the trace up to date:", c.Line("rerecord", c.Trace))
	case r.Breaks:
		p.Next("", "every event:    ", c.Line("replay", "--all", c.Trace))
	default:
		p.Next("", "to search for it again:", searchCommand(&c.TracesKernel, e.file, r.Rig.Scenario))
	}
	kernels.TellEdited(p, c.Trace, e.file)
	return nil
}

// printSentences prints sentences after an empty line, each with the number of its event, which mark begins.
func printSentences(p *cli.Program, mark string, list []view.Sentence) {
	if len(list) > 0 {
		fmt.Fprintln(p.Out)
	}
	for _, s := range list {
		for i, l := range view.Fold(s.Text, p.Width-8) {
			if i == 0 {
				fmt.Fprintf(p.Out, "%s%5d  %s\n", mark, s.Seq, l)
			} else {
				fmt.Fprintf(p.Out, "%8s%s\n", "", l)
			}
		}
	}
}

// printWithout prints how the run ends without each deviation.
func printWithout(p *cli.Program, e *explanation) {
	if len(e.needs) == 0 {
		return
	}
	fmt.Fprintln(p.Out, "\nWhat each deviation is for:")
	for i := range e.needs {
		p.Indented("  ", fmt.Sprintf("deviation %d: %s", i+1, e.needs[i].Says))
	}
}
