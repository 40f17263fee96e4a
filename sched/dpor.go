package sched

import (
	"math/bits"
	"slices"

	"kpsim/sim"
)

// Full runs all schedules, but only one of those that differ in the order of commuting
// steps: dynamic partial-order reduction with sleep sets and wakeup trees, after
// Abdulla, Aronis, Jonsson and Sagonas, "Source sets: a foundation for optimal dynamic
// partial order reduction" (POPL 2014; Journal of the ACM 64, 2017). It has to observe
// the steps (sim.Observer): what a step has touched shows what else could have
// happened.
//
// An event is what one mover does until others may see it: any number of private steps
// and one that touches something, or that stops without touching anything. Between two
// events all movers that can move are alternatives. Within an event only questions that
// are no Step have alternatives: every answer is run.
//
// A run is a sequence of events. After the run, each pair of conflicting events that no
// event between them orders is a race. The run in which they come in the other order is
// prescribed as a wakeup sequence where the first one was chosen (dpor_race.go,
// dpor_wake.go). The next run is the deepest one that is prescribed. A mover whose
// continuations have all been run sleeps until something conflicts with its next event:
// it leads to nothing new.
//
// To miss nothing, the footprints must satisfy this:
//
//  1. Two adjacent steps of different movers that don't conflict can be exchanged: in
//
// the other order they can both be made, answer the same questions, touch the same
// objects, and leave the same state.  2. A step that keeps a mover from moving
// conflicts with each step that helps to let it move. So if an event has stopped a
// mover, that mover could have moved just before it, in the same run; that order is
// prescribed.
//
// Complete executions are counted; each is of another class (Happens). Blocked ones, in
// which only sleepers are left, show nothing new. There are none if no event stops a
// mover and all questions are Step questions.
//
// Races are used only if all movers are CPUs. With interrupts, or answers, all movers
// that don't sleep are tried everywhere instead (dpor_every.go).
type Full struct {
	movers  []sim.Mover // in the order of their first step
	number  [sim.Movers]uint8
	objects objectIndex
	raced   []uint64 // races at each object that were reversed, or sleepers woken

	history
	current

	races []race
	wake  wakeTree
	v     []int32 // scratch
	cand  []int32 // scratch
	back  []int32 // scratch

	failures   []failed
	interrupts bool        // not all movers are CPUs
	crowded    bool        // there are more movers than numbers
	asked      bool        // questions other than Step were asked
	every      bool        // every mover is tried at every node (dpor_every.go)
	learned    []footprint // everything that each mover other than a CPU has touched in an event
	moves      sim.Moves
	set        uint64 // moves, as numbers

	next     uint64
	complete bool
	stats    FullStats
}

// A history is the run so far, and the knowledge from runs with the same beginning. Event number k was
// chosen at node k.
// The first kept-1 events are those of the last run; event kept-1 has its mover and its first answers.
type history struct {
	events []event
	nodes  []node
	access [][]accessed // by object, in the order of events
	last   []int32      // the last event of each mover, -1 for none
	clocks []uint32     // for event k: how many events of each mover come before it, itself included
	width  int          // of a clock
	kept   int
	script int // how many of event kept-1's answers are prescribed
}

// A current is the event that the run is in.
type current struct {
	n        int  // events done in this run
	open     bool // event n has a mover
	answered int  // questions of event n that were answered
	blocked  bool // only sleepers could move
	inherit  int32
}

// FullStats are the counts of a search so far.
type FullStats struct {
	Runs      uint64 // executions that ended
	Blocked   uint64 // executions that could lead to nothing new
	Cut       uint64 // among Runs, those that were cut short
	Depth     int    // events of the longest run
	Races     uint64
	Inserted  uint64 // wakeup sequences
	Restarted uint64
}

// An event is what a mover did in one turn.
type event struct {
	mover   uint8
	nth     uint32 // its number among its mover's, from 1
	prev    int32  // the mover's previous event, -1 for none
	fp      footprint
	answers []answer
}

// An answer to a question that is no Step question, of n.
type answer struct{ n, pick uint16 }

// A node is a state in which several movers may move.
type node struct {
	enabled uint64    // the movers that can move
	asleep  uint64    // the movers in sleep or done
	sleep   []sleeper // inherited
	done    []sleeper // every continuation with them was run
	pool    []uint32  // the storage of done
	wake    int32     // prescriptions besides the mover that is being tried
	guide   []uint16  // the answers that are prescribed for it
	tried   int       // movers so far

	// About the mover that is being tried:
	union footprint // of its events at this node
	given []answer  // the answers in each of them
	ends  []int     // where each event's answers end, in given
}

// A sleeper is a mover and the footprint that its next event would have.
type sleeper struct {
	mover uint8
	fp    footprint
}

// NewFull returns a Full.
func NewFull() *Full {
	f := &Full{history: history{width: 8}}
	f.wake.reset()
	f.start()
	return f
}

// start forgets all runs, but not the numbers of movers and objects.
func (f *Full) start() {
	f.n = 0
	f.truncate(0)
	f.kept, f.script, f.inherit = 0, 0, 0
	f.wake.reset()
	for i := range f.last {
		f.last[i] = -1
	}
	f.complete = false
	f.every = !f.plain()
}

// Restart begins the search again, because a run has shown that steps touch more than
// was known.
func (f *Full) Restart() {
	was := f.stats
	for i := range f.access {
		f.access[i] = f.access[i][:0]
	}
	f.start()
	f.stats = FullStats{Restarted: was.Restarted + 1}
}

// Complete reports whether all schedules were run. If runs were cut, all were run up to
// the cuts.
func (f *Full) Complete() bool { return f.complete }

// Blocked reports whether the run can lead to nothing new; the rest of it doesn't count.
func (f *Full) Blocked() bool { return f.blocked }

// Stats returns the counts so far.
func (f *Full) Stats() FullStats { return f.stats }

// Progress estimates, in millionths, how much of the known tree was run: all branches
// of a node count the same.
func (f *Full) Progress() uint64 {
	const whole = 1_000_000
	if f.complete {
		return whole
	}
	done, share := uint64(0), uint64(whole)<<20
	for k := 0; k < f.kept && share > 0; k++ {
		nd := &f.nodes[k]
		ways := uint64(nd.tried + f.wake.count(nd.wake))
		done += share / ways * uint64(nd.tried-1)
		share /= ways
	}
	return done >> 20
}

// Racing calls each with the objects at which races were reversed, and how many.
func (f *Full) Racing(each func(o sim.Object, races uint64)) {
	for i, n := range f.raced {
		if n > 0 {
			each(f.objects.list[i], n)
		}
	}
}

func (f *Full) String() string { return "full" }

// Begin implements Strategy. Runs are taken in order.
func (f *Full) Begin(i uint64) bool {
	if f.complete || f.crowded {
		return false
	}
	if i != f.next {
		sim.Bug("full: run %d was begun when run %d was next", i, f.next)
	}
	if f.next++; i == 0 { // Learn may have reported interrupts
		f.every = !f.plain()
	}
	f.n, f.open, f.answered, f.blocked = 0, false, 0, false
	f.races = f.races[:0]
	return true
}

// End implements Strategy: the run came to its own end.
func (f *Full) End(uint64) { f.end(false) }

// Cut is called instead of End if the run was ended by force: by a violation, or
// because its budget is spent. The end of a run commutes with nothing.
func (f *Full) Cut() { f.end(true) }

func (f *Full) end(cut bool) {
	if f.open && !f.crowded {
		f.close(nil)
	}
	if f.crowded || f.turn() {
		return
	}
	if f.n < f.kept {
		sim.Bug("full: the run ended after %d events, the one before after at least %d", f.n, f.kept)
	}
	f.stats.Depth = max(f.stats.Depth, f.n)
	if f.blocked {
		f.stats.Blocked++
	} else {
		f.stats.Runs++
		if cut && f.n > 0 {
			f.stats.Cut++
			f.conflictsWithAll(f.n - 1)
		}
	}
	if f.every {
		f.backtrack()
		return
	}
	f.stopped()
	for _, r := range f.races {
		f.stats.Races++
		if !f.reverse(r.first, r.second, r.second) {
			f.lookBack(f.events[r.second].mover, &f.events[r.second].fp, r.first)
		}
	}
	for i := range f.failures {
		x := &f.failures[i]
		f.lookBack(x.mover, &x.fp, x.at)
	}
	f.failures = f.failures[:0]
	f.backtrack()
}

// Choose implements sim.Chooser.
func (f *Full) Choose(p *sim.Point) (pick, hold int) {
	switch {
	case p.Kind == sim.Buffer:
		return holdsStores, 0
	case f.blocked:
		return enough(p), 0
	case f.crowd(&p.Moves, 0):
		return 0, 0
	}
	if p.Kind != sim.Step {
		return f.answer(p), 0
	}
	if f.open {
		if mv := f.movers[f.events[f.n].mover]; has(p, mv) {
			return alternative(p, mv), 0
		}
		f.close(nil) // it touched nothing
	}
	if p.Moves != f.moves {
		f.moves, f.set = p.Moves, f.numbers(&p.Moves)
	}
	if !f.begin(f.set, p.First) {
		return enough(p), 0
	}
	return alternative(p, f.movers[f.events[f.n].mover]), 0
}

// Learn records what a mover's step has touched in a run of another strategy. Knowing
// the movers that can be stopped makes the search shorter.
func (f *Full) Learn(mv sim.Mover, touched []sim.Touch) {
	if !interrupts(mv) || f.crowd(nil, mv) {
		return
	}
	fp := &f.learned[f.numberOf(mv)]
	for _, t := range touched {
		fp.touch(f.objects.of(t.Object), t.Write)
	}
	f.know()
}

// Stepped implements sim.Observer.
func (f *Full) Stepped(mv sim.Mover, touched []sim.Touch) {
	if f.blocked || f.crowd(nil, mv) || !f.goesOn(mv) {
		return
	}
	if len(touched) > 0 {
		f.close(touched)
	}
}

// goesOn makes mv's event the open one, if no question was asked about it.
func (f *Full) goesOn(mv sim.Mover) bool {
	m := f.numberOf(mv)
	if f.open && f.events[f.n].mover == m {
		return true
	}
	if f.open {
		f.close(nil)
	}
	return f.begin(1<<m, mv)
}

// answer answers a question that is no Step question.
func (f *Full) answer(p *sim.Point) int {
	if !f.open || !interrupts(f.movers[f.events[f.n].mover]) {
		if !f.goesOn(p.First) {
			return 0
		}
	}
	f.asked = true
	e, i := &f.events[f.n], f.answered
	f.answered++
	if f.n+1 < f.kept || f.n+1 == f.kept && i < f.script {
		if i >= len(e.answers) || int(e.answers[i].n) != p.N {
			sim.Bug("full: question %d of event %d has %d answers, which it had not", i, f.n, p.N)
		}
		return int(e.answers[i].pick)
	}
	a := answer{n: uint16(p.N)}
	if g := f.nodes[f.n].guide; i < len(g) && int(g[i]) < p.N {
		a.pick = g[i]
	}
	e.answers = append(e.answers, a)
	return int(a.pick)
}

// begin opens event n. first is the mover to take if it doesn't matter. It returns
// false if only sleepers can move.
func (f *Full) begin(enabled uint64, first sim.Mover) bool {
	k := f.n
	f.answered = 0
	if k < f.kept {
		if enabled>>f.events[k].mover&1 == 0 {
			sim.Bug("full: event %d is one of %v, which can't move", k, f.movers[f.events[k].mover])
		}
		f.open = true
		return true
	}

	for k+2 >= len(f.nodes) { // two more than there are events, for lookBack
		f.nodes = append(f.nodes, node{})
		f.events = append(f.events, event{})
		f.clocks = append(f.clocks, make([]uint32, f.width)...)
	}
	nd, e := &f.nodes[k], &f.events[k]
	nd.enabled, nd.asleep, nd.tried = enabled, 0, 0
	nd.sleep, nd.done, nd.pool = nd.sleep[:0], nd.done[:0], nd.pool[:0]
	nd.renew()
	nd.wake, f.inherit = f.inherit, 0
	if k > 0 {
		was, by := &f.nodes[k-1], &f.events[k-1]
		nd.fallAsleep(was.sleep, by)
		nd.fallAsleep(was.done, by)
		if f.every {
			nd.wakeUnable()
			f.blameFor(was, by)
		}
	}
	if !f.take(k) {
		free := enabled &^ nd.asleep
		if free == 0 {
			f.blocked = true
			return false
		}
		e.mover = f.numberOf(first)
		if free>>e.mover&1 == 0 {
			e.mover = uint8(bits.TrailingZeros64(free))
		}
		nd.guide, nd.tried, e.answers = nd.guide[:0], nd.tried+1, e.answers[:0]
	}
	f.open = true
	return true
}

// fallAsleep inherits the sleepers whose next event commutes with the last one.
func (nd *node) fallAsleep(list []sleeper, by *event) {
	for i := range list {
		s := &list[i]
		if s.mover != by.mover && s.fp.commutes(&by.fp) {
			nd.sleep = append(nd.sleep, *s)
			nd.asleep |= 1 << s.mover
		}
	}
}

// awake removes a mover from the sleepers.
func (nd *node) awake(mover uint8) {
	is := func(s sleeper) bool { return s.mover == mover }
	nd.sleep, nd.done = slices.DeleteFunc(nd.sleep, is), slices.DeleteFunc(nd.done, is)
	nd.asleep &^= 1 << mover
}

// take makes the first prescribed event of node k the one to try.
func (f *Full) take(k int) bool {
	nd, e := &f.nodes[k], &f.events[k]
	for nd.wake != 0 {
		w := f.wake.cut(&nd.wake)
		// If its footprint wasn't known when this was prescribed, the mover may be asleep now, and its successors may
		// be prescribed nowhere else.
		if nd.asleep>>w.mover&1 != 0 {
			if w.child == 0 {
				continue
			}
			nd.awake(w.mover)
		}
		if nd.enabled>>w.mover&1 == 0 { // can't move here either; its successors may not need it
			f.fail(w.mover, &w.fp, k)
			f.wake.concat(&nd.wake, w.child)
			continue
		}
		f.follow(nd, e, w)
		nd.tried++
		return true
	}
	return false
}

// follow makes w, removed from the prescribed events, the event to try.
func (f *Full) follow(nd *node, e *event, w *wakeEvent) {
	e.mover, e.answers = w.mover, e.answers[:0]
	nd.guide = append(nd.guide[:0], w.answers...)
	f.inherit = w.child
}

// close ends event n.
func (f *Full) close(touched []sim.Touch) {
	f.open = false
	if f.n+1 >= f.kept {
		f.record(f.n, touched)
	}
	f.n++
}

// backtrack prescribes the next run: the deepest remaining change.
func (f *Full) backtrack() {
	f.wake.free(f.inherit)
	f.inherit = 0
	for k := f.n - 1; k >= 0; k-- {
		nd, e := &f.nodes[k], &f.events[k]
		nd.union.add(&e.fp)
		f.truncate(k)
		if f.vary(nd, e) {
			f.kept = k + 1
			return
		}
		nd.retire(e.mover)
		if f.every && f.another(k) || f.take(k) {
			f.kept, f.script = k+1, 0
			return
		}
	}
	f.kept = 0
	f.complete = true
}

// retire puts a mover to sleep whose continuations were all run.
func (nd *node) retire(mover uint8) {
	from := len(nd.pool)
	nd.pool = append(nd.pool, nd.union.list...)
	fp := nd.union
	fp.list = nd.pool[from:len(nd.pool):len(nd.pool)]
	nd.done = append(nd.done, sleeper{mover, fp})
	nd.asleep |= 1 << mover
	nd.renew()
}
