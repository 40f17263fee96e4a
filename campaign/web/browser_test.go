package web

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
)

// actionTimeout is for a computer that has much else to do.
const actionTimeout = time.Minute

// A browser is the one of all tests, with one tab. The first test that wants it starts it.
type browser struct {
	once  sync.Once
	ctx   context.Context // of the tab
	stop  []func()
	why   string              // there is none
	shown atomic.Pointer[tab] // gets what happens
}

var chromium browser

func TestMain(m *testing.M) {
	code := m.Run()
	for i := len(chromium.stop) - 1; i >= 0; i-- {
		chromium.stop[i]()
	}
	os.Exit(code)
}

func (b *browser) start() {
	path, err := pagetest.Chromium()
	if err != nil {
		b.why = err.Error()
		return
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.WSURLReadTimeout(actionTimeout)}
	for _, flag := range pagetest.Flags {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, stopProcess := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(ctx)
	b.stop, b.ctx = []func(){stopProcess, stopBrowser}, ctx
	err = chromedp.Listen(ctx, func(e any) {
		if p := b.shown.Load(); p != nil {
			p.told(e)
		}
	})
	if err == nil {
		err = chromedp.Do(ctx)
	}
	if err != nil {
		b.why = fmt.Sprintf("Chromium (%s) doesn't start: %v", path, err)
	}
}

// A tab is the page that was opened last.
type tab struct {
	testing.TB
	ctx     context.Context
	mu      sync.Mutex // guards what follows, which the browser's events add to
	console []string
	loaded  []string
}

// A window is how a page is opened.
type window struct {
	wide, high int64
	dark       bool
}

// open opens a page and waits until it shows a campaign, or that there is none.
func open(t testing.TB, url string, w window) *tab {
	t.Helper()
	chromium.once.Do(chromium.start)
	if chromium.why != "" {
		t.Skip(chromium.why)
	}
	p := &tab{TB: t, ctx: chromium.ctx}
	chromium.shown.Store(p)
	scheme := "light"
	if w.dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
	do(p, chromedp.EmulateViewport(w.wide, w.high))
	do(p, chromedp.Navigate(url))
	p.until("location.href === %q && document.documentElement.dataset.ready === 'yes'", url)
	t.Cleanup(func() { chromium.shown.Store(nil) })
	return p
}

// told gets what happens in the page.
func (p *tab) told(e any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventConsoleAPICalled:
		line := string(e.Type)
		for _, a := range e.Args {
			line += " " + string(a.Value) + a.Description
		}
		p.console = append(p.console, line)
	case *runtime.EventExceptionThrown:
		p.console = append(p.console, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *log.EventEntryAdded:
		p.console = append(p.console, e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		p.loaded = append(p.loaded, e.Request.URL)
	}
}

// quiet holds that the browser has complained of nothing, and that nothing came from elsewhere.
func (p *tab) quiet(from string) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p, p.console, "what the browser complains of")
	require.NotEmpty(p, p.loaded)
	for _, url := range p.loaded {
		require.True(p, strings.HasPrefix(url, from) || strings.HasPrefix(url, "data:"), "the page has loaded %s", url)
	}
}

// do runs an action in a bounded time.
func do[T any](p *tab, a chromedp.Action[T]) T {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, actionTimeout)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	require.NoError(p, err)
	return v
}

// js returns what an expression is.
func js[T any](p *tab, expression string, args ...any) T {
	p.Helper()
	return do(p, chromedp.Evaluate[T](fmt.Sprintf(expression, args...), chromedp.EvalAwaitPromise))
}

// until waits until an expression holds.
func (p *tab) until(expression string, args ...any) {
	p.Helper()
	expression = fmt.Sprintf(expression, args...)
	ctx, cancel := context.WithTimeout(p.ctx, actionTimeout)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(20*time.Millisecond)))
		if err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "Cannot find context") {
			continue
		}
		require.NoError(p, err, expression)
		return
	}
}

// text returns what an element shows.
func (p *tab) text(selector string) string {
	p.Helper()
	return js[string](p, "document.querySelector(%q).innerText", selector)
}
