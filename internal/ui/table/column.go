package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kpsim/internal/ui/cli"
	"kpsim/internal/ui/page"
)

// A Column is one of a table whose rows are R.
type Column[R any] struct {
	Head  string  // the heading of texts, with the unit; "": only JSON has the column
	JSON  string  // the field of JSON, as x or x,omitempty; "": only texts have the column
	Form  string  // how texts write a number, as %.2f; "": it is text, and aligned to the left
	Times float64 // what texts multiply a number by; 0: nothing
	Late  bool    // texts have it after the columns that aren't late; JSON has it here

	Value func(R) any    // a string, a number, a pointer to one (nil is -), or what only JSON has
	Text  func(R) string // what texts have instead of the value; nil: the value
	Mark  func(R) string // page.Cell's; nil: none
}

// Columns are those of a table.
type Columns[R any] []Column[R]

// Grid makes the table of texts.
func (cs Columns[R]) Grid(rows []R) *Grid {
	g := new(Grid)
	shown := slices.DeleteFunc(slices.Clone(cs), func(c Column[R]) bool { return c.Head == "" })
	slices.SortStableFunc(shown, func(a, b Column[R]) int { return order(a.Late) - order(b.Late) })
	for _, c := range shown {
		g.Head = append(g.Head, c.Head)
		if c.Form == "" && g.Text == len(g.Head)-1 {
			g.Text++
		}
	}
	for _, r := range rows {
		cells := make([]page.Cell, len(shown))
		for i := range shown {
			cells[i] = shown[i].cell(r)
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

func order(late bool) int {
	if late {
		return 1
	}
	return 0
}

func (c *Column[R]) cell(r R) (cell page.Cell) {
	if c.Mark != nil {
		cell.Mark = c.Mark(r)
	}
	if c.Text != nil {
		cell.Text = c.Text(r)
	} else {
		cell.Text = written(c.Value(r), c.Form, c.Times)
	}
	return cell
}

// written is a value in a text.
func written(value any, form string, times float64) string {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "-"
		}
		v = v.Elem()
	}
	switch {
	case v.CanFloat():
		x := v.Float()
		if times != 0 {
			x *= times
		}
		return Signless(fmt.Sprintf(form, x))
	case form != "":
		return fmt.Sprintf(form, v.Interface())
	}
	return fmt.Sprint(v.Interface())
}

// PrintJSON prints an object a row.
func (cs Columns[R]) PrintJSON(p *cli.Program, rows []R) error {
	for _, r := range rows {
		o, err := cs.object(r)
		if err != nil {
			return err
		}
		if err := p.PrintJSON(json.RawMessage(o)); err != nil {
			return err
		}
	}
	return nil
}

// object is a row in JSON: its fields in the order of the columns.
func (cs Columns[R]) object(r R) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, c := range cs {
		name, omit, _ := strings.Cut(c.JSON, ",")
		if name == "" {
			continue
		}
		value := c.Value(r)
		if v := reflect.ValueOf(value); omit != "" && (!v.IsValid() || v.IsZero()) {
			continue
		}
		if b.Len() == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", name)
		if err := e.Encode(value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
