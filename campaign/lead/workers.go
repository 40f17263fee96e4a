package lead

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
)

// A worker is what was heard of one last.
type worker struct {
	board.Alive
	heard time.Time
}

// gone is after what silence a worker is taken for gone.
const gone = 15 * time.Second

// heard takes down what a worker says of itself.
func (l *Lead) heard(a *board.Alive) {
	before := l.workers[a.Name]
	if before == nil || a.Bye || a.Build != before.Build || a.Cores != before.Cores || !slices.Equal(a.Needs, before.Needs) {
		clear(l.able)
	}
	if a.Bye {
		delete(l.workers, a.Name)
		return
	}
	l.workers[a.Name] = &worker{*a, time.Now()}
}

// cores counts those that can make units of a build and with what they need. It is asked at each
// step, and workers seldom change.
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

// waits reports whether there are workers for a campaign's units, and all have nothing to do. For
// longer than a lease that is so when the server's clock was set back: it counts the lease of what
// was handed out before from a time that is still to come.
func (l *Lead) waits(r *running) bool {
	able := false
	needs := r.needs()
	for _, w := range l.workers {
		if w.Build != r.c.Build || !slices.ContainsFunc(needs, func(n string) bool { return slices.Contains(w.Needs, n) }) {
			continue
		}
		if w.Doing != "" {
			return false
		}
		able = true
	}
	return able
}

// An Offer is what a worker of a build may get units of.
type Offer struct {
	Needs string      `json:"needs"`
	Blobs []plan.Blob `json:"blobs"` // files to fetch; none for kpsim's own engine
}

// offers lists what there is for workers of a build.
func (l *Lead) offers(build string) []byte {
	var list []Offer
	for _, r := range l.all {
		if r.state.State != board.Running || r.c.Build != build {
			continue
		}
		needs := r.needs()
		for i, s := range r.c.Searches {
			n := r.need[i]
			if slices.Contains(needs, n) && l.made[r.c.Build+"-"+n] && !slices.ContainsFunc(list, func(o Offer) bool { return o.Needs == n }) {
				list = append(list, Offer{n, s.Blobs()})
			}
		}
	}
	slices.SortFunc(list, func(a, b Offer) int { return strings.Compare(a.Needs, b.Needs) })
	data, _ := json.Marshal(list) // strings and numbers
	return data
}
