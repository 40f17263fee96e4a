package small

import (
	"fmt"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/verdict"
)

// group is that of the cases of small programs.
const group = "small programs"

// judge adds the cases of a world: one for each find that isn't known, and one for the world.
func (r *Report) judge(p *cli.Program, w *world, run uint64) {
	if p.Judged == nil {
		return
	}
	how := "optimizer where asked"
	if w.Settled {
		how = "optimizer after each call"
	}
	of := verdict.Failed
	open := ""
	if r.Open != "" {
		of, open = verdict.Skipped, "nothing expected ("+r.Open+"): "
	}
	all := verdict.Case{Group: group, Name: w.World + ", " + how,
		Says: fmt.Sprintf("complete to %s, %s", cli.Number(w.Complete, "call"), cli.Number(run, "program"))}
	for i := range w.Finds {
		f := &w.Finds[i]
		if f.Known != "" {
			all.Notes = append(all.Notes, "known: "+f.Known)
			continue
		}
		all.Outcome, all.Rule = of, verdict.Answer
		p.Judged.Add(verdict.Case{Group: group, Name: w.World + ": " + strings.Join(f.Program, ", "), Outcome: of,
			Rule: verdict.RuleOf(f.What, verdict.Answer), Next: r.Line(f.File),
			Says:   fmt.Sprintf("%s%s, in %s: %s", open, f.What, f.After, f.Says),
			Places: []verdict.Place{{File: f.File, Line: 1}}})
	}
	if all.Rule != "" {
		all.Says = open + all.Says + "; programs differ"
	}
	p.Judged.Add(all)
}

// judgePairs adds the cases of a world's pairs.
func (c *Small) judgePairs(p *cli.Program, out *pairs) {
	all := verdict.Case{Group: group, Name: out.World + ", side by side",
		Says: fmt.Sprintf("%s, %s, %d broken", cli.Number(out.Run, "pair"), cli.Number(out.Schedules, "schedule"),
			out.Broken)}
	for i := range out.Finds {
		f := &out.Finds[i]
		all.Outcome, all.Rule = verdict.Failed, verdict.RuleOf(f.Property, verdict.Answer)
		p.Judged.Add(verdict.Case{Group: group, Name: fmt.Sprintf("%s: %s beside %s", out.World, f.First, f.Second),
			Outcome: verdict.Failed, Rule: verdict.RuleOf(f.Property, verdict.Answer), Says: f.Says,
			Places: []verdict.Place{{File: f.File, Line: 1}}, Next: c.pairLine(f)})
	}
	p.Judged.Add(all)
}
