package lead

import (
	"context"
	"slices"
	"strings"
	"time"

	"kpsim/campaign/board"
)

// A rate measures the growth of a number, over some seconds.
type rate struct {
	at []time.Time
	n  []uint64
}

const rateOver = 10 * time.Second

func (r *rate) sample(n uint64) float64 {
	t := time.Now()
	r.at, r.n = append(r.at, t), append(r.n, n)
	for len(r.at) > 2 && t.Sub(r.at[1]) > rateOver {
		r.at, r.n = r.at[1:], r.n[1:]
	}
	if took := t.Sub(r.at[0]).Seconds(); took > 0 && n >= r.n[0] {
		return float64(n-r.n[0]) / took
	}
	return 0
}

// The limits of a status.
const (
	maxWorkersListed   = 100
	maxScenariosListed = 400
	maxFindsListed     = 100
	maxTroublesListed  = 20
	maxLogBytes        = 8 << 10 // bytes of a trouble's log
)

// The limits of a find in a status or an announcement; its bucket has all of it.
const (
	mostMessage = 1 << 10
	mostStory   = 4 << 10
	causesMost  = 10_000 // causes of a campaign
)

// short cuts a story to the part that is printed.
func short(story []string) []string {
	size := 0
	for i, s := range story {
		if size += len(s); size > mostStory {
			return append(slices.Clone(story[:i]), "…")
		}
	}
	return story
}

// trouble records a trouble for the status.
func (r *running) trouble(t board.Trouble) {
	if len(t.Log) > maxLogBytes {
		t.Log = t.Log[:maxLogBytes] + "\n…"
	}
	r.troubleCount++
	if r.troubles = append(r.troubles, t); len(r.troubles) > maxTroublesListed {
		r.troubles = r.troubles[1:]
	}
}

// publishStatuses publishes the status of campaigns that have changed.
func (l *Lead) publishStatuses(ctx context.Context) {
	if l.leadRevision == 0 {
		return
	}
	for _, r := range l.campaigns {
		if !r.changed && r.state.State != board.Running {
			continue
		}
		r.changed = false
		short, cancel := context.WithTimeout(ctx, serverTimeout)
		_ = l.b.PublishStatus(short, l.status(r)) // if this fails, the next status has it, too
		cancel()
	}
}

// status returns a campaign's published figures.
func (l *Lead) status(r *running) *board.Status {
	t := &board.Status{
		ID: r.c.ID, Name: r.c.Name, State: r.state.State, Build: r.c.Build, Priority: r.state.Priority,
		HandedOut: r.out.len(),
		Runs:      r.total.Runs, Points: r.total.Points, Violations: r.total.Violations, Programs: r.total.Programs,
		CoreSeconds: r.seconds, Seconds: time.Since(l.began).Seconds(),
		Finds: r.finds[:min(len(r.finds), maxFindsListed)], Troubles: r.troubles,
		Crew:     board.Crew{Workers: []board.Heartbeat{}},
		Searches: []board.SearchStatus{},
	}
	t.Causes, t.TroubleCount, t.Skipped = len(r.finds), r.troubleCount, r.skipped
	t.DroppedHeartbeats = l.droppedHeartbeats
	for i := range r.finds {
		if r.finds[i].New {
			t.CausesNew++
		}
	}
	t.Rate = r.rate.sample(r.total.Runs + r.total.Programs)
	names := make([]string, 0, len(l.workers))
	for name, w := range l.workers {
		if w.Build == r.c.Build {
			names = append(names, name)
			t.WorkerCount++
			t.Cores += w.Cores
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxWorkersListed)] {
		t.Workers = append(t.Workers, l.workers[name].Heartbeat)
	}
	listed := 0
	for i, s := range r.c.Searches {
		one := board.SearchStatus{Title: strings.Join(s.Words(), " "), Scenarios: []board.ScenarioStatus{}}
		if f := r.fuzz[i]; f != nil {
			f.status(&one)
			t.Coverage = f.coverage
			t.SetAside += f.sum.setAside
		}
		if v := r.prove[i]; v != nil {
			v.status(&one)
			t.SetAside += v.setAside
		}
		for _, j := range r.jobs {
			if j.search != i {
				continue
			}
			planned := s.Scenarios[j.job].Runs
			one.Units, one.Done = one.Units+j.units, one.Done+j.made.n
			t.RunsPlanned += planned
			t.SetAside += j.setAside
			if listed++; listed <= maxScenariosListed {
				one.Scenarios = append(one.Scenarios, board.ScenarioStatus{
					Scenario: s.Scenarios[j.job].Name, Units: j.units, Done: j.made.n, Runs: j.sum.Runs,
					RunsPlanned: planned,
					Violations:  j.sum.Violations, Broken: j.sum.Broken,
				})
			}
		}
		t.Units, t.Done = t.Units+one.Units, t.Done+one.Done
		t.Searches = append(t.Searches, one)
	}
	if t.Done > 0 && t.Cores > 0 {
		t.SecondsLeft = r.seconds / float64(t.Done) * float64(t.Units-t.Done) / float64(t.Cores)
	}
	return t
}
