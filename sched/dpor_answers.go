package sched

import "slices"

// vary makes another answer, within the mover's event at node k, the next to try: a
// prescribed one, or else the first that wasn't given so far. It returns false if there
// is none.
func (f *Full) vary(nd *node, e *event) bool {
	if len(e.answers) == 0 {
		return false
	}
	nd.given = append(nd.given, e.answers...)
	nd.ends = append(nd.ends, len(nd.given))
	if w := f.wake.cutMover(&nd.wake, e.mover); w != nil {
		f.follow(nd, e, w)
		f.script = 0
		return true
	}
	from := 0
	for _, end := range nd.ends {
		was := nd.given[from:end]
		from = end
		for i := range was {
			for pick := range was[i].n {
				if !nd.gave(was[:i], pick) {
					e.answers = append(append(e.answers[:0], was[:i]...), answer{was[i].n, pick})
					nd.guide = nd.guide[:0]
					f.script = i + 1
					return true
				}
			}
		}
	}
	return false
}

// gave reports whether the mover's event was made with answers that begin with these.
func (nd *node) gave(first []answer, then uint16) bool {
	from, n := 0, len(first)
	for _, end := range nd.ends {
		was := nd.given[from:end]
		from = end
		if len(was) > n && was[n].pick == then && slices.Equal(was[:n], first) {
			return true
		}
	}
	return false
}

// renew forgets the mover that was tried.
func (nd *node) renew() {
	nd.union.clear()
	nd.given, nd.ends = nd.given[:0], nd.ends[:0]
}
