package sched

import "kpsim/sim"

// A Stateful is a machine that can hash its state, and return to a state of an earlier
// run. States begins a run with Begin or with Back(-1). After Begin each question
// before Back is answered as in an earlier run.
type Stateful interface {
	// State returns a digest of the state at a Step question. If two digests are equal,
	// the possible continuations are the same.
	State() (hi, lo uint64)

	// Keep saves, under a number from 0, the part of the state that a run with the same
	// answers doesn't restore.
	Keep(number int)

	// Begin announces that the next run will call Back.
	Begin()

	// Back reports that the run has reached the question where Keep(number) was called; -1 is the start of a run.
	// Steps from here on are observed.
	Back(number int)
}

// States runs all schedules, but continues only one of those that reach the same state.
// It has to observe the steps.
//
// A run can go different ways at points: at the first question; right after a step that
// another mover's step may conflict with, or after which the set of moves has changed;
// and at questions other than Step. That loses nothing: a step that conflicts with no
// other mover's commutes with all of them, so it may as well come right before its
// mover's next step that does conflict. Conflicts are learnt from the runs themselves;
// when a new one appears, the search must begin again (Grew).
//
// At each point except those within a step it asks for the state of the machine. If
// that state was seen, the run ends: all continuations have been run, or will be. If
// not, the run goes on by default, and each other answer is left to a later run.
//
// With Sleep fewer runs reach a state that was seen (states_sleep.go). With Bound runs
// deviate a limited number of times (states_bound.go).
//
// The search is depth-first. So a state that is reached again on the way from itself
// shows a schedule without an end (Circles). That run goes round until the machine's
// budget is spent: it doesn't end.
type States struct {
	m         Stateful
	seen      map[lanes]seen
	points    []statePoint // where the current run can go different ways
	conflicts conflicts
	next      uint64

	walk
	sleeping

	bounded bool // see Bound
	most    int
	lead    func() uint64
	left    int // deviations left in this run

	every  int // see Check
	merged func(first, again Way)
	first  []Way

	firstBytes int // the memory that they take

	helper *Helper // the helper whose runs these are, nil if they are the search's own

	choices int // choices of the first run, and
	shallow int // how many of its points no run has gone back before

	complete bool
	all      Ways
	stats    StatesStats
}

// A walk is what this run has done so far.
type walk struct {
	at      int  // known points passed
	from    int  // points[from:] are observed; -1: all
	back    bool // steps are being observed
	played  bool // the last known point was passed
	visible bool
	mover   sim.Mover // the mover that goes on until it makes a visible step
	moves   sim.Moves
	over    bool
	pruned  bool
	leads   Ways // if pruned: how many schedules continue from there
	circle  int  // the run goes round points[circle:]; -1 if it doesn't
	round   int  // the next of them
}

// sleeping is what Sleep needs.
type sleeping struct {
	sleeps  bool    // see Sleep
	beds    []bed   // by point, for points that are states
	last    int     // the last state that the run has reached; -1 for none
	since   stretch // the steps since then
	arrived bool    // the stretch has ended
}

// StatesStats are the counts of a search so far.
type StatesStats struct {
	Runs    uint64
	Pruned  uint64 // among Runs, those that reached a state that was seen
	Circles uint64 // among Pruned, those that reached it on the way from itself
	States  int
	Depth   int    // points of the longest way
	Checked uint64 // pairs of ways that Check's function was called with
	Ways    Ways   // the number of schedules; 0 unless complete
}

// seen is what is known about a state.
type seen struct {
	ways   Ways   // how many schedules continue from it
	asleep uint64 // with Sleep: the movers asleep whenever it was reached
	run    uint64 // with Bound: the last run that reached it, and
	left   int32  // with how many deviations left
	way    int32  // its number in first, plus one; 0 if it isn't checked
	open   bool   // it is on the way of the last run; ways isn't known yet
}

type statePoint struct {
	seq   uint64
	n     int
	pick  int
	kind  sim.Kind
	given bool      // there is no choice: n is pick + 1
	state lanes     // Step: of this point
	mover sim.Mover // Step: the mover that goes on by the answer
	ways  Ways      // schedules that continue, by the answers that were tried
}

// isState reports whether the machine has a state at the point.
func (p *statePoint) isState() bool { return p.kind == sim.Step && !p.given }

// NewStates returns a search of the machine's states.
func NewStates(m Stateful) *States {
	return &States{m: m, seen: make(map[lanes]seen)}
}

// Learn records what a step has touched in a run of another strategy. The more
// conflicts are known in advance, the less often the search begins again.
func (s *States) Learn(mv sim.Mover, touched []sim.Touch) { s.conflicts.step(mv, touched) }

// Grew reports whether, since the last call, a step that was passed over has turned out
// to conflict with another mover's.
func (s *States) Grew() bool {
	grew := s.conflicts.grew
	s.conflicts.grew = false
	return grew
}

// Restart begins the search again, because a run has shown that steps touch more than
// was known.
func (s *States) Restart() {
	clear(s.seen)
	s.first, s.firstBytes = s.first[:0], 0
	s.points = s.points[:0]
	s.complete, s.all, s.stats = false, Ways{}, StatesStats{}
}

// Complete reports whether all schedules were run.
func (s *States) Complete() bool { return s.complete }

// Stats returns the counts so far.
func (s *States) Stats() StatesStats {
	t := s.stats
	t.States, t.Ways = len(s.seen), s.all
	return t
}

// stateBytes is the memory of a state in seen, including a map's overhead.
const stateBytes = 128

// Bytes estimates how much memory the search takes. It is counted, so it is the same on
// every computer. The memory of the current run has a bound of its own.
func (s *States) Bytes() int { return len(s.seen)*stateBytes + s.firstBytes }

// Progress estimates, in millionths, how much of the known tree was run: all branches
// of a point count the same.
func (s *States) Progress() uint64 {
	const whole = 1_000_000
	if s.complete {
		return whole
	}
	done, share := uint64(0), uint64(whole)<<20
	for i := range s.points {
		p := &s.points[i]
		tried, of := p.pick, p.n
		if s.sleeps && p.isState() {
			tried, of = s.beds[i].triedOf()
		}
		share /= uint64(of)
		done += share * uint64(tried)
	}
	return done >> 20
}

func (s *States) String() string { return "states" }

// Begin implements Strategy. Runs are taken in order.
func (s *States) Begin(i uint64) bool {
	if s.complete {
		return false
	}
	if i != s.next {
		sim.Bug("states: run %d was begun when run %d was next", i, s.next)
	}
	s.next++
	s.at, s.visible, s.over, s.pruned, s.circle = 0, true, false, false, -1
	s.moves, s.mover = sim.Moves{}, sim.NoMover
	s.left = s.most
	s.setOff(-1)
	s.played = len(s.points) == 0
	s.from = len(s.points) - 1
	for s.from >= 0 && !s.points[s.from].isState() {
		s.from--
	}
	if s.back = s.from < 0; s.back {
		s.m.Back(-1)
	} else {
		s.m.Begin()
	}
	return true
}

// End implements Strategy.
func (s *States) End(uint64) {
	if !s.played {
		sim.Bug("states: the run ended before question %d, which it had", s.points[s.at].seq)
	}
	s.stats.Runs++
	ways := one
	if s.pruned {
		s.stats.Pruned++
		ways = s.leads
	}
	s.stats.Depth = max(s.stats.Depth, len(s.points))
	if s.stats.Runs == 1 {
		s.choices, s.shallow = choicesOf(s.points), len(s.points)
	}
	if s.sleeps {
		s.ended()
	}
	for n := len(s.points); n > 0; n-- {
		p := &s.points[n-1]
		p.ways = p.ways.add(ways)
		more := false
		if s.sleeps && p.isState() {
			more = s.retire(n - 1)
		} else {
			p.pick++
			more = p.pick < p.n
		}
		if more {
			s.points, s.shallow = s.points[:n], min(s.shallow, n)
			return
		}
		if ways = p.ways; p.isState() {
			was := s.seen[p.state]
			was.ways, was.open = ways, false
			s.seen[p.state] = was
		}
	}
	s.points = s.points[:0]
	s.complete = true
	if !s.sleeps && !s.bounded {
		s.all = ways
	}
}

// Stepped implements sim.Observer.
func (s *States) Stepped(mv sim.Mover, touched []sim.Touch) {
	if len(touched) > 0 && s.conflicts.step(mv, touched) {
		s.visible = true
	}
	if s.sleeps && !s.arrived {
		s.note(mv, touched)
	}
}

// Choose implements sim.Chooser.
func (s *States) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind == sim.Buffer {
		return holdsStores, 0
	}
	if s.over {
		return enough(p), 0
	}
	if !s.played {
		return s.replay(p)
	}
	if s.circle >= 0 {
		return s.goRound(p), 0
	}
	if p.Kind != sim.Step {
		if s.stays(p) {
			s.pruned, s.leads, s.circle, s.round = true, Ways{}, len(s.points)-1, len(s.points)-1
			s.stats.Circles++
			return s.goRound(p), 0
		}
		if !s.bounded || s.left > 0 {
			s.points = append(s.points, statePoint{seq: p.Seq, n: p.N, kind: p.Kind})
		}
		return 0, 0
	}
	if !s.visible && p.Moves == s.moves { // its mover goes on
		return s.goOn(p), 0
	}
	s.visible, s.moves, s.mover = false, p.Moves, p.First
	if s.sleeps && s.helper == nil {
		s.lieDown(p)
	}
	hi, lo := s.m.State()
	if s.bounded {
		hi, lo = s.led(p, hi, lo)
	}
	k := lanes{hi, lo}
	if s.helper != nil {
		return s.helper.come(p, k), 0
	}
	was, again := s.seen[k]
	more := !again
	s.met(&was, again, p.Seq)
	switch {
	case s.sleeps:
		more = s.wakes(k, &was, again)
	case s.bounded:
		more = s.spare(&was, again)
	}
	if !more {
		s.pruned, s.leads = true, was.ways
		if s.isCircle(&was) {
			s.stats.Circles++
			return s.close(p, k), 0
		}
		s.over = true
		return sim.Enough, 0
	}
	was.open = !s.bounded || s.left > 0
	if s.seen[k] = was; was.open {
		return s.enter(p, k), 0
	}
	return 0, 0
}

// met picks out a new state, now and then, and has one that was picked out checked when it is
// reached again.
func (s *States) met(was *seen, again bool, seq uint64) {
	switch {
	case !again:
		was.way = s.pickOut(seq)
	case was.way != 0:
		s.stats.Checked++
		s.merged(s.first[was.way-1], s.way(seq))
	}
}

// enter makes a state a point at which later runs branch.
func (s *States) enter(p *sim.Point, k lanes) (pick int) {
	n := len(s.points)
	s.m.Keep(n)
	if s.sleeps {
		pick = s.beds[n].pick(&s.conflicts)
		s.mover = p.Mover(pick)
		s.setOff(n)
	}
	s.points = append(s.points, statePoint{seq: p.Seq, n: p.N, pick: pick, kind: p.Kind, state: k, mover: s.mover})
	return pick
}

// Forced implements sim.Forced. Where steps are observed these questions aren't asked; elsewhere they are, and have
// the same answer.
func (s *States) Forced(p *sim.Point, pick int) {
	if s.bounded {
		sim.Bug("states: question %d isn't asked, and its answer is a deviation", p.Seq)
	}
	if s.played {
		if s.circle < 0 {
			s.give(p, pick)
		}
		return
	}
	x := &s.points[s.at]
	if p.Seq != x.seq || !x.given || x.pick != pick {
		sim.Bug("states: question %d has an answer, which it had not", p.Seq)
	}
	if s.at++; s.at == len(s.points) {
		s.played = true
	}
}

// goOn is the answer that lets the current mover go on.
func (s *States) goOn(p *sim.Point) (pick int) {
	if s.bounded {
		return 0
	}
	if has(p, s.mover) {
		if pick = alternative(p, s.mover); pick != 0 {
			s.give(p, pick)
		}
	}
	return pick
}

// give adds an answer without alternatives.
func (s *States) give(p *sim.Point, pick int) {
	s.points = append(s.points, statePoint{seq: p.Seq, n: pick + 1, pick: pick, kind: p.Kind, given: true})
}

// replay repeats the answer of an earlier run.
func (s *States) replay(p *sim.Point) (pick, hold int) {
	x := &s.points[s.at]
	if p.Seq < x.seq {
		if s.back {
			return 0, 0
		}
		return 0, int(x.seq-p.Seq-1) + sim.Steady + sim.Through + sim.Drains
	}
	if p.N != x.n && !x.given || p.Kind != x.kind || p.Seq != x.seq {
		sim.Bug("states: question %d has %d answers, question %d had %d", p.Seq, p.N, x.seq, x.n)
	}
	pick = x.pick
	if s.at == s.from {
		s.back = true
		s.m.Back(s.at)
		s.setOff(s.at)
	}
	if x.isState() {
		s.mover, s.moves, s.visible = p.Mover(pick), p.Moves, false
		x.mover = s.mover
	}
	if pick != 0 {
		s.left--
	}
	if s.at++; s.at == len(s.points) {
		s.played = true
	}
	return pick, 0
}
