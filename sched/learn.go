package sched

import "kpsim/sim"

// A Learner is a strategy that goes by what its runs have shown. Its run number
// i is a function of the Params and of the runs before it, which are therefore
// begun in order and each ended, and nothing else.
type Learner interface {
	Strategy

	// Learn is told, before End, what a run has shown for which LearnerOf has
	// returned the learner: numbers that stand for features, some of them more than
	// once. The list isn't kept.
	Learn(features []uint64)
}

// LearnerOf returns the learner that is to be told what the run shows that s has
// begun, nil if there is none.
func LearnerOf(s Strategy) Learner {
	l, _ := plain(s).(Learner)
	if f, ok := l.(*Portfolio); ok && !f.learns() {
		return nil
	}
	return l
}

// ObserverOf returns who must be told of the steps of the run that s has begun,
// nil if s needs nobody to be.
func ObserverOf(s Strategy) sim.Observer {
	s = plain(s)
	if f, ok := s.(*Portfolio); ok {
		s = f.Member()
	}
	if g, ok := s.(*Guided); ok && !g.watches {
		return nil
	}
	o, _ := s.(sim.Observer)
	return o
}

// plain takes the wrappers off a strategy.
func plain(s Strategy) Strategy {
	for {
		switch w := s.(type) {
		case *Recorder:
			s = w.Strategy
		case NoHold:
			s = w.Strategy
		case *Labeller:
			s = w.Strategy
		case *Surveyor:
			s = w.Strategy
		default:
			return s
		}
	}
}

// novelty is the set of features that were seen, by their hashes: two that
// clash are taken for one.
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
