package plot

// An Error is the interval of a point: from Low to High on one axis, at Other on the other.
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
		if err := finite(e.At, e.Low, e.High, e.Other); err != nil {
			return err
		}
		e.Low, e.High = min(e.Low, e.At), max(e.High, e.At)
		along.take(e.Low)
		along.take(e.High)
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
		d.path(style, "", at(e.Low, 0), at(e.High, 0))
		for _, end := range []float64{e.Low, e.High} {
			d.path(style, "", at(end, -errorReach), at(end, errorReach))
		}
	}
}
