package web

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"kpsim/campaign/board"
	"kpsim/internal/testkit/pagetest"
)

// TestPageLive: the page shows what is told, without being loaded anew; what has the focus and
// what is unfolded stays so.
func TestPageLive(t *testing.T) {
	b := fakeBoard(t)
	begin(t, b, "nightly-1", board.Ended, time.Now().Add(-time.Hour))
	begin(t, b, "nightly-2", board.Running, time.Now())
	told := example("nightly-2")
	tell(t, b, told)
	s := serve(t, b, "127.0.0.1:0")
	p := open(t, s.URL, window{wide: 1280, high: 800})
	require.Equal(t, "nightly-2", p.text("h1"))
	require.Contains(t, p.text("#far"), "61 %: 1,223 of 2,004 units done, about 7 minutes left")
	require.Equal(t, 1223.0, js[float64](p, "document.querySelector('progress').value"))
	require.Equal(t, "61 % nightly-2 – kpsim", js[string](p, "document.title"))

	js[bool](p, "(() => { window.here = 1; document.querySelector('#searches .folded:last-child summary').click(); "+
		"document.querySelector('#finds a').focus(); scrollTo(0, 500); return true })()")
	told.Done, told.Runs, told.Rate = 1500, 60_000_000, 80_000
	told.Searches[0].Scenarios[20].Done = 30 // it goes from one table to the other
	told.Finds = append(told.Finds, told.Finds[0])
	told.Finds[2].Find.Cause = "T9-third"
	tell(t, b, told)
	p.until("document.querySelector('#far').textContent.startsWith('74.8 %%') && " +
		"document.querySelectorAll('article').length === 3")
	require.Contains(t, p.text("#figures"), "60,000,000")
	require.Equal(t, 1, js[int](p, "window.here"), "it wasn't loaded anew")
	require.Equal(t, "T2-second-instruction.kps", js[string](p, "document.activeElement.textContent"))
	require.True(t, js[bool](p, "document.querySelector('#searches .folded:last-child').open"))
	require.Greater(t, js[float64](p, "scrollY"), 300.0)
	require.Equal(t, "Found: T9-third", js[string](p, "document.querySelector('#news').textContent"))

	_, err := b.Change(t.Context(), "nightly-2", func(s *board.State) bool { s.State = board.Ended; return true })
	require.NoError(t, err)
	p.until("document.querySelector('#state').textContent === 'ended'")
	p.until("document.querySelectorAll('#campaigns-list a').length === 2")
	p.quiet(s.URL)
}

// TestPageHostile: what comes from the board is text.
func TestPageHostile(t *testing.T) {
	b := fakeBoard(t)
	begin(t, b, "nightly-2", board.Running, time.Now())
	told := example("nightly-2")
	told.Finds[0].Find.Cause = "../../" + hostile
	told.Searches[0].Title, told.Workers[0].Name, told.Troubles[0].Log = hostile, hostile, hostile
	told.Searches[0].Scenarios[0].Scenario = hostile
	tell(t, b, told)
	s := serve(t, b, "127.0.0.1:0")
	p := open(t, s.URL, window{wide: 1280, high: 800})
	require.Contains(t, p.text("article:nth-child(2) li"), hostile)
	require.Equal(t, 1, js[int](p, "document.querySelectorAll('script').length"))
	require.Equal(t, 0, js[int](p, "document.querySelectorAll('img').length"))
	require.Equal(t, 1, js[int](p,
		"[...document.querySelectorAll('article a')].filter(a => a.checkVisibility()).length"),
		"a cause that names no file has no link")
	require.Equal(t, "61 % nightly-2 – kpsim", js[string](p, "document.title"))
	p.quiet(s.URL)
}

// TestPageServerGone: the page says that its figures are old, and goes on when there is a server
// again.
func TestPageServerGone(t *testing.T) {
	b := fakeBoard(t)
	begin(t, b, "nightly-2", board.Running, time.Now())
	told := example("nightly-2")
	tell(t, b, told)
	s := serve(t, b, "127.0.0.1:0")
	p := open(t, s.URL, window{wide: 400, high: 800})
	require.True(t, js[bool](p, "document.querySelector('#gone').hidden"))
	s.Stop()
	p.until("!document.querySelector('#gone').hidden")
	require.Contains(t, p.text("#gone"), "these figures are old")
	told.Done = 2004
	tell(t, b, told)
	at, err := url.Parse(s.URL)
	require.NoError(t, err)
	serve(t, b, at.Host)
	p.until("document.querySelector('#gone').hidden && document.querySelector('progress').value === 2004")
}

// TestPageNone: there is no campaign, or not the one that was asked for.
func TestPageNone(t *testing.T) {
	b := fakeBoard(t)
	s := serve(t, b, "127.0.0.1:0")
	p := open(t, s.URL, window{wide: 400, high: 800})
	require.Contains(t, p.text("main"), "There is no campaign yet.")
	begin(t, b, "nightly-1", board.Running, time.Now())
	p.until("document.querySelector('h1').textContent === 'nightly-1'")
	require.Contains(t, p.text("#far"), "It has no status yet.")
	p.quiet(s.URL)
	p = open(t, s.URL+"?campaign=%3Cb%3E", window{wide: 400, high: 800})
	require.Contains(t, p.text("main"), "There is no campaign <b>.")
	p.quiet(s.URL)
}

// accessible lists what a page lacks for who uses a keyboard or a screen reader.
const accessible = `(() => {
	const bad = [], all = s => [...document.querySelectorAll(s)].filter(e => e.checkVisibility());
	for (const l of ['header', 'nav', 'main', 'footer', 'h1']) if (all(l).length !== 1) bad.push(l + ' is not there once');
	const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
	if (new Set(ids).size !== ids.length) bad.push('an ID is there twice');
	for (const e of document.querySelectorAll('[aria-labelledby]')) if (!document.getElementById(e.getAttribute('aria-labelledby'))) bad.push('a label is missing');
	for (const e of all('section, [role=region], progress')) if (!e.getAttribute('aria-labelledby') && !e.getAttribute('aria-label')) bad.push(e.tagName + ' has no name');
	for (const e of all('th')) if (!e.scope) bad.push('a heading has no scope');
	for (const e of all('table')) if (!e.caption || !e.caption.textContent) bad.push('a table has no caption');
	for (const e of all('a, summary')) if (!e.textContent.trim()) bad.push('a link has no text');
	if (document.documentElement.scrollWidth > innerWidth) bad.push('the page is wider than the window: ' + document.documentElement.scrollWidth);
	return bad;
})()`

var shots = flag.String("screenshots", "", "write pictures of the page to this folder; look at them")

// TestPageSizes: at any size and in any colours the page is as wide as the window, and what matters
// most is seen without scrolling.
func TestPageSizes(t *testing.T) {
	b := fakeBoard(t)
	for i := range 20 { // enough for their list to scroll
		begin(t, b, fmt.Sprintf("weekly-%d", i), board.Ended, time.Now().Add(-100*time.Hour))
	}
	begin(t, b, "nightly-1", board.Ended, time.Now().Add(-time.Hour))
	begin(t, b, "nightly-2", board.Running, time.Now())
	tell(t, b, example("nightly-2"))
	s := serve(t, b, "127.0.0.1:0")
	for name, w := range map[string]window{
		"wide": {wide: 1280, high: 800}, "narrow": {wide: 400, high: 800},
		"wide-dark":   {wide: 1280, high: 800, dark: true},
		"narrow-dark": {wide: 400, high: 800, dark: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, s.URL, w)
			require.Empty(t, js[[]string](p, accessible))
			require.Empty(t, js[[]string](p, pagetest.Unnamed))
			require.True(t, js[bool](p,
				"document.querySelector('#figures').getBoundingClientRect().bottom < innerHeight"),
				"above the fold")
			do(p, chromedp.KeyEvent("\t"))
			require.Equal(t, "Skip to the content", js[string](p, "document.activeElement.textContent"))
			require.Empty(t, js[[]string](p, pagetest.Cut))
			p.quiet(s.URL)
			if *shots == "" {
				return
			}
			js[bool](p, "(document.activeElement.blur(), true)")
			picture(p, name+"-top.png", chromedp.CaptureScreenshot())
			js[bool](p, "(document.querySelectorAll('details').forEach(d => d.open = d.className !== 'folded'), true)")
			picture(p, name+".png", chromedp.FullScreenshot(100))
			p.paper()
			picture(p, name+"-paper.png", chromedp.FullScreenshot(100))
		})
	}
}

// TestPagePaper: on A4 nothing is cut, folded or for the mouse alone.
func TestPagePaper(t *testing.T) {
	b := fakeBoard(t)
	begin(t, b, "nightly-2", board.Running, time.Now())
	tell(t, b, example("nightly-2"))
	s := serve(t, b, "127.0.0.1:0")
	p := open(t, s.URL, window{wide: 1280, high: 800})
	p.paper()
	require.Empty(t, js[[]string](p, pagetest.Paper))
}

// paper gives the page what print has: its styles, and the width of A4.
func (p *tab) paper() {
	p.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(p, err)
	do(p, chromedp.EmulateViewport(int64(pagetest.A4[0]), int64(pagetest.A4[1])))
}

func picture(p *tab, name string, a chromedp.Action[[]byte]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, actionTimeout)
	defer cancel()
	shot, err := chromedp.Run(ctx, a)
	require.NoError(p, err)
	require.NoError(p, os.WriteFile(filepath.Join(*shots, name), shot, 0o644))
}
