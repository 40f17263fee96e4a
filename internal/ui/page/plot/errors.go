package plot

import (
	"fmt"
	"math"
)

// An Error is the interval of a point: from Low to High on one axis, at Other on the other. An end that is infinite is
// open: the bar goes to the end of the axis, and has no cap there.
type Error struct{ At, Low, High, Other float64 }

// An errorBar is an Error in the colour of a series.
type errorBar struct {
	Error
	series int
	lying  bool
}

// errorReach is how far each cap of an error bar reaches to either side.
const errorReach = 3.0

// AddErrors adds error bars to points that were added: horizontal ones along x, otherwise along y. If an end is on
// the wrong side of the point, the bar begins at the point.
func (p *Plot) AddErrors(series int, list []Error, lying bool) error {
	along, across := &p.Y, &p.X
	if lying {
		along, across = &p.X, &p.Y
	}
	for _, e := range list {
		if err := finite(e.At, e.Other); err != nil {
			return err
		}
		if math.IsNaN(e.Low) || math.IsNaN(e.High) {
			return errFinite
		}
		e.Low, e.High = min(e.Low, e.At), max(e.High, e.At)
		for _, end := range []float64{e.Low, e.High} {
			if !math.IsInf(end, 0) {
				along.take(end)
			}
		}
		across.take(e.Other)
		p.errors = append(p.errors, errorBar{e, series, lying})
	}
	return nil
}

// drawErrors draws error bars, with a cap at each end.
func (d *drawing) drawErrors() {
	for _, e := range d.errors {
		at := func(along, across float64) XY {
			if e.lying {
				return XY{d.x(along), d.y(e.Other) + across}
			}
			return XY{d.x(e.Other) + across, d.y(along)}
		}
		style := stroke(e.series, 1)
		d.begin(e.says(d.Plot))
		along := &d.Y
		if e.lying {
			along = &d.X
		}
		low, high := along.bounds()
		d.path(style, "", at(max(e.Low, low), 0), at(min(e.High, high), 0))
		for _, end := range []float64{e.Low, e.High} {
			if !math.IsInf(end, 0) {
				d.path(style, "", at(end, -errorReach), at(end, errorReach))
			}
		}
		middle := at(e.At, 0)
		fmt.Fprintf(d, `<circle cx="%s" cy="%s" r="2" style="fill:var(--s%d)"/>`+"\n", unit(middle.X),
			unit(middle.Y), e.series)
		d.end()
	}
}

// says are the values of an error bar: the point's and the ends'.
func (e *errorBar) says(p *Plot) string {
	along, other := &p.Y, p.X.say(e.Other)
	if e.lying {
		along, other = &p.X, p.Y.say(e.Other)
	}
	if len(p.names) > 0 { // it is on a bar
		return p.said(-1, p.names[len(p.names)-1-int(e.Other)], along.say(e.At)+along.within(e.Low, e.High))
	}
	return p.said(e.series, "", other+", "+along.say(e.At)+along.within(e.Low, e.High))
}
