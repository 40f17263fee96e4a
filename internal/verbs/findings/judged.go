package findings

import (
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/search/change"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/cli/inputs"
	"kpsim/internal/ui/verdict"
	"kpsim/internal/verbs/report"
	"kpsim/internal/version"
	"kpsim/properties"
	"kpsim/smp/arch/target"
	"kpsim/traces"
)

// What the verbs of this package judge, for --format: their cases, from what they print.

// drawnPrograms is the group of the cases of drawn programs.
const drawnPrograms = "drawn programs"

// judge adds the case of a row of explore.
func (r *printer) judge(w *row) {
	c := verdict.Case{Group: w.Scenario, Name: w.Property, Notes: slices.Concat(w.notes, w.shows), Next: w.advice,
		Outcome: outcome(w.Expected),
		Says: fmt.Sprintf("%s, %d of %s: %s", w.Observation, w.Violations, cli.Number(w.Runs, "run"),
			r.verdict(w)),
	}
	if r.p.Judged == nil {
		return
	}
	for _, f := range w.Further {
		c.Notes = append(c.Notes, "also, in another way, by "+cli.Number(f.Runs, "run")+": "+f.Message)
	}
	for _, f := range w.Known {
		c.Notes = append(c.Notes, "known, and gone on after: "+f.Property+": "+f.Message)
	}
	switch {
	case w.Violations > 0:
		c.Rule = verdict.RuleOf(w.Property, verdict.Expectation)
	case c.Outcome == verdict.Failed && strings.Contains(w.Reason, "blind"):
		c.Rule = verdict.Blind
	case c.Outcome == verdict.Failed:
		c.Rule = verdict.Expectation
	}
	if w.witness != nil {
		path := ""
		if w.Trace != nil {
			path = *w.Trace
		}
		report.Witness(r.p, &c, w.job.Input, &r.c.Kernel, w.witness.File, path)
	} else {
		c.Places = w.job.Where("")
	}
	r.p.Judged.Add(c)
}

// outcome returns the outcome of a row by what was expected of it.
func outcome(expected *bool) verdict.Outcome {
	switch {
	case expected == nil:
		return verdict.Skipped
	case *expected:
		return verdict.Passed
	}
	return verdict.Failed
}

// judged adds the cases of a scenario that verify has run: one for each property that was broken, or one.
func (c *Verify) judged(p *cli.Program, j *job, r *verifyRow) {
	if p.Judged == nil {
		return
	}
	one := verdict.Case{Group: r.Scenario, Name: everyProperty, Outcome: outcome(r.Expected),
		Says: fmt.Sprintf("%s, %s: %s", r.Observation, cli.Number(r.Runs, "schedule"), c.verdict(p, r)),
		Next: c.advice(j, r)}
	if r.Certificate != "" {
		one.Notes = append(one.Notes, r.Certificate)
	}
	if len(r.Broken) == 0 {
		switch {
		case !r.Complete && !c.base.stop.Load():
			one.Outcome, one.Rule = verdict.Failed, verdict.Incomplete
			one.Notes = append(one.Notes, "not complete")
		case one.Outcome == verdict.Failed:
			one.Rule = verdict.Expectation
		}
		one.Places = j.Where("")
		p.Judged.Add(one)
		return
	}
	for _, q := range properties.All {
		n := r.Broken[q.Name]
		if n == 0 {
			continue
		}
		of := one
		of.Name, of.Rule = q.Name, q.ID
		of.Says = fmt.Sprintf("%s, by %s: %s", r.Observation, cli.Number(n, "schedule"), c.verdict(p, r))
		if e := &j.Expect; of.Outcome == verdict.Failed && e.Sometimes && e.Property == q.Name {
			of.Outcome = verdict.Passed // others were broken, too, and have cases of their own
		}
		of.Places = j.Where("")
		for i, w := range r.witnesses {
			if w.Property == q {
				report.Witness(p, &of, j.Input, &c.Kernel, w.File, r.paths[i])
			}
		}
		p.Judged.Add(of)
	}
}

// fuzzOutcome returns the outcome of what drawn programs break.
func fuzzOutcome(c *Fuzz) verdict.Outcome {
	if c.Mutant != "" || c.open != "" {
		return verdict.Skipped
	}
	return verdict.Failed
}

// openSays says why nothing is expected, before what was seen.
func openSays(c *Fuzz) string {
	switch {
	case c.open != "":
		return "nothing expected (" + c.open + "): "
	case c.Mutant != "":
		return "nothing expected (mutant " + c.Mutant + "): "
	}
	return ""
}

// judgeFind adds the case of a cause that drawn programs have shown.
func judgeFind(c *Fuzz, p *cli.Program, f *fuzzFind, file *traces.File) {
	one := verdict.Case{Group: drawnPrograms, Name: f.Program + " " + f.Property, Outcome: fuzzOutcome(c),
		Rule: verdict.RuleOf(f.Property, verdict.Expectation), Says: openSays(c) + f.Program + " breaks " + f.Property,
		Notes: []string{"recipe: " + f.Recipe}}
	if f.Like != nil {
		one.Notes = append(one.Notes, "looks like "+c.resemblance(f))
	}
	if f.Unsaved != "" {
		one.Notes, one.Next = append(one.Notes, f.Unsaved), c.searchCommand(f.Recipe)
	}
	report.Witness(p, &one, nil, &c.Kernel, file, f.Trace)
	p.Judged.Add(one)
}

// judgeAnswer adds the case of a program whose answers from a kernel aren't by the rules.
func judgeAnswer(c *Fuzz, p *cli.Program, a *fuzzAnswer) {
	one := verdict.Case{Group: drawnPrograms, Name: a.Program + " answers", Outcome: fuzzOutcome(c),
		Rule: verdict.Answer, Says: openSays(c) + a.Otherwise, Notes: []string{"recipe: " + a.Recipe}}
	if a.Like != "" {
		one.Outcome, one.Rule = verdict.Passed, ""
		one.Notes = append(one.Notes, "known (docs/two-engines.md): "+a.Like)
	}
	p.Judged.Add(one)
}

// judgeRow adds the case of an edition's drawn programs, or of all if editions have none.
func judgeRow(c *Fuzz, p *cli.Program, r *fuzzRow) {
	if r == &c.total && c.Kernel.Kernel == "" && !c.brief {
		return
	}
	one := verdict.Case{Group: drawnPrograms, Name: r.Edition, Says: fmt.Sprintf("%s, %s: %s",
		cli.Number(r.Programs, "program"), cli.Number(r.Runs, "schedule"), brokenBy(r.Broken))}
	for _, q := range properties.All {
		if r.Broken[q.Name] > 0 && one.Rule == "" {
			one.Outcome, one.Rule, one.Says = fuzzOutcome(c), q.ID, openSays(c)+one.Says
		}
	}
	p.Judged.Add(one)
}

// judgeAnswers adds the case of all serial programs of a comparison. The first that are answered otherwise have cases
// of their own.
func (c *Compare) judgeAnswers(p *cli.Program, s *totals) {
	one := verdict.Case{Group: "serial programs", Name: "all", Says: fmt.Sprintf("%s compared, %d differ",
		cli.Number(s.programs, "program"), s.differing)}
	if s.differing > 0 {
		one.Outcome, one.Rule = verdict.Failed, verdict.Answer
	}
	p.Judged.Add(one)
}

// judgeDifferent adds the case of a program that is answered otherwise.
func (c *Compare) judgeDifferent(p *cli.Program, a *differentAnswer) {
	one := verdict.Case{Group: "serial programs", Name: a.Program, Outcome: verdict.Failed, Rule: verdict.Answer,
		Says: a.Says, Places: []verdict.Place{{File: a.File, Line: 1}}, Next: c.line(a.File)}
	if a.Before != "" {
		one.Notes = append(one.Notes, "without the change it differed already: "+a.Before)
	}
	p.Judged.Add(one)
}

// judgeLeft adds the case of a scenario that the kernel can't run; why is nil if it is about kpsim's own engine.
func (c *Compare) judgeLeft(p *cli.Program, in *inputs.Input, why error) {
	one := verdict.Case{Group: in.Name, Name: everyProperty, Outcome: verdict.Skipped,
		Says: "it is about kpsim's own engine"}
	if why != nil {
		one.Says = why.Error()
	}
	p.Judged.Add(one)
}

// judgeSearched adds the case of a scenario whose runs break nothing because of the change.
func (c *Compare) judgeSearched(p *cli.Program, in *inputs.Input, all *change.Breaks) {
	if len(all.Worse) > 0 {
		return
	}
	p.Judged.Add(verdict.Case{Group: in.Name, Name: everyProperty,
		Says: cli.Number(c.Runs, "run") + ": nothing that the unchanged kernel doesn't break as often"})
}

// judgeBroken adds the case of a property that runs with the change break. What is known isn't one.
func (c *Compare) judgeBroken(p *cli.Program, in *inputs.Input, b *change.Break, out *brokenProperty) {
	if out.Known {
		return
	}
	one := verdict.Case{Group: in.Name, Name: b.Property, Outcome: verdict.Failed,
		Rule: verdict.RuleOf(b.Property, verdict.Expectation),
		Says: fmt.Sprintf("%d of %d runs; without the change %d of %d", b.Violations, b.Runs, b.Base, b.BaseRuns)}
	if b.Witness != nil {
		path := ""
		if out.Trace != nil {
			path = *out.Trace
		}
		report.Witness(p, &one, in, &c.Kernel, b.Witness.File, path)
	}
	p.Judged.Add(one)
}

// claim says for a commit message what a certificate covers: what ran, on which machine, under which models, with how
// many deviations, and what was counted. "": there is no certificate.
func (c *Verify) claim(j *job, r *verifyRow) string {
	if r.Certificate == "" || len(r.Broken) > 0 {
		return ""
	}
	who := make([]string, 0, len(j.Tasks)+len(j.Sources))
	for i := range j.Tasks {
		who = append(who, fmt.Sprintf("%s on cpu%d", j.Tasks[i].Name, j.Tasks[i].CPU))
	}
	for i := range j.Sources {
		s := &j.Sources[i]
		who = append(who, fmt.Sprintf("a %s of cpu%d at most %s", s.Kind, s.CPU, times(uint64(s.AtMost))))
	}
	if len(j.Sources) == 0 {
		who = append(who, "no interrupt but IPIs")
	}
	bound, but := "", ""
	if !r.Full {
		bound = " with at most " + cli.Number(r.Deviations, "deviation")
	}
	if c.Ignored != 0 {
		but = ", but for " + cli.List(c.Ignored.Names())
	}
	m := &j.Machine
	return fmt.Sprintf("No schedule of %s%s breaks a property that kpsim checks%s: %s, %s, %s, preemption model %s "+
		"(%s), fetch model %s, memory model %s; %s run, %d pruned, by kpsim %s.", r.Scenario, bound, but, c.engineOf(j),
		target.Words[m.Arch], cli.Number(m.CPUs, "CPU"), m.Preempt, cli.List(who), r.Fetch, m.Memory,
		cli.Number(r.Runs, "schedule"), r.Pruned, version.This())
}

// engineOf names the engine that a scenario runs on: a kernel's, with the objects over it, or kpsim's of an edition;
// and how it was broken on purpose.
func (c *Verify) engineOf(j *job) string {
	m := &j.Machine
	says := "kpsim's engine"
	switch edition := m.Edition.String(); {
	case m.Guest():
		says = "the engine of Linux " + m.Release()
		if len(j.Objects) > 0 {
			says += " with " + cli.List(j.Objects) + " laid over it"
		}
	case edition != "":
		says += ", edition " + edition
	}
	if c.Mutant != "" {
		says += ", broken on purpose (" + c.Mutant + ")"
	}
	return says
}
