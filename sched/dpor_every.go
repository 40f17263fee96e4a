package sched

import "math/bits"

// Races are reversed, and wakeup sequences followed, only where all movers are CPUs and
// all questions are Step questions. There a mover's next event is known from what it
// has seen, and a race with it is found in the same run. An interrupt changes what its
// CPU does next, and may be let in or kept out by steps that it has no race with in
// that run; an answer also changes what follows. With these, every mover that can move
// is tried at every node, except sleepers. That misses nothing if the footprints are
// right, whatever the races: a sleeper leads to what was already run, with commuting
// steps exchanged (Godefroid, "Partial-order methods for the verification of concurrent
// systems", LNCS 1032, 1996, chapter 5). The price is blocked executions.

// plain reports whether reversing races is enough, as far as is known so far.
func (f *Full) plain() bool { return !f.interrupts && !f.asked }

// turn begins the search again if what it has shown can't be searched by races. It
// returns false if nothing has changed.
func (f *Full) turn() bool {
	if f.every || f.plain() {
		return false
	}
	was := f.stats
	f.Restart()
	f.stats = FullStats{Restarted: was.Restarted}
	return true
}

// another makes a mover that wasn't tried at node k the one to try. It returns false if
// only sleepers are left.
func (f *Full) another(k int) bool {
	nd, e := &f.nodes[k], &f.events[k]
	free := nd.enabled &^ nd.asleep
	if free == 0 {
		return false
	}
	e.mover, e.answers = uint8(bits.TrailingZeros64(free)), e.answers[:0]
	nd.guide = nd.guide[:0]
	nd.tried++
	return true
}

// wakeUnable removes the sleepers that can't move: they could if nothing had conflicted
// with them.
func (nd *node) wakeUnable() {
	kept := nd.sleep[:0]
	for _, s := range nd.sleep {
		if nd.enabled>>s.mover&1 == 0 {
			nd.asleep &^= 1 << s.mover
			continue
		}
		kept = append(kept, s)
	}
	nd.sleep = kept
}

// blameFor counts the objects at which the event that node was chose conflicts with sleepers, and wakes them: each is
// a run in which the two come in the other order.
func (f *Full) blameFor(was *node, by *event) {
	for _, list := range [...][]sleeper{was.sleep, was.done} {
		for i := range list {
			if s := &list[i]; s.mover != by.mover {
				f.blame(&s.fp, &by.fp)
			}
		}
	}
}
