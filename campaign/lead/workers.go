package lead

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
)

// A worker is the last sign of life of a worker.
type worker struct {
	board.Alive
	heard time.Time
}

// gone is the silence after which a worker is taken for gone.
const gone = 15 * time.Second

// The limits of what a worker reports about itself. All of it may be false.
const (
	mostWorkers = 1 << 14 // that are kept at once
	mostCores   = 1024
	mostNeeds   = 64
	mostLacks   = 8
)

// readAlive reads a worker's sign of life; nil: it is unreadable. Excess is cut off.
func readAlive(data []byte) *board.Alive {
	a := new(board.Alive)
	if len(data) > 64<<10 || json.Unmarshal(data, a) != nil {
		return nil
	}
	if a.Name == "" || plan.Clean(a.Name, board.MostName, false) != a.Name || !board.IsBuild(a.Build) || a.Cores < 1 ||
		a.Cores > mostCores || len(a.Needs) > mostNeeds {
		return nil
	}
	for _, n := range a.Needs {
		if plan.Clean(n, 20, false) != n {
			return nil
		}
	}
	a.Doing = plan.Clean(a.Doing, board.MostName, false)
	a.Lacks = a.Lacks[:min(len(a.Lacks), mostLacks)]
	for i := range a.Lacks {
		a.Lacks[i] = plan.Clean(a.Lacks[i], 300, false)
	}
	return a
}

// heard records a sign of life; nil is one that was unreadable.
func (l *Lead) heard(a *board.Alive) {
	if a == nil {
		l.unheard++
		return
	}
	before := l.workers[a.Name]
	if before == nil && (a.Bye || len(l.workers) >= mostWorkers) {
		if !a.Bye {
			l.unheard++
		}
		return
	}
	if before == nil || a.Bye || a.Build != before.Build || a.Cores != before.Cores ||
		!slices.Equal(a.Needs, before.Needs) {
		clear(l.able)
	}
	if a.Bye {
		delete(l.workers, a.Name)
		return
	}
	l.workers[a.Name] = &worker{*a, time.Now()}
}

// cores counts the cores that can make units of a build with a need. Each step asks for it, and workers seldom
// change.
func (l *Lead) cores(build, needs string) (n int) {
	of := [2]string{build, needs}
	if n, known := l.able[of]; known {
		return n
	}
	defer func() { l.able[of] = n }()
	for _, w := range l.workers {
		if w.Build == build && slices.Contains(w.Needs, needs) {
			n += w.Cores
		}
	}
	return n
}

// waits reports whether a campaign's units have workers, and all of them are idle. If that lasts longer than a lease,
// the server's clock was set back: it counts the lease of units handed out before from a time in the future.
func (l *Lead) waits(r *running) bool {
	able := false
	needs := r.remainingNeeds()
	for _, w := range l.workers {
		if w.Build != r.c.Build ||
			!slices.ContainsFunc(needs, func(n string) bool { return slices.Contains(w.Needs, n) }) {
			continue
		}
		if w.Doing != "" {
			return false
		}
		able = true
	}
	return able
}

// offers lists the units that workers of a build can have.
func (l *Lead) offers(build string) []byte {
	var list []board.Offer
	for _, r := range l.all {
		if r.state.State != board.Running || r.c.Build != build {
			continue
		}
		needs := r.remainingNeeds()
		for i, s := range r.c.Searches {
			n := r.needOf[i]
			if slices.Contains(needs, n) && l.made[r.c.Build+"-"+n] &&
				!slices.ContainsFunc(list, func(o board.Offer) bool {
					return o.Needs == n
				}) {
				list = append(list, board.Offer{Needs: n, Blobs: s.Blobs()})
			}
		}
	}
	slices.SortFunc(list, func(a, b board.Offer) int { return strings.Compare(a.Needs, b.Needs) })
	data, _ := json.Marshal(list) // strings and numbers
	return data
}
