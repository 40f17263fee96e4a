package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/ui/page/plot"
	"kpsim/internal/version"
)

// Colours are the variables of all pages, light and dark: --bg, --fg and others, and --s0
// to --s7, those of series.
//
//go:embed colours.css
var Colours template.CSS

// Frame is the stylesheet of what scrolls, whose class is scroll, and of paper, which is A4 on all pages.
//
//go:embed frame.css
var Frame template.CSS

//go:embed style.css
var style template.CSS

// Stylesheet is the stylesheet of documents, with Colours and Frame. Its patterns #hatch-0 to #hatch-5, which the
// template defines, are for the pieces of bars.
var Stylesheet = Colours + Frame + style

//go:embed page.tmpl
var source string

// A Document is a page.
type Document struct {
	Title    string
	Lead     []Text // what the document is, before everything else
	Command  string // the line that made it
	Sections []Section
	Foot     Text
}

// A Section is a part of a page that the table of contents names.
type Section struct {
	ID     string // links end in #ID: lower-case letters, digits and hyphens, once in a document
	Title  string
	Blocks []Block
	Screen bool // it isn't printed; paper says that the page has it
}

// Unprinted returns the titles of sections that aren't printed, as a list in words; "" if all are.
func (d *Document) Unprinted() string {
	var titles []string
	for i := range d.Sections {
		if s := &d.Sections[i]; s.Screen {
			titles = append(titles, s.Title)
		}
	}
	return strings.Join(titles, "; ")
}

// A Block is a Text, List, Steps, *Table, *Figure or *Details.
type Block interface {
	name() string // the name of its template
}

// A Text is a paragraph of plain text. Text between backquotes is code.
type Text string

// A List is one of items that have no order.
type List []Text

// Steps is a list in an order.
type Steps []Text

// A Table is one of rows in groups.
type Table struct {
	Caption Text
	Over    []Over // headings above the columns' headings; none: nil
	Head    []string
	Text    int // the number of columns of text, from the left; the rest are numbers
	Groups  []Group
	Whole   bool // all rows are in sight: the table is as high as they are
}

// An Over is a heading above several columns, "" for none.
type Over struct {
	Name    string
	Columns int
}

// A Group is of rows under a common heading, "" for none.
type Group struct {
	Name string
	Rows [][]Cell
}

// Add adds a row to the last group.
func (t *Table) Add(cells ...Cell) {
	if len(t.Groups) == 0 {
		t.Groups = []Group{{}}
	}
	last := &t.Groups[len(t.Groups)-1]
	last.Rows = append(last.Rows, cells)
}

// A Cell is one of a table. The first of a row is its heading.
type Cell struct {
	Text string // a line may break after the underscores of its long words
	Mark string // a remark in a word or two, which is read out, and is shown as a sign. "": none
	Is   Verdict
	Code bool   // text that one types, or a name of it; as in a Bad cell, a line may break within its words
	ID   string // as a Section's: links lead to it. "": none does
	To   string // the ID that it links to. "": none
}

// A Verdict gives a cell's text a colour and a sign. The text says it too.
type Verdict string

// Verdicts: none, as hoped for, not as hoped for, and neither.
const (
	NoVerdict Verdict = ""
	Good      Verdict = "good"
	Bad       Verdict = "bad"
	Neither   Verdict = "neither"
)

var signs = map[Verdict]string{Good: "✓", Bad: "✗", Neither: "◦"}

// Row makes cells of texts.
func Row(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, t := range texts {
		row[i].Text = t
	}
	return row
}

// A Figure is of plots side by side that have a legend in common.
type Figure struct {
	Caption Text
	Legend  []Key
	Plots   []Plot
	Screen  bool // it isn't printed
}

// A Key explains a series, or a piece of bars.
type Key struct {
	Name  string
	Of    int  // the series or piece
	Piece bool // it explains a piece
	Dot   bool // it explains a series of dots
}

// A Details is content that the reader unfolds.
type Details struct {
	ID      string // as a Section's; "": no link leads to it
	Summary Text
	Blocks  []Block
}

func (Text) name() string     { return "text" }
func (List) name() string     { return "list" }
func (Steps) name() string    { return "steps" }
func (*Table) name() string   { return "table" }
func (*Figure) name() string  { return "figure" }
func (*Details) name() string { return "details" }

// A span is a piece of a Text.
type span struct {
	Text string
	Code bool
}

func (t Text) spans() (list []span) {
	for i, s := range strings.Split(string(t), "`") {
		if s != "" {
			list = append(list, span{s, i%2 == 1})
		}
	}
	return list
}

// numbered is a table, a figure or a plot and its number in the document.
type numbered[T any] struct {
	It     T
	Number int
}

// A renderer numbers what it renders.
type renderer struct {
	*template.Template
	tables, figures, plots int
}

var idForm = lazyregexp.New(`^[a-z][a-z0-9-]*$`)

// links are the IDs of a document, and the IDs that it links to.
type links struct {
	seen map[string]bool
	to   []string
}

// add takes an ID in.
func (l *links) add(id, what string) error {
	if !idForm().MatchString(id) || l.seen[id] {
		return fmt.Errorf("page: %s: the ID %q is there already, or is none", what, id)
	}
	l.seen[id] = true
	return nil
}

// blocks adds the IDs and links of blocks.
func (l *links) blocks(list []Block) error {
	for _, b := range list {
		switch b := b.(type) {
		case *Details:
			if b.ID != "" {
				if err := l.add(b.ID, string(b.Summary)); err != nil {
					return err
				}
			}
			if err := l.blocks(b.Blocks); err != nil {
				return err
			}
		case *Table:
			if err := l.table(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *links) table(t *Table) error {
	for i := range t.Groups {
		for _, row := range t.Groups[i].Rows {
			for k := range row {
				c := &row[k]
				if c.To != "" {
					l.to = append(l.to, c.To)
				}
				if c.ID == "" {
					continue
				}
				if err := l.add(c.ID, c.Text); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// links returns an error for a wrong ID.
func (d *Document) links() error {
	l := links{seen: map[string]bool{"main": true, "contents": true}}
	for i := range d.Sections {
		s := &d.Sections[i]
		if err := l.add(s.ID, fmt.Sprintf("section %q", s.Title)); err != nil {
			return err
		}
		if err := l.blocks(s.Blocks); err != nil {
			return err
		}
	}
	for _, id := range l.to {
		if !l.seen[id] {
			return fmt.Errorf("page: a cell links to %q, which there isn't", id)
		}
	}
	return nil
}

// Render returns the page. An error is a fault of the document: a malformed or repeated ID, a link to a missing one,
// or a plot that can't be drawn.
func (d *Document) Render() ([]byte, error) {
	if err := d.links(); err != nil {
		return nil, err
	}
	r := new(renderer)
	r.Template = template.Must(template.New("page").Funcs(template.FuncMap{
		"render": r.block, "plot": r.plot, "spans": Text.spans,
		"style":   func() template.CSS { return Stylesheet },
		"dash":    plot.Dashes,
		"symbol":  plot.Symbol,
		"csv":     (*Figure).csv,
		"pieces":  func() [plot.Pieces]int { return [plot.Pieces]int{0, 1, 2, 3, 4, 5} },
		"kpsim":   func() string { return version.This().String() },
		"columns": func(t *Table) int { return len(t.Head) },
		"sign":    func(v Verdict) string { return signs[v] },
		"broken":  func(c Cell) []string { return broken(c.Text, c.Code || c.Is == Bad) },
	}).Parse(source))
	var b bytes.Buffer
	if err := r.Execute(&b, d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

var (
	// within matches the slashes, hyphens, @ and commas of a word after which a line may break. A hyphen that
	// begins a flag isn't one.
	within = lazyregexp.New(`\w(?:[/-]|[@,]\b)`)
	// long matches a word that would take much of a phone's window: the names of many functions.
	long       = lazyregexp.New(`\w{21,}`)
	underscore = lazyregexp.New(`[^_]_+`)
)

// broken cuts a text where a line may end: after the underscores of long words, and, if it is code, within the
// others.
func broken(s string, code bool) (parts []string) {
	var ends []int
	if code {
		for _, m := range within().FindAllStringIndex(s, -1) {
			ends = append(ends, m[1])
		}
	}
	for _, w := range long().FindAllStringIndex(s, -1) {
		for _, m := range underscore().FindAllStringIndex(s[w[0]:w[1]], -1) {
			if end := w[0] + m[1]; end < w[1] {
				ends = append(ends, end)
			}
		}
	}
	slices.Sort(ends)
	start := 0
	for _, end := range ends {
		parts, start = append(parts, s[start:end]), end
	}
	return append(parts, s[start:])
}

// Placeholders, in captions and descriptions of plots, for the number of another block.
const (
	NextTable  = "{next table}"  // the table after it: as "table 3"
	LastFigure = "{last figure}" // the previous figure
)

// refer puts numbers in their places.
func (r *renderer) refer(s string) string {
	return strings.NewReplacer(NextTable, fmt.Sprintf("table %d", r.tables+1), LastFigure,
		fmt.Sprintf("figure %d", r.figures)).Replace(s)
}

// block renders a block by the template of its name.
func (r *renderer) block(b Block) (template.HTML, error) {
	var data any = b
	switch b := b.(type) {
	case *Table:
		r.tables++
		t := *b
		t.Caption = Text(r.refer(string(b.Caption)))
		data = numbered[*Table]{&t, r.tables}
	case *Figure:
		r.figures++
		f := *b
		f.Caption, f.Plots = Text(r.refer(string(b.Caption))), slices.Clone(b.Plots)
		for i := range f.Plots {
			f.Plots[i].Says = r.refer(f.Plots[i].Says)
		}
		f.called()
		data = numbered[*Figure]{&f, r.figures}
	}
	var out bytes.Buffer
	err := r.ExecuteTemplate(&out, b.name(), data)
	return template.HTML(out.String()), err
}

// plot draws one.
func (r *renderer) plot(p *Plot) (template.HTML, error) {
	r.plots++
	return p.svg(fmt.Sprintf("plot-%d", r.plots))
}
