package page

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// How many can be told apart.
const (
	Series = 8 // lines
	Pieces = 6 // of a bar
)

// A Plot is a plot of a Figure. As a picture is as wide as its column, its texts are on a
// phone about as large as those around it, and larger elsewhere.
type Plot struct {
	Title  string // above it
	Says   string // what it shows, for readers who can't see it
	Plot   *plot.Plot
	Height vg.Length // 0: PlotHeight
}

// The size of plots, in units: the columns of a page are 370 to 550 px wide.
const (
	PlotWidth  vg.Length = 390
	PlotHeight vg.Length = 240
	textSize   vg.Length = 11.5
)

// sans is the font that plots are laid out by.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// NewPlot returns a plot with a grid, and what its axes are of. What y is of stands above
// its axis, lying, so that it takes no width.
func NewPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = font.From(sans, textSize)
		a.Label.Padding = 2
		a.Tick.Label.Font = font.From(sans, textSize)
		a.Tick.Length = 4
		a.Padding = 0
	}
	p.X.Label.Text, p.Y.Label.Text = x, y
	faint := draw.LineStyle{Color: color.NRGBA{A: 40}, Width: 0.7}
	p.Add(&plotter.Grid{Vertical: faint, Horizontal: faint})
	return p
}

// The colours of a drawing are names, which svg replaces by those of the stylesheet.
func seriesColour(i int) color.Color { return color.RGBA{G: 1, B: byte(i), A: 255} }
func pieceColour(i int) color.Color  { return color.RGBA{G: 2, B: byte(i), A: 255} }

// dashings are the dashes of each series.
var dashings = [Series][]vg.Length{nil, {8, 2}, {2, 2}, {8, 2, 2, 2}, {5, 3}, {12, 3, 2, 3, 2, 3}, {3, 4}, {1, 3}}

// dashes writes the dashes of a series as SVG does.
func dashes(series int) string {
	var parts []string
	for _, d := range dashings[series] {
		parts = append(parts, fmt.Sprint(float64(d)))
	}
	return strings.Join(parts, " ")
}

// AddLine adds a series of a number below Series to a plot: a line through points, or
// with steps one that goes up at each, as that of an ECDF does. Without points there is
// none.
func AddLine(p *plot.Plot, series int, points plotter.XYs, steps bool) error {
	if len(points) == 0 {
		return nil
	}
	l, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	l.LineStyle = draw.LineStyle{Color: seriesColour(series), Width: 1.8, Dashes: dashings[series]}
	if steps {
		l.StepStyle = plotter.PreStep
	}
	p.Add(l)
	return nil
}

// AddBars adds lying bars to a plot, from the top down, each with its name: pieces[i][k] is
// how long piece i, below Pieces, of bar k is.
func AddBars(p *plot.Plot, names []string, pieces [][]float64) error {
	var below *plotter.BarChart
	for i, lengths := range pieces {
		if len(lengths) != len(names) {
			return errors.New("page: a piece for each bar, please")
		}
		lengths = slices.Clone(lengths)
		slices.Reverse(lengths) // the axis goes upwards
		b, err := plotter.NewBarChart(plotter.Values(lengths), 15)
		if err != nil {
			return err
		}
		b.Horizontal, b.Color, b.LineStyle = true, pieceColour(i), draw.LineStyle{}
		if below != nil {
			b.StackOn(below)
		}
		p.Add(b)
		below = b
	}
	names = slices.Clone(names)
	slices.Reverse(names)
	p.NominalY(names...)
	p.Y.Tick.Length = 0
	p.X.Min = 0
	if p.X.Max <= 0 { // no bar has a length
		p.X.Max = 1
	}
	return nil
}

// A Range is where most of something lies, its middle, and the farthest of it: AddRanges.
type Range struct{ Low, Middle, High, Farthest float64 }

// AddRanges adds lying ranges to a plot, from the top down, each with its name: a line of
// series 1 from Low to High, a dot at Middle, and an upright line of series 2 at Farthest.
// Without names there is nothing to add.
func AddRanges(p *plot.Plot, names []string, ranges []Range) error {
	if len(ranges) != len(names) {
		return errors.New("page: a range for each name, please")
	}
	var middles, farthest plotter.XYs
	for i, r := range ranges {
		y := float64(len(names) - 1 - i) // the axis goes upwards
		l, err := plotter.NewLine(plotter.XYs{{X: r.Low, Y: y}, {X: r.High, Y: y}})
		if err != nil {
			return err
		}
		l.LineStyle = draw.LineStyle{Color: seriesColour(1), Width: 2.5}
		p.Add(l)
		middles, farthest = append(middles, plotter.XY{X: r.Middle, Y: y}), append(farthest, plotter.XY{X: r.Farthest, Y: y})
	}
	for _, s := range []struct {
		at   plotter.XYs
		draw draw.GlyphStyle
	}{
		{farthest, draw.GlyphStyle{Color: seriesColour(2), Radius: 6, Shape: upright{}}},
		{middles, draw.GlyphStyle{Color: seriesColour(1), Radius: 3.4, Shape: draw.CircleGlyph{}}},
	} {
		if len(s.at) == 0 {
			continue
		}
		dots, err := plotter.NewScatter(s.at)
		if err != nil {
			return err
		}
		dots.GlyphStyle = s.draw
		p.Add(dots)
	}
	if len(names) == 0 {
		return nil
	}
	names = slices.Clone(names)
	slices.Reverse(names)
	p.NominalY(names...)
	p.Y.Tick.Length = 0
	p.Y.Min, p.Y.Max = -0.5, float64(len(names))-0.5
	return nil
}

// upright is a short upright line.
type upright struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (upright) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, p vg.Point) {
	c.StrokeLine2(draw.LineStyle{Color: s.Color, Width: 2.5}, p.X, p.Y-s.Radius, p.X, p.Y+s.Radius)
}

// RangesHeight is how high a plot of so many ranges is.
func RangesHeight(ranges int) vg.Length { return 44 + 15*vg.Length(ranges) }

// BarsHeight is how high a plot of so many bars is.
func BarsHeight(bars int) vg.Length { return 44 + 22*vg.Length(bars) }

var (
	svgFont   = regexp.MustCompile(`font-family:[^"]*;font-size`)
	svgText   = regexp.MustCompile(`<text ([^>]*font-size:([\d.]+)[^>]*)>([^<]*)</text>`)
	svgColour = regexp.MustCompile(`#000([12])0([0-7])`)
)

// draw draws a plot with its axes and what they are of.
func (p *Plot) draw(c draw.Canvas) {
	y := &p.Plot.Y.Label
	text, style := y.Text, y.TextStyle
	top := vg.Length(6)
	if text != "" {
		style.XAlign, style.YAlign = draw.XLeft, draw.YTop
		c.FillText(style, vg.Point{X: 1, Y: c.Max.Y}, text)
		top = 2 * textSize
	}
	y.Text = ""
	p.Plot.Draw(draw.Crop(c, 6, -10, 1, -top)) // labels of the first and the last tick stand out
	y.Text = text
}

// asWide has a text take the width that the plot was laid out for, in whatever font: else
// the labels of bars run into them.
func asWide(element string) string {
	m := svgText.FindStringSubmatch(element)
	size, err := strconv.ParseFloat(m[2], 64)
	says := html.UnescapeString(m[3])
	if err != nil || says == "" {
		return element
	}
	width, _, _ := plot.DefaultTextHandler.Box(says, font.From(sans, vg.Length(size)))
	begin, end, _ := strings.Cut(element, ">")
	return fmt.Sprintf(`%s textLength="%.2f" lengthAdjust="spacingAndGlyphs">%s`, begin, width.Points(), end)
}

// svg draws a plot as the element of a page that has this ID.
func (p *Plot) svg(id string) (template.HTML, error) {
	if p.Says == "" {
		return "", fmt.Errorf("page: nothing says what the plot %q shows", p.Title)
	}
	height := p.Height
	if height == 0 {
		height = PlotHeight
	}
	c := vgsvg.New(PlotWidth, height)
	p.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	_, text, _ := strings.Cut(b.String(), "<svg")
	_, text, _ = strings.Cut(text, ">\n")
	text = svgFont.ReplaceAllString(text, "font-size")
	text = svgColour.ReplaceAllStringFunc(text, func(s string) string {
		if s[4] == '1' {
			return "var(--s" + s[6:] + ")"
		}
		return "url(#hatch-" + s[6:] + ")"
	})
	text = strings.ReplaceAll(text, "#000000", "currentColor")
	text = svgText.ReplaceAllStringFunc(text, asWide)
	title, says := template.HTMLEscapeString(p.Title), template.HTMLEscapeString(p.Says)
	head := fmt.Sprintf(`<svg id="%s" viewBox="0 0 %g %g" role="img" aria-labelledby="%s-title %s-says"><title id="%s-title">%s</title><desc id="%s-says">%s</desc>`,
		id, PlotWidth.Points(), height.Points(), id, id, id, title, id, says)
	return template.HTML(head + "\n" + text), nil
}
