package sched

import "kpsim/sim"

// A Course is the mover of each question of a run, as Coalesced needs it.
type Course struct {
	Moves  []sim.Mover                    // the mover chosen at each Step question
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

// Coalesced makes a run like another one in which CPUs take turns less often: within a window of the other run's Step
// questions each CPU makes all its steps there, with its IPIs and sources, before the next CPU does. Outside of the
// windows the order stays. A mover that can't move when its turn comes moves as soon as it can.
//
// A question may have other movers than in the other run, so Coalesced follows that run only as far as possible:
// check whether it shows the same.
//
// Thread interval merging is the idea of Huang and Zhang, An efficient static trace simplification technique for
// debugging concurrent programs (SAS 2011).
type Coalesced struct {
	course *Course
	owner  func(m sim.Mover) sim.Mover // the CPU that a mover belongs to, or the mover itself
	inside func(i int) int             // the end of the window that question i begins; i+1: none

	next   int                         // the first question of the course that no turn has
	turns  []turn                      // the remaining turns of the windows that were begun, in order
	others [sim.Kinds][sim.MaxCPUs]int // how many of the course's answers were given
}

// A turn is the steps of one CPU in a window.
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

// turnsMost is how many turns may be due at once; a mover that can't move for longer is left out.
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

// answer answers a question of another kind like the course's next question of that kind and CPU.
func (c *Coalesced) answer(p *sim.Point) int {
	list, n := c.course.others[p.Kind][p.First], &c.others[p.Kind][p.First]
	if *n == len(list) {
		return 0
	}
	*n++
	return min(list[*n-1], p.N-1)
}
