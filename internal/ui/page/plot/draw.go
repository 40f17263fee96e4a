package plot

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// The size of plots, in units: the columns of a page are 370 to 550 px wide.
const (
	Width    = 390.0
	Height   = 240.0
	textSize = 11.5

	tickLong = 4.0
	gap      = 3.0  // between a tick and its label
	right    = 10.0 // the last label stands out so far, at most
	barHigh  = 15.0
)

// dashings are the dashes of each series.
var dashings = [Series]string{"", "8 2", "2 2", "8 2 2 2", "5 3", "12 3 2 3 2 3", "3 4", "1 3"}

// Dashes returns a series' dashes in SVG's form.
func Dashes(series int) string { return dashings[series] }

// RangesHeight is the height of a plot of a number of ranges.
func RangesHeight(ranges int) float64 { return 44 + 15*float64(ranges) }

// BarsHeight is the height of a plot of a number of bars.
func BarsHeight(bars int) float64 { return 44 + 22*float64(bars) }

// A drawing is a plot that is being drawn: its area, and the elements so far.
type drawing struct {
	*Plot
	left, right, top, bottom float64
	foot                     float64 // the height of it all
	strings.Builder
}

// SVG returns the elements of a drawing with the given height. The title of the y axis is horizontal, above the axis,
// so that it takes no width.
func (p *Plot) SVG(height float64) string {
	d := &drawing{Plot: p, left: 6, right: Width - right, top: 6, bottom: height - 1}
	xs, ys := p.X.ticks(), p.Y.ticks()
	widest := 0.0
	for _, t := range ys {
		if !p.head(t.Value) {
			widest = max(widest, textWidth(t.Label))
		}
	}
	if d.left += widest + gap; len(p.names) == 0 {
		d.left += tickLong
	}
	if p.X.Label != "" {
		d.text(p.X.Label, (d.left+d.right)/2, d.bottom-3, 0.5)
		d.bottom -= textSize + 2
	}
	labels := d.bottom - 3
	d.bottom -= textSize + gap + tickLong
	if p.Y.Label != "" {
		d.text(p.Y.Label, 1, textSize-1, 0)
		d.top = 2 * textSize
	}
	const faint = "fill:none;stroke:currentColor;stroke-opacity:0.16;stroke-width:0.7"
	const plain = "fill:none;stroke:currentColor;stroke-width:0.5"
	for _, t := range xs {
		x, long := d.x(t.Value), tickLong
		if t.Label == "" {
			long /= 2
		} else {
			d.path(faint, "", XY{x, d.top}, XY{x, d.bottom})
			d.text(t.Label, x, labels, 0.5)
		}
		d.path(plain, "", XY{x, d.bottom}, XY{x, d.bottom + long})
	}
	for _, t := range ys {
		y, long := d.y(t.Value), tickLong
		if t.Label == "" {
			long /= 2
		} else {
			at, before := d.left-gap, 1.0
			switch {
			case p.head(t.Value):
				at, before = 1, 0
			case p.heads != nil:
				d.path(faint, "", XY{d.left, y}, XY{d.right, y})
			case len(p.names) == 0:
				d.path(faint, "", XY{d.left, y}, XY{d.right, y})
				at -= tickLong
			}
			d.text(t.Label, at, y+textSize*0.35, before)
		}
		if len(p.names) == 0 {
			d.path(plain, "", XY{d.left - long, y}, XY{d.left, y})
		}
	}
	d.path(plain, "", XY{d.left, d.top}, XY{d.left, d.bottom}, XY{d.right, d.bottom})
	d.foot = height
	d.drawBars()
	d.drawSwings()
	d.drawRanges()
	d.drawLines()
	d.drawErrors()
	d.drawPoints()
	d.drawDots()
	return d.String()
}

// ticks are the marks of an axis that are within its range.
func (a *Axis) ticks() (list []Tick) {
	low, high := a.bounds()
	of := a.Ticks
	if of == nil {
		of = roundTicks
	}
	for _, t := range of(low, high) {
		if at := a.part(t.Value); at >= -1e-9 && at <= 1+1e-9 {
			list = append(list, t)
		}
	}
	return list
}

func (d *drawing) x(v float64) float64 { return d.left + d.X.part(v)*(d.right-d.left) }
func (d *drawing) y(v float64) float64 { return d.bottom - d.Y.part(v)*(d.bottom-d.top) }

// drawBars draws bars, and the pieces of each end to end.
func (d *drawing) drawBars() {
	for i, lengths := range d.bars {
		for k, v := range lengths {
			from := 0.0
			for _, before := range d.bars[:i] {
				from += before[k]
			}
			if v == 0 {
				continue
			}
			d.begin(d.said(i, d.names[k], d.X.say(v)))
			d.box(i, d.x(from), d.x(from+v), d.y(d.row(k)))
			d.end()
		}
	}
}

// box draws a piece from one x to another, at a row's height.
func (d *drawing) box(piece int, l, r, y float64) {
	d.path(fmt.Sprintf("fill:url(#hatch-%d)", piece), "Z", XY{l, y - barHigh/2}, XY{r, y - barHigh/2},
		XY{r, y + barHigh/2}, XY{l, y + barHigh/2})
}

// drawRanges draws ranges, the farthest below the middle.
func (d *drawing) drawRanges() {
	for k, r := range d.ranges {
		y := d.y(d.row(k))
		d.path(stroke(1, 2.5), "", XY{d.x(r.Low), y}, XY{d.x(r.High), y})
	}
	for k, r := range d.ranges {
		x, y := d.x(r.Farthest), d.y(d.row(k))
		d.path(stroke(2, 2.5), "", XY{x, y - 6}, XY{x, y + 6})
	}
	for k, r := range d.ranges {
		d.begin(d.said(-1, d.names[k], fmt.Sprintf("%s, %s to %s, farthest %s", d.X.say(r.Middle), d.X.number(r.Low),
			d.X.number(r.High), d.X.number(r.Farthest))))
		fmt.Fprintf(d, `<circle cx="%s" cy="%s" r="3.4" style="fill:var(--s1)"/>`+"\n", unit(d.x(r.Middle)),
			unit(d.y(d.row(k))))
		d.end()
	}
}

// drawLines draws lines. Lines with steps go up before they go right.
func (d *drawing) drawLines() {
	for _, l := range d.lines {
		var points XYs
		for i, p := range l.points {
			at := XY{d.x(p.X), d.y(p.Y)}
			if l.steps && i > 0 {
				points = append(points, XY{points[len(points)-1].X, at.Y})
			}
			points = append(points, at)
		}
		style := stroke(l.series, 1.8)
		if dashes := Dashes(l.series); dashes != "" {
			style += ";stroke-dasharray:" + strings.ReplaceAll(dashes, " ", ",")
		}
		d.path(style, "", points...)
	}
}

func stroke(series int, width float64) string {
	return fmt.Sprintf("fill:none;stroke:var(--s%d);stroke-width:%g", series, width)
}

// path draws lines through points.
func (d *drawing) path(style, end string, points ...XY) {
	d.WriteString(`<path d="`)
	for i, p := range points {
		d.WriteByte("ML"[min(i, 1)])
		d.WriteString(unit(p.X) + "," + unit(p.Y))
	}
	fmt.Fprintf(d, "%s\" style=\"%s\"/>\n", end, style)
}

// text draws a text; the share before of it is left of the point. It takes the width that the plot is laid out for,
// in any font: otherwise the labels of bars would overlap.
func (d *drawing) text(s string, x, y, before float64) {
	if s == "" {
		return
	}
	width := textWidth(s)
	x = max(0, min(x-before*width, Width-width))
	fmt.Fprintf(d, `<text x="%s" y="%s" style="font-size:%gpx" textLength="%s" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
		unit(x), unit(y), textSize, unit(width), html.EscapeString(s))
}

// unit writes a coordinate.
func unit(v float64) string {
	s := strconv.FormatFloat(v+0, 'f', 2, 64)
	return cmp.Or(strings.TrimSuffix(strings.TrimRight(s, "0"), "."), "0")
}

// helvetica are the widths of " " to "~", in thousandths of the size.
var helvetica = [...]float64{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
}

// textWidth is how wide a text is laid out.
func textWidth(s string) float64 {
	sum := 0.0
	for _, r := range s {
		if i := int(r) - ' '; i >= 0 && i < len(helvetica) {
			sum += helvetica[i]
		} else {
			sum += 600
		}
	}
	return math.Ceil(sum*textSize/10) / 100
}
