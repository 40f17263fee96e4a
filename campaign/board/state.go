package board

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"kpsim/campaign/plan"
	"kpsim/campaign/unit"
)

// The states of a campaign.
const (
	Starting  = "starting" // its files are being sent
	Running   = "running"
	Paused    = "paused"
	Cancelled = "cancelled"
	Ended     = "ended"
	Damaged   = "damaged" // its state is unreadable
)

// A State is the record of a campaign in its bucket.
type State struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Build        string        `json:"build"`
	Plan         string        `json:"plan,omitempty"` // the digest of its list; "": not stored yet, or forgotten
	Priority     int           `json:"priority"`
	State        string        `json:"state"`
	Previous     string        `json:"against,omitempty"` // the previous campaign of that name
	Began        time.Time     `json:"began"`             // by the clock of the computer that started it; for people
	ScenarioEnds []ScenarioEnd `json:"shown,omitempty"`   // once the campaign has ended
	Causes       []string      `json:"causes,omitempty"`  // of its finds
}

// A ScenarioEnd sums up all runs of a scenario, as far as campaigns are compared.
type ScenarioEnd struct {
	Search     int               `json:"search"`
	Scenario   string            `json:"scenario"`
	Runs       uint64            `json:"runs"`
	Violations uint64            `json:"violations"`
	Broken     map[string]uint64 `json:"broken,omitempty"`
	Seconds    float64           `json:"core_seconds"`
	SetAside   int               `json:"set_aside,omitempty"` // units
}

// StateSubject gets a message when a campaign's state changes.
const StateSubject = "$KV." + bucketState + ".>"

// Open reports whether the campaign has work left.
func (s *State) Open() bool { return s.State == Running || s.State == Paused }

// MostPriority is the highest priority; its negative is the lowest.
const MostPriority = 100

// idForm is the form of a campaign's ID: its name, and a number.
var idForm = regexp.MustCompile(`^([a-z0-9](?:[a-z0-9_]|-[a-z0-9_])*)-([1-9][0-9]{0,8})$`)

// IsName reports whether a campaign may have this name.
func IsName(name string) bool { return len(name) <= 40 && idForm.MatchString(name+"-1") }

// IsID reports whether a text has the form of a campaign's ID.
func IsID(id string) bool {
	m := idForm.FindStringSubmatch(id)
	return m != nil && len(m[1]) <= 40
}

// Number returns the number of a campaign among those of its name.
func Number(id string) int {
	m := idForm.FindStringSubmatch(id)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[2])
	return n
}

// readState reads and checks the state of a campaign.
func readState(id string, data []byte) (*State, error) {
	s := new(State)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("campaign %s: its state is damaged: %w", plan.Clean(id, 60, false), ErrDamaged)
	}
	known := slices.Contains([]string{Starting, Running, Paused, Cancelled, Ended}, s.State)
	if s.ID != id || !IsID(id) || s.Name+fmt.Sprintf("-%d", Number(id)) != id || !known || !IsBuild(s.Build) ||
		s.Priority > MostPriority || s.Priority < -MostPriority || s.Plan != "" && !IsDigest(s.Plan) ||
		s.Previous != "" && !IsID(s.Previous) {
		return nil, fmt.Errorf("campaign %s: its state is damaged: %w", plan.Clean(id, 60, false), ErrDamaged)
	}
	return s, nil
}

var buildForm = regexp.MustCompile(`^[0-9a-z]{1,40}$`)

// IsBuild reports whether a text may name a build.
func IsBuild(s string) bool { return buildForm.MatchString(s) }

// States returns the states of all campaigns, by ID. A campaign with an unreadable state is returned as damaged.
func (b *Board) States(ctx context.Context) (list []*State, err error) {
	err = each(ctx, b.Campaigns, func(e jetstream.KeyValueEntry) error {
		s, err := readState(e.Key(), e.Value())
		if err != nil {
			s = &State{ID: plan.Clean(e.Key(), 60, false), State: Damaged}
		}
		list = append(list, s)
		return nil
	})
	slices.SortFunc(list, func(a, b *State) int { return strings.Compare(a.ID, b.ID) })
	return list, err
}

// each calls f for all entries of a bucket. It takes one request, however many there are.
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
			if e == nil { // the last one
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

// State returns a campaign's state and its revision, or ErrNone.
func (b *Board) State(ctx context.Context, id string) (*State, uint64, error) {
	if !IsID(id) { // the server closes a connection that names a long subject
		return nil, 0, fmt.Errorf("campaign %s: %w", plan.Clean(id, 60, false), ErrNone)
	}
	e, err := b.Campaigns.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, fmt.Errorf("campaign %s: %w", id, ErrNone)
	}
	if err != nil {
		return nil, 0, err
	}
	s, err := readState(id, e.Value())
	return s, e.Revision(), err
}

// Change changes a campaign's state without losing concurrent changes. If change returns false, nothing is written.
func (b *Board) Change(ctx context.Context, id string, change func(s *State) bool) (*State, error) {
	var current *State
	err := Retry(ctx, func(ctx context.Context) error {
		s, revision, err := b.State(ctx, id)
		if err != nil {
			return err
		}
		if current = s; !change(s) {
			return nil
		}
		data, err := json.Marshal(s)
		if err != nil {
			return err
		}
		_, err = b.Campaigns.Update(ctx, id, data, revision)
		return err
	})
	return current, err
}

// CreateState stores a new campaign's state. It is an error if the ID is taken.
func (b *Board) CreateState(ctx context.Context, s *State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = b.Campaigns.Create(ctx, s.ID, data)
	return err
}

// Forget removes the results of a campaign's units, and its plan. Its state stays, so that later campaigns can be
// compared with it, and so do its finds.
func (b *Board) Forget(ctx context.Context, id string) error {
	s, _, err := b.State(ctx, id)
	if err != nil {
		return err
	}
	for stream, subject := range map[jetstream.Stream]string{b.done: "done.", b.large: "large.",
		b.trouble: "trouble."} {
		if err := stream.Purge(ctx, jetstream.WithPurgeSubject(subject+id+".>")); err != nil {
			return err
		}
	}
	if s.Plan != "" { // its first piece contains the campaign's ID; other pieces may belong to other plans, too
		subjects := []string{"piece." + s.Plan}
		if list, err := b.Piece(ctx, s.Plan); err == nil && len(list) >= sha256.Size {
			subjects = append(subjects, fmt.Sprintf("piece.%x", list[:sha256.Size]))
		}
		for _, subject := range subjects {
			if err := b.pieces.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
				return err
			}
		}
	}
	_, err = b.Change(ctx, id, func(s *State) bool { s.Plan = ""; return true })
	return err
}

// A Cause is a bucket of finds.
type Cause struct {
	unit.Find        // the smallest witness
	First     string `json:"first"` // the campaign that found it first
	Last      string `json:"last"`
	Build     string `json:"build"` // of the smallest witness
}

// AddFind adds a find of a campaign to its bucket, keeping the smaller witness. It returns the bucket afterwards.
func (b *Board) AddFind(ctx context.Context, f *unit.Find, id, build string) (*Cause, error) {
	var current *Cause
	err := Retry(ctx, func(ctx context.Context) error {
		e, err := b.Finds.Get(ctx, f.Cause)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			current = &Cause{*f, id, id, build}
			data, err := json.Marshal(current)
			if err != nil {
				return err
			}
			_, err = b.Finds.Create(ctx, f.Cause, data)
			return err
		}
		if err != nil {
			return err
		}
		c, err := ReadCause(e.Key(), e.Value())
		if err != nil { // an unreadable bucket is replaced
			c = &Cause{*f, id, "", build}
		}
		before := *c
		if f.Deviations < c.Deviations {
			c.Find, c.Build = *f, build
		}
		current, c.Last = c, id
		if before.Last == c.Last && before.Deviations == c.Deviations {
			return nil
		}
		data, err := json.Marshal(c)
		if err != nil {
			return err
		}
		_, err = b.Finds.Update(ctx, f.Cause, data, e.Revision())
		return err
	})
	return current, err
}

// ReadCause reads a bucket of finds.
func ReadCause(key string, data []byte) (*Cause, error) {
	c := new(Cause)
	if json.Unmarshal(data, c) != nil || c.Cause != key || c.Check() != nil {
		return nil, fmt.Errorf("find %s: %w", plan.Clean(key, 80, false), ErrDamaged)
	}
	return c, nil
}

// Causes returns all buckets, by name, and how many are unreadable.
func (b *Board) Causes(ctx context.Context) (list []*Cause, damaged int, err error) {
	err = each(ctx, b.Finds, func(e jetstream.KeyValueEntry) error {
		c, err := ReadCause(e.Key(), e.Value())
		if err != nil {
			damaged++
			return nil
		}
		list = append(list, c)
		return nil
	})
	slices.SortFunc(list, func(a, b *Cause) int { return strings.Compare(a.Cause, b.Cause) })
	return list, damaged, err
}
