package lead

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"kpsim/campaign/board"
	"kpsim/campaign/plan"
)

// A worker is a worker's last heartbeat.
type worker struct {
	board.Heartbeat
	heard time.Time
}

// silenceLimit is the silence after which a worker is considered lost.
const silenceLimit = 15 * time.Second

// The limits of what a worker reports about itself. All of it may be false.
const (
	mostWorkers = 1 << 14 // remembered at once
	mostCores   = 1024
	mostNeeds   = 64
	mostLacks   = 8
)

// readHeartbeat reads a worker's heartbeat; nil: it is unreadable. Excess is cut off.
func readHeartbeat(data []byte) *board.Heartbeat {
	a := new(board.Heartbeat)
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
	a.CurrentUnit = plan.Clean(a.CurrentUnit, board.MostName, false)
	a.Missing = a.Missing[:min(len(a.Missing), mostLacks)]
	for i := range a.Missing {
		a.Missing[i] = plan.Clean(a.Missing[i], 300, false)
	}
	return a
}

// recordHeartbeat records a heartbeat; nil is an unreadable one.
func (l *Lead) recordHeartbeat(a *board.Heartbeat) {
	if a == nil {
		l.droppedHeartbeats++
		return
	}
	before := l.workers[a.Name]
	if before == nil && (a.Leaving || len(l.workers) >= mostWorkers) {
		if !a.Leaving {
			l.droppedHeartbeats++
		}
		return
	}
	if before == nil || a.Leaving || a.Build != before.Build || a.Cores != before.Cores ||
		!slices.Equal(a.Needs, before.Needs) {
		clear(l.coresFor)
	}
	if a.Leaving {
		delete(l.workers, a.Name)
		return
	}
	l.workers[a.Name] = &worker{*a, time.Now()}
}

// cores counts the cores that can make units of a build with a need. The result is cached, because
// each step asks for it and workers seldom change.
func (l *Lead) cores(build, needs string) (n int) {
	key := [2]string{build, needs}
	if n, known := l.coresFor[key]; known {
		return n
	}
	defer func() { l.coresFor[key] = n }()
	for _, w := range l.workers {
		if w.Build == build && slices.Contains(w.Needs, needs) {
			n += w.Cores
		}
	}
	return n
}

// allIdle reports whether a campaign's units have workers, and all of them are idle. If that lasts longer than a lease,
// the server's clock was set back: leases of units handed out before then end too late.
func (l *Lead) allIdle(r *running) bool {
	anyWorker := false
	needs := r.remainingNeeds()
	for _, w := range l.workers {
		if w.Build != r.c.Build ||
			!slices.ContainsFunc(needs, func(n string) bool { return slices.Contains(w.Needs, n) }) {
			continue
		}
		if w.CurrentUnit != "" {
			return false
		}
		anyWorker = true
	}
	return anyWorker
}

// offers lists the units that workers of a build can have.
func (l *Lead) offers(build string) []byte {
	var list []board.Offer
	for _, r := range l.campaigns {
		if r.state.State != board.Running || r.c.Build != build {
			continue
		}
		needs := r.remainingNeeds()
		for i, s := range r.c.Searches {
			n := r.needOf[i]
			if slices.Contains(needs, n) && l.consumers[r.c.Build+"-"+n] &&
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
