package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"kpsim/traces/view"
)

// progressEvery is how often the line is rewritten at most, and how long a command may take
// before there is one.
const progressEvery = 100 * time.Millisecond

// ClearLine empties the line of a terminal.
var ClearLine = own("\x1b[K")

// Before so much is done, and so much time is gone, what is done says nothing of how long the rest
// takes: a search's first steps are the slowest.
const (
	leastShare = 0.01
	leastTime  = 2 * time.Second
)

// fine is how many steps a part has whose own end isn't counted in whole units.
const fine = 1_000_000

// A Progress is a line on a terminal that is written over again and again: how much of a
// command is done, of how much in all, and, when that can be told, how long the rest takes if it
// goes on as it did so far. The total is set once and never changes; what is done never becomes less. What is left
// out counts as done. Its methods may be called by several goroutines, and on nil: that is the
// line of a command whose standard error is no terminal.
type Progress struct {
	w     io.Writer
	width int // of the terminal; a longer line couldn't be overwritten
	now   func() time.Time
	what  string
	unit  string // what total counts; "": it is time
	steps uint64 // of a unit
	total uint64 // steps; of time: nanoseconds
	start time.Time

	mu        sync.Mutex
	last      time.Time // when it was drawn
	drawn     bool
	shown     bool      // at any time
	part      string    // what is being done now
	from, end uint64    // of the part, in steps
	began     time.Time // when the part did
	aside     bool      // it isn't counted
	done      uint64
	note      string
}

// Ahead says on standard error what a command is about to do that may take long, unless that is a
// terminal, where a line of progress follows.
func (p *Program) Ahead(says string) {
	if p.Live {
		return
	}
	for _, l := range view.Fold(says, p.ErrWidth) {
		fmt.Fprintln(p.Err, l)
	}
}

// Watch begins the progress line of a command that does total units of something, one after
// another or many at once. The result is nil if standard error is no terminal, or if there is
// nothing to do.
func (p *Program) Watch(what string, total uint64, unit string) *Progress {
	return p.watch(what, total, unit, 1)
}

// WatchParts is Watch of units that take long, so that Share tells how much of one is done.
func (p *Program) WatchParts(what string, total int, unit string) *Progress {
	return p.watch(what, uint64(max(total, 0))*fine, unit, fine)
}

// WatchFor is Watch of a command that goes on until a time is over.
func (p *Program) WatchFor(what string, d time.Duration) *Progress {
	return p.watch(what, uint64(max(d, 0)), "", 1)
}

func (p *Program) watch(what string, total uint64, unit string, steps uint64) *Progress {
	if !p.Live || total == 0 {
		return nil
	}
	now := p.Clock
	if now == nil {
		now = time.Now
	}
	at := now()
	g := &Progress{w: p.Err, width: p.ErrWidth, now: now, what: what, unit: unit, steps: steps, total: total, start: at,
		last: at, began: at}
	if o, ok := p.Out.(*output); ok {
		o.line.Store(g)
	}
	return g
}

// Part begins the next part of the total, of so many units. What the part before hasn't done
// counts as done.
func (g *Progress) Part(says string, units uint64) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.from, g.end = g.end, min(g.end+units*g.steps, g.total)
	g.done = max(g.done, g.from)
	g.part, g.note, g.began, g.aside = says, "", g.now(), false
	g.draw(false)
}

// Aside says what is done now that the total doesn't count: to look at what was found, say. What
// is told until the next Part doesn't move the total.
func (g *Progress) Aside(says string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = max(g.done, g.end)
	g.part, g.note, g.began, g.aside = says, "", g.now(), true
	g.draw(false)
}

// Update tells how many runs of the part were made, and is an explore.Spec's Progress.
func (g *Progress) Update(runs, violations uint64) {
	g.at(runs, func(took time.Duration) string { return rate(runs, violations, took) })
}

// Share tells how much of one unit of the part is done, in millionths, and how many runs that took.
func (g *Progress) Share(millionths, runs, violations uint64) {
	g.at(min(millionths, fine), func(took time.Duration) string { return rate(runs, violations, took) })
}

// Of is Share by n of most.
func (g *Progress) Of(n, most, runs, violations uint64) {
	g.Share(uint64(float64(min(n, most))/float64(max(most, 1))*fine), runs, violations)
}

// Far tells how many units of the part are done, with fractions, and what else there is to say.
func (g *Progress) Far(units float64, note string) {
	g.at(uint64(max(0, units)*float64(g.stepsOf())), func(time.Duration) string { return note })
}

// rate says how many runs were made, and how fast.
func rate(runs, violations uint64, took time.Duration) string {
	return fmt.Sprintf("%s, %s, %.0f runs/s", Number(runs, "run"), Number(violations, "violation"),
		float64(runs)/max(took.Seconds(), 1e-3))
}

// At tells how much of the part is done, in units, and what else there is to say.
func (g *Progress) At(done uint64, note string) {
	g.at(done*g.stepsOf(), func(time.Duration) string { return note })
}

func (g *Progress) stepsOf() uint64 {
	if g == nil {
		return 1
	}
	return g.steps
}

// Note says something else, and looks at the clock.
func (g *Progress) Note(note string) { g.at(0, func(time.Duration) string { return note }) }

// at notes what is done and redraws the line, unless it has just been redrawn.
func (g *Progress) at(steps uint64, note func(took time.Duration) string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	end := g.end
	if end == 0 { // it has one part
		end = g.total
	}
	if !g.aside {
		g.done = max(g.done, g.from+min(steps, end-g.from))
	}
	now := g.now()
	if now.Sub(g.last) < progressEvery {
		return
	}
	g.note = note(now.Sub(g.began))
	g.drawAt(now)
}

// draw redraws the line, unless it has just been redrawn; must: even then.
func (g *Progress) draw(must bool) {
	if now := g.now(); must || now.Sub(g.last) >= progressEvery {
		g.drawAt(now)
	}
}

func (g *Progress) drawAt(now time.Time) {
	g.last, g.drawn, g.shown = now, true, true
	fmt.Fprint(g.w, ClearLine, Cut(g.line(now.Sub(g.start)), g.width-1))
}

// line is the line so long after the start.
func (g *Progress) line(took time.Duration) string {
	s := g.what
	if g.part != "" {
		s = g.part
	}
	done := g.done
	if g.unit == "" {
		done = max(done, min(uint64(max(took, 0)), g.total))
		g.done = done
		to := time.Second
		if g.total < uint64(10*time.Second) {
			to = 100 * time.Millisecond
		}
		s += fmt.Sprintf(": %v of %v", time.Duration(done).Round(to), time.Duration(g.total).Round(to))
	} else {
		s += fmt.Sprintf(": %d of %s", done/g.steps, Number(g.total/g.steps, g.unit))
	}
	share := float64(done) / float64(g.total)
	s += fmt.Sprintf(", %d %%", int(100*share))
	if done < g.total && (g.unit == "" || share >= leastShare && took >= leastTime) {
		s += ", " + left(took, share) + " left"
	}
	if g.note != "" {
		s += "; " + g.note
	}
	return s
}

// left is how long the rest takes if it takes as long as what was done so far.
func left(took time.Duration, share float64) string {
	const most = 100 * 365 * 24 * time.Hour
	rest := took.Seconds() * (1 - share) / share
	if rest > most.Seconds() {
		return "over 100 years"
	}
	return max(time.Duration(rest*float64(time.Second)), time.Second).Round(time.Second).String()
}

// Cut shortens a line that is wider than a terminal. No terminal has 0 columns
// or less.
func Cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}

// Clear removes the line until it is drawn again: something else is printed.
func (g *Progress) Clear() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clear()
}

func (g *Progress) clear() {
	if g.drawn {
		fmt.Fprint(g.w, ClearLine)
		g.drawn = false
		g.last = g.now()
	}
}

// Complete says that all is done, and removes the line.
func (g *Progress) Complete() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = g.total
	g.draw(g.shown)
	g.clear()
}
