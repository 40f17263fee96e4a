package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/library"
	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/internal/ui/verdict"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces"
	"kpsim/traces/view"
)

// Replay is kpsim replay.
type Replay struct {
	Trace     string `arg:"" help:"A trace that explore has written: traces/NAME.kps."`
	All       bool   `help:"Print a row for each event, and leave nothing out."`
	Functions bool   `help:"Print instead, of a run on a kernel's own engine, which functions of the kernel ran as they were compiled, and for which kpsim stood in."`
	kernels.TracesKernel
	kernels.Sources
	JSON bool `name:"json" xor:"form" help:"Print one JSON object."`
	cli.Format
}

// Help implements kong.HelpProvider.
func (*Replay) Help() string {
	return `Run a trace again and show it.

Prints what every CPU did, what was broken, whether that is what the trace says, and the digest of all events: the same one each time. A trace is text. Edit its scenario or its schedule, and replay shows what becomes of it.

Examples:

  kpsim replay traces/second-instruction.kps
  kpsim replay --json traces/second-instruction.kps
  kpsim replay --functions traces/of-a-kernel.kps

Exit status: 0 the same as the trace says, 1 not the same, 2 bad input, 3 a bug of the simulator, 130 interrupted.`
}

// A replayJSON is the output of replay --json.
type replayJSON struct {
	endJSON
	Deviations int    `json:"deviations"`
	Why        string `json:"why,omitempty"`
	Breaks     bool   `json:"breaks"` // at the file's place, though possibly in another run

	// Otherwise describes the deviations that were not taken as the file says. If that changed
	// the run, it describes only the first.
	Otherwise       []string    `json:"taken_otherwise,omitempty"`
	FirstDivergence *divergence `json:"first_divergence,omitempty"`
}

// An endJSON is the end of a trace's run, as printed by --json.
type endJSON struct {
	Trace    string  `json:"trace"`
	Property *string `json:"property"` // the ID; null: no property was broken
	Place    string  `json:"place"`
	Message  string  `json:"message"`
	Digest   string  `json:"digest"`
	Same     bool    `json:"same"`
	// the scenario's file or name, if the program has changed since
	Edited string `json:"scenario_edited,omitempty"`
	// the file's scenario, schedule or verdict was edited after it was written: its checksum is of another text
	TextEdited bool `json:"text_edited,omitempty"`
	// the checksum was removed, so that edits can't be noticed
	TextUnchecked bool   `json:"text_unchecked,omitempty"`
	Scenario      string `json:"scenario"` // its name
	Program       string `json:"program"`  // a checksum of the scenario's text in the trace
}

func endOf(trace string, file *traces.File, r *replay.Replay) endJSON {
	e := endJSON{Edited: inputs.Edited(trace, file), Trace: trace, Place: r.Place, Message: r.Message,
		Digest: fmt.Sprintf("%016x", r.Digest), Same: r.Same,
		TextEdited: !file.Intact(), TextUnchecked: file.Unchecked(), Scenario: r.Rig.Scenario.Name,
		Program: file.ProgramSum()}
	if r.Property != nil {
		e.Property = &r.Property.ID
	}
	return e
}

// A divergence is a deviation that was never reached, as printed by --json.
type divergence struct {
	Deviation int    `json:"deviation"` // numbered from 1
	Wanted    string `json:"wanted"`
	Found     string `json:"found"`
}

func (c *Replay) Run(p *cli.Program) (int, error) {
	file, r, err := play(p, &c.TracesKernel, c.Trace)
	if err != nil {
		return 0, err
	}
	defer r.Rig.Close()

	status := cli.OK
	if !r.Same {
		status = cli.Against
	}
	c.judge(p, file, r)
	if c.Functions {
		ran, err := c.Ran(r)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.Trace, err)
		}
		return status, printFunctions(p, ran, c.JSON)
	}
	if c.JSON {
		return status, c.printJSON(p, file, r)
	}
	if err := c.print(p, file, r); err != nil {
		return 0, err
	}
	kernels.TellEdited(p, c.Trace, file)
	return status, nil
}

// play reads a trace and runs it, for commands that only look at it.
func play(p *cli.Program, k *kernels.TracesKernel, path string) (*traces.File, *replay.Replay, error) {
	file, err := k.Read(path)
	if err != nil {
		return nil, nil, err
	}
	p.ExitAtInterrupt("nothing was changed")
	p.Doing = "trace " + path
	r, err := replay.Play(path, file, true)
	switch {
	case err != nil:
	case !file.Intact():
		fmt.Fprintf(p.Err, "kpsim: %s was edited after it was written (its text checksum is of another text); this is "+
			"the run of the text that is there now\n", path)
	case file.Unchecked():
		fmt.Fprintf(p.Err, "kpsim: %s may have been edited: the line of its text checksum is missing\n", path)
	}
	return file, r, err
}

func (c *Replay) printJSON(p *cli.Program, file *traces.File, r *replay.Replay) error {
	out := replayJSON{endJSON: endOf(c.Trace, file, r), Deviations: len(file.Schedule), Why: r.Why,
		Breaks: r.Breaks && r.Property != nil}
	out.Otherwise, out.FirstDivergence = drifts(file, r), diverges(file, r)
	return p.PrintJSON(out)
}

// judge adds the case of the trace.
func (c *Replay) judge(p *cli.Program, file *traces.File, r *replay.Replay) {
	one := verdict.Case{Group: c.Trace, Name: "as the trace says", Says: headline(c.Trace, file, r),
		Notes: departures(file, r), Trace: c.Trace, Places: []verdict.Place{{File: c.Trace}},
		Next: c.Line("explain", c.Trace)}
	if !r.Same {
		one.Outcome, one.Rule = verdict.Failed, verdict.Outdated
		one.Says += "\nnot the same: " + r.Why
		one.Next = searchCommand(&c.TracesKernel, file, r.Rig.Scenario)
	}
	p.Judged.Add(one)
}

// diverges returns where the run first differs from the file's, or nil if it doesn't.
func diverges(file *traces.File, r *replay.Replay) *divergence {
	if r.Same || r.Miss == nil {
		return nil
	}
	return &divergence{r.Miss.Index + 1, file.Schedule[r.Miss.Index].String(), missed(file, r)}
}

func (c *Replay) print(p *cli.Program, file *traces.File, r *replay.Replay) error {
	p.Indented("", headline(c.Trace, file, r))
	fmt.Fprintln(p.Out)
	in := viewInput(p, file, r)
	in.All = c.All
	c.Follow(r, &in)
	if err := view.Interleaving(p.Out, in); err != nil {
		return err
	}
	fmt.Fprintln(p.Out)
	if r.Property == nil {
		fmt.Fprintf(p.Out, "nothing is broken: the run ended %v\n", r.Outcome)
	}
	for _, d := range departures(file, r) {
		p.Indented("", d)
	}
	if r.Same {
		fmt.Fprintln(p.Out, p.Paint(cli.Green, "the same")+" as the trace says")
	} else {
		p.Indented("", p.Paint(cli.Red, "NOT THE SAME")+": "+r.Why)
	}
	switch {
	case r.Same && r.Miss != nil:
		p.Next("", "the schedule names a place that isn't there any more (above); to write the present one:",
			c.Line("rerecord", c.Trace))
	case r.Breaks && !r.Same:
		p.Next("", "it is the same violation; to bring the trace up to date:", c.Line("rerecord", c.Trace))
	case !r.Same:
		p.Next("", "to search for it again:", searchCommand(&c.TracesKernel, file, r.Rig.Scenario))
	}
	if r.Property != nil {
		p.Next("", "to understand it:", c.Line("explain", c.Trace))
	}
	fmt.Fprintf(p.Out, "digest %016x\n", r.Digest)
	return nil
}

// missingCPU says which deviation names a CPU that the machine doesn't have, "" if none does.
func missingCPU(file *traces.File, r *replay.Replay) string {
	cpus := r.Rig.Machine.CPUs()
	for i, d := range file.Schedule {
		for _, name := range []string{d.Mover, d.Alt} {
			digits, ok := strings.CutPrefix(name, "cpu")
			if n, err := strconv.Atoi(digits); ok && err == nil && n >= cpus {
				return fmt.Sprintf("; deviation %d can't be taken: it names %s, and the machine has cpu0 to cpu%d", i+1,
					name, cpus-1)
			}
		}
	}
	return ""
}

// headline returns the first line of the output: what is played.
func headline(trace string, file *traces.File, r *replay.Replay) string {
	s := fmt.Sprintf("%s: scenario %s, %s from the default run", trace, r.Rig.Scenario.Name,
		cli.Number(len(file.Schedule), "deviation"))
	s += missingCPU(file, r)
	if after := file.Remark(traces.OriginIgnored); after != "" {
		s += "; it goes on after " + after + ", which it breaks before"
	}
	if known := file.Remark(traces.OriginKnown); known != "" {
		s += "; it goes on after what is known: " + known
	}
	if o := inputs.WeakMemory(r.Rig.Scenario.Machine.Memory); o != "" {
		s += ", memory model " + o
	}
	return s
}

// searchCommand returns the command that searches for such a run again.
func searchCommand(k *kernels.TracesKernel, file *traces.File, s *scenario.Scenario) string {
	name := s.Name
	if f := file.Remark(inputs.OriginFile); f != "" {
		name = cli.AsScenario(f)
	} else if !slices.Contains(library.Names(), name) {
		name = cli.AsScenario(name + ".star")
	}
	words := []string{cli.Typed(), "explore", name}
	if m := file.Remark(traces.OriginMutant); m != "" {
		words = append(words, "--mutant", m)
	}
	if s := file.Remark(traces.OriginIgnored); s != "" {
		words = append(words, "--all-properties")
	}
	return cli.Line(append(words, k.Anew(&s.Machine)...)...)
}

// drifts describes the deviations that were not taken as the file says. A deviation may have been
// searched for at several places and still be taken where the file says.
func drifts(file *traces.File, r *replay.Replay) (says []string) {
	for _, d := range r.Drifts {
		if s := drift(file, r, d); s != "" {
			says = append(says, s)
		}
	}
	return says
}

// departures describes how the run departs from the file. If it ends as the file says, these are
// the deviations found at another place; otherwise also where it first diverged.
func departures(file *traces.File, r *replay.Replay) []string {
	says := drifts(file, r)
	if r.Miss != nil && !r.Same {
		says = append(says, firstDivergence(file, r))
	}
	return says
}

// drift describes how one deviation departs from the file, or returns "".
func drift(file *traces.File, r *replay.Replay, d sched.Drift) string {
	f := &file.Schedule[d.Index]
	why := missingName(r, f)
	and := ""
	if why != "" {
		and = "; " + why
	}
	switch d.Kind {
	case sched.NoAlternative:
		why = cmp.Or(why, "there was no "+f.Alt)
		return fmt.Sprintf("deviation %d was met, and the default was taken there: %s", d.Index+1, why)
	case sched.Moved:
		at := *f
		if at.Off = d.Off; len(r.Taken) == len(file.Schedule) {
			at = r.Taken[d.Index]
		}
		if at.Alt != f.Alt {
			return fmt.Sprintf("deviation %d was taken as %s: %s", d.Index+1, at, cmp.Or(why, "there was no "+f.Alt))
		}
		if at == *f {
			return ""
		}
		return fmt.Sprintf("deviation %d was taken at %s, %s time, instead of %s, %s time%s",
			d.Index+1, at.Place(), traces.Ordinal(at.Occ), f.Place(), traces.Ordinal(f.Occ), and)
	}
	if why != "" {
		return fmt.Sprintf("deviation %d was not met: %s", d.Index+1, why)
	}
	return fmt.Sprintf("deviation %d was not met: %s was asked about at %s %s", d.Index+1, f.Mover, f.Place(),
		cli.Number(d.Times, "time"))
}

// firstDivergence describes the first place where the run couldn't follow the file.
func firstDivergence(file *traces.File, r *replay.Replay) string {
	return fmt.Sprintf("first divergence: deviation %d, %s: %s", r.Miss.Index+1, file.Schedule[r.Miss.Index],
		missed(file, r))
}

// missed describes what happened in place of a deviation.
func missed(file *traces.File, r *replay.Replay) string {
	m := r.Miss
	f := &file.Schedule[m.Index]
	if why := missingName(r, f); why != "" {
		return why
	}
	if m.Kind == sched.NoAlternative {
		return fmt.Sprintf("there was no %s, but %s", f.Alt, cli.List(m.Alts))
	}
	if len(m.Near) == 0 && f.Kind != sim.Step {
		return fmt.Sprintf("in %s the run has no choice of a %v: its model leaves none, or it never comes there",
			f.Name, f.Kind)
	}
	if len(m.Near) == 0 {
		return fmt.Sprintf("the run never reaches %s", f.Name)
	}
	var near []string
	for _, n := range m.Near {
		if n.Mover == f.Mover && n.Off == f.Off { // at that very place
			continue
		}
		at := traces.Deviation{Name: n.Name, Off: n.Off, Text: n.Text}
		s := fmt.Sprintf("at %s %s", at.Place(), cli.Number(n.Times, "time"))
		if n.Mover != f.Mover {
			s = n.Mover + " " + s
		}
		near = append(near, s)
	}
	if m.Near[0].Mover != f.Mover {
		return fmt.Sprintf("%s was never asked about in %s, but %s", f.Mover, f.Name, cli.List(near))
	}
	says := fmt.Sprintf("%s was asked about there %s", f.Mover, cli.Number(m.Times, "time"))
	if len(near) > 0 {
		says += "; nearby " + cli.List(near)
	}
	return says
}
