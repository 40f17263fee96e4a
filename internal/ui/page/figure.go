package page

import (
	"fmt"
	"html/template"

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
	head := fmt.Sprintf(`<svg id="%s" viewBox="0 0 %g %g" role="img" aria-labelledby="%s-title %s-says"><title id="%s-title">%s</title><desc id="%s-says">%s</desc>`,
		id, plot.Width, height, id, id, id, title, id, says)
	return template.HTML(head + "\n" + p.Plot.SVG(height) + "</svg>\n"), nil
}
