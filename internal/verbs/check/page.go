package check

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
	"kpsim/internal/ui/page/plot"
	"kpsim/kprobes"
	"kpsim/kprobes/survey"
	"kpsim/smp/image"
)

// Limits of a page: a kernel module can have 100,000 instructions. The page says what it leaves
// out and how to see it.
const (
	pageFunctions    = 2000
	pageInstructions = 3000
	pageBars         = 15
)

// A surveyPage is the output of --html.
type surveyPage struct {
	c         *Check
	s         *survey.Survey
	d         *reader
	all       survey.Totals
	functions []functionRow
	texts     []page.Block // the instructions of the functions
	shown     int          // instructions (or lines, with one for each byte) on the page
	whole     int          // functions on the page in full

	mostFunctions, mostLines int // the page's limits
}

// A functionRow holds the counts of one function.
type functionRow struct {
	id, label                                           string
	instructions, registrable, boostable, jumpable, not int
	why                                                 string
	there                                               bool // its instructions are on the page
}

// html writes the page.
func (c *Check) html(p *cli.Program, s *survey.Survey, symbols []image.Symbol) error {
	o := &surveyPage{c: c, s: s, d: newReader(s), mostFunctions: pageFunctions, mostLines: pageInstructions}
	d := o.document(symbols)
	return p.WritePage(c.HTML, d, fmt.Sprintf("%s, %s", cli.Number(len(o.functions), "function"),
		cli.Number(o.all.Instructions, "instruction")))
}

// function judges a function, and keeps its instructions while there is room.
func (o *surveyPage) function(sym *image.Symbol, id string) {
	rows := o.c.rows(o.s, sym, o.c.EveryByte)
	before := o.all
	o.all.Add(rows)
	if o.all.Instructions == before.Instructions && !o.c.EveryByte {
		return // only padding
	}
	f := functionRow{
		id: id, label: sym.Label(), instructions: o.all.Instructions - before.Instructions,
		registrable: o.all.Registrable - before.Registrable,
		boostable:   o.all.Boostable - before.Boostable, jumpable: o.all.Jumpable - before.Jumpable,
		there: o.shown < o.mostLines,
	}
	if r, n := mostly(rows); n > 0 {
		f.why, f.not = r.Why.In(""), n
	}
	if f.there {
		o.instructions(sym, &f, rows)
	}
	o.functions = append(o.functions, f)
}

// instructions builds a function's table, as far as there is room.
func (o *surveyPage) instructions(sym *image.Symbol, f *functionRow, rows []survey.Row) {
	t := &page.Table{Caption: page.Text("Instructions of " + f.label + ", " + cli.Number(sym.Size, "byte") + "."),
		Text:   6,
		Head:   []string{"offset", "bytes", "instruction", "probe", "boost", "jump, or why not"},
		Groups: []page.Group{{}}}
	ends, lines := "", len(rows)
	if !o.c.EveryByte {
		lines = f.instructions
	}
	for i := range rows {
		r := &rows[i]
		if o.shown == o.mostLines {
			ends = fmt.Sprintf("The page ends here: %d of the %s of this function are on it.", i,
				cli.Number(lines, "line"))
			break
		}
		if r.Padding && !o.c.EveryByte {
			t.Groups[0].Rows = append(t.Groups[0].Rows,
				page.Row(offset(r.Offset), "", cli.Number(sym.Size-r.Offset, "byte")+" of padding", "", "", ""))
			break
		}
		o.shown++
		probe, boost, jump := answers(o.s, r)
		cells := page.Row(offset(r.Offset), shortHex(r.Bytes, bytesShown), o.d.read(sym, r), probe, boost, jump)
		cells[1].Code, cells[2].Code = true, true
		switch {
		case r.Errno != 0:
			cells[3].Is = page.Bad
		case r.Optimizable():
			cells[5].Is = page.Good
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, cells)
	}
	blocks := []page.Block{t}
	if ends != "" {
		blocks = append(blocks, page.Text(ends))
	} else {
		o.whole++
	}
	if o.c.Func == "" {
		summary := fmt.Sprintf("%s: %s, %d probed, %d boosted, %d optimized", f.label,
			cli.Number(f.instructions, "instruction"), f.registrable, f.boostable, f.jumpable)
		blocks = []page.Block{&page.Details{ID: f.id, Summary: page.Text(summary), Blocks: blocks}}
	}
	o.texts = append(o.texts, blocks...)
}

func (o *surveyPage) document(symbols []image.Symbol) *page.Document {
	for i := range symbols {
		o.function(&symbols[i], fmt.Sprintf("function-%d", i+1))
	}
	object := filepath.Base(o.c.Object)
	d := &page.Document{
		Title:   "Probes in " + object,
		Command: o.command(),
		Foot:    cli.WrittenBy,
		Lead: []page.Text{
			page.Text(fmt.Sprintf("What a kernel says when the instructions of %s are to be probed: whether "+
				"`register_kprobe()` takes the address, or which errno it returns; whether the step is "+
				"boosted; whether a jump may replace the breakpoint; and why not.", object)),
			page.Text("The object is seen as the kernel has it after loading: by " +
				strings.ReplaceAll(describe(o.s.Kernel), "\n", ", ") + "."),
		},
	}
	if isScenario(o.c.Object) {
		d.Lead[1] = page.Text("The functions are those of a scenario, as they are when a run begins, " +
			strings.ReplaceAll(o.c.by, "\n", ", ") + ".")
	}
	if o.c.Func != "" {
		d.Title = "Probes in " + symbols[0].Label() + " of " + object
		if note := among(o.s, &symbols[0]); note != "" {
			d.Lead = append(d.Lead, page.Text("The function is"+strings.TrimPrefix(note, ",")+"."))
		}
	}
	d.Sections = append(d.Sections, o.sums())
	if o.c.Func == "" {
		d.Sections = append(d.Sections, o.table())
	}
	d.Sections = append(d.Sections, o.listing())
	return d
}

// command returns the command line that makes the page, without folders.
func (o *surveyPage) command() string {
	c := o.c
	words := cli.WithFlags([]string{"kpsim", "check"}, "--func", c.Func, "--profile", c.Profile, "--edition", c.Edition,
		"--config", c.Config, "--cpu", c.CPU, "--every-byte", c.EveryByte)
	return cli.Line(append(words, "--html", c.HTML.Base(), filepath.Base(c.Object))...)
}

// sums draws the totals as bars, with the reasons for refusals.
func (o *surveyPage) sums() page.Section {
	a := &o.all
	share := func(name string, n int) []page.Cell {
		return page.Row(name, fmt.Sprint(n), fmt.Sprintf("%.1f", 100*float64(n)/float64(max(a.Instructions, 1))))
	}
	t := &page.Table{Caption: page.Text(fmt.Sprintf("Of %s, %s without padding.", cli.Number(a.Functions, "function"),
		cli.Number(a.Instructions, "instruction"))), Text: 1, Head: []string{"", "instructions", "%"}}
	t.Groups = append(t.Groups, page.Group{Name: "can be", Rows: [][]page.Cell{
		share("probed", a.Registrable), share("boosted", a.Boostable), share("emulated", a.Emulated),
		share("probed by ftrace", a.Ftrace), share("optimized", a.Jumpable),
	}})
	refused := page.Group{Name: "refused, with"}
	for _, e := range byCount(a.Refused) {
		refused.Rows = append(refused.Rows, share(kprobes.Errno(-e).Error(), a.Refused[e]))
	}
	because, notJumped := page.Group{Name: "refused, because of"},
		page.Group{Name: "probed and not optimized, because of"}
	for _, k := range byCount(a.WhyRefused) {
		because.Rows = append(because.Rows, share(k.String(), a.WhyRefused[k]))
	}
	for _, k := range byCount(a.WhyNotJumped) {
		notJumped.Rows = append(notJumped.Rows, share(k.String(), a.WhyNotJumped[k]))
	}
	for _, g := range []page.Group{refused, because, notJumped} {
		if len(g.Rows) > 0 {
			t.Groups = append(t.Groups, g)
		}
	}
	s := page.Section{ID: "sums", Title: "In sum", Blocks: []page.Block{o.bars(), t}}
	if n := o.s.Module.Unnamed; n > 0 && o.c.Func == "" {
		s.Blocks = append(s.Blocks, page.Text(cli.Number(n, "byte")+" of code without a symbol: no probe finds it."))
	}
	return s
}

// byCount returns the keys of counts, the most frequent first.
func byCount[K ~int | ~uint8](counts map[K]int) (keys []K) {
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int { return cmp.Or(counts[b]-counts[a], int(a)-int(b)) })
	return keys
}

// bars draws the outcomes of probes for the whole object and for its longest functions.
func (o *surveyPage) bars() page.Block {
	longest := slices.Clone(o.functions)
	slices.SortStableFunc(longest, func(a, b functionRow) int { return b.instructions - a.instructions })
	longest = longest[:min(len(longest), pageBars)]
	a := &o.all
	f := &page.Figure{
		Caption: "What becomes of a probe on each instruction. A probe that isn't optimized stays a breakpoint.",
		Legend: []page.Key{{Name: "optimized: a jump", Of: optimizedPiece, Piece: true},
			{Name: "a breakpoint", Of: probedPiece, Piece: true}, {Name: "refused", Of: refusedPiece, Piece: true}},
		Plots: []page.Plot{fates("All of it",
			fmt.Sprintf("Of %s probes on %d are optimized, on %d they stay breakpoints, on %d they are refused.",
				cli.Number(a.Instructions, "instruction"), a.Jumpable, a.Registrable-a.Jumpable,
				a.Instructions-a.Registrable),
			[]functionRow{{label: "all", instructions: a.Instructions, registrable: a.Registrable,
				jumpable: a.Jumpable}})},
	}
	if len(o.functions) > 1 {
		title := "Each function"
		if len(longest) < len(o.functions) {
			title = fmt.Sprintf("The %d longest functions", len(longest))
		}
		f.Plots = append(f.Plots, fates(title, "The same of functions by themselves; the table below has the numbers.",
			longest))
	}
	return f
}

// The pieces of a bar.
const (
	optimizedPiece = 1
	probedPiece    = 2
	refusedPiece   = 3
)

// labelShown is the maximum length of the name beside a bar, in bytes.
const labelShown = 24

// fates draws a bar for each function.
func fates(title, says string, list []functionRow) page.Plot {
	var names []string
	pieces := make([][]float64, refusedPiece+1)
	for i := range list {
		f := &list[i]
		names = append(names, cli.Cut(f.label, labelShown))
		for k, n := range []int{0, f.jumpable, f.registrable - f.jumpable, f.instructions - f.registrable} {
			pieces[k] = append(pieces[k], float64(n))
		}
	}
	p := plot.New("instructions", "")
	cli.Must(p.AddBars(names, pieces))
	plot.CountsAxis(&p.X)
	return page.Plot{Title: title, Says: says, Plot: p, Height: plot.BarsHeight(len(names))}
}

// table has a row for each function.
func (o *surveyPage) table() page.Section {
	t := &page.Table{Caption: "Functions: how many of their instructions can be probed, boosted and optimized, " +
		"and what is most often in the way.", Text: 2,
		Head: []string{"function", "most often not, because of", "times", "instruc\u00adtions", "probed", "boosted",
			"optimized"}, Groups: []page.Group{{}}}
	for i := range o.functions[:min(len(o.functions), o.mostFunctions)] {
		f := &o.functions[i]
		times := ""
		if f.not > 0 {
			times = fmt.Sprint(f.not)
		}
		cells := page.Row(f.label, f.why, times, fmt.Sprint(f.instructions), fmt.Sprint(f.registrable),
			fmt.Sprint(f.boostable), fmt.Sprint(f.jumpable))
		cells[0].Code = true
		if f.there {
			cells[0].To = f.id
		}
		t.Groups[0].Rows = append(t.Groups[0].Rows, cells)
	}
	s := page.Section{ID: "functions", Title: "Functions", Blocks: []page.Block{t}}
	if n := len(o.functions); n > o.mostFunctions {
		s.Blocks = append(s.Blocks,
			page.Text(fmt.Sprintf("The first %d of %d functions; `%s` prints all.", o.mostFunctions, n,
				cli.Line("kpsim", "check", filepath.Base(o.c.Object)))))
	}
	return s
}

// listing shows the instructions, function by function.
func (o *surveyPage) listing() page.Section {
	s := page.Section{ID: "instructions", Title: "Instructions", Blocks: []page.Block{
		page.List{
			"probe: how it is done. int3 is a breakpoint; emul one whose step the kernel does itself; at +0x4, " +
				"behind an endbr64; or the errno.",
			"boost: whether the step needs no trap.",
			"jump: whether a jump may replace the breakpoint, and how many bytes are copied; or why not. " +
				"Offsets are of the function.",
		},
	}}
	if n := len(o.functions); o.whole < n && o.c.Func == "" {
		s.Blocks = append(s.Blocks,
			page.Text(fmt.Sprintf("These are the first %d lines, of %d of %d functions, so that the page stays "+
				"small; `%s` prints any other.",
				o.shown, min(len(o.texts), n), n,
				cli.Line("kpsim", "check", "--func", "NAME", filepath.Base(o.c.Object)))))
	}
	s.Blocks = append(s.Blocks, o.texts...)
	return s
}
