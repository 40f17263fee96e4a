package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Dot is a value in a row of a dot plot, and its interval. An end of the interval may be infinite: then it reaches to
// the end of the axis. One of no length isn't drawn.
type Dot struct {
	Series        int // below Symbols
	Row           int // from the top down
	At, Low, High float64
}

// Symbols is how many series of dots can be distinguished.
const Symbols = 5

// symbols are the shapes of dots about the origin, by series: a rhomb, a disc, triangles, a square.
var symbols = [Symbols]string{"M0,-4.2L4.2,0L0,4.2L-4.2,0Z", "M-3,0a3,3 0 1 0 6,0a3,3 0 1 0 -6,0Z",
	"M0,-3.6L3.6,3L-3.6,3Z", "M0,3.6L3.6,-3L-3.6,-3Z", "M-2.8,-2.8h5.6v5.6h-5.6Z"}

// Symbol returns the shape of a series' dots as a path of SVG about the origin.
func Symbol(series int) string { return symbols[series] }

// dotRow is how high a row of dots is, and dotApart how far those of two series are from each other in it.
const dotRow, dotApart = 17.0, 4.5

// DotsHeight is the height of a plot of dots with a number of rows.
func DotsHeight(rows int) float64 { return 44 + dotRow*float64(rows) }

// SwingsHeight is the height of a tornado plot with a number of rows.
func SwingsHeight(rows int) float64 { return 44 + 19*float64(rows) }

// A Row is one of a dot plot. A heading has no dots, and may be longer than other names.
type Row struct {
	Name string
	Head bool
}

// AddDots adds rows, from the top down, and the dots in them.
func (p *Plot) AddDots(rows []Row, dots []Dot) error {
	for _, r := range rows {
		p.names, p.heads = append(p.names, r.Name), append(p.heads, r.Head)
	}
	for _, d := range dots {
		if err := finite(d.At); err != nil {
			return err
		}
		if d.Row >= len(rows) || rows[d.Row].Head {
			return errors.New("plot: a dot is in no row")
		}
		for _, v := range []float64{d.At, d.Low, d.High} {
			if !math.IsInf(v, 0) {
				p.X.take(v)
			}
		}
	}
	p.dots = dots
	p.rows()
	return nil
}

// head reports whether the row at a place of the axis is a heading.
func (p *Plot) head(at float64) bool {
	k := len(p.names) - 1 - int(at)
	return p.heads != nil && p.heads[k]
}

// drawDots draws dots with their intervals, those of a later series further down in their row.
func (d *drawing) drawDots() {
	low, high := d.X.bounds()
	var has []int // series
	for _, dot := range d.dots {
		has = append(has, dot.Series)
	}
	slices.Sort(has)
	has = slices.Compact(has)
	for _, dot := range d.dots {
		y := d.y(d.row(dot.Row)) + dotApart*(float64(slices.Index(has, dot.Series))-float64(len(has)-1)/2)
		d.begin(d.said(dot.Series, d.rowName(dot.Row), d.X.say(dot.At)+d.X.within(dot.Low, dot.High)))
		if dot.Low < dot.High {
			d.path(stroke(dot.Series, 1.4), "", XY{d.x(max(dot.Low, low)), y}, XY{d.x(min(dot.High, high)), y})
			for _, end := range []float64{dot.Low, dot.High} {
				if !math.IsInf(end, 0) {
					d.path(stroke(dot.Series, 1.4), "", XY{d.x(end), y - 2.2}, XY{d.x(end), y + 2.2})
				}
			}
		}
		fmt.Fprintf(d, `<path d="%s" transform="translate(%s,%s)" style="fill:var(--s%d)"/>`+"\n", symbols[dot.Series],
			unit(d.x(dot.At)), unit(y), dot.Series)
		d.end()
	}
}

// rowName is a row's name after that of its heading.
func (p *Plot) rowName(k int) string {
	for h := k; p.heads != nil && h >= 0; h-- {
		if p.heads[h] {
			return p.names[h] + ", " + p.names[k]
		}
	}
	return p.names[k]
}

// A Swing is what a value becomes if something is at its low and at its high.
type Swing struct{ Low, High float64 }

// swings are those of a tornado plot, and the value without any.
type swings struct {
	base float64
	list []Swing
}

// AddSwings makes it a tornado plot: rows from the top down, each with its name, a piece 0 from the base to Low and a
// piece 1 from the base to High.
func (p *Plot) AddSwings(names []string, base float64, list []Swing) error {
	if len(list) != len(names) {
		return errors.New("plot: as many swings as names")
	}
	p.X.take(base)
	for _, s := range list {
		if err := finite(base, s.Low, s.High); err != nil {
			return err
		}
		p.X.take(s.Low)
		p.X.take(s.High)
	}
	p.swings, p.names = &swings{base, list}, names
	p.rows()
	return nil
}

// drawSwings draws the pieces, then the line of the base. A value to which both ends lie on one side has the nearer end
// in front.
func (d *drawing) drawSwings() {
	if d.swings == nil {
		return
	}
	base := d.swings.base
	for k, s := range d.swings.list {
		ends := []float64{s.Low, s.High}
		order := []int{0, 1}
		if math.Abs(s.High-base) > math.Abs(s.Low-base) {
			order = []int{1, 0}
		}
		for _, piece := range order {
			d.begin(d.said(piece, d.names[k], d.X.say(ends[piece])))
			l, r := d.x(min(base, ends[piece])), d.x(max(base, ends[piece]))
			d.box(piece, l, max(r, l+1), d.y(d.row(k)))
			d.end()
		}
	}
	d.path(stroke(0, 1.2), "", XY{d.x(base), d.top}, XY{d.x(base), d.bottom})
}
