package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"kpsim/properties/harness"
	"kpsim/properties/scenario"
	"kpsim/sim"
)

// An Effort says how long a cell is searched.
type Effort struct {
	Deviations int    // a Never: all schedules of at most so many deviations
	Drawn      uint64 // and so many drawn ones, over all offsets
	States     uint64 // or, if it isn't 0, every schedule there is, if that takes no more than so many runs at an offset
	Seed       uint64
	Limit      uint64 // a cell that takes more schedules at an offset to run them all isn't decided; 0: none does
}

// Quick and Full are the efforts of kpsim matrix.
var (
	Quick = Effort{Deviations: 2, Drawn: 100_000, Seed: 1}
	Full  = Effort{Deviations: 3, Drawn: 100_000, States: 200_000, Seed: 1}
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

// first is how many schedules are drawn at each offset before all of two deviations
// are run: most of what can be broken is.
const first = 1000

// A Cell is what was found.
type Cell struct {
	Row     string `json:"row"`
	Preempt string `json:"preempt"`
	Fetch   string `json:"fetch"`
	Verdict string `json:"verdict"` // Never, Sometimes
	Search  string `json:"search"`  // tells it from any other search

	// Never.
	Deviations int    `json:"complete_deviations,omitempty"` // all schedules of at most so many were run, at each offset
	All        uint64 `json:"schedules_complete,omitempty"`  // which took so many runs: of those that come to the same one goes on
	Offsets    []int  `json:"complete_offsets,omitempty"`    // the offsets themselves; each other one is like one of these (alike)
	Complete   bool   `json:"complete,omitempty"`            // or every schedule there is was run, at each offset
	Drawn      uint64 `json:"schedules_drawn,omitempty"`
	Canary     string `json:"canary,omitempty"` // the row that the same search breaks
	Blind      bool   `json:"blind,omitempty"`  // it doesn't: then the Never says nothing

	// Sometimes.
	Property string           `json:"property,omitempty"` // ID and name
	Length   int              `json:"witness_deviations"` // of the shrunk witness
	Offset   int              `json:"offset"`
	Trace    string           `json:"trace,omitempty"`
	Witness  *harness.Witness `json:"-"`
}

// The verdicts.
const (
	Never     = "Never"
	Sometimes = "Sometimes"
)

// ID returns the ID of the property that was broken.
func (c *Cell) ID() string {
	id, _, _ := strings.Cut(c.Property, " ")
	return id
}

// errCancelled is returned for a cell that wasn't searched to its end.
var errCancelled = errors.New("interrupted")

// search fills a cell. What is cheap comes first.
func search(r *Row, c Column, e Effort, cancelled *atomic.Bool) (*Cell, error) {
	cell := &Cell{Row: r.Name, Preempt: c.Preempt, Fetch: c.Fetch, Search: r.key(c, e)}
	var all [chunk]*scenario.Scenario
	for i := range all {
		var err error
		if all[i], err = r.Scenario(c, i); err != nil {
			return nil, err
		}
	}
	s := &searcher{row: r, effort: e, cancelled: cancelled, cell: cell}
	soon := min(first, e.Drawn/chunk)
	steps := []step{{k: 1}, {runs: soon}, {k: min(2, e.Deviations)}, {k: every}, {k: e.Deviations}, {runs: e.Drawn/chunk - soon, seed: chunk}}
	for n, step := range steps {
		if slices.Contains(steps[:n], step) || step.k == every && e.States == 0 || step.k == 0 && step.runs == 0 { // the same again shows nothing
			continue
		}
		cell.All = 0
		own, err := s.apart(all[:], step.k)
		if err != nil {
			return nil, err
		}
		for _, i := range own {
			sc := all[i]
			var (
				found bool
				err   error
			)
			switch {
			case step.k == every:
				found, s.whole, err = s.every(sc, i)
			case step.k > 0:
				found, err = s.bounded(sc, i, step.k)
			default:
				found, err = s.drawn(sc, i, step)
			}
			if found || err != nil {
				return cell, err
			}
			if step.k == every && !s.whole {
				break
			}
		}
		if s.whole {
			cell.Verdict, cell.Complete, cell.Offsets, cell.Drawn = Never, true, own, 0
			return cell, nil
		}
		if step.k > 0 && step.k != every {
			s.all, cell.Offsets = cell.All, own
		}
	}
	cell.Verdict, cell.Deviations, cell.All = Never, e.Deviations, s.all
	return cell, nil
}

// searchDeeper draws more schedules for a cell, and nothing else.
func searchDeeper(r *Row, c Column, e Effort, cancelled *atomic.Bool) (*Cell, error) {
	s := &searcher{row: r, effort: e, cancelled: cancelled, cell: &Cell{Row: r.Name, Preempt: c.Preempt, Fetch: c.Fetch, Search: r.key(c, e)}}
	for offset := range chunk {
		sc, err := r.Scenario(c, offset)
		if err != nil {
			return nil, err
		}
		if found, err := s.drawn(sc, offset, step{runs: deeper * e.Drawn / chunk}); found || err != nil {
			return s.cell, err
		}
	}
	return s.cell, nil
}

// apart returns the offsets at which all schedules of at most k deviations are run:
// with more than one, of those that are alike the first. Whether they are was looked
// at in all schedules of at most one, and some at random.
func (s *searcher) apart(all []*scenario.Scenario, k int) (own []int, err error) {
	if k >= 2 && s.own != nil {
		return s.own, nil
	}
	var seen []sim.Hash
	for i, sc := range all {
		if k >= 2 {
			h, err := trailOf(s.spec(sc, i))
			if err != nil {
				return nil, err
			}
			if slices.Contains(seen, h) {
				continue
			}
			seen = append(seen, h)
		}
		own = append(own, i)
	}
	if k >= 2 {
		s.own = own
	}
	return own, nil
}

// A searcher searches one cell.
type searcher struct {
	row       *Row
	effort    Effort
	cancelled *atomic.Bool
	cell      *Cell
	all       uint64 // schedules of the last step that ran all of so many deviations
	whole     bool   // the last step has run every schedule there is
	own       []int  // offsets that aren't alike; nil: not known yet
}

// A step of a search is made at each offset before the next one.
type step struct {
	k    int    // run all schedules of at most so many deviations, or every one there is,
	runs uint64 // or draw so many,
	seed uint64 // others than with another seed: those drawn soon aren't drawn again
}

// every is the k of a step that bounds no deviations.
const every = 1 << 30

// spec is on one worker: that a search stops at what it finds first changes nothing
// from one time to the next.
func (s *searcher) spec(sc *scenario.Scenario, offset int) harness.Spec {
	return harness.Spec{Scenario: sc, Mutant: s.row.Mutant, Workers: 1, Seed: s.effort.Seed + uint64(offset), Cancelled: s.cancelled, Blind: true, Stop: true}
}

// bounded runs all schedules of at most k deviations.
func (s *searcher) bounded(sc *scenario.Scenario, offset, k int) (found bool, err error) {
	spec := s.spec(sc, offset)
	spec.Runs = s.effort.Limit
	found, complete, err := s.verify(harness.Proof{Spec: spec, Deviations: k}, offset)
	if err == nil && !found && !complete {
		err = fmt.Errorf("%s: not complete for %d deviations, nothing found: nothing is decided", sc.Name, k)
	}
	return found, err
}

// every runs every schedule there is, by states, if the effort is enough for that.
func (s *searcher) every(sc *scenario.Scenario, offset int) (found, complete bool, err error) {
	spec := s.spec(sc, offset)
	spec.Runs = s.effort.States
	return s.verify(harness.Proof{Spec: spec, Full: true, Uncounted: true}, offset)
}

func (s *searcher) verify(p harness.Proof, offset int) (found, complete bool, err error) {
	v, err := harness.Verify(p)
	switch {
	case err != nil:
		return false, false, err
	case v.Violations > 0:
		p.Blind = false
		if v, err = harness.Verify(p); err != nil {
			return false, false, err
		}
		if s.cancelled.Load() {
			return false, false, errCancelled
		}
		return true, false, s.take(v.Witnesses, offset)
	case s.cancelled.Load():
		return false, false, errCancelled
	}
	s.cell.All += v.Runs
	return false, v.Complete, nil
}

// drawn runs schedules of the portfolio.
func (s *searcher) drawn(sc *scenario.Scenario, offset int, draw step) (found bool, err error) {
	spec := s.spec(sc, offset)
	spec.Runs = draw.runs
	spec.Seed += draw.seed
	return s.explore(spec, offset, func(res *harness.Result) error {
		if res.Runs < draw.runs {
			return fmt.Errorf("%s: %d of %d schedules, nothing found: nothing is decided", sc.Name, res.Runs, draw.runs)
		}
		s.cell.Drawn += res.Runs
		return nil
	})
}

func (s *searcher) explore(spec harness.Spec, offset int, none func(*harness.Result) error) (found bool, err error) {
	res, err := harness.Explore(spec)
	switch {
	case s.cancelled.Load():
		return false, errCancelled
	case err != nil:
		return false, err
	case res.Violations == 0:
		return false, none(res)
	}
	spec.Blind = false
	if res, err = harness.Explore(spec); err != nil {
		return false, err
	}
	if s.cancelled.Load() {
		return false, errCancelled
	}
	return true, s.take(res.Witnesses, offset)
}

// take notes the smallest witness.
func (s *searcher) take(list []*harness.Witness, offset int) error {
	if len(list) == 0 {
		return fmt.Errorf("%s: something was broken, and there is no witness of it: nothing is decided", s.cell.Row)
	}
	w := list[0]
	for _, o := range list[1:] {
		if len(o.Schedule) < len(w.Schedule) {
			w = o
		}
	}
	c := s.cell
	c.Verdict, c.Property, c.Length, c.Offset, c.Witness = Sometimes, w.Property.ID+" "+w.Property.Name, len(w.Schedule), offset, w
	c.All, c.Drawn, c.Offsets = 0, 0, nil
	return nil
}
