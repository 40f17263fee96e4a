package main

import (
	"fmt"

	"kpsim/properties/harness"
	"kpsim/traces"
)

// An explanation is what explain --json prints.
type explanation struct {
	Trace      string         `json:"trace"`
	Property   *string        `json:"property"` // the ID; null: nothing was broken
	Place      string         `json:"place"`
	Message    string         `json:"message"`
	Digest     string         `json:"digest"`
	Same       bool           `json:"same"`
	Why        string         `json:"why,omitempty"`
	Story      []sentence     `json:"story"`
	Deviations []string       `json:"deviations"`
	NoReturn   *noReturnShown `json:"no_return"` // null: nothing was broken
}

type sentence struct {
	Event uint32   `json:"event"`
	Rests []uint32 `json:"rests_on"`
	Text  string   `json:"text"`
}

type noReturnShown struct {
	Questions int            `json:"questions"`
	Runs      int            `json:"runs"`
	Curve     []harness.Odds `json:"curve"`
	FromStart bool           `json:"from_start"`
	Sharp     bool           `json:"sharp"`
	Blamed    *blameShown    `json:"blamed"` // null if from_start
	Worst     *blameShown    `json:"worst_deviation"`
	Says      []string       `json:"says"`
}

type blameShown struct {
	Question  int     `json:"question"`
	Deviation int     `json:"deviation"` // from 1; 0: a default answer
	Label     string  `json:"label"`
	Words     string  `json:"words"`
	Without   float64 `json:"without"`
	With      float64 `json:"with"`
}

func showBlame(b *harness.Blame) *blameShown {
	return &blameShown{b.Question, b.Deviation, b.Label.String(), inWords(b.Label), b.Before.Chance(), b.After.Chance()}
}

func (c *explainCmd) printJSON(p *program, e *explained) error {
	r := e.replay
	out := explanation{
		Trace: c.Trace, Place: r.Place, Message: r.Finding.Message, Digest: fmt.Sprintf("%016x", r.Digest),
		Same: r.Same, Why: r.Why, Story: []sentence{}, Deviations: []string{},
	}
	if r.Property != nil {
		out.Property = &r.Property.ID
	}
	for _, s := range e.story {
		out.Story = append(out.Story, sentence{s.Seq, append([]uint32{}, s.Also...), s.Text})
	}
	for _, d := range e.file.Schedule {
		out.Deviations = append(out.Deviations, traces.Deviation(d).String())
	}
	if n := e.lost; n != nil {
		s := &noReturnShown{Questions: n.Questions, Runs: n.Runs, Curve: n.Curve, FromStart: n.FromStart, Sharp: n.Sharp, Says: blamed(e)}
		if !n.FromStart {
			s.Blamed = showBlame(&n.Point)
			if n.Worst.Question >= 0 {
				s.Worst = showBlame(&n.Worst)
			}
		}
		out.NoReturn = s
	}
	return p.printJSON(out)
}
