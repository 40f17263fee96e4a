package lead

import (
	"kpsim/campaign/board"
	"kpsim/campaign/plan"
)

// A proving is a search that verifies scenarios, one per unit.
type proving struct {
	search   int
	proofs   *plan.Proofs
	made     bits
	next     int
	seconds  float64
	setAside int
}

// take counts a result. It returns false if it was counted before.
func (v *proving) take(d *board.Done) bool {
	n := d.Unit.Job
	if d.Unit.Kind != plan.Proof || n < 0 || n >= len(v.proofs.Scenarios) || !v.made.add(n) {
		return false
	}
	if v.seconds += d.Took.Seconds(); d.Summary.AsideReason != "" {
		v.setAside++
	}
	return true
}

func (v *proving) ended() bool { return v.made.n == len(v.proofs.Scenarios) }

// pick returns up to limit units to hand out next.
func (v *proving) pick(r *running, limit int) (list []plan.Unit) {
	for ; v.next < len(v.proofs.Scenarios) && len(list) < limit; v.next++ {
		u := plan.Unit{Campaign: r.c.ID, Search: v.search, Job: v.next, Kind: plan.Proof}
		if !v.made.has(v.next) && !r.out.has(u.Key()) {
			list = append(list, u)
		}
	}
	return list
}

// status fills in the search's progress.
func (v *proving) status(s *board.SearchStatus) {
	s.Units, s.Done = len(v.proofs.Scenarios), v.made.n
	for i, g := range v.proofs.Scenarios {
		done := 0
		if v.made.has(i) {
			done = 1
		}
		s.Scenarios = append(s.Scenarios,
			board.ScenarioStatus{Scenario: g.Name, Units: 1, Done: done, Runs: uint64(done), RunsPlanned: 1})
	}
}
