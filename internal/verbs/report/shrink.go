package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"kpsim/internal/search/replay"
	"kpsim/internal/search/shrink"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/traces"
)

// Shrink is kpsim shrink.
type Shrink struct {
	Trace string       `arg:"" help:"A trace that breaks a property: one of explore's, also edited by hand."`
	Out   cli.FileName `placeholder:"FILE" help:"Where to write the smaller trace. Default: NAME-small.kps, beside the trace."`
	Force bool         `help:"Write over a file that is there."`
	kernels.TracesKernel
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Help implements kong.HelpProvider.
func (*Shrink) Help() string {
	return `Make a trace smaller, and say what each of its deviations is for.

Removes what the violation doesn't need: deviations, tasks, interrupt sources, operations, CPUs, functions. It moves the rest to where it reads simplest. The property, the place and the state of the probe stay the same. Then it says for each deviation how the run ends without it. The trace itself isn't changed.

Examples:

  kpsim shrink mine.kps
  kpsim shrink --out traces/corpus/T2-mine.kps mine.kps
  kpsim shrink --force --json traces/second-instruction.kps

Exit status: 0 a smaller trace was written, or one just as small if there is nothing to take away; 1 the trace no longer breaks its property, 2 bad input, or the smaller trace could not be saved (the report is still printed), 3 a bug of the simulator, 130 interrupted.`
}

// A shrinkJSON is the output of shrink --json.
type shrinkJSON struct {
	Trace     string     `json:"trace"`
	Out       string     `json:"out"`
	Property  string     `json:"property"` // the ID
	Place     string     `json:"place"`
	Before    sizeJSON   `json:"before"`
	After     sizeJSON   `json:"after"`
	Runs      int        `json:"runs"`
	Exhausted bool       `json:"exhausted"` // the budget was used up: it may not be minimal
	Needs     []needJSON `json:"needs"`
	Unsaved   string     `json:"unsaved,omitempty"`    // why the file out wasn't written
	Text      string     `json:"trace_text,omitempty"` // the trace, if it wasn't written
}

type sizeJSON struct {
	Deviations int    `json:"deviations"`
	Scenario   string `json:"scenario"`
}

type needJSON struct {
	Deviation string  `json:"deviation"`
	Property  *string `json:"property"` // the ID of the property broken without it; null: none
	Without   string  `json:"without"`  // the same in words
}

func (c *Shrink) Run(p *cli.Program) (int, error) {
	file, err := c.TracesKernel.Read(c.Trace)
	if err != nil {
		return 0, err
	}
	if file.Property == traces.NoProperty {
		return 0, fmt.Errorf("%s: its run breaks nothing, so there is nothing to keep while it is made smaller; give "+
			"a trace that breaks a property", c.Trace)
	}
	if c.Out == "" {
		c.Out = cli.FileName(strings.TrimSuffix(c.Trace, ".kps") + "-small.kps")
	}
	out := string(c.Out)
	if err := c.Out.Check(); err != nil {
		return 0, err
	}
	// a pipe or a device loses nothing by writing
	if s, err := os.Stat(out); err == nil && s.Mode().IsRegular() && !c.Force {
		return 0, fmt.Errorf("%s: it is there already; name another file with --out, or write over it with --force",
			c.Out)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s; name another file with --out", cli.Cause(err, out))
	}
	p.ExitAtInterrupt("nothing was written")
	p.Doing = "trace " + c.Trace
	line := p.WatchParts("shrinking "+c.Trace, 1, "trace")
	defer line.Clear()
	s, r, err := shrink.File(c.Trace, file, func(runs int, share float64) { line.Far(share, cli.Number(runs, "run")) })
	if err != nil {
		return 0, err
	}
	defer r.Rig.Close()
	if s == nil {
		printOutdated(p, &c.TracesKernel, c.Trace, file, r)
		return cli.Against, nil
	}
	needs, err := replay.Necessity(s.File)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.Out, err)
	}
	line.Complete()
	status, unsaved, remedy := cli.OK, "", ""
	if _, err := inputs.WriteTrace(out, s.File); err != nil { // it is still printed
		unsaved, remedy = inputs.Unsaved(err, out)
		status = cli.BadInput
	}
	if c.JSON {
		err = c.printJSON(p, s, needs, unsaved)
	} else {
		c.print(p, s, needs, unsaved)
	}
	if unsaved != "" {
		p.Unsaved(unsaved, remedy)
	}
	return status, err
}

// printOutdated is the one-line error for a trace that no longer applies; it says where the run first
// left the recorded one.
func printOutdated(p *cli.Program, k *kernels.TracesKernel, path string, file *traces.File, r *replay.Replay) {
	why := r.Why
	if r.Miss != nil {
		why += "; " + firstDivergence(file, r)
	}
	fmt.Fprintf(p.Err, "kpsim: %s: %s; to search for it again: %s\n", path, why, searchCommand(k, file, r.Rig.Scenario))
}

func (c *Shrink) printJSON(p *cli.Program, s *shrink.Shrunk, needs []replay.Need, unsaved string) error {
	out := shrinkJSON{
		Trace: c.Trace, Out: string(c.Out), Property: s.File.Property, Place: s.File.Place, Runs: s.Runs,
		Exhausted: s.Exhausted,
		Before:    sizeJSON{s.Found, s.Was}, After: sizeJSON{len(s.File.Schedule), s.Is}, Needs: []needJSON{},
	}
	if unsaved != "" {
		out.Unsaved, out.Text = unsaved, string(s.File.Marshal())
	}
	for i := range needs {
		n := needJSON{Deviation: needs[i].Deviation.String(), Without: needs[i].Says}
		if q := needs[i].Property; q != nil {
			n.Property = &q.ID
		}
		out.Needs = append(out.Needs, n)
	}
	return p.PrintJSON(out)
}

func (c *Shrink) print(p *cli.Program, s *shrink.Shrunk, needs []replay.Need, unsaved string) {
	p.Indented("", Headline(p, s.File))
	fmt.Fprintln(p.Out)
	p.Indented("", fmt.Sprintf("before: %s; %s", cli.Number(s.Found, "deviation"), s.Was))
	p.Indented("", fmt.Sprintf("after:  %s; %s", cli.Number(len(s.File.Schedule), "deviation"), s.Is))
	fmt.Fprintln(p.Out)
	printNeeds(p, needs)
	if s.Slow {
		p.Indented("", "It takes a CPU that stands still between two instructions, with no interrupt.")
	}
	if unsaved != "" {
		fmt.Fprintf(p.Out, "not saved; to shrink it again:  %s\n", c.Line("shrink", c.Trace, "--out", "FILE"))
		return
	}
	if s.Exhausted {
		fmt.Fprintf(p.Out, "%s were not enough to try all; to go on:  %s\n", cli.Number(s.Runs, "run"),
			c.Line("shrink", string(c.Out)))
	} else {
		fmt.Fprintf(p.Out, "%s; nothing more can be taken away\n", cli.Number(s.Runs, "run"))
	}
	fmt.Fprintf(p.Out, "to replay:  %s\n", c.Line("replay", string(c.Out)))
}

// printNeeds prints deviations, and under each its purpose.
func printNeeds(p *cli.Program, needs []replay.Need) {
	for i := range needs {
		p.Indented("", needs[i].Deviation.String())
		p.Indented(cli.Indent, needs[i].Says)
	}
	if len(needs) > 0 {
		fmt.Fprintln(p.Out)
	}
}
