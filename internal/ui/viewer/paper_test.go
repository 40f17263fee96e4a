package viewer_test

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
	"kpsim/internal/ui/viewer"
)

var (
	mediaBox = regexp.MustCompile(`/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]`)
	sheets   = regexp.MustCompile(`/Type /Page\b[^s]`)
)

// On A4 nothing is cut, folded or for the mouse, from a light screen and a dark one, wide or narrow, and
// a browser prints it on A4 by itself.
func TestPaper(t *testing.T) {
	eight := onCPUs(t, 8)
	for name, runs := range map[string][]viewer.Run{
		"one": {witness(t, "T2-second-instruction")}, "two": pair(t, "T2-second-instruction"),
		"8 CPUs": {eight}, "8 CPUs twice": {eight, eight},
	} {
		file, _ := page(t, runs...)
		for _, w := range []window{{wide: 1280, high: 800, dark: true}, {wide: 400, high: 800}} {
			what := fmt.Sprintf("%s, %d pixels", name, w.wide)
			p := open(t, file, w)
			printed, err := chromedp.Call(p.ctx, cdppage.PrintToPDF, cdppage.PrintToPDFParams{PreferCSSPageSize: new(true),
				PrintBackground: new(true)})
			require.NoError(t, err, what)
			boxes := mediaBox.FindAllSubmatch(printed.Data, -1)
			require.NotEmpty(t, boxes, what)
			for _, b := range boxes {
				require.Regexp(t, `^59[45]`, string(b[1]), "%s: A4 in points", what)
				require.Regexp(t, `^84[12]`, string(b[2]), "%s: A4 in points", what)
			}
			require.LessOrEqual(t, len(sheets.FindAll(printed.Data, -1)), 4, what)
			require.True(t, bytes.HasPrefix(printed.Data, []byte("%PDF-")))

			p.paper()
			require.Empty(t, js[[]string](p, pagetest.Paper), what)
			high := js[float64](p, `Math.max(...Array.from(document.querySelectorAll(".drawing")).map(c =>
				c.getBoundingClientRect().height))`)
			require.Less(t, high, float64(pagetest.A4[1]), "%s: a drawing is on one sheet", what)
			require.Zero(t, js[int](p, `Array.from(document.querySelectorAll(".axis, .more, .controls")).filter(e =>
				e.checkVisibility()).length`), what)
			require.Equal(t, "#ffffff", js[string](p, "(kpsim.print(true), kpsim.viewers[0].colour('bg'))"), what)
			p.screen()
		}
	}
}

// paper gives the page what print has: its styles, and the width of A4.
func (p *tab) paper() {
	p.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(p, err)
	p.do(chromedp.EmulateViewport(int64(pagetest.A4[0]), int64(pagetest.A4[1])))
	p.frames()
}

// screen takes paper back.
func (p *tab) screen() {
	p.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	require.NoError(p, err)
}
