package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"kpsim/internal/scenario"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/proof"
	"kpsim/internal/search/shrink"
	"kpsim/properties"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/traces"
)

// An Effort says how long a cell is searched.
type Effort struct {
	Deviations int    // a Never: all schedules of at most so many deviations
	Drawn      uint64 // and so many drawn ones, over all offsets
	// or, if it isn't 0, every schedule there is, if that takes no more than so many runs at an offset
	States uint64
	// a Never that isn't proven, of whose row a cell is Sometimes: all of at most so many at the offset of that
	Deeper     int
	Seed       uint64
	Memory     smp.Ordering
	FRED       bool   // events return without serialising
	SyncCopies bool   // and the engine synchronizes every CPU after it has written a copy
	Limit      uint64 // a cell that takes more schedules at an offset to run them all isn't decided; 0: none does
}

// Quick and Full are the efforts of kpsim matrix.
var (
	Quick = Effort{Deviations: 2, Drawn: 40_000, States: 25_000, Deeper: deepest, Seed: 1}
	Full  = Effort{Deviations: 3, Drawn: 40_000, States: 200_000, Deeper: deepest, Seed: 1}
)

// Check says what is wrong with an effort.
func (e Effort) Check() error {
	switch {
	case e.Deviations < 1:
		return fmt.Errorf("--deviations: %d proves nothing; give at least 1", e.Deviations)
	case e.Drawn < chunk:
		return fmt.Errorf("--drawn: %d is fewer than one at each offset; give at least %d", e.Drawn, chunk)
	}
	return nil
}

// first is how many schedules are drawn at each offset before anything else: most of what can
// be broken is.
const first = 1000

// A Cell is what was found.
type Cell struct {
	Row     string `json:"row"`
	Preempt string `json:"preempt"`
	Fetch   string `json:"fetch"`
	Verdict string `json:"verdict"` // Never, Sometimes
	Search  string `json:"search"`  // tells it from any other search

	// Never.
	// all schedules of at most so many were run, at each offset
	Deviations int `json:"complete_deviations,omitempty"`
	// which took so many runs: of those that reach the same state one goes on
	All uint64 `json:"schedules_complete,omitempty"`
	// the offsets themselves; each other one is like one of these (alike)
	Offsets  []int `json:"complete_offsets,omitempty"`
	Complete bool  `json:"complete,omitempty"` // or every schedule there is was run, at each offset
	// of this model of fetch, which allows all that the cell's does
	By     string  `json:"complete_by,omitempty"`
	Deeper *Deeper `json:"deeper,omitempty"` // and this, since a cell of the row is Sometimes
	Drawn  uint64  `json:"schedules_drawn,omitempty"`
	Canary string  `json:"canary,omitempty"` // the row that the same search breaks
	Blind  bool    `json:"blind,omitempty"`  // it doesn't: then the Never says nothing

	// Sometimes: what was broken, in the order of the catalogue.
	Broken []*Broken `json:"broken,omitempty"`
}

// Deeper is a search of more deviations at one offset.
type Deeper struct {
	Deviations int    `json:"deviations"` // all schedules of at most so many were run
	Offset     int    `json:"offset"`
	All        uint64 `json:"schedules"`
}

// A Broken is a property that a cell breaks.
type Broken struct {
	Property string   `json:"property"` // ID and name
	Length   int      `json:"witness_deviations"`
	Offset   int      `json:"offset"`          // of the witness
	Offsets  []int    `json:"offsets"`         // all at which it is known to be broken
	After    []string `json:"after,omitempty"` // IDs of what the witness breaks before
	Trace    string   `json:"trace,omitempty"`
	// of a run of the cell's program, less short than the witness
	Schedule []traces.Deviation `json:"schedule,omitempty"`
	Witness  *shrink.Witness    `json:"-"`

	property *properties.Property
}

// The verdicts.
const (
	Never     = "Never"
	Sometimes = "Sometimes"
)

// lost are the properties after which a CPU may execute garbage: a run ends at them, for what
// it would break then says nothing of the patching. It goes on after the others.
var lost = properties.SetOf(&properties.WholeInstructions, &properties.NoStartInside, &properties.OwnedBreakpoint,
	&properties.NoUseAfterFree, &properties.NoOops, &properties.Progress)

// ID returns the ID of the property.
func (b *Broken) ID() string {
	id, _, _ := strings.Cut(b.Property, " ")
	return id
}

// errCancelled is returned for a cell that wasn't searched to its end.
var errCancelled = errors.New("interrupted")

// A searcher searches one cell.
type searcher struct {
	row       *Row
	column    Column
	effort    Effort
	cancelled *atomic.Bool
	cell      *Cell
	known     bool // it was searched before, and has no more to be found than by its neighbours

	all    [chunk]*scenario.Scenario
	trails []sim.Hash // of each offset; nil: not known yet
	fresh  []*Broken  // what its neighbours haven't learnt yet
	deep   []int      // offsets at which Deeper was tried
}

func newSearcher(r *Row, c Column, e Effort, cancelled *atomic.Bool) (*searcher, error) {
	s := &searcher{row: r, column: c, effort: e, cancelled: cancelled}
	s.cell = &Cell{Row: r.Name, Preempt: c.Preempt, Fetch: c.Fetch, Verdict: Never, Search: r.key(c, e)}
	for i := range s.all {
		var err error
		if s.all[i], err = r.Scenario(c, i); err != nil {
			return nil, err
		}
		s.all[i].Machine.Memory, s.all[i].Machine.FRED = e.Memory, e.FRED
		s.all[i].Machine.SyncCopies = e.SyncCopies
	}
	return s, nil
}

// spec is on one worker: a search has the same result whatever else is
// searched.
func (s *searcher) spec(offset int) explore.Spec {
	return explore.Spec{
		Scenario: s.all[offset], Mutant: s.row.Mutant, Workers: 1, Seed: s.effort.Seed + uint64(offset),
		Cancelled: s.cancelled, Blind: true,
		Past: properties.Every &^ lost,
	}
}

// own is the first search of a cell: some schedules at each offset and, if they break something,
// all of two deviations at the offset where that took the fewest.
func (s *searcher) own() error {
	for offset := range chunk {
		if err := s.draw(offset, min(first, s.effort.Drawn/chunk), 0); err != nil {
			return err
		}
	}
	if s.cell.Verdict == Never {
		return nil
	}
	best := slices.MinFunc(s.cell.Broken, func(a, b *Broken) int { return cmp.Compare(a.Length, b.Length) })
	p := proof.Proof{Spec: s.spec(best.Offset), Deviations: min(2, s.effort.Deviations), All: true}
	p.Runs = s.effort.Limit
	_, err := s.verify(p, best.Offset)
	return err
}

// draw runs schedules of the portfolio.
func (s *searcher) draw(offset int, runs, seed uint64) error {
	spec := s.spec(offset)
	spec.Runs = runs
	spec.Seed += seed
	res, err := explore.Run(spec)
	switch {
	case s.cancelled.Load():
		return errCancelled
	case err != nil:
		return err
	case res.Runs < runs:
		return fmt.Errorf("%s: %d of %d schedules: nothing is decided", spec.Scenario.Name, res.Runs, runs)
	}
	if s.cell.Verdict == Never {
		s.cell.Drawn += res.Runs
	}
	return s.take(offset, res.Found())
}

// bounded runs all schedules of at most k deviations, and says how many that took, of limit at
// most if that isn't 0.
func (s *searcher) bounded(offset, k int, limit uint64) (v *proof.Verified, err error) {
	p := proof.Proof{Spec: s.spec(offset), Deviations: k}
	p.Runs = limit
	return s.verify(p, offset)
}

// every runs every schedule there is, by states, if the effort is enough for that.
func (s *searcher) every(offset int) (*proof.Verified, error) {
	p := proof.Proof{Spec: s.spec(offset), Full: true, Uncounted: true}
	p.Runs = s.effort.States
	return s.verify(p, offset)
}

func (s *searcher) verify(p proof.Proof, offset int) (*proof.Verified, error) {
	v, err := proof.Verify(p)
	switch {
	case s.cancelled.Load():
		return nil, errCancelled
	case err != nil:
		return nil, err
	}
	return v, s.take(offset, v.Found)
}

// take notes what a search has found at an offset. The best run of each property is shrunk:
// one that breaks nothing before, and then the shortest.
func (s *searcher) take(offset int, found []shrink.Found) error {
	for _, q := range properties.All {
		var best *shrink.Found
		for i := range found {
			if f := &found[i]; f.Property == q.Name && (best == nil || f.Better(best)) {
				best = f
			}
		}
		if best == nil {
			continue
		}
		b := s.cell.broken(q)
		if b != nil {
			b.at(offset)
			if len(best.Choices) >= b.Length || len(best.After) > 0 && len(b.After) == 0 {
				continue
			}
		}
		if err := s.keep(q, offset, best); err != nil {
			return err
		}
	}
	return nil
}

// keep shrinks a run, and makes it the cell's if it has none that is shorter.
func (s *searcher) keep(q *properties.Property, offset int, f *shrink.Found) error {
	spec := s.spec(offset)
	list, err := shrink.Witnesses(spec.Origin(), []shrink.Found{*f})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: %s was broken, and there is no witness of it: nothing is decided", s.all[offset].Name,
			q.ID)
	}
	w := list[0]
	b := &Broken{Property: q.ID + " " + q.Name, property: q, Length: len(w.Schedule), Offset: offset,
		Offsets: []int{offset}, Witness: w, Schedule: w.Reduced}
	for _, p := range w.After {
		b.After = append(b.After, p.ID)
	}
	if was := s.cell.broken(q); was != nil {
		if !b.better(was) {
			return nil
		}
		b.Offsets = was.Offsets
		b.at(offset)
		s.cell.Broken = slices.DeleteFunc(s.cell.Broken, func(o *Broken) bool { return o == was })
		s.fresh = slices.DeleteFunc(s.fresh, func(o *Broken) bool { return o == was })
	}
	c := s.cell
	c.Broken = append(c.Broken, b)
	slices.SortFunc(c.Broken, func(a, b *Broken) int {
		return cmp.Compare(slices.Index(properties.All, a.property), slices.Index(properties.All, b.property))
	})
	s.fresh = append(s.fresh, b)
	if c.Complete {
		return fmt.Errorf("%s: %s is broken, and every schedule was run without that: one of the two is wrong",
			s.all[offset].Name, q.ID)
	}
	c.Verdict = Sometimes
	c.Deviations, c.All, c.Drawn, c.Offsets, c.Deeper = 0, 0, 0, nil, nil
	return nil
}

// better reports whether b is the better witness of the two.
func (b *Broken) better(o *Broken) bool {
	if (len(b.After) == 0) != (len(o.After) == 0) {
		return len(b.After) == 0
	}
	return b.Length < o.Length
}

// at notes an offset.
func (b *Broken) at(offset int) {
	if i, there := slices.BinarySearch(b.Offsets, offset); !there {
		b.Offsets = slices.Insert(b.Offsets, i, offset)
	}
}

// broken returns what the cell breaks of a property, nil if nothing.
func (c *Cell) broken(q *properties.Property) *Broken {
	for _, b := range c.Broken {
		if b.property == q {
			return b
		}
	}
	return nil
}

// apart returns the offsets at which all schedules are run: of those that are alike the first.
// Whether they are was looked at in all schedules of at most one deviation, and some at random.
func (s *searcher) apart() (own []int, err error) {
	if s.trails == nil {
		for offset := range chunk {
			h, err := trailOf(s.spec(offset))
			if err != nil {
				return nil, err
			}
			s.trails = append(s.trails, h)
		}
	}
	for i, h := range s.trails {
		if slices.Index(s.trails, h) == i {
			own = append(own, i)
		}
	}
	return own, nil
}
