package sched

import "math/bits"

// Races are reversed, and wakeup sequences followed, only where all movers are
// CPUs and nothing is asked but who steps. There a mover's next event is known
// from what it has seen, and a race with it is found in the run at hand. An
// interrupt changes what its CPU does next, and may be let in or kept out by
// steps that it has no race with in that run; an answer changes what follows,
// too. So with these every mover that can move is tried at every node, but for
// sleepers. That misses nothing if the footprints are right, whatever the
// races: a sleeper leads to what was run already, with the order of steps that
// commute exchanged (Godefroid, "Partial-order methods for the verification of
// concurrent systems", LNCS 1032, 1996, chapter 5). The price is executions
// that are blocked.

// plain reports whether reversing races is enough, as far as is known by now.
func (f *Full) plain() bool { return !f.interrupts && !f.asked }

// turn begins the search anew if what it has shown is not to be searched by races.
// It returns false if all is as it was.
func (f *Full) turn() bool {
	if f.every || f.plain() {
		return false
	}
	was := f.stats
	f.Restart()
	f.stats = FullStats{Restarted: was.Restarted}
	return true
}

// another makes a mover that wasn't tried at node k the one to try; false if only
// sleepers are left.
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

// wakeUnable drops the sleepers that can't move: had nothing conflicted with
// them, they could.
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

// blameFor counts at which objects an event of node was conflicts with sleepers,
// and wakes them: each is a run in which the two come the other way round.
func (f *Full) blameFor(was *node, by *event) {
	for _, list := range [...][]sleeper{was.sleep, was.done} {
		for i := range list {
			if s := &list[i]; s.mover != by.mover {
				f.blame(&s.fp, &by.fp)
			}
		}
	}
}
