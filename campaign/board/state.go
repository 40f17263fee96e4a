package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/unit"
)

// What a campaign can be.
const (
	Starting  = "starting" // its files are on their way
	Running   = "running"
	Paused    = "paused"
	Cancelled = "cancelled"
	Ended     = "ended"
)

// A State is what is kept of a campaign in its bucket.
type State struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Build    string        `json:"build"`
	Priority int           `json:"priority"`
	State    string        `json:"state"`
	Against  string        `json:"against,omitempty"` // the campaign before of that name
	Began    time.Time     `json:"began"`             // by the clock of who started it; for people
	Shown    []ScenarioEnd `json:"shown,omitempty"`   // once it has ended
	Causes   []string      `json:"causes,omitempty"`  // of what was found
}

// A ScenarioEnd is what all runs of a scenario have shown, as far as campaigns are compared.
type ScenarioEnd struct {
	Search     int               `json:"search"`
	Scenario   string            `json:"scenario"`
	Runs       uint64            `json:"runs"`
	Violations uint64            `json:"violations"`
	Broken     map[string]uint64 `json:"broken,omitempty"`
	Seconds    float64           `json:"core_seconds"`
	Aside      int               `json:"set_aside,omitempty"` // units
}

// StateSubject is on what a message comes when a campaign's state changes.
const StateSubject = "$KV." + bucketState + ".>"

// Open reports whether there is more to be done.
func (s *State) Open() bool { return s.State == Running || s.State == Paused }

// States returns the states of all campaigns, by their ID.
func (b *Board) States(ctx context.Context) (list []*State, err error) {
	err = each(ctx, b.Campaigns, func(e jetstream.KeyValueEntry) error {
		s := new(State)
		if err := json.Unmarshal(e.Value(), s); err != nil {
			return fmt.Errorf("campaign %s: its state is damaged: %w", e.Key(), err)
		}
		list = append(list, s)
		return nil
	})
	slices.SortFunc(list, func(a, b *State) int { return strings.Compare(a.ID, b.ID) })
	return list, err
}

// each calls f for all that is in a bucket, which is one question however much there is.
func each(ctx context.Context, kv jetstream.KeyValue, f func(e jetstream.KeyValueEntry) error) error {
	w, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case e, more := <-w.Updates():
			if !more {
				return errors.New("the connection is closed")
			}
			if e == nil { // that was all
				return nil
			}
			if err := f(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// State returns a campaign's state and its revision. ErrNone says that there is none.
func (b *Board) State(ctx context.Context, id string) (*State, uint64, error) {
	e, err := b.Campaigns.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return nil, 0, fmt.Errorf("campaign %s: %w", id, ErrNone)
	}
	if err != nil {
		return nil, 0, err
	}
	var s State
	if err := json.Unmarshal(e.Value(), &s); err != nil {
		return nil, 0, fmt.Errorf("campaign %s: its state is damaged: %w", id, err)
	}
	return &s, e.Revision(), nil
}

// Change changes a campaign's state; what others change meanwhile isn't lost. If change returns
// false nothing is written.
func (b *Board) Change(ctx context.Context, id string, change func(s *State) bool) (*State, error) {
	var now *State
	err := Retry(ctx, func(ctx context.Context) error {
		s, revision, err := b.State(ctx, id)
		if err != nil {
			return err
		}
		if now = s; !change(s) {
			return nil
		}
		data, err := json.Marshal(s)
		if err != nil {
			return err
		}
		_, err = b.Campaigns.Update(ctx, id, data, revision)
		return err
	})
	return now, err
}

// Begin makes a campaign's state. An error says that there is one of that ID.
func (b *Board) Begin(ctx context.Context, s *State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = b.Campaigns.Create(ctx, s.ID, data)
	return err
}

// Forget removes what a campaign's units have shown. Its state stays, for those that come to be
// compared with it, and so do its finds.
func (b *Board) Forget(ctx context.Context, id string) error {
	err := b.done.Purge(ctx, jetstream.WithPurgeSubject("done."+id+".>"))
	if err == nil {
		err = b.trouble.Purge(ctx, jetstream.WithPurgeSubject("trouble."+id+".>"))
	}
	if err == nil {
		err = b.files.Delete(ctx, "campaign/"+id)
	}
	return err
}

// A Cause is a bucket of finds.
type Cause struct {
	unit.Find        // the smallest witness
	First     string `json:"first"` // the campaign that found it first
	Last      string `json:"last"`
	Build     string `json:"build"` // of the smallest witness
}

// Keep adds a find of a campaign to its bucket, and keeps the smaller witness. It returns the
// bucket as it is then.
func (b *Board) Keep(ctx context.Context, f *unit.Find, id, build string) (*Cause, error) {
	var now *Cause
	err := Retry(ctx, func(ctx context.Context) error {
		e, err := b.Finds.Get(ctx, f.Cause)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			now = &Cause{*f, id, id, build}
			data, err := json.Marshal(now)
			if err != nil {
				return err
			}
			_, err = b.Finds.Create(ctx, f.Cause, data)
			return err
		}
		if err != nil {
			return err
		}
		var c Cause
		if err := json.Unmarshal(e.Value(), &c); err != nil {
			return fmt.Errorf("find %s: it is damaged: %w", f.Cause, err)
		}
		was := c
		if f.Deviations < c.Deviations {
			c.Find, c.Build = *f, build
		}
		now, c.Last = &c, id
		if was.Last == c.Last && was.Deviations == c.Deviations {
			return nil
		}
		data, err := json.Marshal(&c)
		if err != nil {
			return err
		}
		_, err = b.Finds.Update(ctx, f.Cause, data, e.Revision())
		return err
	})
	return now, err
}

// Causes returns all buckets, by their names.
func (b *Board) Causes(ctx context.Context) (list []*Cause, err error) {
	err = each(ctx, b.Finds, func(e jetstream.KeyValueEntry) error {
		c := new(Cause)
		if err := json.Unmarshal(e.Value(), c); err != nil {
			return fmt.Errorf("find %s: it is damaged: %w", e.Key(), err)
		}
		list = append(list, c)
		return nil
	})
	slices.SortFunc(list, func(a, b *Cause) int { return strings.Compare(a.Cause, b.Cause) })
	return list, err
}
