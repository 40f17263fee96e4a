package report

import (
	"kpsim/internal/cli"
	"kpsim/internal/search/blame"
	"kpsim/traces/view"
)

// An explanation is what explain --json prints.
type explanation struct {
	ended
	Breaks     bool           `json:"breaks"` // the property that the trace says, where it says
	Why        string         `json:"why,omitempty"`
	Story      []sentence     `json:"story"`
	Deviations []deviation    `json:"deviations"`
	NoReturn   *noReturnShown `json:"no_return"` // null: nothing was broken
}

type deviation struct {
	Label   string   `json:"label"`
	Words   string   `json:"words"`
	Stood   []string `json:"stood,omitempty"` // of a kernel's own engine: where the CPUs stood
	Without *string  `json:"without"`         // what becomes of the run without it; null: that wasn't tried
}

type sentence struct {
	Event uint32   `json:"event"`
	Rests []uint32 `json:"rests_on"`
	Text  string   `json:"text"`
}

type noReturnShown struct {
	Questions int          `json:"questions"`
	Runs      int          `json:"runs"`
	Curve     []blame.Odds `json:"curve"`
	FromStart bool         `json:"from_start"`
	Sharp     bool         `json:"sharp"`
	Blamed    *blameShown  `json:"blamed"` // null if from_start
	Worst     *blameShown  `json:"worst_deviation"`
	Says      []string     `json:"says"`
}

type blameShown struct {
	Question  int     `json:"question"`
	Deviation int     `json:"deviation"` // from 1; 0: a default answer
	Label     string  `json:"label"`
	Words     string  `json:"words"`
	Without   float64 `json:"without"`
	With      float64 `json:"with"`
}

func showBlame(b *blame.Choice) *blameShown {
	return &blameShown{b.Question, b.Deviation, b.Label.String(), view.Choice(b.Label), b.Before.Chance(),
		b.After.Chance()}
}

func (c *Explain) printJSON(p *cli.Program, e *explained) error {
	r := e.replay
	out := explanation{
		ended: endOf(c.Trace, e.file, r), Breaks: r.Breaks, Why: r.Why, Story: []sentence{}, Deviations: []deviation{},
	}
	for _, s := range e.story {
		out.Story = append(out.Story, sentence{s.Seq, append([]uint32{}, s.Also...), s.Text})
	}
	for i, d := range e.schedule {
		out.Deviations = append(out.Deviations, deviation{Label: d.String(), Words: view.Choice(d)})
		if i < len(e.input.Stood) {
			out.Deviations[i].Stood = e.input.Stood[i]
		}
		if len(e.needs) > 0 {
			out.Deviations[i].Without = &e.needs[i].Says
		}
	}
	if n := e.lost; n != nil {
		s := &noReturnShown{Questions: n.Questions, Runs: n.Runs, Curve: n.Curve, FromStart: n.FromStart,
			Sharp: n.Sharp, Says: blamed(e)}
		if !n.FromStart {
			s.Blamed = showBlame(&n.Point)
			if n.Worst.Question >= 0 {
				s.Worst = showBlame(&n.Worst)
			}
		}
		out.NoReturn = s
	}
	return p.PrintJSON(out)
}
