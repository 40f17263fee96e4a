package matrix

import (
	"kpsim/properties"
)

// nearRuns is how many runs look around a neighbour's witness that doesn't break the property as
// it is, at the offset at which it was found.
const nearRuns = 100

// neighbours reports whether what breaks one cell is tried on the other: they are of one row, or
// of one block, program and column.
func neighbours(a, b *searcher) bool {
	if a.row.Name == b.row.Name {
		return a.column != b.column
	}
	return a.row.Block.Name == b.row.Block.Name && a.row.program == b.row.program && a.column == b.column
}

// learn tries on a cell what its neighbours have found since the last round: it plays their
// schedules at each offset, by labels, and looks around them. A property that the cell is known
// to break is tried only where that would be shorter, and not around.
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
		for i := range chunk + 1 { // where it was found first, and around it last
			offset, near := (b.Offset+i)%chunk, 0
			if i == chunk {
				offset, near = b.Offset, nearRuns
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

// text tells a schedule from others.
func (b *Broken) text() string {
	s := b.Property
	for _, d := range b.Schedule {
		s += "\n" + d.String()
	}
	return s
}

// spread notes at which other offsets the cell's own schedules break the same, as they are.
func (s *searcher) spread() error {
	for offset := range chunk {
		var t *Translator
		for _, b := range s.cell.Broken {
			if len(b.Offsets) == chunk || len(b.Schedule) == 0 || b.has(offset) {
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

// restore makes a cell that was printed one to go on from.
func (c *Cell) restore() {
	for _, b := range c.Broken {
		b.property, _ = properties.ByName(b.ID())
	}
}
