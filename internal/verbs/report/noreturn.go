package report

import (
	"fmt"
	"strings"

	"kpsim/internal/search/blame"
	"kpsim/internal/ui/cli"
	"kpsim/traces/view"
)

// printNoReturn prints how the odds of failing depend on the length of the schedule's prefix, and
// the choice after which most runs fail.
func printNoReturn(p *cli.Program, e *explanation) {
	n := e.noReturn
	if n == nil {
		return
	}
	fmt.Fprintln(p.Out)
	p.Indented("", fmt.Sprintf("The point of no return. Share of runs that break %s when the first N choices are "+
		"kept, and the others are random:", e.replay.Property.ID))
	fmt.Fprintln(p.Out)
	odds(p, fmt.Sprintf("  %9s  %5s  %5s  %-11s", "questions", "event", "fail", "95 %"), "and then")
	for i := range n.Curve {
		o := &n.Curve[i]
		then := ""
		if d := deviationAt(n, i); d > 0 {
			then = fmt.Sprintf("deviation %d: %v", d, e.schedule[d-1])
		}
		if o.Questions == n.Questions {
			then = "all of it"
		}
		shown := i == 0 || then != "" || deviationAt(n, i-1) > 0 || o.Questions == n.Point.Question ||
			o.Questions == n.Point.Question+1
		if creeps := !n.FromStart && !n.Sharp &&
			(o.Questions == n.From.Questions || o.Questions == n.To.Questions); !shown && !creeps {
			continue // an intermediate step of the bisection
		}
		odds(p, fmt.Sprintf("  %9d  %5d  %5s  %-11s", o.Questions, o.Event, percent(o.Chance()), interval(o)), then)
	}
	fmt.Fprintln(p.Out)
	for _, s := range noReturnLines(e) {
		p.Indented("", s)
	}
}

// odds prints a row of the curve, with its explanation on the next line if it doesn't fit.
func odds(p *cli.Program, row, then string) {
	line := strings.TrimRight(row+"  "+then, " ")
	if p.Width == 0 || len(line) <= p.Width {
		fmt.Fprintln(p.Out, line)
		return
	}
	fmt.Fprintln(p.Out, strings.TrimRight(row, " "))
	p.Indented(cli.Indent+cli.Indent, then)
}

// deviationAt returns the number of the deviation right after prefix i of the curve, or 0.
func deviationAt(n *blame.Point, i int) int {
	if i+1 < len(n.Curve) && n.Curve[i+1].Questions == n.Curve[i].Questions+1 &&
		n.Curve[i+1].Deviations > n.Curve[i].Deviations {
		return n.Curve[i+1].Deviations
	}
	return 0
}

// noReturnLines returns sentences that interpret the odds.
func noReturnLines(e *explanation) []string {
	n := e.noReturn
	if n.FromStart {
		return []string{fmt.Sprintf("There is none: %s of the runs fail from the start, whatever the choices.",
			percent(n.Curve[0].Chance()))}
	}
	b := &n.Point
	var list []string
	switch {
	case n.Sharp && b.Deviation > 0 && b.Deviation == len(e.schedule):
		list = append(list, fmt.Sprintf("It is the last deviation, %s: with it %s fail, without it %s.",
			view.Choice(b.Label), percent(b.After.Chance()), percent(b.Before.Chance())))
	case n.Sharp && b.Deviation > 0:
		list = append(list, fmt.Sprintf("It is deviation %d, %s: with it %s fail, without it %s.", b.Deviation,
			view.Choice(b.Label), percent(b.After.Chance()), percent(b.Before.Chance())))
	case n.Sharp:
		list = append(list, fmt.Sprintf("It is no deviation but a default answer, %s (%v): with it %s fail, "+
			"without it %s.", view.Choice(b.Label), b.Label, percent(b.After.Chance()), percent(b.Before.Chance())))
	default:
		which := "a default answer"
		if b.Deviation > 0 {
			which = fmt.Sprintf("deviation %d", b.Deviation)
		}
		to := "the end"
		if n.To.Questions < n.Questions {
			to = fmt.Sprintf("event %d", n.To.Event)
		}
		list = append(list, fmt.Sprintf("No one choice is it: from event %d to %s the odds creep from %s to %s.",
			n.From.Event, to, percent(n.From.Chance()), percent(n.To.Chance())),
			fmt.Sprintf("They pass 1/2 at question %d, %s: %s.", b.Question, which, view.Choice(b.Label)))
	}
	if w := &n.Worst; w.Question >= 0 && w.Question != b.Question {
		list = append(list, fmt.Sprintf("Among the deviations number %d raises them most, %s: from %s to "+
			"%s.", w.Deviation,
			view.Choice(w.Label), percent(w.Before.Chance()), percent(w.After.Chance())))
	}
	return list
}

func percent(f float64) string {
	switch {
	case f > 0 && f < 0.005:
		return fmt.Sprintf("%.1f %%", 100*f)
	case f < 1 && f > 0.995:
		return "99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*f)
}

func interval(o *blame.Odds) string {
	if o.Low == o.High {
		return ""
	}
	if o.High < 0.01 {
		return "below 1 %"
	}
	return fmt.Sprintf("%.0f to %.0f %%", 100*o.Low, 100*o.High)
}
