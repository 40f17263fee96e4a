package pages

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/eval/matrix"
	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
)

// A matrixPage is the output of --html; for an interrupted matrix it has the complete rows.
type matrixPage struct {
	c     *Matrix
	m     *matrix.Matrix
	table matrix.Table
	rows  []matrix.Row
}

// html writes the page.
func (c *Matrix) html(p *cli.Program, m *matrix.Matrix) error {
	o := &matrixPage{c: c, m: m, table: m.Table()}
	o.rows = o.table.Whole()
	if len(o.rows) == 0 {
		fmt.Fprintln(p.Err, "kpsim: no page was written: no row is whole")
		return nil
	}
	return p.WritePage(c.HTML, o.document(), fmt.Sprintf("%s, %s", cli.Number(len(o.rows), "row"),
		cli.Number(len(o.rows)*len(matrix.Columns()), "cell")))
}

// command returns the line that makes the page, without folders except that of the traces, which
// the page names.
func (o *matrixPage) command() string {
	c := o.c
	words := append([]string{"kpsim", "matrix"}, c.Rows...)
	if c.Full {
		words = append(words, "--full")
	}
	if c.Deviations != nil {
		words = append(words, fmt.Sprintf("--deviations=%d", *c.Deviations))
	}
	if c.Drawn != nil {
		words = append(words, fmt.Sprintf("--drawn=%d", *c.Drawn))
	}
	if c.Seed != 1 {
		words = append(words, fmt.Sprintf("--seed=%d", c.Seed))
	}
	if c.Traces != "traces" {
		words = append(words, "--traces", filepath.ToSlash(c.Traces))
	}
	for _, path := range c.From {
		words = append(words, "--from", filepath.Base(path))
	}
	return cli.Line(append(words, "--html", c.HTML.Base())...)
}

func (o *matrixPage) document() *page.Document {
	d := &page.Document{
		Title:   "Which waits and syncs code patching needs",
		Command: o.command(),
		Foot:    cli.SameFigures,
		Lead: []page.Text{
			page.Text(fmt.Sprintf("Searched by `kpsim matrix`, written on %s: %d of its %d rows. No cell is "+
				"written by hand.", cli.Today(), len(o.rows), len(o.m.Subject().Rows()))),
			"A row is a way to patch code that other CPUs run: what is waited for and how text is written, or " +
				"which sync is left out. A column is a machine: what a task can be preempted by, and which " +
				"bytes a CPU may fetch of text that changes. A cell is a search: can anything be broken?",
		},
		Sections: []page.Section{o.reading()},
	}
	matrix.InBlocks(o.rows, func(b *matrix.Block, rows []matrix.Row) {
		d.Sections = append(d.Sections, o.block(b, rows))
	})
	d.Sections = append(d.Sections, o.claims())
	if s := o.broken(); len(s.Blocks) > 0 {
		d.Sections = append(d.Sections, s)
	}
	return d
}

// reading explains the cells and their search.
func (o *matrixPage) reading() page.Section {
	return page.Section{ID: "reading", Title: "How to read a cell", Blocks: []page.Block{
		page.List{
			"✓ Never: no property was broken; below each table stands by how many schedules.",
			"✗ T2/4@0-3,7: Sometimes. Property T2 was broken, the shrunk witness has 4 deviations from the " +
				"default schedule, and it was broken with the site at offsets 0 to 3 and 7 at least; the link " +
				"leads to the line that shows it.",
			"◦ blind: nothing was broken, nor in the row that is known to be wrong; this says nothing.",
		},
		&page.Details{Summary: "The adversary, and the effort",
			Blocks: []page.Block{page.Text(o.m.Subject().Adversary), page.Text(o.m.Effort.Legend(o.m.Subject()))}},
		&page.Details{Summary: "The columns", Blocks: []page.Block{
			page.Text("Who may switch tasks, by the model of preemption:"),
			page.List{
				"none: only who schedules.",
				"voluntary: also `might_sleep()`, as `cond_resched()` under none.",
				"dynamic: a kernel that is built with preemption, and run as a voluntary one.",
				"full: who wants the CPU gets it wherever preemption isn't off.",
				"lazy: who wants the CPU gets it at a timer tick.",
			},
			page.Text("What a CPU fetches of text that changes, by the model of fetch:"),
			page.List{
				"coherent: the newest bytes.",
				"stale: also old ones, until it serialises.",
				"mixing: also old and new ones in one instruction.",
			},
		}},
	}}
}

// block shows a block's table, what its Nevers are based on, and its witnesses.
func (o *matrixPage) block(b *matrix.Block, rows []matrix.Row) page.Section {
	t := &page.Table{Caption: page.Text("Rows " + b.Name + "/…, by preemption and fetch."),
		Text: 1 + len(matrix.Columns()), Over: []page.Over{{Columns: 1}}, Head: []string{"row"}}
	for _, p := range matrix.Preempts {
		t.Over = append(t.Over, page.Over{Name: p, Columns: len(matrix.Fetches)})
		t.Head = append(t.Head, matrix.Fetches...)
	}
	says := &page.Table{Caption: "What each row does.", Text: 2, Head: []string{"row", "does"}}
	nevers := &page.Table{Caption: "What each Never stands on.", Text: 5,
		Head: []string{"row", "preemption", "fetch", "at offsets", "the same search broke",
			"all of at most … deviations", "schedules that took", "schedules drawn"}}
	shown := &page.Table{Caption: "What was broken, and the line that shows it.", Text: 7,
		Head: []string{"row", "preemption", "fetch", "property", "deviations", "at offsets", "to see it"}}
	for _, r := range rows {
		name := page.Cell{Text: r.Name, Code: true}
		cells := []page.Cell{name}
		for _, col := range matrix.Columns() {
			c := o.m.Cell(r.Name, col)
			cell := page.Cell{Text: c.Short(), Is: page.Good}
			switch {
			case c.Verdict == matrix.Sometimes:
				id := cellID(c)
				cell.Is, cell.To = page.Bad, id
				for i, b := range c.Broken {
					row := page.Cell{Text: r.Name, Code: true}
					if i == 0 {
						row.ID = id
					}
					_, at, _ := strings.Cut(b.Short(), "@")
					shows := page.Row(c.Preempt, c.Fetch, b.Property, fmt.Sprint(b.Length), at)
					shown.Add(slices.Concat([]page.Cell{row}, shows, []page.Cell{{Text: toSee(c, b), Code: true}})...)
				}
			default:
				if c.Blind {
					cell.Is = page.Neither
				}
				nevers.Add(append([]page.Cell{name}, certificate(c)...)...)
			}
			cells = append(cells, cell)
		}
		t.Add(cells...)
		says.Add(name, page.Cell{Text: r.Says})
	}
	s := page.Section{ID: strings.ReplaceAll(b.Name, "/", "-"), Title: b.Name,
		Blocks: []page.Block{page.Text(b.Says), t,
			&page.Details{Summary: page.Text(cli.Number(len(rows), "row")), Blocks: []page.Block{says}}}}
	if nevers.Groups != nil {
		n := len(nevers.Groups[0].Rows)
		s.Blocks = append(s.Blocks, &page.Details{Summary: page.Text(cli.Number(n, "certificate") + " of Never"),
			Blocks: []page.Block{nevers}})
	}
	if shown.Groups != nil {
		n := len(shown.Groups[0].Rows)
		s.Blocks = append(s.Blocks,
			&page.Details{Summary: page.Text(fmt.Sprintf("%d of Sometimes: what was broken, and how to see it", n)),
				Blocks: []page.Block{shown}})
	}
	return s
}

// cellID returns the end of links to a cell's witness.
func cellID(c *matrix.Cell) string {
	return "witness-" + strings.NewReplacer("/", "-", "_", "-").Replace(c.Row+"-"+c.Preempt+"-"+c.Fetch)
}

// toSee returns the line that shows a witness. For a cell without a trace, as in an older file,
// it is the line that writes one.
func toSee(c *matrix.Cell, b *matrix.Broken) string {
	if b.Trace == "" {
		return cli.Line("kpsim", "matrix", c.Row)
	}
	return cli.Line("kpsim", "view", filepath.ToSlash(b.Trace))
}

// certificate shows what a Never is based on.
func certificate(c *matrix.Cell) []page.Cell {
	most, drawn := fmt.Sprint(c.Deviations), plot.Thousands(float64(c.Drawn))
	switch {
	case c.Complete:
		if most, drawn = "any number", "none"; c.By != "" && c.By != c.Fetch {
			most += " (" + c.By + ")"
		}
	case c.Deeper != nil:
		most += fmt.Sprintf(" (%d at offset %d)", c.Deeper.Deviations, c.Deeper.Offset)
	}
	var offsets []string
	for _, n := range c.Offsets {
		offsets = append(offsets, fmt.Sprint(n))
	}
	at, last := strings.Join(offsets, ", "), len(c.Offsets)-1
	if last > 1 && c.Offsets[last]-c.Offsets[0] == last {
		at = offsets[0] + " to " + offsets[last]
	}
	canary := page.Cell{Text: c.Canary, Code: true}
	if c.Blind {
		canary = page.Cell{Text: "nothing", Mark: "blind"}
	}
	cells := append(page.Row(c.Preempt, c.Fetch, at), canary)
	return append(cells, page.Row(most, plot.Thousands(float64(c.All)), drawn)...)
}

// claims shows how the documents' claims compare with the cells.
func (o *matrixPage) claims() page.Section {
	s := page.Section{ID: "claims", Title: "What the documents claim"}
	t := &page.Table{Caption: "What the kernel's documents claim, and what the cells above say of it. " +
		"“Refines”: in some cells only.", Text: 3, Head: []string{"the matrix", "the claim", "by the cells"}}
	judged := 0
	claims := o.m.Subject().Claims()
	for i := range claims {
		c := &claims[i]
		judgement := c.Judge(o.table)
		if judgement == "" {
			continue
		}
		word, cells, _ := strings.Cut(judgement, ": ")
		is := page.Neither
		switch word {
		case "agrees":
			is = page.Good
		case "contradicts":
			is = page.Bad
		}
		t.Add(page.Cell{Text: word, Is: is}, page.Cell{Text: c.Says}, page.Cell{Text: cells})
		judged++
	}
	if judged > 0 {
		s.Blocks = append(s.Blocks, t)
	}
	if n := len(claims) - judged; n > 0 {
		s.Blocks = append(s.Blocks,
			page.Text(fmt.Sprintf("Of %s some cell isn't on this page, or is blind.", cli.Number(n, "claim"))))
	}
	if list := matrix.Identities(o.table); len(list) > 0 {
		var items page.List
		for _, l := range list {
			items = append(items, page.Text(l+"."))
		}
		s.Blocks = append(s.Blocks, page.Text("Against what must be alike:"), items)
	}
	return s
}

// broken explains the properties that the cells name.
func (o *matrixPage) broken() page.Section {
	s := page.Section{ID: "properties", Title: "What was broken"}
	t := &page.Table{Caption: "The properties that cells name, and in how many of them.", Text: 2,
		Head: []string{"property", "says", "cells"}}
	for _, k := range o.table.OfWhole().Broken() {
		t.Add(page.Row(k.Property.ID+" "+k.Property.Name, k.Property.Says, fmt.Sprint(k.Cells))...)
		s.Blocks = []page.Block{t}
	}
	return s
}
