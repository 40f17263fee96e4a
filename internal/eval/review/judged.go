package review

import (
	"fmt"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/verdict"
	"kpsim/internal/verbs/report"
)

// everyProperty is the name of the case of a scenario in which only one side breaks nothing.
const everyProperty = "every property"

// judge adds the cases of a review, for --format: what makes the changed engine worse fails. What differs and isn't
// worse is skipped, with the rule that it is about.
func (r *found) judge(p *cli.Program) {
	if p.Judged == nil {
		return
	}
	worse := make(map[string]bool)
	for _, part := range []struct {
		list []difference
		is   verdict.Outcome
		says string
	}{
		{r.gained, verdict.Failed, ""},
		{r.unsure, verdict.Skipped, "unsure, in too few runs for a verdict: "},
		{r.lost, verdict.Skipped, "lost, only the engine before breaks it: "},
	} {
		for i := range part.list {
			v := &part.list[i]
			c := v.judged(part.is, part.says)
			gained := part.is == verdict.Failed
			worse[c.Group] = worse[c.Group] || gained
			if gained && v.Witness != nil {
				report.Witness(p, &c, nil, &r.c.Kernel, v.Witness.File, v.trace)
			} else if v.says != "" {
				c.Says += "\n" + v.says
			}
			p.Judged.Add(c)
		}
	}
	for i := range r.rows {
		w := &r.rows[i]
		if worse[w.name] {
			continue
		}
		p.Judged.Add(verdict.Case{Group: w.name, Name: everyProperty,
			Says: fmt.Sprintf("%s with the change, %d before: nothing that only the changed engine breaks",
				cli.Number(w.after.Runs, "run"), w.before.Runs)})
	}
	for _, l := range r.left {
		p.Judged.Add(verdict.Case{Group: l.name, Name: everyProperty, Outcome: verdict.Skipped, Says: l.why})
	}
	for _, d := range r.dies {
		p.Judged.Add(verdict.Case{Group: d.name, Name: "runs", Outcome: verdict.Failed, Rule: verdict.Dies,
			Says: d.why})
	}
	for _, b := range r.behaviours {
		side := "only the changed engine: "
		if b.gone {
			side = "only the engine before: "
		}
		p.Judged.Add(verdict.Case{Group: b.scenario, Name: "behaviour", Outcome: verdict.Skipped, Rule: verdict.Answer,
			Says: side + b.Says})
	}
	r.judgeAnswers(p)
	r.judgeCosts(p)
	r.judgeLines(p)
}

// judged returns the case of a verdict that only one side has.
func (v *difference) judged(is verdict.Outcome, says string) verdict.Case {
	now, was := v.shares()
	return verdict.Case{Group: v.scenario, Name: v.property(), Outcome: is, Trace: v.trace, Next: v.replay,
		Rule: verdict.RuleOf(v.Property, verdict.Expectation), Notes: v.sentences,
		Says: fmt.Sprintf("%s%s runs with the change, %s before", says, now, was)}
}

// judgeAnswers adds the cases of serial programs.
func (r *found) judgeAnswers(p *cli.Program) {
	const group = "serial programs"
	for i := range r.answers {
		a := &r.answers[i]
		c := verdict.Case{Group: group, Name: a.Program.Name, Outcome: verdict.Failed, Rule: verdict.Answer,
			Says: a.Says}
		if i < len(r.files) {
			c.Places, c.Next = []verdict.Place{{File: r.files[i], Line: 1}}, r.c.Kernel.Line("compare", r.files[i])
		}
		p.Judged.Add(c)
	}
	if len(r.answers) == 0 && !r.ofPrograms {
		p.Judged.Add(verdict.Case{Group: group, Name: "all", Says: cli.Number(r.programs, "program") + " compared"})
	}
}

// judgeCosts adds the cases of hits.
func (r *found) judgeCosts(p *cli.Program) {
	for _, k := range r.hits() {
		c := verdict.Case{Group: "costs", Name: k.after.Says, Says: fmt.Sprintf("%.0f cycles, %.0f before",
			k.after.Cycles, k.before.Cycles)}
		if r.slower(&k) {
			c.Outcome, c.Rule = verdict.Failed, verdict.Cost
		}
		p.Judged.Add(c)
	}
}

// judgeLines adds the cases of the changed lines.
func (r *found) judgeLines(p *cli.Program) {
	if r.uncovered != "" {
		return
	}
	for _, s := range r.stretches() {
		if !s.HasCode {
			continue
		}
		c := verdict.Case{Group: "changed lines", Name: s.File + ", " + s.lines(), Says: s.says(),
			Places: []verdict.Place{{File: s.File, Line: s.From}}}
		if s.Reached == 0 {
			c.Outcome, c.Rule = verdict.Skipped, verdict.Unreached
		}
		p.Judged.Add(c)
	}
}
