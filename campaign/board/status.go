package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/plan"
)

// A Status is what a coordinator tells of a campaign, some times a second. It has a bounded size,
// however many units there are.
type Status struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	State    string `json:"state"`
	Build    string `json:"build"`
	Priority int    `json:"priority"`

	Units int `json:"units"` // of which there may be more later: canaries, witnesses
	Done  int `json:"done"`
	Aside int `json:"set_aside"`
	Out   int `json:"out"` // handed out

	Runs        uint64  `json:"runs"`
	RunsPlanned uint64  `json:"runs_planned"`
	Points      uint64  `json:"points"`
	Violations  uint64  `json:"violations"`
	Programs    uint64  `json:"programs,omitempty"`
	CoreSeconds float64 `json:"core_seconds"`
	Seconds     float64 `json:"seconds"`      // since this coordinator has led it
	Rate        float64 `json:"runs_per_s"`   // of the last ten seconds or so
	Left        float64 `json:"seconds_left"` // by what is done; 0: not known

	Coverage *Coverage `json:"coverage,omitempty"` // of a fuzzing campaign

	Crew

	Searches []SearchStatus `json:"searches"`
	Finds    []FindStatus   `json:"finds"`    // the first ones
	Troubles []Trouble      `json:"troubles"` // the last ones

	Counts
}

// A Crew is the workers of a campaign.
type Crew struct {
	Workers     []Alive `json:"workers"` // some
	WorkerCount int     `json:"worker_count"`
	Unheard     uint64  `json:"unheard,omitempty"` // messages of workers that were left out: too many names, or no form
	Skipped     int     `json:"skipped,omitempty"` // results that aren't of the plan
	Cores       int     `json:"cores"`
}

// Counts say how much there is of what a Status has parts of.
type Counts struct {
	Causes       int `json:"causes"` // how many finds there are
	CausesNew    int `json:"causes_new"`
	TroubleCount int `json:"trouble_count"` // how often units have failed
}

// A Coverage is what drawn programs have shown.
type Coverage struct {
	Features  uint64  `json:"features"`
	Estimated uint64  `json:"estimated"`
	New       float64 `json:"new"` // the chance that one more program shows a new one
	Blocks    int     `json:"blocks,omitempty"`
	BlocksAll int     `json:"blocks_all,omitempty"`
	Kept      int     `json:"kept"`
}

// A SearchStatus is of one search.
type SearchStatus struct {
	Title     string           `json:"title"`
	Units     int              `json:"units"`
	Done      int              `json:"done"`
	Scenarios []ScenarioStatus `json:"scenarios"`
}

// A ScenarioStatus is of one scenario.
type ScenarioStatus struct {
	Scenario    string            `json:"scenario"`
	Units       int               `json:"units"`
	Done        int               `json:"done"`
	Runs        uint64            `json:"runs"`
	RunsPlanned uint64            `json:"runs_planned"`
	Violations  uint64            `json:"violations"`
	Broken      map[string]uint64 `json:"broken,omitempty"`
}

// A FindStatus is of a cause that the campaign has met.
type FindStatus struct {
	Cause
	New bool `json:"new"` // no campaign before has
}

// Alive is what a worker says of itself.
type Alive struct {
	Name  string   `json:"name"`
	Build string   `json:"build"`
	Cores int      `json:"cores"`
	Needs []string `json:"needs"`           // what it has
	Doing string   `json:"doing"`           // a unit
	Units uint64   `json:"units"`           // that it has made
	Lacks []string `json:"lacks,omitempty"` // what it could not get, and why
	Bye   bool     `json:"bye,omitempty"`   // it ends
}

// Tell publishes a campaign's status.
func (b *Board) Tell(ctx context.Context, s *Status) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = b.Status.Put(ctx, s.ID, data)
	return err
}

// An Offer is what a worker of a build may get units of.
type Offer struct {
	Needs string      `json:"needs"`
	Blobs []plan.Blob `json:"blobs"` // files to fetch; none for kpsim's own engine
}

// The subjects on which coordinators and workers speak without the board.
const (
	AliveSubject = "worker.alive" // a worker says that it is there
	NeedsSubject = "worker.needs" // it asks what there is to be had
	NewsSubject  = "news.needs"   // a coordinator says that there is something new
)

// Told returns a campaign's status as it was told last. ErrNone says that there is none yet.
func (b *Board) Told(ctx context.Context, id string) (*Status, error) {
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
