package smp

// words records which threads have accessed which eight aligned bytes, in any
// run of a machine: a hash table from which nothing is removed.
type words struct {
	table  []word
	spare  []word // memory for the next table
	n      int
	stacks bool // some words lie in a stack
	learnt bool // something was noted since the last call of Learnt
}

// A word is eight aligned bytes and their use so far.
type word struct {
	number uint64 // 0 is a free place: nothing is mapped there
	who    uint16 // the thread that accessed them first
	use    use
}

type use uint8

const (
	written use = 1 << iota
	several     // accessed by more than one thread
	touchy  = written | several
)

// at returns a number's entry, a new one if it has none.
func (w *words) at(number uint64) *word {
	if 2*w.n >= len(w.table) {
		w.grow()
	}
	e := w.find(number)
	if e.number == 0 {
		e.number = number
		w.n++
	}
	return e
}

// find returns the place of a number's entry, existing or not.
func (w *words) find(number uint64) *word {
	mask := uint64(len(w.table) - 1)
	for i := number * 0x9e3779b97f4a7c15 >> 20; ; i++ {
		if e := &w.table[i&mask]; e.number == number || e.number == 0 {
			return e
		}
	}
}

func (w *words) grow() {
	old, n := w.table, max(256, 2*len(w.table))
	if n > cap(w.spare) {
		w.spare = make([]word, n)
	}
	w.table, w.spare = w.spare[:n], old
	clear(w.table)
	for i := range old {
		if old[i].number != 0 {
			*w.find(old[i].number) = old[i]
		}
	}
}

// access records an access to a word by a thread. grew: this access made the word shared.
func (w *words) access(number uint64, who uint16, write bool) (shared, grew bool) {
	e := w.at(number)
	before, was := *e, e.use
	switch {
	case was == 0 && e.who == 0:
		e.who = who + 1 // so that 0 is no thread
	case e.who != who+1:
		e.use |= several
	}
	if write {
		e.use |= written
	}
	if *e != before {
		w.learnt = true
	}
	return e.use == touchy, e.use == touchy && was != touchy
}

// share marks a word as shared, and reports whether that is new.
func (w *words) share(number uint64) bool {
	e := w.at(number)
	was := e.use
	e.use = touchy
	w.learnt = w.learnt || was != touchy
	return was != touchy
}

// shared reports whether a word is shared.
func (w *words) shared(number uint64) bool {
	return w.n > 0 && w.find(number).use == touchy
}

// copy makes w a copy of from.
func (w *words) copy(from *words) {
	w.table = append(w.table[:0], from.table...)
	w.n, w.stacks = from.n, from.stacks
}

// A Known is what the runs of a machine have shown about which memory its threads share, and
// about which state is ever looked at.
type Known struct {
	words   words
	below   bool
	resched bool
	count   bool
}

// sharing is what the runs have shown so far: which memory the threads share, and which state
// is ever looked at.
type sharing struct {
	words       words
	grew        bool // something was noted since the last call of SharedGrew
	readsBelow  bool // text has read its stack below the stack pointer
	readsCount  bool // text has read a preemption count in an interrupt, or another CPU's
	asksResched bool // a routine has asked whether another task wants its CPU
	readsUninit bool // text has read bytes of its stack that it hadn't written
}

// Learnt reports whether a run since the last call has shown anything new, even just a first
// access by a thread.
func (s *sharing) Learnt() bool {
	was := s.words.learnt
	s.words.learnt = false
	return was
}

// Known stores what is known to k. It is for machines that are observed, but not afresh.
func (s *sharing) Known(k *Known) {
	k.words.copy(&s.words)
	k.below, k.resched, k.count = s.readsBelow, s.asksResched, s.readsCount
}

// SetKnown replaces what is known by k, which comes from an identically built machine.
func (s *sharing) SetKnown(k *Known) {
	s.words.copy(&k.words)
	s.readsBelow, s.asksResched, s.readsCount, s.grew, s.words.learnt = k.below, k.resched, k.count, false, false
}

// askedResched records that a routine asks whether another task wants its CPU. The answer
// is part of a state only once some run has asked.
func (s *sharing) askedResched() {
	if !s.asksResched {
		s.asksResched, s.grew, s.words.learnt = true, true, true
	}
}

// ReadsUninit reports whether text has ever read bytes of its own stack that it
// hadn't written, in a run that was observed.
func (s *sharing) ReadsUninit() bool { return s.readsUninit }
