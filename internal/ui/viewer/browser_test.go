package viewer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/pagetest"
)

// actionTimeout is for a computer that has much else to do.
const actionTimeout = time.Minute

// A browser is the one of all tests, with one tab: it is started by the first that wants it.
// A new tab costs more than most tests do.
type browser struct {
	once  sync.Once
	ctx   context.Context // of the tab
	stop  []func()
	why   string // there is none
	opens int
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
	b.stop = []func(){stopProcess, stopBrowser}
	b.ctx = ctx
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

// A tab is a page that is open: the one that was opened last.
type tab struct {
	testing.TB
	ctx     context.Context
	url     string
	mu      sync.Mutex // guards what follows, which the browser's events add to
	console []string
	loaded  []string
}

// A window is how a page is opened.
type window struct {
	wide, high int64
	dark       bool
	hash       string // #step=1
}

// open opens a page. When the test ends it must have loaded nothing else, and the browser
// must not have complained of anything.
func open(t testing.TB, file string, w window) *tab {
	t.Helper()
	chromium.once.Do(chromium.start)
	if chromium.why != "" {
		t.Skip(chromium.why)
	}
	chromium.opens++
	// The number has a page be loaded, if it is the one that is there, too.
	p := &tab{TB: t, ctx: chromium.ctx, url: fmt.Sprintf("file://%s?%d", filepath.ToSlash(file), chromium.opens)}
	chromium.shown.Store(p)
	scheme := "light"
	if w.dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
	p.do(chromedp.EmulateViewport(w.wide, w.high), chromedp.Navigate(p.url+w.hash))
	p.until("location.href.startsWith(%q) && document.documentElement.dataset.ready === 'yes'", p.url)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		assert.Empty(t, p.console, "what the browser complains of")
		assert.NotEmpty(t, p.loaded)
		for _, url := range p.loaded {
			assert.True(t, strings.HasPrefix(url, p.url) || strings.HasPrefix(url, "data:"), "the page has loaded %s",
				url)
		}
	})
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

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	for _, a := range actions {
		run(p, "action", a)
	}
}

// run runs an action in a bounded time.
func run[T any](p *tab, what string, a chromedp.Action[T]) T {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, actionTimeout)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	require.NoError(p, err, what)
	return v
}

// js returns what an expression is.
func js[T any](p *tab, expression string, args ...any) T {
	p.Helper()
	expression = fmt.Sprintf(expression, args...)
	return run(p, expression, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until an expression holds. A page that has just been navigated to may
// still take the place of the one before: then the expression is lost, and is asked again.
func (p *tab) until(expression string, args ...any) {
	p.Helper()
	expression = fmt.Sprintf(expression, args...)
	ctx, cancel := context.WithTimeout(p.ctx, actionTimeout)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(10*time.Millisecond)))
		if err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "Cannot find context") {
			continue
		}
		require.NoError(p, err, expression)
		return
	}
}

// press presses keys, one after the other.
func (p *tab) press(keys ...string) {
	p.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

func (p *tab) shift(key string) {
	p.Helper()
	p.do(chromedp.KeyEvent(key, chromedp.KeyModifiers(chromedp.ModifierShift)))
}

// step returns the step that a run shows.
func (p *tab) step(run int) int {
	p.Helper()
	return js[int](p, "Number(document.getElementById('run%d').dataset.step)", run)
}

// text returns what an element says.
func (p *tab) text(selector string) string {
	p.Helper()
	return js[string](p, "document.querySelector(%q).textContent", selector)
}
