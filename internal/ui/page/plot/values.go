package plot

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// mostPoints is how many points of a line can be asked for their values. More would be too many stops for a keyboard.
const mostPoints = 12

// number writes a value as a reader calls it, with four digits that count.
func (a *Axis) number(v float64) string {
	if a.Value != nil {
		v = a.Value(v)
	}
	switch {
	case math.IsInf(v, 0):
		return "unbounded"
	case a.Percent:
		return strconv.FormatFloat(100*v, 'g', 6, 64) + " %"
	case v == 0:
		return "0"
	}
	digits := max(0, 3-int(math.Floor(math.Log10(math.Abs(v)))))
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	v, _ = strconv.ParseFloat(s, 64)
	return Thousands(v)
}

// say writes a value with what the axis is of.
func (a *Axis) say(v float64) string {
	return strings.TrimSpace(a.number(v) + " " + a.Label)
}

// within writes an interval. One of no length isn't written.
func (a *Axis) within(low, high float64) string {
	if low == high {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", a.number(low), a.number(high))
}

// said is what a mark says: its series, if that has a name, its row, and its values.
func (p *Plot) said(series int, row, values string) string {
	var parts []string
	if row != "" {
		parts = append(parts, row)
	}
	if name := p.called(series); name != "" {
		parts = append(parts, name)
	}
	return strings.Join(append(parts, values), ": ")
}

// called is what a reader calls a series; "" if it has no name.
func (p *Plot) called(series int) string {
	if series < 0 || series >= len(p.Series) {
		return ""
	}
	return p.Series[series]
}

// begin begins a mark whose values are shown at the foot of the plot while the pointer or the keyboard's focus is on
// it, and read out. end ends it.
func (d *drawing) begin(says string) {
	squeeze := ""
	if width := textWidth(says); width > 0.8*Width { // in a wider font it would be cut
		squeeze = fmt.Sprintf(` textLength="%s" lengthAdjust="spacingAndGlyphs"`, unit(min(width, Width)))
	}
	says = html.EscapeString(says)
	fmt.Fprintf(d, `<g class="v" tabindex="0" role="img"><title>%s</title>`+
		`<g class="tip"><rect y="%s"/><text y="%s"%s>%s</text></g>`+"\n", says, unit(d.foot-15), unit(d.foot-4), squeeze, says)
}

func (d *drawing) end() { d.WriteString("</g>\n") }

// Marks counts those of a drawn plot that have values.
func Marks(svg string) int { return strings.Count(svg, `<g class="v"`) }

// drawPoints draws what can be asked for its values on lines that have no error bars: all points, or of many some at
// equal distances, and the last.
func (d *drawing) drawPoints() {
	for _, l := range d.lines {
		if d.barred(l.series) {
			continue
		}
		n := len(l.points)
		for i, shown := 0, min(n, mostPoints); i < shown; i++ {
			at := l.points[n-1]
			if shown > 1 {
				at = l.points[i*(n-1)/(shown-1)]
			}
			d.begin(d.said(l.series, "", d.X.say(at.X)+", "+d.Y.say(at.Y)))
			fmt.Fprintf(d, `<circle cx="%s" cy="%s" r="2.6" style="fill:var(--s%d)"/>`+"\n", unit(d.x(at.X)),
				unit(d.y(at.Y)), l.series)
			d.end()
		}
	}
}

// barred reports whether a series has error bars.
func (d *drawing) barred(series int) bool {
	return slices.ContainsFunc(d.errors, func(e errorBar) bool { return e.series == series })
}

// CSVHead are the columns of CSV. x and y are what the axes are of; in a plot of rows y is empty.
var CSVHead = []string{"series", "row", "x", "y", "low", "high"}

// CSV returns what is drawn as rows of CSVHead. An error bar has the ends of its interval, on the axis along which it
// lies; a Range also has a row of its farthest value, and a swing has one for each end.
func (p *Plot) CSV() (rows [][]string) {
	exact := func(a *Axis, v float64) string {
		if a.Value != nil {
			v = a.Value(v)
		}
		return strconv.FormatFloat(v, 'g', 5, 64)
	}
	add := func(series int, row, x, y, low, high string) {
		rows = append(rows, []string{cmp.Or(p.called(series), strconv.Itoa(series)), row, x, y, low, high})
	}
	for i, lengths := range p.bars {
		for k, v := range lengths {
			add(i, p.names[k], exact(&p.X, v), "", "", "")
		}
	}
	for k, r := range p.ranges {
		rows = append(rows,
			[]string{"middle", p.names[k], exact(&p.X, r.Middle), "", exact(&p.X, r.Low), exact(&p.X, r.High)},
			[]string{"farthest", p.names[k], exact(&p.X, r.Farthest), "", "", ""})
	}
	for _, d := range p.dots {
		add(d.Series, p.names[d.Row], exact(&p.X, d.At), "", exact(&p.X, d.Low), exact(&p.X, d.High))
	}
	if s := p.swings; s != nil {
		for k, v := range s.list {
			add(0, p.names[k], exact(&p.X, v.Low), "", "", "")
			add(1, p.names[k], exact(&p.X, v.High), "", "", "")
		}
	}
	for _, l := range p.lines {
		for _, at := range l.points {
			add(l.series, "", exact(&p.X, at.X), exact(&p.Y, at.Y), "", "")
		}
	}
	for _, e := range p.errors {
		switch {
		case len(p.names) > 0:
			rows = append(rows, []string{"interval", p.names[len(p.names)-1-int(e.Other)], exact(&p.X, e.At), "",
				exact(&p.X, e.Low), exact(&p.X, e.High)})
		case e.lying:
			add(e.series, "interval", exact(&p.X, e.At), exact(&p.Y, e.Other), exact(&p.X, e.Low), exact(&p.X, e.High))
		default:
			add(e.series, "interval", exact(&p.X, e.Other), exact(&p.Y, e.At), exact(&p.Y, e.Low), exact(&p.Y, e.High))
		}
	}
	return rows
}
