package litmus

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/litmus/run"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/verdict"
)

// A printer prints tests in their order, as soon as those before are done.
type printer struct {
	c      *Litmus
	p      *cli.Program
	tests  []*test
	others int // files in other languages, left out
	next   int // to be printed
	done   map[int]bool

	counts  map[string]int // by verdict
	agrees  int            // with what a comment expects
	differs int
	races   int // tests with a data race
	failed  int
	err     error
}

// ended prints what can be printed now that a test is done.
func (o *printer) ended(i int) {
	if o.done == nil {
		o.done, o.counts = make(map[int]bool), make(map[string]int)
	}
	for o.done[i] = true; o.done[o.next]; o.next++ {
		delete(o.done, o.next)
		o.print(o.tests[o.next])
	}
}

// print prints one test.
func (o *printer) print(t *test) {
	if t.err != nil {
		o.fail(t, t.err.Error())
		return
	}
	r := t.result
	holds := 0
	for i := range r.Outcomes {
		if r.Outcomes[i].Holds {
			holds++
		}
	}
	fails := len(r.Outcomes) - holds
	if r.Stopped && !r.Complete {
		return
	}
	if !r.Complete && (holds == 0 || fails == 0) { // else it is Sometimes, whatever there is
		o.fail(t, fmt.Sprintf("%s: more than %s; give --states a larger number", t.path, t.counted(o.c.States)))
		return
	}
	if len(r.Outcomes) == 0 {
		why := "no schedule ends: its threads wait for ever"
		if t.filtered && !r.Endless {
			why = "the filter excludes every final state"
		}
		o.fail(t, fmt.Sprintf("%s: %s; change the test", t.path, why))
		return
	}
	seen := observation(holds, fails)
	o.counts[seen]++
	differs := against(t.expected, seen)
	if t.races { // then the verdict is about what compilers do, too
		differs = r.Race == nil
	}
	if r.Race != nil {
		o.races++
	}
	o.judge(t, seen, differs)
	switch {
	case differs:
		o.differs++
	case t.expected != "":
		o.agrees++
	}
	if o.c.JSON {
		o.err = cmp.Or(o.err, o.p.PrintJSON(t.json(holds, fails)))
		return
	}
	var b bytes.Buffer
	t.text(&b, holds, fails)
	if differs {
		fmt.Fprintf(&b, "%s\n",
			o.p.Paint(cli.Red, fmt.Sprintf("Against expectation: the test says Result: %s", t.expectation())))
	}
	if o.c.Explain {
		t.explain(&b)
	}
	fmt.Fprintln(&b)
	_, err := o.p.Out.Write(b.Bytes())
	o.err = cmp.Or(o.err, err)
}

// group is that of the cases of litmus tests.
const group = "litmus tests"

// judge adds the case of a test that was run.
func (o *printer) judge(t *test, seen string, differs bool) {
	one := verdict.Case{Group: group, Name: t.path,
		Says:   fmt.Sprintf("%s: %s; expected %s", t.name, seen, t.expectation()),
		Places: []verdict.Place{{File: t.path, Line: 1}}}
	switch {
	case differs:
		one.Outcome, one.Rule = verdict.Failed, verdict.Litmus
		one.Next = cli.Line(cli.Typed(), "litmus", "--memory", string(t.memory), "--explain", t.path)
	case t.expected == "":
		one.Outcome, one.Says = verdict.Skipped, fmt.Sprintf("%s: %s; the test expects nothing", t.name, seen)
	}
	if t.result.Race != nil {
		one.Notes = append(one.Notes, "data race: "+t.c.RaceText(t.result.Race))
	}
	o.p.Judged.Add(one)
}

func (o *printer) fail(t *test, says string) {
	o.failed++
	o.p.Judged.Add(verdict.Case{Group: group, Name: t.path, Outcome: verdict.Errored, Says: says,
		Places: []verdict.Place{{File: t.path}}})
	fmt.Fprintf(o.p.Err, "kpsim: %s\n", says)
}

// text writes a test as herd7 does.
func (t *test) text(b *bytes.Buffer, holds, fails int) {
	r := t.result
	fmt.Fprintf(b, "Test %s %s\nStates %d\n", t.name, t.quant.title(), len(r.Outcomes))
	for i := range r.Outcomes {
		fmt.Fprintln(b, r.Outcomes[i].Text)
	}
	positive, negative := holds, fails
	ok := holds > 0
	switch t.quant {
	case notExists:
		positive, negative = fails, holds
		ok = holds == 0
	case forall:
		ok = fails == 0
	}
	fmt.Fprintln(b, map[bool]string{true: "Ok", false: "No"}[ok])
	fmt.Fprintf(b, "Witnesses\nPositive: %d Negative: %d\nCondition %s\n", positive, negative, t.condition())
	fmt.Fprintf(b, "Observation %s %s %d %d\n", t.name, observation(holds, fails), holds, fails)
	if !r.Complete {
		fmt.Fprintf(b, "Not complete: it has more %s than --states, and maybe more final states\n", t.counts())
	}
	if r.Unlisted {
		fmt.Fprintln(b, "Not all final states are listed; the others change nothing about the verdict")
	}
	if r.Race != nil {
		fmt.Fprintf(b, "Data race: %s\n%s\n", t.c.RaceText(r.Race), t.limited(observation(holds, fails)))
	}
	if r.Endless {
		fmt.Fprintln(b, "Some schedules don't end: threads wait")
	}
}

// limited says what a data race means for a verdict.
func (t *test) limited(seen string) string {
	says := "compilers may show more than these final states"
	if seen != "Sometimes" {
		says = seen + " is limited: " + says
	}
	if t.memory != run.LKMM {
		says += "; plain accesses are run as READ_ONCE and WRITE_ONCE"
	}
	return says
}

// counts is what --states bounds, and counted a number of them.
func (t *test) counts() string {
	if t.memory == run.LKMM {
		return "candidate executions"
	}
	return "states of the machine"
}

func (t *test) counted(n int) string { return fmt.Sprintf("%d %s", n, t.counts()) }

// expectation is what a comment of the test expects.
func (t *test) expectation() string {
	if t.races {
		return t.expected + " DATARACE"
	}
	return t.expected
}

// explain writes the schedule of a witness.
func (t *test) explain(b *bytes.Buffer) {
	o := t.witness()
	if o == nil {
		fmt.Fprintln(b, "No witness: the condition holds in no final state, in no schedule")
		if t.quant == forall {
			fmt.Fprintf(b, "It holds in all\n")
		}
		return
	}
	switch {
	case t.static:
		fmt.Fprintf(b, "Witness of %s an execution that the model allows, and of which the machine shows no schedule\n",
			o.Text)
	case t.shown != nil:
		o = t.shown
		fallthrough
	default:
		fmt.Fprintf(b, "Witness of %s\n", o.Text)
	}
	wide := 0
	for i := range t.story {
		wide = max(wide, len(t.story[i].What))
	}
	for i := range t.story {
		l := &t.story[i]
		what, says := l.What, strings.Join(l.Changes, ", ")
		mover := fmt.Sprintf("P%d", l.CPU)
		switch {
		case l.Ends:
			what = "ends"
		case what == "":
			what = fmt.Sprintf("drain@cpu%d", l.CPU)
		}
		if l.Held {
			says = strings.TrimPrefix(says+", its store is held", ", ")
		}
		if l.Note != "" {
			says = strings.TrimPrefix(says+"; "+l.Note, "; ")
		}
		fmt.Fprintf(b, "%s\n",
			strings.TrimRight(fmt.Sprintf("  %-4s%-*s  %s", mover, max(wide, len("drain@cpu00")), what, says), " "))
	}
}

// jsonTest is a test as --json has it.
type jsonTest struct {
	Name      string        `json:"name"`
	File      string        `json:"file"`
	Language  string        `json:"language"`
	Memory    string        `json:"memory"`
	Condition string        `json:"condition"`
	Verdict   string        `json:"verdict"`
	Expected  string        `json:"expected,omitempty"`
	Positive  int           `json:"positive"`
	Negative  int           `json:"negative"`
	Outcomes  []jsonOutcome `json:"outcomes"`
	Complete  bool          `json:"complete"`
	Limited   string        `json:"limited,omitempty"`
	Race      string        `json:"race,omitempty"`
	Unlisted  bool          `json:"unlisted,omitempty"`
	Endless   bool          `json:"endless,omitempty"`
	States    int           `json:"states"`
	Runs      uint64        `json:"runs"`
}

type jsonOutcome struct {
	State string `json:"state"`
	Holds bool   `json:"holds"`
}

func (t *test) json(holds, fails int) *jsonTest {
	j := &jsonTest{
		Name: t.name, File: t.path, Language: t.language, Memory: string(t.memory),
		Condition: t.condition(), Verdict: observation(holds, fails), Expected: t.expected,
		Positive: holds, Negative: fails, Complete: t.result.Complete, Endless: t.result.Endless,
		States: t.result.States,
		Runs:   t.result.Runs,
	}
	j.Unlisted = t.result.Unlisted
	if r := t.result.Race; r != nil {
		j.Race, j.Limited, j.Complete = t.c.RaceText(r), t.limited(j.Verdict), false
	}
	for i := range t.result.Outcomes {
		o := &t.result.Outcomes[i]
		j.Outcomes = append(j.Outcomes, jsonOutcome{o.Text, o.Holds})
	}
	return j
}

// totals prints sums if there are several tests, and returns the exit status.
func (o *printer) totals(stopped bool) int {
	if !o.c.JSON && len(o.tests)+o.others > 1 {
		ran := 0
		var parts []string
		for _, v := range []string{"Never", "Sometimes", "Always"} {
			ran += o.counts[v]
			if n := o.counts[v]; n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, v))
			}
		}
		if ran > 0 {
			fmt.Fprintf(o.p.Out, "%s under %s: %s\n", plural(ran, "test"), o.models(), strings.Join(parts, ", "))
		}
		if o.others > 0 {
			fmt.Fprintf(o.p.Out, "%s in other languages left out\n", plural(o.others, "file"))
		}
		if o.races > 0 {
			fmt.Fprintf(o.p.Out, "%s with a data race\n", plural(o.races, "test"))
		}
		if o.agrees+o.differs > 0 {
			fmt.Fprintf(o.p.Out, "%d as expected, %d against expectation\n", o.agrees, o.differs)
		}
	}
	if stopped {
		fmt.Fprintf(o.p.Err, "kpsim: interrupted after %d of %s\n", o.next, plural(len(o.tests), "test"))
	}
	switch {
	case stopped:
		return cli.Interrupted
	case o.differs > 0:
		return cli.Against
	case o.failed > 0:
		return cli.BadInput
	}
	return cli.OK
}

// models are the memory models that tests were run under.
func (o *printer) models() string {
	var names []string
	for _, t := range o.tests {
		if t.result != nil && !slices.Contains(names, string(t.memory)) {
			names = append(names, string(t.memory))
		}
	}
	return strings.Join(names, " and ")
}
