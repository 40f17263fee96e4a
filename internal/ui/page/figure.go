package page

import (
	"encoding/csv"
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"kpsim/internal/ui/page/plot"
)

// A Plot is a plot of a Figure. As a picture is as wide as its column, its texts are on a
// phone about as large as those around it, and larger elsewhere.
type Plot struct {
	Title  string // above it
	Says   string // what it shows, for readers who can't see it
	Plot   *plot.Plot
	Height float64 // 0: plot.Height
}

// svg draws a plot as the element of a page that has this ID.
func (p *Plot) svg(id string) (template.HTML, error) {
	if p.Says == "" {
		return "", fmt.Errorf("page: nothing says what the plot %q shows", p.Title)
	}
	height := p.Height
	if height == 0 {
		height = plot.Height
	}
	title, says := template.HTMLEscapeString(p.Title), template.HTMLEscapeString(p.Says)
	head := fmt.Sprintf(`<svg id="%s" viewBox="0 0 %g %g" role="group" aria-labelledby="%s-title %s-says"><title id="%s-title">%s</title><desc id="%s-says">%s</desc>`,
		id, plot.Width, height, id, id, id, title, id, says)
	return template.HTML(head + "\n" + p.Plot.SVG(height) + "</svg>\n"), nil
}

// called gives the plots of a figure the names of its legend.
func (f *Figure) called() {
	for _, k := range f.Legend {
		for i := range f.Plots {
			p := f.Plots[i].Plot
			for len(p.Series) <= k.Of {
				p.Series = append(p.Series, "")
			}
			p.Series[k.Of] = k.Name
		}
	}
}

// csv is what a figure draws, as a URL of a CSV file.
func (f *Figure) csv() template.URL {
	var b strings.Builder
	w := csv.NewWriter(&b)
	head := append([]string{"plot"}, plot.CSVHead...)
	axes := [2]string{f.Plots[0].Plot.X.Label, f.Plots[0].Plot.Y.Label}
	for i := range f.Plots {
		p := f.Plots[i].Plot
		for k, label := range [2]string{p.X.Label, p.Y.Label} {
			if label != axes[k] {
				axes[k] = ""
			}
		}
	}
	for k, label := range axes {
		if label != "" {
			head[3+k] += ": " + label
		}
	}
	_ = w.Write(head) // a Builder takes all
	for i := range f.Plots {
		for _, row := range f.Plots[i].Plot.CSV() {
			_ = w.Write(append([]string{f.Plots[i].Title}, row...))
		}
	}
	w.Flush()
	return template.URL("data:text/csv;charset=utf-8," + strings.ReplaceAll(url.PathEscape(b.String()), "%2C", ","))
}
