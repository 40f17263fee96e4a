package report

import (
	"kpsim/internal/search/blame"
	"kpsim/internal/ui/cli"
	"kpsim/traces/view"
)

// An explainJSON is the output of explain --json.
type explainJSON struct {
	endJSON
	Breaks     bool          `json:"breaks"` // the property and place that the trace names
	Why        string        `json:"why,omitempty"`
	Deciding   []sentence    `json:"deciding"` // what a reader needs first
	Story      []sentence    `json:"story"`
	Deviations []deviation   `json:"deviations"`
	NoReturn   *noReturnJSON `json:"no_return"` // null: no property was broken
}

type deviation struct {
	Label   string   `json:"label"`
	Words   string   `json:"words"`
	Stood   []string `json:"stood,omitempty"` // where the CPUs stood; only for an engine built from a kernel
	Without *string  `json:"without"`         // how the run ends without it; null: not tried
}

type sentence struct {
	Event uint32   `json:"event"`
	Rests []uint32 `json:"rests_on"`
	Text  string   `json:"text"`
}

type noReturnJSON struct {
	Questions int          `json:"questions"`
	Runs      int          `json:"runs"`
	Curve     []blame.Odds `json:"curve"`
	FromStart bool         `json:"from_start"`
	Sharp     bool         `json:"sharp"`
	Blamed    *blameJSON   `json:"blamed"` // null if from_start
	Worst     *blameJSON   `json:"worst_deviation"`
	Says      []string     `json:"says"`
}

type blameJSON struct {
	Question  int     `json:"question"`
	Deviation int     `json:"deviation"` // from 1; 0: a default answer
	Label     string  `json:"label"`
	Words     string  `json:"words"`
	Without   float64 `json:"without"`
	With      float64 `json:"with"`
}

func showBlame(b *blame.Choice) *blameJSON {
	return &blameJSON{b.Question, b.Deviation, b.Label.String(), view.Choice(b.Label), b.Before.Chance(),
		b.After.Chance()}
}

func (c *Explain) printJSON(p *cli.Program, e *explanation) error {
	r := e.replay
	out := explainJSON{
		endJSON: endOf(c.Trace, e.file, r), Breaks: r.Breaks && r.Property != nil, Why: r.Why,
		Deciding: []sentence{}, Story: []sentence{},
		Deviations: []deviation{},
	}
	for _, part := range []struct {
		list []view.Sentence
		to   *[]sentence
	}{{e.deciding, &out.Deciding}, {e.story, &out.Story}} {
		for _, s := range part.list {
			*part.to = append(*part.to, sentence{s.Seq, append([]uint32{}, s.Also...), s.Text})
		}
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
	if n := e.noReturn; n != nil {
		s := &noReturnJSON{Questions: n.Questions, Runs: n.Runs, Curve: n.Curve, FromStart: n.FromStart,
			Sharp: n.Sharp, Says: noReturnLines(e)}
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
