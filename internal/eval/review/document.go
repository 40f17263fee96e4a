package review

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/search/change"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
)

// document puts the results on one page, the worst first. whole adds reference material, for a
// browser.
func (r *found) document(whole bool) *page.Document {
	d := &page.Document{Title: "Review: " + r.title(), Command: r.command(), Lead: r.lead(), Foot: cli.WrittenBy}
	for _, s := range []page.Section{r.verdicts(whole), r.answered(), r.changedCode(whole), r.coverage(),
		r.prices(whole), r.bothHave(), r.how(whole)} {
		if len(s.Blocks) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	return d
}

// title names the two sides, without folders.
func (r *found) title() string {
	c := r.c
	switch {
	case c.Patch != "":
		return c.Patch.Base()
	case len(c.Objects) > 0:
		return names(c.Objects)
	case r.ofPrograms:
		return filepath.Base(r.sides[1])
	}
	return r.after.Image.Release
}

func names(files []cli.FileName) string {
	var list []string
	for _, f := range files {
		list = append(list, f.Base())
	}
	return strings.Join(list, ", ")
}

// command returns the line that makes the page, without folders, which a reader may not have.
func (r *found) command() string {
	c := r.c
	objects := c.Objects
	if c.edit != nil { // they were compiled of the patch
		objects = nil
	}
	return cli.Line(cli.WithFlags(append([]string{"kpsim", "review"}, c.Scenarios...), "--kernel", c.Kernel.Base(),
		"--objects", strings.ReplaceAll(names(objects), ", ", ","),
		"--before-objects", strings.ReplaceAll(names(c.BeforeObjects), ", ", ","), "--before", c.Before.Base(),
		"--before-program", c.BeforeProgram.Base(), "--program", c.Program.Base(), "--patch", c.Patch.Base(),
		"--corpus", c.Corpus.Base(), "--runs", fmt.Sprint(c.Runs), "--budget", fmt.Sprint(c.Budget), "--programs",
		fmt.Sprint(c.Programs),
		"--seed", fmt.Sprint(c.Seed), "--markdown", c.Markdown, "--html", c.HTML.Base())...)
}

// lead is the summary for readers of nothing else.
func (r *found) lead() (list []page.Text) {
	if r.partly != "" {
		list = append(list, page.Text(r.partly))
	}
	worse := r.worse()
	if len(worse) == 0 {
		of := []string{cli.Number(len(r.rows), "scenario")}
		if !r.ofPrograms {
			of = append(of, cli.Number(r.programs, "serial program"))
		}
		list = append(list, page.Text(fmt.Sprintf("Nothing worse was seen: in %d runs of %s and in %s of hit "+
			"the changed engine broke nothing that the other doesn't. That is no proof: a race that these "+
			"scenarios don't make, or make rarely, is missed.",
			r.runsAfter, strings.Join(of, ", "), cli.Number(len(r.hits()), "kind"))))
	} else {
		list = append(list, page.Text("Worse: "+strings.Join(worse, "; ")+"."))
	}
	if short := r.shortOf(); short != "" {
		list = append(list, page.Text(short))
	}
	switch n := len(r.code.Functions); {
	case r.ofPrograms:
	case r.code.Same():
		list = append(list, "No function of the engine differs in machine code: the change is in comments, in "+
			"names, or in what isn't compiled.")
	case n+len(r.code.New)+len(r.code.Gone) == 0:
		list = append(list, "No function of the engine differs in machine code; what it calls does.")
	default:
		list = append(list, page.Text("In machine code "+r.changed()+"."))
	}
	for _, says := range r.applied() {
		list = append(list, page.Text(says))
	}
	if list = append(list, r.reachedLines()...); r.withCode() <= leadLines {
		return list
	}
	if unreached := r.never(); unreached > 0 {
		list = append(list, page.Text(fmt.Sprintf("Of the changed lines %d of %d with code were never reached: "+
			"of these the review says nothing.", unreached, r.withCode())))
	}
	return list
}

// leadLines is the number of changed lines whose runs the lead counts.
const leadLines = 3

func (r *found) reachedLines() (list []page.Text) {
	if r.withCode() > leadLines || r.uncovered != "" {
		return nil
	}
	for _, s := range r.stretches() {
		if s.HasCode {
			list = append(list, page.Text("`"+s.File+"`, "+s.says()+"."))
		}
	}
	return list
}

// changed names the functions that differ.
func (r *found) changed() string {
	var says []string
	for _, part := range []struct {
		list []change.Function
		verb string
	}{{r.code.Functions, "differ"}, {r.code.New, "are new"}, {r.code.Gone, "are gone"}} {
		var list []string
		for _, f := range part.list {
			list = append(list, "`"+f.Name+"`")
		}
		if n := len(list); n > namedMost {
			list = append(list[:namedMost], fmt.Sprintf("%d more", n-namedMost))
		}
		if len(list) > 0 {
			verb := part.verb
			if len(part.list) == 1 {
				verb = map[string]string{"differ": "differs", "are new": "is new", "are gone": "is gone"}[verb]
			}
			says = append(says, strings.Join(list, ", ")+" "+verb)
		}
	}
	return strings.Join(says, "; ")
}

// namedMost is the maximum number of functions that the lead names.
const namedMost = 6

// withCode and never count the changed lines with code, and those that no run reached.
func (r *found) withCode() (n int) {
	for _, l := range r.lines {
		if l.place >= 0 {
			n++
		}
	}
	return n
}

func (r *found) never() (n int) {
	for _, l := range r.lines {
		if l.place >= 0 && r.reached[l.place] == 0 {
			n++
		}
	}
	return n
}

// hits returns the costs of hits.
func (r *found) hits() []cost {
	return slices.DeleteFunc(r.costs(), func(c cost) bool { return c.before.Call })
}

// share formats a number of runs out of all.
func share(n, of uint64) string { return fmt.Sprintf("%d of %d", n, of) }

// verdicts shows the properties that only one side breaks, with witnesses.
func (r *found) verdicts(whole bool) page.Section {
	s := page.Section{ID: "verdicts", Title: "Verdicts and behaviours that only one has"}
	for _, part := range []struct {
		list    []difference
		caption page.Text
		is      page.Verdict
		mark    string
	}{
		{r.gained, "Gained: only the changed engine breaks this, or in far more of its runs.", page.Bad, "gained"},
		{r.lost, "Lost: only the engine before breaks this.", page.Good, "lost"},
		{r.unsure, "Unsure: the changed engine breaks this in too few runs. With so many comparisons that may be " +
			"chance, so it isn't called worse.", page.Neither, "unsure"},
	} {
		if len(part.list) == 0 {
			continue
		}
		var seen []string
		var rest []page.Block
		for i := range part.list {
			v := &part.list[i]
			switch {
			case v.says == "":
			case !slices.Contains(seen, v.Property) && len(seen) < openMost:
				seen = append(seen, v.Property)
				s.Blocks = append(s.Blocks, page.Text(v.scenario+": "+quoted(v.says)))
				s.Blocks = append(s.Blocks, v.story(!whole && !r.c.Markdown)...)
			default:
				rest = append(rest, &page.Details{Summary: page.Text(v.scenario + ": " + quoted(v.says)),
					Blocks: v.story(!whole && !r.c.Markdown)})
			}
		}
		t := &page.Table{Caption: part.caption,
			Head: []string{"scenario", "property", "witness", "runs with the change", "runs before"}, Text: 3}
		for i := range part.list {
			v := &part.list[i]
			now, was := v.shares()
			if part.mark == "lost" {
				now, was = was, now
			}
			t.Add(page.Cell{Text: v.scenario, Is: part.is, Mark: part.mark}, page.Cell{Text: v.property()},
				page.Cell{Text: base(v.trace), Code: true}, page.Cell{Text: now}, page.Cell{Text: was})
		}
		s.Blocks = append(s.Blocks, t)
		if whole && len(rest) > 0 {
			s.Blocks = append(s.Blocks,
				&page.Details{Summary: page.Text(fmt.Sprintf("How the other %d came about", len(rest))), Blocks: rest})
		}
	}
	if len(r.behaviours) > 0 {
		t := &page.Table{Caption: "What only one side answered, or left.",
			Head: []string{"scenario", "what", "side", "runs", "runs of the other"}, Text: 3}
		for _, b := range r.behaviours {
			side := "changed"
			if b.gone {
				side = "before"
			}
			t.Add(page.Row(b.scenario, b.Says, side, r.shown(b), share(0, b.None))...)
		}
		s.Blocks = append(s.Blocks, t)
	}
	if len(s.Blocks) == 0 {
		s.Blocks = append(s.Blocks, page.Text("None: both break the same properties, and answer the same."))
	}
	return s
}

// shown says how many runs showed a behaviour; for programs this isn't known.
func (r *found) shown(b behaviour) string {
	if r.ofPrograms {
		return fmt.Sprintf("some of %d", b.Of)
	}
	return share(b.Runs, b.Of)
}

// openMost is the maximum number of properties whose witness is shown above the table.
const openMost = 3

// story tells how a witness happens, and how to see it again. With paths, file names have
// folders.
func (v *difference) story(paths bool) (list []page.Block) {
	var steps page.Steps
	for _, l := range v.sentences {
		steps = append(steps, page.Text(quoted(l)))
	}
	if len(steps) > 0 {
		list = append(list, steps)
	}
	if !paths {
		return append(list, page.Text("To replay: `"+mailed(v.replay)+"`"))
	}
	return append(list, page.Text("To replay: `"+v.replay+"`"))
}

// quoted returns a text that may contain backquotes, made safe for a page.
func quoted(s string) string { return strings.ReplaceAll(s, "`", "'") }

// base returns a file's base name.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// mailed returns a command line without the files' folders.
func mailed(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		list := strings.Split(w, ",")
		for k := range list {
			list[k] = base(list[k])
		}
		words[i] = strings.Join(list, ",")
	}
	return strings.Join(words, " ")
}

// answered shows the results of the serial programs.
func (r *found) answered() page.Section {
	s := page.Section{ID: "answers", Title: "Answers of serial programs"}
	if r.ofPrograms && len(r.dies) == 0 {
		return s
	}
	s.Blocks = append(s.Blocks,
		page.Text(fmt.Sprintf("%s compared with the rules and with the kernel before, and what register_kprobe makes "+
			"of %s: %d answered otherwise than both, %d by the rules that weren't before.",
			cli.Number(r.programs, "program"), cli.Number(r.asked, "instruction"), len(r.answers), r.mended)))
	var list page.List
	for i := range r.answers[:min(len(r.answers), answersMost)] {
		a := &r.answers[i]
		says := a.Program.Name + ": " + quoted(strings.ReplaceAll(a.Says, "\n", "; "))
		if i < len(r.files) {
			says += " (`" + base(r.files[i]) + "`)"
		}
		list = append(list, page.Text(says))
	}
	for _, d := range r.dies {
		list = append(list, page.Text(d.name+" can't be run with the change: "+quoted(d.why)))
	}
	if len(list) > 0 {
		s.Blocks = append(s.Blocks, list)
	}
	return s
}

// changedCode shows the differences in machine code.
func (r *found) changedCode(whole bool) page.Section {
	s := page.Section{ID: "code", Title: "What differs in machine code"}
	if r.ofPrograms {
		return s
	}
	most := rowsText
	if whole {
		most = rowsPage
	}
	if len(r.code.Functions)+len(r.code.New)+len(r.code.Gone) > 0 {
		t := &page.Table{Caption: "Functions of the engine that differ, by instructions. Where they lie is no " +
			"difference.", Head: []string{"function", "calls now, and didn't", "called, and doesn't", "before", "now",
			"gone", "added", "runs that entered it"}, Text: 3}
		for _, part := range []struct {
			name string
			list []change.Function
		}{{"differ", r.code.Functions}, {"new", r.code.New}, {"gone", r.code.Gone}} {
			g := page.Group{Name: part.name}
			for _, f := range part.list[:min(len(part.list), most)] {
				n := "-"
				if v, ok := r.entered(f.Name); ok {
					n = share(v, r.runsAfter)
				}
				row := page.Row(f.Name, dash(f.Called), dash(f.CalledBefore), fmt.Sprint(f.Before), fmt.Sprint(f.Now),
					fmt.Sprint(f.Gone), fmt.Sprint(f.Added), n)
				row[0].Code = true
				g.Rows = append(g.Rows, row)
			}
			if n := len(part.list) - most; n > 0 {
				g.Rows = append(g.Rows, page.Row(fmt.Sprintf("and %d more", n), "", "", "", "", "", "", ""))
			}
			if len(g.Rows) > 0 {
				t.Groups = append(t.Groups, g)
			}
		}
		s.Blocks = append(s.Blocks, t)
	}
	for _, b := range []struct {
		list []string
		says string
	}{{r.code.Calls, "New functions of the boundary, which the engine calls and are done outside of it: "},
		{r.code.CallsGone, "Functions of the boundary that it no longer calls: "}} {
		if len(b.list) > 0 {
			s.Blocks = append(s.Blocks, page.Text(b.says+"`"+strings.Join(b.list, "`, `")+"`."))
		}
	}
	if len(s.Blocks) == 0 {
		s.Blocks = append(s.Blocks, page.Text("Nothing."))
	}
	return s
}

// The maximum number of functions in a group of the table.
const (
	rowsText = 20
	rowsPage = 400
)

func dash(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ", ")
}

// coverage shows which changed lines were reached.
func (r *found) coverage() page.Section {
	s := page.Section{ID: "coverage", Title: "Whether the changed lines were reached"}
	if r.uncovered != "" {
		s.Blocks = append(s.Blocks, page.Text(r.uncovered))
		return s
	}
	list, file := page.List(nil), ""
	end := func() {
		if len(list) > 0 {
			s.Blocks = append(s.Blocks, page.Text("`"+file+"`:"), list)
			list = nil
		}
	}
	for _, t := range r.stretches() {
		if t.File != file {
			end()
			file = t.File
		}
		list = append(list, page.Text(t.says()))
	}
	end()
	var places page.List
	for i, p := range r.code.Places {
		if _, _, known := cutLine(p.Line); known || p.Entry {
			continue
		}
		says := "never reached"
		if r.reached[i] > 0 {
			says = "reached in " + share(r.reached[i], r.runsAfter) + " runs"
		}
		places = append(places, page.Text("`"+p.Func+p.Line+"` "+says))
	}
	if len(places) > 0 {
		s.Blocks = append(s.Blocks,
			page.Text("Added instructions, of whose lines nothing is known: the objects have no debug information."),
			places)
	}
	if r.removed > 0 {
		s.Blocks = append(s.Blocks,
			page.Text(fmt.Sprintf("The patch takes %s away, which nothing can reach.", cli.Number(r.removed, "line"))))
	}
	if n := r.code.Left + r.linesLeft; n > 0 {
		s.Blocks = append(s.Blocks, page.Text(fmt.Sprintf("%d more places weren't looked for.", n)))
	}
	return s
}
