package pages

import (
	"fmt"
	"slices"

	"kpsim/internal/eval/overhead"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/table"
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
func provenanceOf(o *overhead.Model, m *overhead.Machine, t overhead.Tier, names bool) (g table.Grid,
	costs []costJSON) {
	g = table.Grid{Head: []string{"event", "of", "cycles from", "which are", "count from", "count", "each", "cycles",
		"in figures"}, Text: 5}
	for _, e := range cycles.All() {
		cost := costJSON{Machine: m.ID(), Tier: t.String(), Event: e.String(), Figures: o.InFigures(m, e),
			Of: []termJSON{}}
		for _, term := range o.Terms(m, t, e) {
			cost.Cycles += term.Cycles()
			cost.Of = append(cost.Of, termJSON{term.Of, term.Count, term.Counts.String(), term.Each,
				term.Prices.String(), term.Mark})
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
			g.Add(name, term.What, term.Prices, term.Mark, term.Counts, fmt.Sprintf("%.3g", term.Count),
				fmt.Sprintf("%.3f", term.Each), fmt.Sprintf("%.1f", term.Count*term.Each), figures)
		}
	}
	return g, costs
}

// verdictColumns are a claim of the documents and whether it holds of a row; texts have the claim above the table.
func verdictColumns(unit string) table.Columns[overhead.Verdict] {
	type verdict = overhead.Verdict
	return table.Columns[verdict]{
		{JSON: "claim", Value: func(v verdict) any { return v.Claim.Says }},
		{JSON: "low", Value: func(v verdict) any { return v.Claim.Low }},
		{JSON: "high", Value: func(v verdict) any { return v.Claim.High }},
		{JSON: "unit", Value: func(v verdict) any { return v.Claim.Unit }},
		{JSON: "bounds_assumed", Value: func(v verdict) any { return v.Claim.Assumed }},
		{Head: "machine", JSON: "machine",
			Value: func(v verdict) any {
				return v.Machine.ID()
			}, Text: func(v verdict) string { return v.Machine.Name }},
		{Head: "arch", Value: func(v verdict) any { return v.Machine.Arch }},
		{Head: "of", JSON: "of",
			Value: func(v verdict) any { return v.Of }, Text: func(v verdict) string { return v.Title }},
		{Head: "documented " + unit, JSON: "documented", Form: "%.2f", Late: true,
			Value: func(v verdict) any { return v.Documented }},
		{Head: "by the figures", JSON: "documented_answer", Value: func(v verdict) any { return v.Answer.String() }},
		{Head: "ours " + unit, JSON: "ours", Form: "%.2f", Late: true, Value: func(v verdict) any { return v.Ours }},
		{Head: "by ours", JSON: "our_answer", Value: func(v verdict) any { return v.OurAnswer.String() }},
	}
}

// prose prints which claims hold where. The costs are the mechanistic ones: the calibrated say what the figures say.
func (c *Table) prose(p *cli.Program, o *overhead.Model) error {
	lines, err := o.Table(overhead.Mechanistic)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(overhead.Verdicts(lines), func(v overhead.Verdict) bool {
		return !c.wants(v.Machine, "")
	})
	if c.JSON {
		return verdictColumns("").PrintJSON(p, list)
	}
	for len(list) > 0 {
		claim, n := list[0].Claim, 1
		for n < len(list) && list[n].Claim == claim {
			n++
		}
		bounds := claim.Bounds()
		if claim.Assumed {
			bounds += ", which is our reading"
		}
		fmt.Fprintf(p.Out, "%s (%s)\n\n", claim.Says, bounds)
		verdictColumns(claim.Unit).Grid(list[:n]).Print(p, c.Markdown)
		fmt.Fprintln(p.Out)
		list = list[n:]
	}
	fmt.Fprintf(p.Out, "ours: by the %s costs. rounding decides: the figures have two decimals, and with "+
		"others that are rounded to them it would be otherwise.\n", overhead.Mechanistic)
	return nil
}

// A profileCost is a line of a user's profile: what an event costs, and the line's comment.
type profileCost struct {
	profile *overhead.UserProfile
	event   cycles.Event
}

var profileColumns = table.Columns[profileCost]{
	{JSON: "machine", Value: func(c profileCost) any { return c.profile.ID() }},
	{JSON: "tier", Value: func(profileCost) any { return "profile" }},
	{Head: "event", JSON: "event", Value: func(c profileCost) any { return c.event.String() }},
	{Head: "from", JSON: "from", Value: func(c profileCost) any { return c.profile.From(c.event) }},
	{Head: "cycles", JSON: "cycles", Form: "%.3f",
		Value: func(c profileCost) any { return float64(c.profile.Costs[c.event]) / cycles.Unit }},
}

// profileCosts are the costs of some events.
func profileCosts(u *overhead.UserProfile, events []cycles.Event) (list []profileCost) {
	for _, e := range events {
		list = append(list, profileCost{u, e})
	}
	return list
}

// profileProvenance prints a profile's costs and its comments. The profile may be of any architecture: nothing is run.
func (c *Table) profileProvenance(p *cli.Program) error {
	u, err := readProfile(string(c.Profile))
	if err != nil {
		return err
	}
	list := profileCosts(u, cycles.All())
	if c.JSON {
		return profileColumns.PrintJSON(p, list)
	}
	fmt.Fprintf(p.Out, "%s, by the profile %s; cycles of %g MHz:\n\n", u.ID(), c.Profile.Base(), u.MHz)
	profileColumns.Grid(list).Print(p, c.Markdown)
	return nil
}
