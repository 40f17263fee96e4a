package shrink

import (
	"kpsim/internal/search/rig"
	"kpsim/sched"
)

// retell handles a schedule that is still long after reduction. It searches for the violation in
// runs of strategies that switch rarely; the shortest run that shows it replaces the long one.
// Where each question was answered at random, dropping a deviation moves all that follow, so that
// hardly any can be dropped, and few other edits of the run are possible.
const (
	retellFrom  = 250 // deviations
	retellRuns  = 240
	retellShare = 3 // it may use one part in retellShare of the remaining questions
)

// retellBy lists the strategies, those with the fewest deviations first.
var retellBy = [...]string{"pct", "sticky", "arriving"}

// retell searches for a shorter run of the same violation if the current one is long.
func (s *shrinker) retell() (changed bool) {
	if len(s.cur.anchors) <= retellFrom {
		return false
	}
	return s.within(retellRuns, s.effort.questions/retellShare, func() bool {
		by, err := retellers(s.rig, s.seed)
		if err != nil {
			return false
		}
		for i := uint64(0); !s.effort.none() && len(s.cur.anchors) > retellFrom; i++ {
			changed = s.try(&numbered{by[i%uint64(len(by))], i / uint64(len(by))}, s.fewer) || changed
		}
		return changed
	})
}

// retellers makes the strategies.
func retellers(r *rig.Rig, seed uint64) (list []sched.Strategy, err error) {
	shape, _ := r.Survey(0)
	for _, name := range retellBy {
		one, err := sched.New(name, sched.Params{Seed: seed, Shape: shape})
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// A numbered strategy makes a single run of another strategy.
type numbered struct {
	sched.Strategy
	number uint64
}

// Begin implements sched.Strategy.
func (n *numbered) Begin(uint64) bool { return n.Strategy.Begin(n.number) }
