package proof

import (
	"slices"

	"kpsim/sched"
)

// Keep implements sched.Stateful. Numbers that are skipped keep nothing: no run comes back to
// their questions.
func (s *states) Keep(number int) {
	end := s.keptBefore(number)
	for len(s.kept) < number {
		s.kept = append(s.kept, end)
	}
	s.reads = s.r.Machine.State().AppendRead(s.reads[:end.reads])
	s.kept = append(s.kept[:number], keptState{len(s.writes), len(s.reads)})
}

// keptBefore returns where the data kept for the states before a number end.
func (s *states) keptBefore(number int) keptState {
	if n := min(number, len(s.kept)); n > 0 {
		return s.kept[n-1]
	}
	return keptState{}
}

// Kept implements sched.Portable.
func (s *states) Kept(number int) *sched.Kept {
	before, k := s.keptBefore(number), s.kept[number]
	kept := &sched.Kept{Reads: slices.Clone(s.reads[before.reads:k.reads])}
	if n := k.writes - before.writes; n > 0 {
		kept.Writes = make([]sched.Write, n)
		for i, w := range s.writes[before.writes:k.writes] {
			kept.Writes[i] = sched.Write{Object: s.objects[w.object], By: w.by}
		}
	}
	return kept
}

// Restore implements sched.Portable.
func (s *states) Restore(number int, kept *sched.Kept) {
	end := s.keptBefore(number)
	for len(s.kept) < number {
		s.kept = append(s.kept, end)
	}
	s.reads = append(s.reads[:end.reads], kept.Reads...)
	s.writes = s.writes[:end.writes]
	for i := range kept.Writes {
		s.writes = append(s.writes, write{s.numberOf(kept.Writes[i].Object), kept.Writes[i].By})
	}
	s.kept = append(s.kept[:number], keptState{len(s.writes), len(s.reads)})
}

// Begin implements sched.Stateful.
func (s *states) Begin() {
	s.on = false
	s.r.Machine.Footprint().ObserveLate()
}

// Back implements sched.Stateful.
func (s *states) Back(number int) {
	s.on = true
	clear(s.wrote)
	if number >= 0 {
		k := s.kept[number]
		s.r.Machine.State().SetRead(s.reads[s.keptBefore(number).reads:k.reads])
		s.kept, s.writes = s.kept[:number+1], s.writes[:k.writes]
		s.r.Machine.Footprint().ObserveNow()
	} else {
		s.kept, s.writes = s.kept[:0], s.writes[:0]
	}
	for _, w := range s.writes {
		s.wrote[w.object] = w.by
	}
	for c := range s.r.Machine.CPUs() {
		s.lookAtOwn(c)
	}
}
