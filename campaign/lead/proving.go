package lead

import (
	"kpsim/campaign/board"
	"kpsim/campaign/plan"
)

// A proving is a search that verifies scenarios, one per unit.
type proving struct {
	search  int
	of      *plan.Proofs
	made    bits
	next    int
	seconds float64
	aside   int
}

// take counts a result. It returns false if it was counted before.
func (v *proving) take(d *board.Done) bool {
	n := d.Unit.Job
	if d.Unit.Kind != plan.Proof || n < 0 || n >= len(v.of.Scenarios) || !v.made.add(n) {
		return false
	}
	if v.seconds += d.Took.Seconds(); d.Summary.Aside != "" {
		v.aside++
	}
	return true
}

func (v *proving) ended() bool { return v.made.n == len(v.of.Scenarios) }

// pick returns at most most units to be handed out next.
func (v *proving) pick(r *running, most int) (list []plan.Unit) {
	for ; v.next < len(v.of.Scenarios) && len(list) < most; v.next++ {
		u := plan.Unit{Campaign: r.c.ID, Search: v.search, Job: v.next, Kind: plan.Proof}
		if !v.made.has(v.next) && !r.out.has(u.Key()) {
			list = append(list, u)
		}
	}
	return list
}

// status fills in the search's progress.
func (v *proving) status(s *board.SearchStatus) {
	s.Units, s.Done = len(v.of.Scenarios), v.made.n
	for i, g := range v.of.Scenarios {
		done := 0
		if v.made.has(i) {
			done = 1
		}
		s.Scenarios = append(s.Scenarios,
			board.ScenarioStatus{Scenario: g.Name, Units: 1, Done: done, Runs: uint64(done), RunsPlanned: 1})
	}
}
