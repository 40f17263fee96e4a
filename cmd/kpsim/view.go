package main

import (
	"bytes"
	"fmt"
	"os"

	"kpsim/cmd/kpsim/viewer"
	"kpsim/properties/harness"
	"kpsim/traces"
	"kpsim/traces/view"
)

type viewCmd struct {
	Trace string `arg:"" help:"A trace that explore has written: traces/NAME.kps."`
	HTML  string `name:"html" placeholder:"FILE" help:"Write the page to a file."`
}

func (c *viewCmd) run(p *program) (int, error) {
	run, status, err := p.filmed(c.Trace)
	if err != nil {
		return 0, err
	}
	page := &viewer.Page{Title: c.Trace, Command: shell(typed(), "view", c.Trace), Runs: []viewer.Run{*run}}
	var b bytes.Buffer
	if err := viewer.Write(&b, page); err != nil {
		return 0, err
	}
	return status, os.WriteFile(c.HTML, b.Bytes(), 0o666)
}

// filmed plays a trace, and lays it out.
func (p *program) filmed(name string) (*viewer.Run, int, error) {
	file, r, err := p.play(name)
	if err != nil {
		return nil, 0, err
	}
	return p.laidOut(name, file, r), map[bool]int{true: exitOK, false: exitAgainst}[r.Same], nil
}

func (p *program) laidOut(name string, file *traces.File, r *harness.Replay) *viewer.Run {
	in := r.View(file)
	in.Schedule = in.Schedule[:0:0]
	for _, a := range r.Taken {
		in.Schedule = append(in.Schedule, traces.Deviation(a))
	}
	run := &viewer.Run{
		Name: name, About: fmt.Sprintf("Scenario %s.", r.Rig.Scenario.Name), Scene: view.Lay(in, r.Film(view.Sites(in))),
		Task: func(id uint64) string { return r.Rig.Machine.Tasks()[id].Name }, Words: inWords,
	}
	if !r.Same {
		run.Banner = r.Why
	}
	return run
}
