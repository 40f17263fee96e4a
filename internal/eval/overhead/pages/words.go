package pages

import (
	"fmt"

	"kpsim/internal/cli"
	"kpsim/internal/eval/overhead"
	"kpsim/internal/table"
	"kpsim/smp/cycles"
)

// A costJSON is what an event costs and where that is from, as --json prints it.
type costJSON struct {
	Machine string     `json:"machine"`
	Tier    string     `json:"tier"`
	Event   string     `json:"event"`
	Cycles  float64    `json:"cycles"`
	Figures int        `json:"in_figures"` // of so many of the machine's
	Of      []termJSON `json:"of"`
}

type termJSON struct {
	What   string  `json:"what"`
	Count  float64 `json:"count"`
	Counts string  `json:"count_from"`
	Each   float64 `json:"cycles_each"`
	Prices string  `json:"cycles_from"`
	Mark   string  `json:"mark,omitempty"` // it is at its bound, or below 0
}

// provenance prints where each cost is from.
func (c *Table) provenance(p *cli.Program, o *overhead.Model) error {
	tiers, _ := tiersOf(c.Tier)
	t := tiers[len(tiers)-1]
	if c.Tier == "" {
		t = overhead.Calibrated // which has all that the other has
	}
	for k, m := range o.Machines() {
		if !c.wants(m, "") {
			continue
		}
		g, costs := provenanceOf(o, m, t, c.Markdown)
		if c.JSON {
			for i := range costs {
				if err := p.PrintJSON(&costs[i]); err != nil {
					return err
				}
			}
			continue
		}
		if k > 0 && len(c.Machines) != 1 {
			fmt.Fprintln(p.Out)
		}
		fmt.Fprintf(p.Out, "%s, %s; cycles of %g MHz:\n\n", m.ID(), t, m.MHz)
		g.Print(p, c.Markdown)
	}
	if !c.JSON {
		fmt.Fprintln(p.Out, `
fitted: to the documents' figures. typical: of such processors, by the literature; not measured on this one, and two in three may be off by 40 %.
counted: in runs, or in code. assumed: of what was counted over a whole hit the share of one event; and what no figure has.`)
	}
	return nil
}

// provenanceOf returns where a machine's costs are from; with names the event is named in each
// of its lines, not in the first alone.
func provenanceOf(o *overhead.Model, m *overhead.Machine, t overhead.Tier, names bool) (g table.Grid, costs []costJSON) {
	g = table.Grid{Head: []string{"event", "of", "cycles from", "which are", "count from", "count", "each", "cycles", "in figures"}, Text: 5}
	for _, e := range cycles.All() {
		cost := costJSON{Machine: m.ID(), Tier: t.String(), Event: e.String(), Figures: o.InFigures(m, e), Of: []termJSON{}}
		for _, term := range o.Terms(m, t, e) {
			cost.Cycles += term.Cycles()
			cost.Of = append(cost.Of, termJSON{term.Of, term.Count, term.Counts.String(), term.Each, term.Prices.String(), term.Mark})
		}
		costs = append(costs, cost)
		if len(cost.Of) == 0 {
			g.Add(e.String(), "nothing", "-", "", overhead.Assumed.String(), "0", "-", "0.0", fmt.Sprint(cost.Figures))
		}
		for i, term := range cost.Of {
			name, figures := e.String(), fmt.Sprint(cost.Figures)
			if i > 0 && !names {
				name, figures = "", ""
			}
			g.Add(name, term.What, term.Prices, term.Mark, term.Counts, fmt.Sprintf("%.3g", term.Count), fmt.Sprintf("%.3f", term.Each), fmt.Sprintf("%.1f", term.Count*term.Each), figures)
		}
	}
	return g, costs
}

// A verdictJSON is a claim of the documents held against a row, as --json prints it.
type verdictJSON struct {
	Claim      string  `json:"claim"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Unit       string  `json:"unit"`
	Assumed    bool    `json:"bounds_assumed"`
	Machine    string  `json:"machine"`
	Of         string  `json:"of"`
	Documented float64 `json:"documented"`
	Answer     string  `json:"documented_answer"`
	Ours       float64 `json:"ours"`
	OurAnswer  string  `json:"our_answer"`
}

// prose prints which claims hold where. The costs are the mechanistic ones: the calibrated say what the figures say.
func (c *Table) prose(p *cli.Program, o *overhead.Model) error {
	lines, err := o.Table(overhead.Mechanistic)
	if err != nil {
		return err
	}
	var claim *overhead.Claim
	var g table.Grid
	end := func() {
		if len(g.Rows) > 0 {
			g.Print(p, c.Markdown)
			fmt.Fprintln(p.Out)
		}
	}
	for _, v := range overhead.Verdicts(lines) {
		if !c.wants(v.Machine, "") {
			continue
		}
		if c.JSON {
			q := v.Claim
			if err := p.PrintJSON(&verdictJSON{q.Says, q.Low, q.High, q.Unit, q.Assumed, v.Machine.ID(), v.Of, v.Documented, v.Answer.String(), v.Ours, v.OurAnswer.String()}); err != nil {
				return err
			}
			continue
		}
		if v.Claim != claim {
			end()
			claim = v.Claim
			bounds := claim.Bounds()
			if claim.Assumed {
				bounds += ", which is our reading"
			}
			fmt.Fprintf(p.Out, "%s (%s)\n\n", claim.Says, bounds)
			g = table.Grid{Head: []string{"machine", "arch", "of", "by the figures", "by ours", "documented " + claim.Unit, "ours " + claim.Unit}, Text: 5}
		}
		g.Add(v.Machine.Name, v.Machine.Arch, v.Title, v.Answer.String(), v.OurAnswer.String(), fmt.Sprintf("%.2f", v.Documented), fmt.Sprintf("%.2f", v.Ours))
	}
	if c.JSON {
		return nil
	}
	end()
	fmt.Fprintf(p.Out, "ours: by the %s costs. rounding decides: the figures have two decimals, and with others that are rounded to them it would be otherwise.\n", overhead.Mechanistic)
	return nil
}
