package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/plan"
)

// A Status is a campaign's progress, which its coordinator publishes several times a second. Its size is bounded,
// however many units there are.
type Status struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	State    string `json:"state"`
	Build    string `json:"build"`
	Priority int    `json:"priority"`

	Units     int `json:"units"` // known so far; canaries and witnesses may follow
	Done      int `json:"done"`
	SetAside  int `json:"set_aside"`
	HandedOut int `json:"out"` // handed out

	Runs        uint64  `json:"runs"`
	RunsPlanned uint64  `json:"runs_planned"`
	Points      uint64  `json:"points"`
	Violations  uint64  `json:"violations"`
	Programs    uint64  `json:"programs,omitempty"`
	CoreSeconds float64 `json:"core_seconds"`
	Seconds     float64 `json:"seconds"`      // since this coordinator has led it
	Rate        float64 `json:"runs_per_s"`   // of the last ten seconds or so
	SecondsLeft float64 `json:"seconds_left"` // an estimate from the finished units; 0: not known

	Coverage *Coverage `json:"coverage,omitempty"` // of a fuzzing campaign

	Crew

	Searches []SearchStatus `json:"searches"`
	Finds    []FindStatus   `json:"finds"`    // the first ones
	Troubles []Trouble      `json:"troubles"` // the last ones

	Counts
}

// A Crew is the workers of a campaign.
type Crew struct {
	Workers           []Heartbeat `json:"workers"` // some
	WorkerCount       int         `json:"worker_count"`
	DroppedHeartbeats uint64      `json:"unheard,omitempty"` // too many names, or unreadable
	Skipped           int         `json:"skipped,omitempty"` // results whose unit isn't in the plan
	Cores             int         `json:"cores"`
}

// Counts are the totals of lists that a Status has only in part.
type Counts struct {
	Causes       int `json:"causes"` // how many finds there are
	CausesNew    int `json:"causes_new"`
	TroubleCount int `json:"trouble_count"` // how often units have failed
}

// A Coverage is the features that drawn programs have shown.
type Coverage struct {
	Features  uint64  `json:"features"`
	Estimated uint64  `json:"estimated"`
	New       float64 `json:"new"` // the chance that one more program shows a new one
	Blocks    int     `json:"blocks,omitempty"`
	BlocksAll int     `json:"blocks_all,omitempty"`
	Kept      int     `json:"kept"`
}

// A SearchStatus is the progress of a search.
type SearchStatus struct {
	Title     string           `json:"title"`
	Units     int              `json:"units"`
	Done      int              `json:"done"`
	Scenarios []ScenarioStatus `json:"scenarios"`
}

// A ScenarioStatus is the progress of a scenario.
type ScenarioStatus struct {
	Scenario    string            `json:"scenario"`
	Units       int               `json:"units"`
	Done        int               `json:"done"`
	Runs        uint64            `json:"runs"`
	RunsPlanned uint64            `json:"runs_planned"`
	Violations  uint64            `json:"violations"`
	Broken      map[string]uint64 `json:"broken,omitempty"`
}

// A FindStatus is a cause that the campaign has found.
type FindStatus struct {
	Cause
	New bool `json:"new"` // no earlier campaign has found it
}

// A Heartbeat is what a worker reports about itself.
type Heartbeat struct {
	Name        string   `json:"name"`
	Build       string   `json:"build"`
	Cores       int      `json:"cores"`
	Needs       []string `json:"needs"`           // what it has
	CurrentUnit string   `json:"doing"`           // the unit being made
	Units       uint64   `json:"units"`           // number of units made
	Missing     []string `json:"lacks,omitempty"` // what it could not get, and why
	Leaving     bool     `json:"bye,omitempty"`   // the worker is ending
}

// PublishStatus publishes a campaign's status.
func (b *Board) PublishStatus(ctx context.Context, s *Status) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = b.Status.Put(ctx, s.ID, data)
	return err
}

// An Offer is a need of which workers of a build may get units.
type Offer struct {
	Needs string      `json:"needs"`
	Blobs []plan.Blob `json:"blobs"` // files to fetch; none for kpsim's own engine
}

// The subjects on which coordinators and workers speak without the board.
const (
	HeartbeatSubject = "worker.alive" // heartbeats of workers
	NeedsSubject     = "worker.needs" // a worker asks for offers
	NewsSubject      = "news.needs"   // a coordinator announces new offers
)

// LatestStatus returns the status of a campaign that was published last. ErrNone says that there is none yet.
func (b *Board) LatestStatus(ctx context.Context, id string) (*Status, error) {
	if !IsID(id) {
		return nil, ErrNone
	}
	e, err := b.Status.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	var s Status
	if json.Unmarshal(e.Value(), &s) != nil {
		return nil, fmt.Errorf("campaign %s: its status is damaged: %w", id, ErrDamaged)
	}
	return &s, nil
}
