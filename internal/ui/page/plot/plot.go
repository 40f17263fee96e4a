package plot

import (
	"errors"
	"math"
)

// How many can be distinguished.
const (
	Series = 8 // lines
	Pieces = 6 // of a bar
)

// An XY is a point, XYs are those of a line.
type (
	XY  struct{ X, Y float64 }
	XYs []XY
)

// A Plot is lines, bars, ranges, dots or swings over two axes, with error bars.
type Plot struct {
	X, Y   Axis
	Series []string // what a reader calls each series or piece, by its number; values begin with it
	lines  []line
	bars   [][]float64 // lengths by piece, each of the bars from the top down
	ranges []Range     // from the top down
	dots   []Dot
	swings *swings
	errors []errorBar
	names  []string // of rows, from the top down
	heads  []bool   // which of them are headings; nil: none
}

// An Axis is the range of one, from Min to Max, and its marks.
type Axis struct {
	Label    string
	Min, Max float64 // of the data added
	Log      bool
	Ticks    func(low, high float64) []Tick // nil: round numbers
	Value    func(v float64) float64        // what a reader calls a value of the axis; nil: the value
	Percent  bool                           // it is a share, which is read as percent
}

// A Tick is a mark of an axis, with a label or none.
type Tick struct {
	Value float64
	Label string
}

// A line is a series through points; with steps it goes up at each of them.
type line struct {
	series int
	points XYs
	steps  bool
}

// A Range has the bounds of most values, their middle, and the farthest value: AddRanges.
type Range struct{ Low, Middle, High, Farthest float64 }

// New returns a plot with the titles of its axes.
func New(x, y string) *Plot {
	empty := func(label string) Axis { return Axis{Label: label, Min: math.Inf(1), Max: math.Inf(-1)} }
	return &Plot{X: empty(x), Y: empty(y)}
}

// take extends an axis to a value.
func (a *Axis) take(v float64) { a.Min, a.Max = min(a.Min, v), max(a.Max, v) }

// bounds are the ends of an axis. They always differ.
func (a *Axis) bounds() (low, high float64) {
	low, high = a.Min, a.Max
	switch {
	case low > high: // there is no data
		return 0, 1
	case low == high && a.Log:
		return low / 2, high * 2
	case low == high:
		return low - 1, high + 1
	}
	return low, high
}

// part is the place of a value on an axis, from 0 to 1.
func (a *Axis) part(v float64) float64 {
	low, high := a.bounds()
	if a.Log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	return (v - low) / (high - low)
}

var errFinite = errors.New("plot: a value isn't finite")

func finite(list ...float64) error {
	for _, v := range list {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errFinite
		}
	}
	return nil
}

// AddLine adds a series with a number below Series: a line through points, or with steps one that goes up at each, as
// an ECDF does. Without points nothing is drawn.
func (p *Plot) AddLine(series int, points XYs, steps bool) error {
	for _, at := range points {
		if err := finite(at.X, at.Y); err != nil {
			return err
		}
		p.X.take(at.X)
		p.Y.take(at.Y)
	}
	if len(points) > 0 {
		p.lines = append(p.lines, line{series, points, steps})
	}
	return nil
}

// AddBars adds lying bars, from the top down, each with its name: pieces[i][k] is how long
// piece i, below Pieces, of bar k is.
func (p *Plot) AddBars(names []string, pieces [][]float64) error {
	long := make([]float64, len(names))
	for _, lengths := range pieces {
		if len(lengths) != len(names) {
			return errors.New("plot: as many bars as names, in each piece")
		}
		if err := finite(lengths...); err != nil {
			return err
		}
		for k, v := range lengths {
			long[k] += v
			p.X.take(long[k])
		}
	}
	p.bars, p.names = pieces, names
	p.X.Min = 0
	if p.X.Max <= 0 { // no bar has a length
		p.X.Max = 1
	}
	p.rows()
	return nil
}

// AddRanges adds horizontal ranges, from the top down, each with its name: a line of series 1 from Low to High, a dot
// at Middle, and a vertical line of series 2 at Farthest.
func (p *Plot) AddRanges(names []string, ranges []Range) error {
	if len(ranges) != len(names) {
		return errors.New("plot: as many ranges as names")
	}
	for _, r := range ranges {
		if err := finite(r.Low, r.Middle, r.High, r.Farthest); err != nil {
			return err
		}
		for _, v := range []float64{r.Low, r.Middle, r.High, r.Farthest} {
			p.X.take(v)
		}
	}
	p.ranges, p.names = ranges, names
	p.rows()
	return nil
}

// rows makes y an axis of names: row k is at k.
func (p *Plot) rows() {
	if len(p.names) == 0 {
		return
	}
	p.Y.Min, p.Y.Max = -0.5, float64(len(p.names))-0.5
	p.Y.Ticks = func(_, high float64) (list []Tick) {
		for k, name := range p.names {
			list = append(list, Tick{p.row(k), name})
		}
		return list
	}
}

// row is where on the axis row k from the top is.
func (p *Plot) row(k int) float64 { return float64(len(p.names) - 1 - k) }
