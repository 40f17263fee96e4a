package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const progressEvery = 100 * time.Millisecond

// ClearLine empties the line of a terminal.
var ClearLine = own("\x1b[K")

// A progress is a line on a terminal that is written over again and again.
// Its methods may be called by several goroutines, and on nil.
type progress struct {
	w     io.Writer
	width int // of the terminal; a longer line couldn't be overwritten
	what  string
	total uint64
	start time.Time

	mu    sync.Mutex
	last  time.Time
	drawn bool
	done  atomic.Uint64 // millionths of a search that ends of itself
}

// Watch returns a progress line, or nil if standard error is no terminal.
func (p *Program) Watch(what string, total uint64) *progress {
	if !p.Live {
		return nil
	}
	now := time.Now()
	return &progress{w: p.Err, width: p.ErrWidth, what: what, total: total, start: now, last: now}
}

// Update is an explore.Spec's Progress.
func (g *progress) Update(runs, violations uint64) {
	g.draw(func(took time.Duration) string {
		of := ""
		if g.total > 0 {
			of = fmt.Sprintf("of %d ", g.total)
		}
		far := ""
		if n := g.done.Load(); n > 0 {
			far = fmt.Sprintf(", some %d.%04d %%", n/10_000, n%10_000)
		}
		return fmt.Sprintf("%s: %d %sruns, %d violations, %.0f runs/s%s", g.what, runs, of, violations, float64(runs)/took.Seconds(), far)
	})
}

// Tell redraws the line as a function says.
func (g *progress) Tell(line func(took time.Duration) string) { g.draw(line) }

// Follow redraws the line from a counter of finished parts until stop is called.
func (g *progress) Follow(done *atomic.Uint64) (stop func()) {
	if g == nil {
		return func() {}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				g.draw(func(took time.Duration) string {
					return fmt.Sprintf("%s: %d of %d, %.0f s", g.what, done.Load(), g.total, took.Seconds())
				})
			}
		}
	}()
	return func() {
		close(over)
		<-ended
		g.Clear()
	}
}

// draw rewrites the line, unless another goroutine does or has just done so.
func (g *progress) draw(line func(took time.Duration) string) {
	if g == nil || !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	now := time.Now()
	if now.Sub(g.last) < progressEvery {
		return
	}
	g.last, g.drawn = now, true
	fmt.Fprint(g.w, ClearLine, Cut(line(now.Sub(g.start)), g.width-1))
}

// Say shows what is being done where there are no runs to count.
func (g *progress) Say(what string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drawn = true
	fmt.Fprint(g.w, ClearLine, Cut(g.what+": "+what, g.width-1))
}

// Cut shortens a line that is wider than a terminal. No terminal has 0 columns
// or less.
func Cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}

// Share sets how far an exhaustive search is, in millionths.
func (g *progress) Share(done uint64) {
	if g != nil {
		g.done.Store(done)
	}
}

// Clear removes the line.
func (g *progress) Clear() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drawn {
		fmt.Fprint(g.w, ClearLine)
		g.drawn = false
	}
}
