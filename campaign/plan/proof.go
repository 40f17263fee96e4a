package plan

import (
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/verbs/findings"
)

// Proofs are scenarios to be verified, each by one worker. A proof can't be divided by its states: part of a state is
// on the stacks of fibres that run the simulated kernel's routines, and these can't be sent.
type Proofs struct {
	Flags     *findings.Verify `json:"flags"`
	Scenarios []Given          `json:"scenarios"`
}

// A Given is a scenario as it was loaded.
type Given struct {
	Name   string `json:"name"`
	Arg    string `json:"argument"` // as the user named it
	Source string `json:"source"`   // the checksum of its program
	Text   string `json:"text"`     // "": the scenario is built in
}

// Verify plans verifications. Errors are about the input.
func Verify(flags *findings.Verify) (*Search, error) {
	list, err := flags.Load()
	if err != nil {
		return nil, err
	}
	v := &Proofs{Flags: flags}
	for _, in := range list {
		g := Given{Name: in.Name, Arg: in.Arg, Source: in.Source}
		if _, err := library.Source(in.Arg); err != nil {
			g.Text = lang.Print(in.Scenario)
		}
		v.Scenarios = append(v.Scenarios, g)
	}
	x := &findings.Explore{Traces: flags.Traces}
	x.Kernel.Kernel, x.Kernel.Objects = flags.Kernel.Kernel, flags.Kernel.Objects
	s := &Search{Flags: x, Verify: v}
	return s, s.files()
}

// Input loads a scenario of a proof.
func (v *Proofs) Input(job int) (*inputs.Input, error) {
	g := &v.Scenarios[job]
	if g.Text == "" {
		list, err := inputs.Load([]string{g.Arg})
		if err != nil {
			return nil, err
		}
		return list[0], nil
	}
	sc, err := lang.Parse(g.Name, []byte(g.Text))
	if err != nil {
		return nil, err
	}
	return &inputs.Input{Scenario: sc, Arg: cli.AsFile(g.Arg), Source: g.Source}, nil
}

// A Proved is the result of verifying a scenario.
type Proved struct {
	Status int     `json:"status"` // exit status
	Out    string  `json:"out"`    // what was printed
	Err    string  `json:"err"`
	Traces []Trace `json:"traces"`
}

// A Trace is a file to be written.
type Trace struct {
	Path string `json:"path"`
	Text string `json:"text"`
}
