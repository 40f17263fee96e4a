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

// over is a JavaScript expression: the texts that lie over others.
const over = `(() => {
	const boxes = [], bad = [];
	const texts = "main p, main li, main td, main th, h2, h3, h4, .listing, .now div, footer p, .lanes";
	for (const e of document.querySelectorAll(texts)) {
		if (!e.checkVisibility() || e.closest(".unseen, noscript")) continue;
		for (const b of e.getClientRects()) boxes.push({ e, b });
	}
	for (const [i, { e, b }] of boxes.entries()) {
		for (const { e: o, b: c } of boxes.slice(i + 1)) {
			if (e.contains(o) || o.contains(e)) continue;
			const wide = Math.min(b.right, c.right) - Math.max(b.left, c.left);
			const high = Math.min(b.bottom, c.bottom) - Math.max(b.top, c.top);
			if (wide > 2 && high > 3) bad.push(e.textContent.slice(0, 40) + " over " + o.textContent.slice(0, 40));
		}
	}
	return bad.slice(0, 5);
})()`

// A long run is printed around its violation, or around the event that is shown, and says so.
func TestLongOnPaper(t *testing.T) {
	r := long(t, 1000)
	file, _ := page(t, r)
	p := open(t, file, desk)
	p.do(chromedp.Evaluate[chromedp.Void]("kpsim.print(true)"))
	p.paper()
	require.Equal(t, 400, js[int](p, "document.querySelectorAll('.steps li').length"))
	require.Regexp(t, `^Printed are 400 of [\d,]+ events, those around event 0: 0 to \d+\.$`, p.text(".printed"))
	p.screen()
	p.do(chromedp.Evaluate[chromedp.Void]("kpsim.print(false)"))
	require.True(t, js[bool](p, "document.querySelector('.printed').hidden"))
}

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
			n := len(sheets.FindAll(printed.Data, -1))
			t.Logf("%s: %d sheets", what, n)
			require.LessOrEqual(t, n, 8, what)
			require.True(t, bytes.HasPrefix(printed.Data, []byte("%PDF-")))

			p.do(chromedp.Evaluate[chromedp.Void]("kpsim.print(true)"))
			p.paper()
			for i, r := range runs {
				listed := js[[]string](p, "Array.from(document.querySelectorAll('#run%d .steps li')).map(e => "+
					"e.querySelector('.no')?.textContent ?? e.textContent)", i)
				require.Len(t, listed, min(400, len(r.Scene.Steps)), "%s: all events", what)
				if len(r.Scene.Steps) <= 400 {
					require.Equal(t, fmt.Sprint(r.Scene.Steps[0].Event.Seq), listed[0], what)
				}
			}
			said := js[string](p, "document.querySelector('main').innerText")
			require.NotRegexp(t, `u opens it|more: x|…`, said, what)
			require.Zero(t, js[int](p, `Array.from(document.querySelectorAll("kbd")).filter(e =>
				e.checkVisibility()).length`))
			require.Empty(t, js[[]string](p, over), what)
			require.Empty(t, js[[]string](p, pagetest.Paper), what)
			high := js[float64](p, `Math.max(...Array.from(document.querySelectorAll(".drawing")).map(c =>
				c.getBoundingClientRect().height))`)
			require.Less(t, high, float64(pagetest.A4[1]), "%s: a drawing is on one sheet", what)
			require.Zero(t, js[int](p, `Array.from(document.querySelectorAll(".axis, .more, .controls")).filter(e =>
				e.checkVisibility()).length`), what)
			require.Equal(t, "#ffffff", js[string](p, "(kpsim.print(true), kpsim.viewers[0].colour('bg'))"), what)
			p.screen()
			p.do(chromedp.Evaluate[chromedp.Void]("kpsim.print(false)"))
			require.Less(t, js[int](p, "document.querySelectorAll('.steps li').length"), 20, what)
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
