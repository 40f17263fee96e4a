package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"kpsim/traces/view"
)

// progressEvery is the minimum time between redraws, and before the first one.
const progressEvery = 100 * time.Millisecond

// ClearLine clears the line of a terminal.
var ClearLine = own("\x1b[K")

// No remaining time is shown before this much is done and this much time has passed: a search's
// first steps are the slowest.
const (
	leastShare = 0.01
	leastTime  = 2 * time.Second
)

// fine is the number of steps in a part that isn't counted in whole units.
const fine = 1_000_000

// A Progress is a terminal line that is redrawn repeatedly: how much of a command is done, the
// total and, when it can be estimated, the remaining time at the average rate so far. The total
// is set once, and progress never decreases. Skipped work counts as done. Several goroutines may
// call its methods. They do nothing on nil, which is the Progress of a command whose standard
// error is no terminal.
type Progress struct {
	w     io.Writer
	width int // of the terminal; a longer line couldn't be overwritten
	now   func() time.Time
	what  string
	unit  string // the unit of total; "": time
	steps uint64 // per unit
	total uint64 // in steps; for time, in nanoseconds
	start time.Time

	mu        sync.Mutex
	last      time.Time // when it was last drawn
	drawn     bool
	shown     bool      // it was drawn at least once
	part      string    // the current activity
	from, end uint64    // of the part, in steps
	began     time.Time // start of the part
	aside     bool      // the current activity isn't counted
	done      uint64
	note      string
}

// Ahead announces something slow on standard error, unless that is a terminal, where a progress
// line follows.
func (p *Program) Ahead(says string) {
	if p.Live {
		return
	}
	for _, l := range view.Fold(says, p.ErrWidth) {
		fmt.Fprintln(p.Err, l)
	}
}

// Watch starts the progress line of a command that does total units of work, in sequence or in
// parallel. It returns nil if standard error is no terminal, or if total is 0.
func (p *Program) Watch(what string, total uint64, unit string) *Progress {
	return p.watch(what, total, unit, 1)
}

// WatchParts is Watch for units that take long; Share reports the progress within one.
func (p *Program) WatchParts(what string, total int, unit string) *Progress {
	return p.watch(what, uint64(max(total, 0))*fine, unit, fine)
}

// WatchFor is Watch for a command that runs for a given time.
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

// Part begins the next part of the total, with the given number of units. The rest of the
// previous part counts as done.
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

// Aside names an activity that the total doesn't count, such as examining a find. Until the next
// Part, reports don't move the total.
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

// Update reports the number of runs made in the part. It is an explore.Spec's Progress.
func (g *Progress) Update(runs, violations uint64) {
	g.at(runs, func(took time.Duration) string { return rate(runs, violations, took) })
}

// Share reports how much of one unit of the part is done, in millionths, and the number of runs
// made for it.
func (g *Progress) Share(millionths, runs, violations uint64) {
	g.at(min(millionths, fine), func(took time.Duration) string { return rate(runs, violations, took) })
}

// Of is Share by n of most.
func (g *Progress) Of(n, most, runs, violations uint64) {
	g.Share(uint64(float64(min(n, most))/float64(max(most, 1))*fine), runs, violations)
}

// Far reports the number of units done in the part, with fractions, and a note.
func (g *Progress) Far(units float64, note string) {
	g.at(uint64(max(0, units)*float64(g.stepsOf())), func(time.Duration) string { return note })
}

// rate formats the number of runs and their rate.
func rate(runs, violations uint64, took time.Duration) string {
	return fmt.Sprintf("%s, %s, %.0f runs/s", Number(runs, "run"), Number(violations, "violation"),
		float64(runs)/max(took.Seconds(), 1e-3))
}

// At reports the number of units done in the part, and a note.
func (g *Progress) At(done uint64, note string) {
	g.at(done*g.stepsOf(), func(time.Duration) string { return note })
}

func (g *Progress) stepsOf() uint64 {
	if g == nil {
		return 1
	}
	return g.steps
}

// Note reports only a note.
func (g *Progress) Note(note string) { g.at(0, func(time.Duration) string { return note }) }

// at records progress and redraws the line, unless it has just been redrawn.
func (g *Progress) at(steps uint64, note func(took time.Duration) string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	end := g.end
	if end == 0 { // there is only one part
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

// draw redraws the line, unless it has just been redrawn and must is false.
func (g *Progress) draw(must bool) {
	if now := g.now(); must || now.Sub(g.last) >= progressEvery {
		g.drawAt(now)
	}
}

func (g *Progress) drawAt(now time.Time) {
	g.last, g.drawn, g.shown = now, true, true
	fmt.Fprint(g.w, ClearLine, Cut(g.line(now.Sub(g.start)), g.width-1))
}

// line returns the line's text after the given time.
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

// left estimates the remaining time at the average rate so far.
func left(took time.Duration, share float64) string {
	const most = 100 * 365 * 24 * time.Hour
	rest := took.Seconds() * (1 - share) / share
	if rest > most.Seconds() {
		return "over 100 years"
	}
	return max(time.Duration(rest*float64(time.Second)), time.Second).Round(time.Second).String()
}

// Cut shortens a line that is wider than a terminal. A width of 0 or less means no terminal.
func Cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return s
}

// Clear removes the line until it is redrawn, so that something else can be printed.
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

// Complete marks everything as done and removes the line.
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
