package report

import (
	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/cli/inputs/kernels"
	"kpsim/properties"
	"kpsim/traces"
	"kpsim/traces/view"
)

// Headline returns replay's first line: what a trace breaks, in the scenario's words. It plays
// the trace once.
func Headline(p *cli.Program, file *traces.File) string {
	r, err := replay.Play("trace", file, true)
	if err != nil || r.Property == nil {
		q, _ := inputs.PropertyByID(file.Property)
		return finding(q, file.Place, file.Message)
	}
	defer r.Rig.Close()
	return view.Headline(viewInput(p, file, r))
}

// viewInput returns a replayed run, ready to be printed.
func viewInput(p *cli.Program, file *traces.File, r *replay.Replay) view.Input {
	in := r.View(file)
	in.Width, in.Paint = p.Width, p.Paint
	return in
}

// finding prints which property was broken, where, and how.
func finding(q *properties.Property, place, message string) string {
	s := q.ID + " " + q.Name
	if place != "" {
		s += " at " + place
	}
	return s + ": " + message
}

// StoryOf returns Headline and the sentences of explain, in the run's order, with places in a
// kernel's C source where they are known. It plays the trace once.
func StoryOf(p *cli.Program, file *traces.File) (headline string, sentences []string) {
	r, err := replay.Play("trace", file, true)
	if err != nil || r.Property == nil {
		q, _ := inputs.PropertyByID(file.Property)
		return finding(q, file.Place, file.Message), nil
	}
	defer r.Rig.Close()
	in := viewInput(p, file, r)
	in.Paint = nil
	new(kernels.Sources).Follow(r, &in)
	for _, s := range view.Story(in) {
		sentences = append(sentences, s.Text)
	}
	return view.Headline(in), sentences
}
