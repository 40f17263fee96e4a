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

// An Effort limits the search of a cell.
type Effort struct {
	Deviations int    // a Never: all schedules of at most this many deviations were run
	Drawn      uint64 // and this many random ones, over all offsets
	States     uint64 // if not 0: every schedule, if that takes at most this many runs at an offset
	// an unproven Never in a row with a Sometimes: all schedules of at most this many deviations
	// at its offset
	Deeper     int
	Seed       uint64
	Memory     smp.Ordering
	FRED       bool // events return without serialising
	SyncCopies bool // and the engine synchronizes every CPU after writing a copy
	// maximum number of schedules for all of them at an offset; a cell that needs more is
	// undecided; 0: no limit
	Limit uint64
}

// Quick and Full are the efforts of kpsim matrix.
var (
	Quick = Effort{Deviations: 2, Drawn: 40_000, States: 25_000, Deeper: deepest, Seed: 1}
	Full  = Effort{Deviations: 3, Drawn: 40_000, States: 200_000, Deeper: deepest, Seed: 1}
)

// Check returns an error for an invalid effort.
func (e Effort) Check() error {
	switch {
	case e.Deviations < 1:
		return fmt.Errorf("--deviations: %d proves nothing; give at least 1", e.Deviations)
	case e.Drawn < chunk:
		return fmt.Errorf("--drawn: %d is fewer than one at each offset; give at least %d", e.Drawn, chunk)
	}
	return nil
}

// CheckSubject returns an error for settings that the machines of a subject don't have.
func (e Effort) CheckSubject(of *Subject) error {
	if of == &Others && (e.Memory != smp.SC || e.FRED || e.SyncCopies) {
		return errors.New("--memory, --fred and --sync-copies are of x86: leave them out, or name rows of x86")
	}
	return nil
}

// first is the number of random schedules at each offset in the first step, which find most
// violations.
const first = 1000

// A Cell is the result for one cell.
type Cell struct {
	Row     string `json:"row"`
	Preempt string `json:"preempt"`
	Fetch   string `json:"fetch"`
	Verdict string `json:"verdict"` // Never, Sometimes
	Search  string `json:"search"`  // identifies the search

	// Never.
	// all schedules of at most this many deviations were run, at each offset
	Deviations int `json:"complete_deviations,omitempty"`
	// number of runs that took; of runs that reach the same state, one continues
	All uint64 `json:"schedules_complete,omitempty"`
	// offsets where they were run; every other offset is like one of these (alike)
	Offsets  []int `json:"complete_offsets,omitempty"`
	Complete bool  `json:"complete,omitempty"` // every schedule was run, at each offset
	// under this fetch model, which allows everything that the cell's does
	By string `json:"complete_by,omitempty"`
	// the deeper search, if a cell of the row is Sometimes
	Deeper *Deeper `json:"deeper,omitempty"`
	Drawn  uint64  `json:"schedules_drawn,omitempty"`
	Canary string  `json:"canary,omitempty"` // the row that the same search must break
	Blind  bool    `json:"blind,omitempty"`  // it doesn't, so the Never is meaningless

	// Broken lists the violations of a Sometimes, in the order of the catalogue.
	Broken []*Broken `json:"broken,omitempty"`
}

// Deeper is a search of more deviations at one offset.
type Deeper struct {
	Deviations int    `json:"deviations"` // all schedules of at most this many deviations were run
	Offset     int    `json:"offset"`
	All        uint64 `json:"schedules"`
}

// A Broken is a property that a cell breaks.
type Broken struct {
	Property string   `json:"property"` // ID and name
	Length   int      `json:"witness_deviations"`
	Offset   int      `json:"offset"`          // of the witness
	Offsets  []int    `json:"offsets"`         // all offsets at which it is known to be broken
	After    []string `json:"after,omitempty"` // IDs of properties that the witness breaks before
	Trace    string   `json:"trace,omitempty"`
	// the schedule for the cell's program, longer than the witness
	Schedule []traces.Deviation `json:"schedule,omitempty"`
	Witness  *shrink.Witness    `json:"-"`

	property *properties.Property
}

// The verdicts.
const (
	Never     = "Never"
	Sometimes = "Sometimes"
)

// ID returns the ID of the property.
func (b *Broken) ID() string {
	id, _, _ := strings.Cut(b.Property, " ")
	return id
}

// errCancelled is returned for a cell whose search was interrupted.
var errCancelled = errors.New("interrupted")

// A searcher searches one cell.
type searcher struct {
	row       *Row
	column    Column
	effort    Effort
	cancelled *atomic.Bool
	cell      *Cell
	known     bool // it was searched before; only neighbours can add finds

	offsets []int                     // of the row's program
	all     [chunk]*scenario.Scenario // by offset
	trails  []sim.Hash                // of each of offsets; nil: not computed yet
	fresh   []*Broken                 // finds that the neighbours haven't tried
	deep    []int                     // offsets at which Deeper was tried
}

func newSearcher(r *Row, c Column, e Effort, cancelled *atomic.Bool) (*searcher, error) {
	s := &searcher{row: r, column: c, effort: e, cancelled: cancelled, offsets: r.offsets()}
	s.cell = &Cell{Row: r.Name, Preempt: c.Preempt, Fetch: c.Fetch, Verdict: Never, Search: r.key(c, e)}
	for _, i := range s.offsets {
		var err error
		if s.all[i], err = r.Scenario(c, i); err != nil {
			return nil, err
		}
		s.all[i].Machine.Memory, s.all[i].Machine.FRED = e.Memory, e.FRED
		s.all[i].Machine.SyncCopies = e.SyncCopies
	}
	return s, nil
}

// spec uses one worker, so that a search doesn't depend on the others.
func (s *searcher) spec(offset int) explore.Spec {
	return explore.Spec{
		Scenario: s.all[offset], Mutant: s.row.Mutant, Workers: 1, Seed: s.effort.Seed + uint64(offset),
		Cancelled: s.cancelled, Blind: true,
		Past: properties.Every &^ properties.Lost,
	}
}

// own is the first search of a cell: some schedules at each offset and, if they break something,
// all schedules of two deviations at the offset where that took the fewest.
func (s *searcher) own() error {
	for _, offset := range s.offsets {
		if err := s.draw(offset, min(first, s.share()), 0); err != nil {
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

// share is how many schedules are drawn at each offset.
func (s *searcher) share() uint64 { return s.effort.Drawn / uint64(len(s.offsets)) }

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

// bounded runs all schedules of at most k deviations, and returns the number of runs; limit, if
// not 0, is the maximum.
func (s *searcher) bounded(offset, k int, limit uint64) (v *proof.Verified, err error) {
	p := proof.Proof{Spec: s.spec(offset), Deviations: k}
	p.Runs = limit
	return s.verify(p, offset)
}

// every runs every schedule, by states, if the effort allows it.
func (s *searcher) every(offset int) (*proof.Verified, error) {
	p := proof.Proof{Spec: s.spec(offset), Full: true}
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

// take records the finds of a search at an offset. The best run of each property is shrunk: one
// that breaks nothing before, then the shortest.
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

// keep shrinks a run, and records it unless the cell has a shorter one.
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

// better reports whether b is a better witness than o.
func (b *Broken) better(o *Broken) bool {
	if (len(b.After) == 0) != (len(o.After) == 0) {
		return len(b.After) == 0
	}
	return b.Length < o.Length
}

// at records an offset.
func (b *Broken) at(offset int) {
	if i, there := slices.BinarySearch(b.Offsets, offset); !there {
		b.Offsets = slices.Insert(b.Offsets, i, offset)
	}
}

// broken returns the cell's violation of a property, or nil.
func (c *Cell) broken(q *properties.Property) *Broken {
	for _, b := range c.Broken {
		if b.property == q {
			return b
		}
	}
	return nil
}

// apart returns the offsets at which all schedules are run: the first of each set of alike ones.
// Likeness is checked in all schedules of at most one deviation, and in some random ones.
func (s *searcher) apart() (own []int, err error) {
	if s.trails == nil {
		for _, offset := range s.offsets {
			h, err := trailOf(s.spec(offset))
			if err != nil {
				return nil, err
			}
			s.trails = append(s.trails, h)
		}
	}
	for i, h := range s.trails {
		if slices.Index(s.trails, h) == i {
			own = append(own, s.offsets[i])
		}
	}
	return own, nil
}
