package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"
)

// Colours are the variables of all pages, light and dark: --bg, --fg and others, and --s0
// to --s7, those of series.
//
//go:embed colours.css
var Colours template.CSS

//go:embed style.css
var style template.CSS

// Stylesheet is that of documents, with Colours. Its patterns #hatch-0 to #hatch-5, which
// the template defines, are those of bars' pieces.
var Stylesheet = Colours + style

//go:embed page.tmpl
var source string

// A Document is a page.
type Document struct {
	Title    string
	Lead     []Text // what it is, before everything else
	Command  string // the line that made it
	Sections []Section
	Foot     Text
}

// A Section is a part of a page that the table of contents names.
type Section struct {
	ID     string // links end in #ID: lower-case letters, digits and hyphens, once in a document
	Title  string
	Blocks []Block
}

// A Block is a Text, List, *Table, *Figure or *Details.
type Block interface {
	name() string // of its template
}

// A Text is a paragraph of plain text. What is between backquotes is code.
type Text string

// A List is one of items that have no order.
type List []Text

// A Table is one of rows in groups.
type Table struct {
	Caption Text
	Head    []string
	Text    int // so many of the first columns are text, the rest numbers
	Groups  []Group
}

// A Group is of rows under a common heading, "" for none.
type Group struct {
	Name string
	Rows [][]Cell
}

// A Cell is one of a table. The first of a row is its heading.
type Cell struct {
	Text string
	Mark string // what is remarkable of it, in a word or two, which is read out; to the eye it is a sign. "": nothing
}

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
}

// A Key says what a series, or a piece of bars, stands for.
type Key struct {
	Name  string
	Of    int  // the series or piece
	Piece bool // it is a piece
}

// A Details is what is shown if one asks for it.
type Details struct {
	Summary Text
	Blocks  []Block
}

func (Text) name() string     { return "text" }
func (List) name() string     { return "list" }
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

// A renderer counts what it renders.
type renderer struct {
	*template.Template
	tables, figures, plots int
}

var idForm = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Render returns the page. An error is a fault of the document: an ID that is none or is
// there twice, or a plot that can't be drawn.
func (d *Document) Render() ([]byte, error) {
	seen := map[string]bool{"main": true, "contents": true}
	for i := range d.Sections {
		id := d.Sections[i].ID
		if !idForm.MatchString(id) || seen[id] {
			return nil, fmt.Errorf("page: section %q: the ID %q is there already, or is none", d.Sections[i].Title, id)
		}
		seen[id] = true
	}
	r := new(renderer)
	r.Template = template.Must(template.New("page").Funcs(template.FuncMap{
		"render": r.block, "plot": r.plot, "spans": Text.spans,
		"style":   func() template.CSS { return Stylesheet },
		"dash":    func(series int) string { return dashes(series) },
		"pieces":  func() [Pieces]int { return [Pieces]int{0, 1, 2, 3, 4, 5} },
		"columns": func(t *Table) int { return len(t.Head) },
	}).Parse(source))
	var b bytes.Buffer
	if err := r.Execute(&b, d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// block renders a block by the template of its name.
func (r *renderer) block(b Block) (template.HTML, error) {
	var data any = b
	switch b := b.(type) {
	case *Table:
		r.tables++
		data = numbered[*Table]{b, r.tables}
	case *Figure:
		r.figures++
		data = numbered[*Figure]{b, r.figures}
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
