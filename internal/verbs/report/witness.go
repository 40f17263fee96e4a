package report

import (
	"strings"

	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/internal/ui/verdict"
	"kpsim/traces"
	"kpsim/traces/view"
)

// callersMost is how many of the functions that were open have a place in a verdict.
const callersMost = 4

// Witness adds to a verdict what a trace shows: Headline; where it is, the line of a kernel's C source first, if the
// kernel's own engine ran, then that of the scenario's file; the trace, at path unless that is empty; and the command
// that explains it. It plays the trace, so it does nothing unless what is judged is collected.
func Witness(p *cli.Program, c *verdict.Case, j *inputs.Input, k *kernels.Kernel, file *traces.File, path string) {
	if p.Judged == nil {
		return
	}
	says, at := seen(p, file)
	c.Says = strings.TrimPrefix(c.Says+"\n"+says, "\n")
	c.Places = at
	if j != nil {
		c.Places = append(c.Places, j.Where(file.Place)...)
	}
	if path != "" {
		c.Trace, c.Next = path, k.Line("explain", path)
		c.Places = append(c.Places, verdict.Place{File: path, Says: "the witness"})
	}
}

// seen returns Headline, and the lines of C at which the task stood that decided the violation, the innermost first:
// that of the first deciding event for which they are known.
func seen(p *cli.Program, file *traces.File) (headline string, at []verdict.Place) {
	r, err := replay.Play("trace", file, true)
	if err != nil || r.Property == nil {
		q, _ := inputs.PropertyByID(file.Property)
		return finding(q, file.Place, file.Message), nil
	}
	defer r.Rig.Close()
	in := viewInput(p, file, r)
	new(kernels.Sources).Follow(r, &in)
	for _, s := range view.Deciding(in) {
		for _, f := range view.Open(&in, s.Seq) {
			if f.File != "" && f.Line > 0 && len(at) < callersMost {
				at = append(at, verdict.Place{File: f.File, Line: f.Line, Says: f.Func})
			}
		}
		if at != nil {
			break
		}
	}
	return view.Headline(in), at
}
