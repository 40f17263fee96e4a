package review

import (
	"fmt"
	"io"
	"math"
	"strings"

	"kpsim/internal/search/change"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/table"
)

// tell prints the results and writes the page.
func (r *found) tell(p *cli.Program) error {
	if err := r.write(); err != nil {
		return err
	}
	r.judge(p)
	switch {
	case r.c.JSON:
		if err := r.json(p); err != nil {
			return err
		}
	default:
		w := writer{p: p, markdown: r.c.Markdown}
		w.document(r.document(false))
		if !r.c.Markdown {
			r.next(p)
		}
	}
	if r.c.HTML == "" {
		return nil
	}
	if r.c.JSON || r.c.Markdown { // standard output has the JSON or Markdown
		defer func(out io.Writer) { p.Out = out }(p.Out)
		p.Out = p.Err
	}
	return p.WritePage(r.c.HTML, r.document(true), "a review of "+r.title())
}

// next prints the suggested next command.
func (r *found) next(p *cli.Program) {
	for i := range r.gained {
		if v := &r.gained[i]; v.replay != "" {
			fmt.Fprintln(p.Out)
			p.Next("", "to see the first:", strings.Replace(v.replay, " replay ", " explain ", 1))
			return
		}
	}
	if len(r.files) > 0 {
		fmt.Fprintln(p.Out)
		p.Next("", "the first program alone:", r.c.Kernel.Line("compare", r.files[0]))
	}
}

// A writer prints a document as text or Markdown.
type writer struct {
	p        *cli.Program
	markdown bool
	tables   int
}

func (w *writer) document(d *page.Document) {
	w.heading(1, d.Title)
	for _, t := range d.Lead {
		w.text(t)
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		w.heading(2, s.Title)
		for _, b := range s.Blocks {
			w.block(b)
		}
	}
	if w.markdown {
		fmt.Fprintf(w.p.Out, "\nMade by `%s`\n", d.Command)
	}
}

func (w *writer) heading(level int, s string) {
	if level > 1 {
		fmt.Fprintln(w.p.Out)
	}
	if w.markdown {
		s = strings.Repeat("#", level) + " " + s
	}
	fmt.Fprintln(w.p.Out, s)
	fmt.Fprintln(w.p.Out)
}

// text prints a paragraph. On a terminal, code is printed without backquotes.
func (w *writer) text(t page.Text) {
	s := string(t)
	if w.markdown {
		fmt.Fprintln(w.p.Out, s+"\n")
		return
	}
	w.p.Indented("", strings.ReplaceAll(s, "`", ""))
}

func (w *writer) block(b page.Block) {
	switch b := b.(type) {
	case page.Text:
		w.text(b)
	case page.List:
		w.list(b, func(int) string { return "- " })
	case page.Steps:
		w.list(b, func(i int) string { return fmt.Sprintf("%d. ", i+1) })
	case *page.Table:
		w.table(b)
	case *page.Details:
		fmt.Fprintln(w.p.Out)
		if w.markdown {
			w.text("**" + b.Summary + "**")
		} else {
			w.text(b.Summary)
		}
		for _, inner := range b.Blocks {
			w.block(inner)
		}
	}
}

// list prints items, each after a sign.
func (w *writer) list(items []page.Text, sign func(i int) string) {
	for i, t := range items {
		if w.markdown {
			fmt.Fprintln(w.p.Out, sign(i)+string(t))
		} else {
			w.p.Indented("  ", strings.TrimPrefix(sign(i), "- ")+strings.ReplaceAll(string(t), "`", ""))
		}
	}
	fmt.Fprintln(w.p.Out)
}

// table prints a table; groups and headings above columns are merged into the rows and headings.
func (w *writer) table(t *page.Table) {
	w.tables++
	w.text(page.Text(fmt.Sprintf("Table %d. %s", w.tables, t.Caption)))
	if !w.markdown {
		fmt.Fprintln(w.p.Out)
	}
	g := table.Grid{Head: append([]string(nil), t.Head...), Text: t.Text}
	at := 0
	for _, o := range t.Over {
		for range o.Columns {
			if o.Name != "" {
				g.Head[at] = o.Name + " " + g.Head[at]
			}
			at++
		}
	}
	for _, group := range t.Groups {
		for _, row := range group.Rows {
			var cells []string
			for i, c := range row {
				text := c.Text
				if i == 0 && group.Name != "" {
					text += " (" + group.Name + ")"
				}
				if c.Mark != "" && !strings.Contains(strings.ToLower(string(t.Caption)), c.Mark) {
					text += ": " + c.Mark
				}
				if w.markdown {
					text = strings.ReplaceAll(text, "|", `\|`)
				}
				cells = append(cells, text)
			}
			g.Add(cells...)
		}
	}
	g.Print(w.p, w.markdown)
	fmt.Fprintln(w.p.Out)
}

// The objects of --json, one per line, with the summary last.
type (
	jsonVerdict struct {
		What       string   `json:"what"` // gained, lost, unsure, both
		Scenario   string   `json:"scenario"`
		Property   string   `json:"property"`
		Violations uint64   `json:"violations"`
		Runs       uint64   `json:"runs"`
		Others     uint64   `json:"violations_of_the_other"`
		OtherRuns  uint64   `json:"runs_of_the_other"`
		Trace      *string  `json:"trace"`
		Says       string   `json:"says,omitempty"`
		Like       []string `json:"like,omitempty"` // known finds that the witness resembles
		Sentences  []string `json:"sentences"`

		Near      *jsonConfirmed `json:"near_the_witness_schedule,omitempty"`
		Confirmed *jsonConfirmed `json:"of_the_witness_program,omitempty"`
	}
	jsonConfirmed struct {
		Violations uint64 `json:"violations"`
		Runs       uint64 `json:"runs"`
		Others     uint64 `json:"violations_of_the_other"`
		OtherRuns  uint64 `json:"runs_of_the_other"`
	}
	jsonBehaviour struct {
		What      string `json:"what"` // behaviour
		Scenario  string `json:"scenario"`
		Says      string `json:"says"`
		Side      string `json:"side"` // before, changed
		Runs      uint64 `json:"runs"`
		Of        uint64 `json:"of"`
		OtherRuns uint64 `json:"runs_of_the_other"`
	}
	jsonAnswer struct {
		What    string  `json:"what"` // answer, dies
		Program string  `json:"program"`
		Says    string  `json:"says"`
		Before  string  `json:"before,omitempty"`
		File    *string `json:"file"`
	}
	jsonFunction struct {
		What         string   `json:"what"` // function
		Name         string   `json:"name"`
		Is           string   `json:"is"` // differs, new, gone
		Before       int      `json:"instructions_before"`
		Now          int      `json:"instructions"`
		Gone         int      `json:"gone"`
		Added        int      `json:"added"`
		Called       []string `json:"called"`
		CalledBefore []string `json:"called_before"`
		Entered      *uint64  `json:"entered_in_runs"`
	}
	jsonStretch struct {
		What string `json:"what"` // lines
		stretch
	}
	jsonCost struct {
		What               string  `json:"what"` // cost
		Kind               string  `json:"kind"`
		Says               string  `json:"says"`
		Call               bool    `json:"call"`
		InstructionsBefore int     `json:"instructions_before"`
		Instructions       int     `json:"instructions"`
		LinesBefore        int     `json:"lines_before"`
		Lines              int     `json:"lines"`
		CyclesBefore       float64 `json:"cycles_before"`
		Cycles             float64 `json:"cycles"`
		Dearer             bool    `json:"dearer"`
	}
	jsonScenario struct {
		What   string      `json:"what"` // scenario
		Name   string      `json:"name"`
		Before *change.Run `json:"before"`
		Now    *change.Run `json:"now"`
		Why    string      `json:"left_out,omitempty"`
	}
	jsonSummary struct {
		What     string   `json:"what"` // summary
		Before   string   `json:"before"`
		Now      string   `json:"now"`
		Objects  []string `json:"objects"`
		Worse    bool     `json:"worse"`
		Why      []string `json:"why"`
		Gained   int      `json:"gained"`
		Lost     int      `json:"lost"`
		Unsure   int      `json:"unsure"`
		New      int      `json:"behaviours"`
		Answers  int      `json:"answers"`
		Programs int      `json:"programs"`
		Runs     uint64   `json:"runs"`
		Boundary []string `json:"boundary_new"`
		Gone     []string `json:"boundary_gone"`
		Removed  int      `json:"patch_removes"`
		Left     int      `json:"places_not_looked_for"`
		Steps    uint64   `json:"steps"`                   // instructions of the runs after the first ones, about
		Shallow  int      `json:"shallow"`                 // scenarios that got fewer runs for want of budget
		Open     int      `json:"unsettled"`               // findings of few runs that weren't tried
		Partly   string   `json:"partly,omitempty"`        // why not everything was run
		Unknown  string   `json:"lines_unknown,omitempty"` // why the reached lines aren't known
	}
)

// json prints the objects.
func (r *found) json(p *cli.Program) error {
	var all []any
	for _, part := range []struct {
		what string
		list []difference
	}{{"gained", r.gained}, {"lost", r.lost}, {"unsure", r.unsure}, {"both", r.both}} {
		for i := range part.list {
			v := &part.list[i]
			j := jsonVerdict{What: part.what, Scenario: v.scenario, Property: v.Property, Violations: v.Violations,
				Runs: v.Runs, Others: v.Base, OtherRuns: v.BaseRuns, Says: v.says, Like: v.like,
				Sentences: full(v.sentences)}
			if k := v.Near; k != nil && k.Runs > 0 {
				j.Near = &jsonConfirmed{k.Violations, k.Runs, k.Base, k.BaseRuns}
			}
			if k := v.Confirmed; k != nil {
				j.Confirmed = &jsonConfirmed{k.Violations, k.Runs, k.Base, k.BaseRuns}
			}
			if v.trace != "" {
				j.Trace = &v.trace
			}
			all = append(all, j)
		}
	}
	for _, b := range r.behaviours {
		side := "changed"
		if b.gone {
			side = "before"
		}
		all = append(all, jsonBehaviour{"behaviour", b.scenario, b.Says, side, b.Runs, b.Of, b.None})
	}
	for i := range r.answers {
		a := &r.answers[i]
		j := jsonAnswer{What: "answer", Program: a.Program.Name, Says: a.Says, Before: a.Before}
		if i < len(r.files) {
			j.File = &r.files[i]
		}
		all = append(all, j)
	}
	for _, d := range r.dies {
		all = append(all, jsonAnswer{What: "dies", Program: d.name, Says: d.why})
	}
	for _, part := range []struct {
		is   string
		list []change.Function
	}{{"differs", r.code.Functions}, {"new", r.code.New}, {"gone", r.code.Gone}} {
		for i := range part.list {
			f := &part.list[i]
			j := jsonFunction{"function", f.Name, part.is, f.Before, f.Now, f.Gone, f.Added, full(f.Called),
				full(f.CalledBefore), nil}
			if n, ok := r.entered(f.Name); ok {
				j.Entered = &n
			}
			all = append(all, j)
		}
	}
	for _, s := range r.stretches() {
		if r.uncovered != "" {
			break
		}
		all = append(all, jsonStretch{"lines", s})
	}
	for _, c := range r.costs() {
		a, b := c.before, c.after
		all = append(all, jsonCost{"cost", a.Kind, a.Says, a.Call, a.Instructions, b.Instructions, a.Lines, b.Lines,
			tenth(a.Cycles), tenth(b.Cycles), r.slower(&c)})
	}
	for i := range r.rows {
		w := &r.rows[i]
		all = append(all, jsonScenario{What: "scenario", Name: w.name, Before: &w.before, Now: &w.after})
	}
	for _, l := range r.left {
		all = append(all, jsonScenario{What: "scenario", Name: l.name, Why: l.why})
	}
	all = append(all, r.summary())
	for _, v := range all {
		if err := p.PrintJSON(v); err != nil {
			return err
		}
	}
	return nil
}

// tenth rounds cycles, which are estimates.
func tenth(v float64) float64 { return math.Round(10*v) / 10 }

// summary returns the last object.
func (r *found) summary() jsonSummary {
	worse := r.worse()
	ids := r.sides
	if !r.ofPrograms {
		ids = [sides]string{r.before.ID(), r.after.ID()}
	}
	s := jsonSummary{What: "summary", Before: ids[0], Now: ids[1], Objects: []string{}, Worse: len(worse) > 0,
		Why: full(worse), Gained: len(r.gained), Lost: len(r.lost), Unsure: len(r.unsure),
		New: len(r.behaviours), Answers: len(r.answers), Programs: r.programs, Runs: r.runsAfter,
		Boundary: full(r.code.Calls), Gone: full(r.code.CallsGone),
		Removed: r.removed, Left: r.code.Left + r.linesLeft, Unknown: r.uncovered, Partly: r.partly,
		Steps: r.depth.steps, Shallow: r.depth.shallow, Open: r.depth.unsettled}
	for _, o := range r.c.Objects {
		s.Objects = append(s.Objects, o.Base())
	}
	return s
}

// full makes an empty list print as [].
func full(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
