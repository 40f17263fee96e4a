package sched

import "kpsim/sim"

// A Course is the mover of each question of a run: all that Coalesced needs of it.
type Course struct {
	Moves  []sim.Mover                    // of each Step question, the mover that was chosen
	others [sim.Kinds]map[sim.Mover][]int // the answers to the other questions, of each kind and CPU
}

// Steps wraps a strategy, and notes the course of its run.
type Steps struct {
	Strategy
	Course Course
}

// Begin implements Strategy.
func (s *Steps) Begin(i uint64) bool {
	s.Course = Course{}
	return s.Strategy.Begin(i)
}

// Choose implements sim.Chooser. It asks the strategy every question.
func (s *Steps) Choose(p *sim.Point) (pick, hold int) {
	pick, _ = s.Strategy.Choose(p)
	switch {
	case p.Kind != sim.Step:
		of := &s.Course.others[p.Kind]
		if *of == nil {
			*of = make(map[sim.Mover][]int)
		}
		(*of)[p.First] = append((*of)[p.First], pick)
	case pick != sim.Enough:
		s.Course.Moves = append(s.Course.Moves, p.Mover(pick))
	}
	return pick, 0
}

// Coalesced makes a run like another one in which CPUs take turns less often: within a
// window of the other run's Step questions each CPU does all that it did there, with its
// IPIs and sources, before the next CPU does. Outside of the windows the order stays. What
// can't move when its turn has come moves as soon as it can.
//
// Which movers a question has may differ from the other run's, so it follows that run only
// as far as it goes: whether it shows the same has to be seen.
//
// Thread interval merging is the idea of Huang and Zhang, An efficient static trace
// simplification technique for debugging concurrent programs (SAS 2011).
type Coalesced struct {
	course *Course
	owner  func(m sim.Mover) sim.Mover // the CPU that a mover belongs to, or the mover itself
	inside func(i int) int             // the end of the window that question i begins; i+1: none

	next   int                         // of the course, what no turn has yet
	turns  []turn                      // what is left of the windows that were begun, in order
	others [sim.Kinds][sim.MaxCPUs]int // of the course's answers, how many were given
}

// A turn is what one CPU has to do.
type turn struct {
	owner sim.Mover
	moves []sim.Mover
}

// NewCoalesced returns a strategy of one run. inside returns the end of the window that
// begins at question i of the course: i+1 if none does.
func NewCoalesced(c *Course, owner func(sim.Mover) sim.Mover, inside func(i int) int) *Coalesced {
	return &Coalesced{course: c, owner: owner, inside: inside}
}

func (c *Coalesced) String() string { return "coalesced" }

// Begin implements Strategy.
func (c *Coalesced) Begin(i uint64) bool {
	c.next, c.turns, c.others = 0, nil, [sim.Kinds][sim.MaxCPUs]int{}
	return i == 0
}

// End implements Strategy.
func (c *Coalesced) End(uint64) {}

// turnsMost is how many turns may be due at once: what can't move for so long is left out.
const turnsMost = 2 * sim.MaxCPUs

// Choose implements sim.Chooser.
func (c *Coalesced) Choose(p *sim.Point) (pick, hold int) {
	if p.Kind != sim.Step {
		return c.answer(p), 0
	}
	for i := 0; ; i++ {
		if i == len(c.turns) && !c.begin() {
			return 0, 0
		}
		t := &c.turns[i]
		m := t.moves[0]
		if m != p.First && p.Moves[m/sim.MaxCPUs]>>(m%sim.MaxCPUs)&1 == 0 {
			continue
		}
		if t.moves = t.moves[1:]; len(t.moves) == 0 {
			c.turns = append(c.turns[:i], c.turns[i+1:]...)
		}
		return p.Pick(m), 0
	}
}

// begin adds the turns of the course's next window.
func (c *Coalesced) begin() bool {
	if c.next == len(c.course.Moves) || len(c.turns) >= turnsMost {
		return false
	}
	end := min(max(c.inside(c.next), c.next+1), len(c.course.Moves))
	from := len(c.turns)
	for _, m := range c.course.Moves[c.next:end] {
		owner, i := c.owner(m), from
		for i < len(c.turns) && c.turns[i].owner != owner {
			i++
		}
		if i == len(c.turns) {
			c.turns = append(c.turns, turn{owner: owner})
		}
		c.turns[i].moves = append(c.turns[i].moves, m)
	}
	c.next = end
	return true
}

// answer answers a question of another kind as the course did those of that kind of the same
// CPU, in their order.
func (c *Coalesced) answer(p *sim.Point) int {
	list, n := c.course.others[p.Kind][p.First], &c.others[p.Kind][p.First]
	if *n == len(list) {
		return 0
	}
	*n++
	return min(list[*n-1], p.N-1)
}
