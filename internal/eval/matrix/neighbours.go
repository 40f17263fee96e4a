package matrix

import (
	"kpsim/properties"
)

// nearRuns is the number of runs near a neighbour's witness, at the offset where it was found, if
// it doesn't break the property unchanged.
const nearRuns = 100

// neighbours reports whether one cell's violations are tried on the other: they have the same
// row, or the same block, program and column.
func neighbours(a, b *searcher) bool {
	if a.row.Name == b.row.Name {
		return a.column != b.column
	}
	return a.row.Block.Name == b.row.Block.Name && a.row.program == b.row.program && a.column == b.column
}

// learn tries its neighbours' new finds on a cell: it replays their schedules at each offset, by
// labels, and searches near them. For a property that the cell is known to break it only tries
// shorter schedules, and doesn't search near them.
func (s *searcher) learn(fresh []*Broken) (err error) {
	var at [chunk]*Translator
	defer func() {
		for _, t := range at {
			if t != nil {
				t.Close()
			}
		}
	}()
	tried := make(map[string]bool)
	for _, b := range fresh {
		has := s.cell.broken(b.property)
		if has != nil && (len(b.Schedule) >= has.Length || len(b.After) > 0) || tried[b.text()] {
			continue
		}
		tried[b.text()] = true
		// the offset where it was found comes first, and again last for the search near it
		for i := range chunk + 1 {
			offset, near := (b.Offset+i)%chunk, 0
			if s.all[offset] == nil {
				continue
			}
			if i == chunk {
				near = nearRuns
			}
			if s.cancelled.Load() {
				return errCancelled
			}
			if near > 0 && has != nil {
				break
			}
			if at[offset] == nil {
				if at[offset], err = NewTranslator(s.spec(offset)); err != nil {
					return err
				}
			}
			if f := at[offset].Try(b.property, b.Schedule, near); f != nil {
				if err := s.keep(b.property, offset, f); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// text identifies a schedule.
func (b *Broken) text() string {
	s := b.Property
	for _, d := range b.Schedule {
		s += "\n" + d.String()
	}
	return s
}

// spread records at which other offsets the cell's own schedules break the same property
// unchanged.
func (s *searcher) spread() error {
	for _, offset := range s.offsets {
		var t *Translator
		for _, b := range s.cell.Broken {
			if len(b.Offsets) == len(s.offsets) || len(b.Schedule) == 0 || b.has(offset) {
				continue
			}
			if t == nil {
				var err error
				if t, err = NewTranslator(s.spec(offset)); err != nil {
					return err
				}
			}
			if t.Try(b.property, b.Schedule, nearRuns/2) != nil {
				b.at(offset)
			}
		}
		if t != nil {
			t.Close()
		}
	}
	return nil
}

func (b *Broken) has(offset int) bool {
	for _, o := range b.Offsets {
		if o == offset {
			return true
		}
	}
	return false
}

// restore prepares a printed cell for further search.
func (c *Cell) restore() {
	for _, b := range c.Broken {
		b.property, _ = properties.ByName(b.ID())
	}
}
