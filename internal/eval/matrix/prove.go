package matrix

import (
	"fmt"
	"slices"
)

// prove runs every schedule for the Nevers of a row and preemption model. The most permissive
// fetch model comes first: a property that isn't broken under it can't be broken under the
// others. If that takes too long, the full effort tries the others too.
func prove(list []*searcher) error {
	for k, s := range slices.Backward(list) {
		if s == nil || s.known || s.cell.Verdict != Never || s.cell.Complete {
			continue
		}
		if err := s.whole(); err != nil {
			return err
		}
		for _, o := range list[:k] {
			if s.cell.Complete && o != nil && !o.known && o.cell.Verdict == Never {
				o.certified(s)
			}
		}
		if s.effort.Deviations <= Quick.Deviations {
			break
		}
	}
	return nil
}

// certified gives a cell the certificate of another whose fetch model allows more.
func (s *searcher) certified(o *searcher) {
	c := s.cell
	c.Complete, c.Offsets, c.All, c.Drawn, c.By = true, o.cell.Offsets, o.cell.All, 0, o.column.Fetch
}

// whole runs every schedule at each offset that isn't like another. The last offsets come first:
// most of their stores are split in two, so they take longest.
func (s *searcher) whole() error {
	if s.effort.States == 0 {
		return nil
	}
	own, err := s.apart()
	if err != nil {
		return err
	}
	all := uint64(0)
	for _, offset := range slices.Backward(own) {
		v, err := s.every(offset)
		if err != nil {
			return err
		}
		if s.cell.Verdict == Sometimes || !v.Complete {
			return nil
		}
		all += v.Runs
	}
	c := s.cell
	c.Complete, c.Offsets, c.All, c.Drawn = true, own, all, 0
	return nil
}

// rest completes the search of a Never whose schedules are too many: all of bounded deviations,
// and the remaining random ones.
func (s *searcher) rest() error {
	own, err := s.apart()
	if err != nil {
		return err
	}
	all, drawn := uint64(0), s.cell.Drawn
	for _, offset := range own {
		v, err := s.bounded(offset, s.effort.Deviations, s.effort.Limit)
		if err != nil {
			return err
		}
		if s.cell.Verdict == Sometimes {
			return nil
		}
		if !v.Complete {
			return fmt.Errorf("%s: not complete for %d deviations, nothing found: nothing is decided",
				s.all[offset].Name, s.effort.Deviations)
		}
		all += v.Runs
	}
	if more := s.share() - drawn/uint64(len(s.offsets)); more > 0 {
		for _, offset := range s.offsets {
			if err := s.draw(offset, more, chunk); err != nil || s.cell.Verdict == Sometimes {
				return err
			}
		}
	}
	c := s.cell
	c.Deviations, c.All, c.Offsets = s.effort.Deviations, all, own
	return nil
}

// deepest is the number of deviations to which a Never is searched at the offset of a Sometimes
// of its row. deepestRuns is the maximum number of schedules for that; if they don't suffice, one
// deviation less counts.
const (
	deepest     = 4
	deepestRuns = 150_000
)

// deeper searches a Never for more deviations at an offset.
func (s *searcher) deeper(offset int) error {
	s.deep = append(s.deep, offset)
	v, err := s.bounded(offset, s.effort.Deeper, deepestRuns)
	if err != nil || s.cell.Verdict == Sometimes {
		return err
	}
	if d := s.cell.Deeper; v.Done > s.cell.Deviations && (d == nil || v.Done > d.Deviations) {
		s.cell.Deeper = &Deeper{Deviations: v.Done, Offset: offset, All: v.Runs}
	}
	return nil
}

// manyMore is the factor of additional random schedules for an impossible Never.
const manyMore = 20

// drawMore only draws more schedules for a cell.
func (s *searcher) drawMore() error {
	drawn := s.cell.Drawn
	for _, offset := range s.offsets {
		if err := s.draw(offset, manyMore*s.share(), 0); err != nil || s.cell.Verdict == Sometimes {
			return err
		}
	}
	s.cell.Drawn = drawn
	return nil
}
