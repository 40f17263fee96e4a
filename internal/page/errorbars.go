package page

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// An Error is an interval of a point: from Low to High on one axis, at Other on the other.
type Error struct{ At, Low, High, Other float64 }

// errorWidth is how far the ends of error bars reach.
const errorWidth = 6

// AddErrors adds error bars to a plot in the colour of a series, lying or upright: AddLine.
func AddErrors(p *plot.Plot, series int, list []Error, lying bool) error {
	if len(list) == 0 {
		return nil
	}
	var bars errorBars
	for _, e := range list {
		at := plotter.XY{X: e.Other, Y: e.At}
		if lying {
			at = plotter.XY{X: e.At, Y: e.Other}
		}
		bars.XYs = append(bars.XYs, at)
		bars.errors = append(bars.errors, [2]float64{math.Max(0, e.At-e.Low), math.Max(0, e.High-e.At)})
	}
	style := draw.LineStyle{Color: seriesColour(series), Width: 1}
	if lying {
		b, err := plotter.NewXErrorBars(bars)
		if err != nil {
			return err
		}
		b.LineStyle, b.CapWidth = style, errorWidth
		p.Add(b)
		return nil
	}
	b, err := plotter.NewYErrorBars(bars)
	if err != nil {
		return err
	}
	b.LineStyle, b.CapWidth = style, errorWidth
	p.Add(b)
	return nil
}

// errorBars are points with their distances to the ends of their bars.
type errorBars struct {
	plotter.XYs
	errors [][2]float64
}

// XError implements plotter.XErrorer.
func (b errorBars) XError(i int) (low, high float64) { return b.errors[i][0], b.errors[i][1] }

// YError implements plotter.YErrorer.
func (b errorBars) YError(i int) (low, high float64) { return b.errors[i][0], b.errors[i][1] }
