package unit

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"kpsim/campaign/plan"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
)

// A Result is a unit's result.
type Result struct {
	Data    []byte  // the same bytes on any computer
	Summary Summary // what a coordinator needs of it
	Took    time.Duration
}

// A Summary has the counts of a result, taken from its data (Check).
type Summary struct {
	Runs        uint64            `json:"runs,omitempty"`
	Points      uint64            `json:"points,omitempty"`
	Violations  uint64            `json:"violations,omitempty"`
	Broken      map[string]uint64 `json:"broken,omitempty"`
	Found       bool              `json:"found,omitempty"` // the canary
	Programs    uint64            `json:"programs,omitempty"`
	AsideReason string            `json:"aside,omitempty"` // why the unit was set aside
	Finds       []Find            `json:"finds,omitempty"`
}

// ErrStopped says that Do was stopped; it isn't the unit's fault.
var ErrStopped = errors.New("stopped")

// A Source has the results of earlier units.
type Source interface {
	// Parts returns the parts that a witness is taken from: those of one unit of runs, or all of the scenario if From
	// is plan.All.
	Parts(witness *plan.Unit) ([]explore.Part, error)

	// Island returns the result of an island of a fuzzing campaign.
	Island(campaign string, search, round, number int) ([]byte, error)
}

// A Maker makes units, one after another. One goroutine uses it. It keeps the machine of the last scenario, because
// the next unit is likely to need it.
type Maker struct {
	Sessions *Sessions // shared by the process; needed for fuzzing
	seat     *explore.Seat
	seatFor  string // the scenario of the seat: campaign, search and job
}

// Close frees the machine.
func (b *Maker) Close() {
	if b.seat != nil {
		b.seat.Close()
	}
	b.seat, b.seatFor = nil, ""
}

// Do makes a unit; data has the results that it depends on. Errors other than ErrStopped, and panics of the
// simulator (returned as *parallel.Crash), are the unit's fault: they recur on any computer.
func (b *Maker) Do(c *plan.Campaign, u *plan.Unit, data Source, stop *atomic.Bool) (r Result, err error) {
	began := time.Now()
	defer func() {
		if v := recover(); v != nil {
			b.seat, b.seatFor = nil, "" // its state is unknown
			err = crashOf(v)
		}
		r.Took = time.Since(began)
	}()
	poison(u)
	if u.Search < 0 || u.Search >= len(c.Searches) {
		return r, fmt.Errorf("there is no search %d", u.Search)
	}
	s := c.Searches[u.Search]
	switch {
	case s.Fuzz != nil && u.Kind == plan.Island:
		return b.island(s, u, data, stop)
	case s.Fuzz != nil && u.Kind == plan.Witness && u.Claim != nil:
		return b.claimWitness(s, u)
	case s.Verify != nil && u.Kind == plan.Proof && u.Job >= 0 && u.Job < len(s.Verify.Scenarios):
		return b.proof(s, u, stop)
	case u.Job < 0 || u.Job >= len(s.Scenarios):
		return r, fmt.Errorf("there is no scenario %d", u.Job)
	}
	switch u.Kind {
	case plan.Runs, plan.Canary:
		if u.From < 0 || u.To > s.Shards(u.Job) || u.From >= u.To {
			return r, fmt.Errorf("there are no shards %d to %d", u.From, u.To-1)
		}
		if u.Kind == plan.Canary {
			return b.canary(s, u, stop)
		}
		return b.runs(s, u, stop)
	case plan.Witness:
		return b.witness(s, u, data, stop)
	}
	return r, fmt.Errorf("this program makes no units of kind %q", u.Kind)
}

func crashOf(v any) *parallel.Crash {
	if c, ok := v.(*parallel.Crash); ok {
		return c
	}
	return &parallel.Crash{Value: v, Stack: stackOf(v)}
}

// runs makes a unit's shards.
func (b *Maker) runs(s *plan.Search, u *plan.Unit, stop *atomic.Bool) (r Result, err error) {
	of := fmt.Sprintf("%s.%d.%d", u.Campaign, u.Search, u.Job)
	if b.seatFor != of {
		b.Close()
		spec, err := s.Spec(u.Job)
		if err != nil {
			return r, err
		}
		spec.Workers, spec.Cancelled = 1, stop
		if b.seat, err = explore.NewSeat(spec); err != nil {
			return r, err
		}
		b.seatFor = of
	}
	var parts []explore.Part
	for i := u.From; i < u.To; i++ {
		p, err := b.seat.Part(i)
		if err != nil {
			return r, err
		}
		parts = append(parts, p)
		r.Summary.add(&p)
	}
	if stop.Load() {
		return r, ErrStopped
	}
	r.Data, err = json.Marshal(parts)
	return r, err
}

// add counts a part.
func (s *Summary) add(p *explore.Part) {
	s.Runs, s.Points, s.Violations = s.Runs+p.Runs, s.Points+p.Counts.Points, s.Violations+p.Violations
	for name, n := range p.Broken {
		if s.Broken == nil {
			s.Broken = make(map[string]uint64)
		}
		s.Broken[name] += n
	}
}

// canary looks for the scenario's canary in a unit's shards.
func (b *Maker) canary(s *plan.Search, u *plan.Unit, stop *atomic.Bool) (r Result, err error) {
	spec, err := s.Spec(u.Job)
	if err != nil {
		return r, err
	}
	spec.Mutant, spec.Stop, spec.Blind, spec.Workers, spec.Cancelled = s.Canary[u.Job], true, true, 1, stop
	seat, err := explore.NewSeat(spec)
	if err != nil {
		return r, err
	}
	defer seat.Close()
	for i := u.From; i < u.To && !r.Summary.Found; i++ {
		p, err := seat.Part(i)
		if err != nil {
			return r, err
		}
		r.Summary.Runs, r.Summary.Points = r.Summary.Runs+p.Runs, r.Summary.Points+p.Counts.Points
		r.Summary.Found = p.Violations > 0
	}
	if stop.Load() {
		return r, ErrStopped
	}
	r.Data, err = json.Marshal(r.Summary.Found)
	return r, err
}
