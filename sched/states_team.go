package sched

import (
	"slices"

	"kpsim/sim"
)

// A Portable is a Stateful that exists several times, each on a machine of its own. Their states have the same
// digests.
type Portable interface {
	Stateful

	// Kept returns the data saved by Keep under a number, without the data saved under lower ones.
	Kept(number int) *Kept

	// Restore saves another's data under the same number. The lower numbers have been saved.
	Restore(number int, kept *Kept)
}

// Kept is a part of the data saved by Keep.
type Kept struct {
	Reads  []sim.Hash // the values that each routine under way has read
	Writes []Write    // since the state before, in order
}

// A Write is one to an object, by a step with that hash.
type Write struct {
	Object sim.Object
	By     sim.Hash
}

// A Claim notes that a state was reached, and which movers were asleep. It reports whether that
// is new, and if not, which were asleep at each earlier visit. Several goroutines may call it at
// once.
type Claim func(hi, lo, asleep uint64) (fresh bool, was uint64)

// A Team runs a search of states on several machines. The runs, their order, and the reports of the search are the
// same as with one machine.
//
// Each answer that the search has not tried yet, at a point on the way of its run, is a branch. It will be tried, and
// its continuation depends only on the way there. So helpers try branches ahead, the next ones first, each up to a
// state that the search or a helper has reached before. The search doesn't repeat these runs: it takes their points,
// and looks up the states among those it has seen itself. It makes only the runs that points don't describe: the ends
// of runs, circles, and runs that show a new conflict. A branch that follows a state which the search turns out to
// have seen is dropped.
//
// All methods but those of a Helper are called by one goroutine at a time.
type Team struct {
	s    *States
	m    Portable
	list Branch // the branches to try, in the order of the search: a ring

	ways     []*trail    // by point of the search
	open     [][]*Branch // by point: the branches of the answers from 1 on
	restored []*trail    // the data that the search's machine has saved
	current  *Branch     // the branch of the search; nil between runs
	own      bool        // the search has to make the run
	claims   Claim       // the states that were reached
	anew     func() Claim
	epoch    int    // how often all began anew
	asked    uint64 // questions of the run that has ended
}

// A trail is the way to a point, and the answer there.
type trail struct {
	before *trail
	depth  int // the number of points, with this one
	point  statePoint
	kept   *Kept // of a state
	crib   *crib // of a state, if movers sleep
}

// A Branch is an answer to be tried.
type Branch struct {
	next, prev *Branch // nil: it isn't in the list
	way        *trail  // nil: the beginning of the search
	stage      stage
	epoch      int
	found      []*trail    // the points after it, with the default answers
	open       [][]*Branch // by point: the branches of the answers from 1 on
	ended      bool        // the run has ended; otherwise the last point is a state that was reached before
}

// A stage is how far a branch is.
type stage uint8

const (
	toTry stage = iota
	trying
	tried
	unknown // only the search itself can find out
)

// NewTeam returns a team that makes the runs of s, whose machine is m. Deviations aren't
// counted. claims returns a Claim that knows no state.
func NewTeam(s *States, m Portable, claims func() Claim) *Team {
	t := &Team{s: s, m: m, anew: claims}
	t.Restart()
	return t
}

// Restart begins the search again.
func (t *Team) Restart() {
	t.s.Restart()
	t.list.next, t.list.prev = &t.list, &t.list
	t.ways, t.open, t.restored = nil, nil, nil
	t.current, t.own = nil, false
	t.claims = t.anew()
	t.epoch++
}

// insert puts a branch into the list.
func (t *Team) insert(b, after *Branch) {
	b.prev, b.next = after, after.next
	b.prev.next, b.next.prev = b, b
}

func (b *Branch) remove() {
	if b.next != nil {
		b.prev.next, b.next.prev = b.next, b.prev
		b.prev, b.next = nil, nil
	}
}

// branches makes the branches of a point's answers after way's.
func (t *Team) branches(way *trail, after *Branch) []*Branch {
	var picks []int
	for pick := way.point.pick + 1; pick < way.point.n; pick++ {
		picks = append(picks, pick)
	}
	return t.branchesTo(way, after, picks)
}

// branchesTo makes the branches of some answers, and puts them into the list, in order.
func (t *Team) branchesTo(way *trail, after *Branch, picks []int) (list []*Branch) {
	for _, pick := range picks {
		b := &Branch{way: way.to(pick), epoch: t.epoch}
		t.insert(b, after)
		after = b
		list = append(list, b)
	}
	return list
}

// to is the way to the same point, with another answer there.
func (w *trail) to(pick int) *trail {
	to := *w
	to.point.pick = pick
	return &to
}

// Tried takes a helper's results for a branch; ok reports whether they can be used.
func (t *Team) Tried(b *Branch, h *Helper, ok bool) {
	if b.epoch != t.epoch || b.next == nil {
		return // it was dropped meanwhile
	}
	if !ok {
		b.stage = unknown
		return
	}
	b.stage, b.found, b.ended = tried, h.found, !h.stopped
	b.open = make([][]*Branch, len(b.found))
	for i, w := range b.found {
		if last := i == len(b.found)-1 && !b.ended; w.crib != nil {
			b.open[i] = t.expected(w, b, last)
		} else if !last {
			b.open[i] = t.branches(w, b)
		}
	}
	t.tell(b)
}

// drop takes branches, and those below them, out of the list.
func (t *Team) drop(open [][]*Branch) {
	for _, list := range open {
		for _, b := range list {
			b.remove()
			t.drop(b.open)
			b.open = nil
		}
	}
}

// A Step is the search's progress.
type Step uint8

const (
	Waits Step = iota // until the branch that it is on was tried
	Ran               // a run has ended
	Runs              // the search must make a run itself, in the usual way, but for SetOut and Arrived
	Done              // the search is complete
)

// Advance lets the search go on as far as results are known.
func (t *Team) Advance() Step {
	s := t.s
	switch {
	case s.complete:
		return Done
	case t.own:
		return Runs
	case t.current == nil:
		n := len(s.points)
		if n == 0 {
			t.own = true
			return Runs
		}
		t.take(n-1, s.points[n-1].pick)
	}
	b := t.current
	switch b.stage {
	case toTry, trying:
		return Waits
	case unknown:
		b.remove()
		t.own = true
		return Runs
	}
	b.remove()
	for i, w := range b.found {
		if w.point.isState() && !t.enter(w) {
			t.drop(b.open[i:])
			if s.pruned {
				t.end(w.point.seq)
				return Ran
			}
			t.own = true
			return Runs
		}
		t.push(w, b.open[i])
		if w.crib != nil && t.turned(b, i) {
			return t.Advance()
		}
	}
	if t.own = b.ended; t.own {
		return Runs
	}
	n := len(t.ways) - 1
	w := t.ways[n]
	t.open[n] = t.branches(w, &t.list)
	t.current = &Branch{way: w, epoch: t.epoch}
	t.insert(t.current, &t.list)
	return Waits
}

// take makes the branch of an answer at point n the current one.
func (t *Team) take(n, pick int) {
	open := t.open[n]
	i := slices.IndexFunc(open, func(b *Branch) bool { return b.way.point.pick == pick })
	switch {
	case i >= 0:
		t.current = open[i]
		t.open[n] = slices.Delete(open, i, i+1)
	case t.ways[n].crib == nil:
		sim.Bug("states: answer %d is next, and was not tried", pick)
	default:
		t.current = &Branch{way: t.ways[n].to(pick), epoch: t.epoch}
		t.insert(t.current, &t.list)
	}
	t.ways[n] = t.current.way
	if c := t.ways[n].crib; c != nil {
		t.s.points[n].mover = c.mover(pick)
	}
}

// Alone reports that no helper tries the branch that the search waits for.
func (t *Team) Alone() { t.current.stage = unknown }

// push makes w's point one of the search's. Where movers sleep the search may answer
// otherwise there.
func (t *Team) push(w *trail, open []*Branch) {
	p := w.point
	if n := len(t.s.points); w.crib != nil {
		p.pick = t.s.beds[n].pick(&t.s.conflicts)
		p.mover = w.crib.mover(p.pick)
	}
	t.s.points = append(t.s.points, p)
	t.ways = append(t.ways, w)
	t.open = append(t.open, open)
}

// enter takes the run to a state as Choose does. It returns false if the run doesn't go on
// from there: it is pruned, or has come round in a circle.
func (t *Team) enter(w *trail) bool {
	s, p := t.s, &w.point
	was, again := s.seen[p.state]
	if was.open {
		return false
	}
	if w.crib != nil {
		t.lieDown(w.crib)
	}
	more := !again
	s.met(&was, again, p.seq)
	if w.crib != nil {
		more = s.wakes(p.state, &was, again)
	}
	if !more {
		s.pruned, s.leads = true, was.ways
		return false
	}
	was.open = true
	s.seen[p.state] = was
	return true
}

// end ends a run that was not made.
func (t *Team) end(seq uint64) {
	t.s.next++
	t.s.played, t.s.circle = true, -1
	t.asked = seq + 1
	t.ended()
}

// ended ends the search's run.
func (t *Team) ended() {
	s := t.s
	s.End(0)
	s.pruned = false
	t.drop(t.open[len(s.points):]) // branches of movers that sleep
	t.ways, t.open = t.ways[:len(s.points)], t.open[:len(s.points)]
	t.current, t.own = nil, false
}

// Asked returns how many questions the run that has ended would have been asked.
func (t *Team) Asked() uint64 { return t.asked }

// SetOut is called before a run of the search's own.
func (t *Team) SetOut() {
	t.restored = restore(t.m, t.ways, t.restored)
}

// restore saves what was kept at the states of a way. The points that way shares with had are
// saved already.
func restore(m Portable, way, had []*trail) []*trail {
	from := 0
	for from < len(way) && from < len(had) && way[from] == had[from] {
		from++
	}
	had = append(had[:from], way[from:]...)
	for i := from; i < len(way); i++ {
		if way[i].point.isState() {
			m.Restore(i, way[i].kept)
		}
	}
	return had
}

// Arrived is called after such a run, and instead of End.
func (t *Team) Arrived() {
	s := t.s
	var before *trail
	if n := len(t.ways); n > 0 {
		before = t.ways[n-1]
	}
	for i := len(t.ways); i < len(s.points); i++ {
		w := &trail{before: before, depth: i + 1, point: s.points[i]}
		if w.point.isState() {
			w.kept = t.m.Kept(i)
			if s.sleeps {
				w.crib = cribOf(&s.beds[i])
			}
			k := w.point.state
			t.claims(k.hi, k.lo, s.seen[k].asleep)
		}
		t.ways = append(t.ways, w)
		if w.crib != nil {
			t.open = append(t.open, t.branchesTo(w, &t.list, t.picks(w, s.beds[i].todo, w.point.pick)))
		} else {
			t.open = append(t.open, t.branches(w, &t.list))
		}
		before = w
	}
	t.restored = append(t.restored[:0], t.ways...)
	t.ended()
}
