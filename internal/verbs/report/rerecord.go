package report

import (
	"bytes"
	"fmt"

	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/internal/ui/verdict"
	"kpsim/traces"
)

// Rerecord is kpsim rerecord.
type Rerecord struct {
	Traces   []string `arg:"" name:"trace" help:"Traces to bring up to date, in place."`
	AnyPlace bool     `help:"Take a run that breaks the same property at another place, too."`
	kernels.TracesKernel
	cli.Form
}

// Help implements kong.HelpProvider.
func (*Rerecord) Help() string {
	return `Bring traces up to date with the program they were recorded from.

A trace whose scenario was edited, or that an older kpsim has written, is replayed: if its deviations are not where it says, they are looked for nearby. If the run breaks the same property at the same place, the file's schedule, message, digest and schedule format are written anew; its scenario stays as it is. If it doesn't, the file is left alone.

Examples:

  kpsim rerecord traces/second-instruction.kps
  kpsim rerecord --any-place traces/corpus/*.kps

Exit status: 0 all are up to date, 1 some are left as they were, 2 bad input, or a trace that could not be written, 3 a bug of the simulator, 130 interrupted. A trace is written whole or left as it was.`
}

// A rerecordJSON is a line of rerecord --json.
type rerecordJSON struct {
	Trace      string  `json:"trace"`
	Written    bool    `json:"written"`
	Same       bool    `json:"same"` // it was already up to date
	Property   *string `json:"property"`
	Place      string  `json:"place"`
	Digest     string  `json:"digest"`
	Deviations int     `json:"deviations"`
	Why        string  `json:"why,omitempty"`

	FirstDivergence *divergence `json:"first_divergence,omitempty"`
}

func (c *Rerecord) Run(p *cli.Program) (int, error) {
	files := make([]*traces.File, len(c.Traces)) // every trace is checked before the first is written
	for i, path := range c.Traces {
		f, err := c.TracesKernel.Read(path)
		if err != nil {
			return 0, err
		}
		files[i] = f
	}
	p.ExitAtInterrupt("each trace is up to date or as it was")
	status := cli.OK
	line := p.Watch("recording again", uint64(len(c.Traces)), "trace")
	defer line.Clear()
	for i, path := range c.Traces {
		line.Part(path, 1)
		ok, err := c.rerecordOne(p, path, files[i])
		if err != nil {
			return 0, err
		}
		if !ok {
			status = cli.Against
		}
	}
	line.Complete()
	return status, nil
}

// rerecordOne updates one trace and reports whether it already was up to date.
func (c *Rerecord) rerecordOne(p *cli.Program, path string, file *traces.File) (bool, error) {
	p.Doing = "trace " + path
	now, r, err := replay.Rerecord(path, file, c.AnyPlace)
	if err != nil {
		return false, err
	}
	defer r.Rig.Close()
	out := rerecordJSON{Trace: path, Place: r.Place, Digest: fmt.Sprintf("%016x", r.Digest), Deviations: len(r.Taken)}
	if r.Property != nil {
		out.Property = &r.Property.ID
	}
	out.FirstDivergence = diverges(file, r)
	one := verdict.Case{Group: path, Name: "up to date", Trace: path, Places: []verdict.Place{{File: path}}}
	if now == nil {
		one.Outcome, one.Rule, one.Says = verdict.Failed, verdict.Outdated, r.Why
		one.Next = searchCommand(&c.TracesKernel, file, r.Rig.Scenario)
		p.Judged.Add(one)
		if out.Why = r.Why; !c.JSON {
			printOutdated(p, &c.TracesKernel, path, file, r)
			return false, nil
		}
		return false, p.PrintJSON(out)
	}

	if out.Same = bytes.Equal(now.Marshal(), file.Marshal()); !out.Same {
		if _, err := inputs.WriteTrace(path, now); err != nil {
			return false, fmt.Errorf("%s; it is as it was; make room, or let the folder be written to",
				cli.Cause(err, path))
		}
		out.Written = true
		one.Says = fmt.Sprintf("written anew, %s", cli.Number(len(now.Schedule), "deviation"))
	}
	p.Judged.Add(one)
	switch {
	case c.JSON:
		return true, p.PrintJSON(out)
	case out.Same:
		fmt.Fprintf(p.Out, "%s: up to date\n", path)
	default:
		fmt.Fprintf(p.Out, "%s: written anew, %s, digest %s\n", path, cli.Number(len(now.Schedule), "deviation"),
			out.Digest)
		for _, d := range drifts(file, r) {
			fmt.Fprintf(p.Out, "    %s\n", d)
		}
	}
	return true, nil
}
