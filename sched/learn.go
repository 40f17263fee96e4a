package sched

import "kpsim/sim"

// A Learner is a strategy that learns from its runs. Its run number i is a function of
// the Params and of the runs before it only, so runs must be begun in order and each
// ended.
type Learner interface {
	Strategy

	// Learn gets, before End, the features of a run for which LearnerOf has returned
	// the learner. The features are numbers and may repeat. Learn must not keep the list.
	Learn(features []uint64)
}

// LearnerOf returns the learner that wants the features of the run that s has begun, or
// nil.
func LearnerOf(s Strategy) Learner {
	l, _ := unwrap(s).(Learner)
	if f, ok := l.(*Portfolio); ok && !f.learns() {
		return nil
	}
	return l
}

// novelty is a set of the features seen, by their hashes. Two that collide count as
// one.
type novelty struct{ seen [1 << 10]uint64 }

// add adds a feature, and reports whether it is new.
func (n *novelty) add(feature uint64) bool {
	h := sim.Mix(feature)
	w, bit := &n.seen[h>>54], uint64(1)<<(h&63)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	return true
}
