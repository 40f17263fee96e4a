package main

import (
	"kpsim/properties/harness"
	"kpsim/traces"
	"kpsim/traces/view"
)

// told is what a trace breaks, in the words of its scenario: replay's first line.
// It is played once for that.
func (p *program) told(file *traces.File) string {
	r, err := harness.PlayFile("trace", file, true)
	if err != nil || r.Property == nil {
		q, _ := propertyByID(file.Property)
		return finding(q, file.Place, file.Message)
	}
	defer r.Rig.Close()
	return view.Headline(viewInput(p, file, r))
}

// viewInput is a replayed run, to be printed.
func viewInput(p *program, file *traces.File, r *harness.Replay) view.Input {
	in := r.View(file)
	in.Width, in.Paint = p.width, p.paint
	return in
}
